"""CPU and memory of a process tree, sampled at 10 Hz and written as CSV."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from ..datasets.formats import LineFile
from ..errors import SlamError

PERIOD_S = 0.1
_HEAD = "t_s,cpu_percent,memory_mib,processes"


@dataclass(frozen=True)
class Usage:
    """One sample."""

    t_s: float  # time since the monitor began [s]
    cpu_percent: float  # load since the last sample; one core is 100, several give more
    memory_mib: float  # resident, summed over the tree [MiB]
    processes: int  # alive


class Monitor:
    """Samples a process and all its descendants in a thread.

    A process that starts and ends between two samples is missed.

    Attributes:
        samples: The Usage samples so far.
        failure: Why the file is incomplete; empty if it is complete.
    """

    def __init__(
        self, pid: int, path: Path | str | None = None, period_s: float = PERIOD_S
    ) -> None:
        """Starts sampling.

        Args:
            pid: Root of the tree.
            path: CSV file to write, or None.
            period_s: Sampling period [s].

        Raises:
            SlamError: The file cannot be written.
        """
        self.samples: list[Usage] = []
        self.failure = ""
        self._file = None if path is None else LineFile(Path(path), _HEAD)
        self._period = period_s
        self._known: dict[psutil.Process, float] = {}  # CPU time at the last sample [s]
        self._begin = self._last = time.monotonic()
        self._end = threading.Event()
        self._root: psutil.Process | None = None
        try:
            self._root = psutil.Process(pid)
            self._tree_cpu(self._root)
        except psutil.NoSuchProcess:
            self._root = None
        self._thread = threading.Thread(target=self._watch, name="monitor", daemon=True)
        self._thread.start()

    def now(self) -> float:
        """Returns the time on the clock of the samples [s]."""
        return time.monotonic() - self._begin

    def mean_cpu(self, since_s: float = 0.0) -> float:
        """Returns the mean CPU load from since_s on [per cent of a core]; 0 without samples."""
        times = [0.0] + [sample.t_s for sample in self.samples]
        spans = [
            (sample.cpu_percent, sample.t_s - before)
            for before, sample in zip(times, self.samples)
            if before >= since_s
        ]
        whole = sum(span for _, span in spans)
        return sum(cpu * span for cpu, span in spans) / whole if whole > 0 else 0.0

    def spent_since(self, moment: float) -> float:
        """Returns the CPU time of the tree since a moment of time.monotonic() [s]."""
        times = [0.0] + [sample.t_s for sample in self.samples]
        return sum(
            0.01 * sample.cpu_percent * (sample.t_s - before)
            for before, sample in zip(times, self.samples)
            if sample.t_s > moment - self._begin
        )

    def peak_cpu(self, since_s: float = 0.0) -> float:
        """Returns the highest sample from since_s on [per cent of a core]."""
        return max((sample.cpu_percent for sample in self._since(since_s)), default=0.0)

    def peak_memory(self) -> float:
        """Returns the largest sum of resident memory [MiB]."""
        return max((sample.memory_mib for sample in self.samples), default=0.0)

    def mean_memory(self, since_s: float = 0.0) -> float:
        """Returns the mean sum of resident memory from since_s on [MiB]."""
        sizes = [sample.memory_mib for sample in self._since(since_s) if sample.memory_mib > 0]
        return sum(sizes) / len(sizes) if sizes else 0.0

    def close(self) -> None:
        """Takes a last sample and stops. May be called twice."""
        self._end.set()
        self._thread.join()
        if self._file is not None:
            self._file.close()

    def _since(self, since_s: float) -> Iterator[Usage]:
        return (sample for sample in self.samples if sample.t_s > since_s)

    def _watch(self) -> None:
        due = self._begin
        while self._root is not None:
            due = max(due + self._period, time.monotonic())
            ended = self._end.wait(due - time.monotonic())
            if not self._sample(self._root) or ended:
                return

    def _sample(self, root: psutil.Process) -> bool:
        try:
            spent, memory = self._tree_cpu(root)
        except psutil.NoSuchProcess:
            return False
        now = time.monotonic()
        usage = Usage(
            now - self._begin,
            100.0 * spent / max(now - self._last, 1e-6),
            memory / 2**20,
            len(self._known),
        )
        self._last = now
        self.samples.append(usage)
        if self._file is not None and not self.failure:
            try:
                self._file.write(
                    f"{usage.t_s:.3f},{usage.cpu_percent:.2f},"
                    f"{usage.memory_mib:.2f},{usage.processes}"
                )
            except SlamError as error:  # the samples go on in memory
                self.failure = str(error)
        return True

    def _tree_cpu(self, root: psutil.Process) -> tuple[float, int]:
        """Returns the CPU time of the tree since the last call [s], and its memory now [bytes]."""
        first = not self._known
        known: dict[psutil.Process, float] = {}
        spent, memory = 0.0, 0
        for process in [root, *root.children(recursive=True)]:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory += process.memory_info().rss
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                if process == root:
                    raise
                continue
            known[process] = times.user + times.system
            # All CPU time of a process that is new was spent since the last sample.
            spent += known[process] - self._known.get(process, known[process] if first else 0.0)
        self._known = known
        return spent, memory
