"""The process of one system under test: sends it stereo pairs, reads its poses, monitors it."""

import collections
import math
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

import numpy as np

from ..datasets import formats
from ..errors import SlamError
from . import link
from .monitor import Monitor

_QUEUE_SIZE = 4  # pairs; when the input queue is full, a new pair is dropped
ANSWER_TIMEOUT_S = 10.0  # of sleep or work without an answer after which a system hangs [s]
_START_FACTOR = 3.0  # times that time-out, until the first answer
JUMP_M, JUMP_MPS = 1.0, 20.0  # a step larger than JUMP_M + JUMP_MPS dt counts as a jump
_ASLEEP = 0.02  # who works for a smaller part of the time sleeps
_POLL_S = 2e-3  # time between two checks for space in the queue [s]
_END = None


class Session:
    """A running system and its result files, which are flushed line by line.

    Attributes:
        reason: Why the run is invalid; empty while it is valid.
        sent, dropped, answers, lost: Numbers of pairs so far: queued, dropped because the queue was
            full, answered, answered without a pose.
        frames, not_arrived, missing: Numbers of pairs of the recording so far, and of those lost by
            the channel or missing in the recording; counted by the caller.
        latencies: Wall time from the due time of each pair to its answer [s].
        monitor: CPU and memory of the process tree.
        begin_s: Time of the first answer on the monitor's clock [s].
        on_answer: Called with each link.Answer in the reader thread, unless None.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        folder: Path,
        log: TextIO,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        """Takes over a process started by runner.start.

        Args:
            process: The system.
            folder: Folder for estimate.tum, frames.csv and usage.csv.
            log: Text file for the output lines that are not answers.
            timeout_s: Time of sleep or of work without an answer after which the system counts as
                hung; three times as long for the first answer, since a system may load for long.
                Time in which other programs had the processor does not count [s].

        Raises:
            SlamError: A file cannot be written.
        """
        folder = Path(folder)
        self._process, self._log, self._timeout_s = process, log, timeout_s
        self._estimate = formats.LineFile(folder / "estimate.tum")
        self._frames = formats.LineFile(
            folder / "frames.csv", "t_us,latency_s,lost,features,wall_s"
        )
        self.sent = self.dropped = self.answers = self.lost = 0
        self.frames = self.not_arrived = self.missing = 0
        self.latencies: list[float] = []
        self._features = 0
        self.reason = ""
        self.begin_s = 0.0
        self.on_answer: Callable[[link.Answer], object] | None = None
        self._aborted = False  # the reason ends the run at once
        self._due: dict[int, float] = {}  # wall time at which a pair was due [s], by its time
        # Time and message of IMU readings that are not sent yet.
        self._readings: collections.deque[tuple[int, bytes]] = collections.deque()
        self._newest_us = -1  # time of the last queued pair
        self._last: tuple[int, tuple[float, ...]] | None = None  # t_us and position
        self._last_answer_s = time.monotonic()
        self._queue: queue.Queue[bytes | None] = queue.Queue(_QUEUE_SIZE)
        self._ready = threading.Event()
        self.monitor = Monitor(process.pid, folder / "usage.csv")
        self._reader = threading.Thread(target=self._read_answers, daemon=True)
        threading.Thread(target=self._write_input, daemon=True).start()
        self._reader.start()

    def imu(self, t_us: int, gyro: Iterable[float], accel: Iterable[float]) -> None:
        """Queues a reading (3,), (3,); it is sent ahead of the first pair of its time or later.

        Readings may arrive long before their pair, since images are delayed. A reading that is
        older than the last queued pair is discarded: the system would receive it out of order.
        """
        if t_us > self._newest_us:
            self._readings.append((t_us, link.pack_imu(t_us, gyro, accel)))

    def submit(
        self,
        t_us: int,
        left: np.ndarray,
        right: np.ndarray,
        depth: np.ndarray | None = None,
        due: float | None = None,
        wait: bool = False,
    ) -> None:
        """Queues a pair. If the queue is full the pair is dropped; its IMU readings are kept.

        Args:
            t_us: Time of exposure [us].
            left, right: (H, W) uint8.
            depth: (H, W) float32 [m], or None.
            due: Wall time by time.monotonic() from which the latency counts; None: now [s].
            wait: Whether to wait for space in the queue (or a failure) instead of dropping.
        """
        head = b"" if depth is None else link.pack_depth(t_us, depth)
        self.submit_frame(t_us, head + link.pack(t_us, left, right), due, wait)

    def submit_frame(
        self, t_us: int, message: bytes, due: float | None = None, wait: bool = False
    ) -> None:
        """Queues the message of a pair or scan, as submit() does."""
        readings, count = self._readings, 0
        while count < len(readings) and readings[count][0] <= t_us:
            count += 1
        parts = [*(readings[i][1] for i in range(count)), message]
        while wait and self._queue.full() and not self.failed():
            time.sleep(_POLL_S)
        self._due[t_us] = time.monotonic() if due is None else due
        try:
            self._queue.put_nowait(b"".join(parts))
        except queue.Full:
            self.dropped += 1
            return
        for _ in range(count):
            readings.popleft()
        self._newest_us = t_us
        self.sent += 1

    def wait_for_first_answer(self) -> None:
        """Waits for the first answer, since a system may load for long."""
        while not self._ready.wait(0.02) and not self.failed():
            pass
        self.begin_s = self.monitor.now()

    def fail(self, reason: str, abort: bool = False) -> None:
        """Marks the run as invalid; the first reason is kept.

        Args:
            reason: Text for the report.
            abort: Whether the run ends here.
        """
        self.reason = self.reason or reason
        self._aborted = self._aborted or abort

    def alive(self) -> bool:
        """Returns whether the system's process is running."""
        return self._process.poll() is None

    def failed(self) -> bool:
        """Returns whether the run has been aborted: the process ended, hung, or fail() said so."""
        status = self._process.poll()
        if status is not None:
            self.fail(f"ended with status {status} in mid-flight", abort=True)
        elif self._hangs(self._last_answer_s, self._answer_timeout()):
            self.fail(f"no answer for {self._answer_timeout():g} s", abort=True)
        return self._aborted

    def finish(self) -> None:
        """Closes the system's input and waits for the last answers and the end of the process.

        As long as answers come the system does not count as hung: some pairs are still queued.
        """
        begin, closing = time.monotonic(), False
        while (status := self._process.poll()) is None:
            if self._hangs(max(begin, self._last_answer_s), self._timeout_s):
                self.fail(f"did not end within {self._timeout_s:g} s of its last answer")
                return
            if not closing and not self._queue.full():
                self._queue.put_nowait(_END)
                closing = True
            time.sleep(_POLL_S)
        self._reader.join(5.0)
        if status != 0:
            self.fail(f"ended with status {status}")
        elif self.answers == self.lost:
            self.fail("never gave a pose")

    def mean_features(self) -> float | None:
        """Returns the mean number of features per answer; None if the system reports none."""
        return round(self._features / self.answers, 1) if self._features else None

    def close(self) -> None:
        """Kills the system's process group and closes the files."""
        try:
            os.killpg(self._process.pid, 9)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._reader.join(5.0)
        self.monitor.close()
        for file in (self._estimate, self._frames):
            file.close()
        if self.monitor.failure:
            self.fail(self.monitor.failure)

    def _write_input(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        while True:
            data = self._queue.get()
            try:
                if data is _END:
                    pipe.close()
                    return
                pipe.write(data)
                pipe.flush()
            except OSError:  # the process has ended; failed() reports its exit status
                return

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            text = line.decode(errors="replace")
            answer = link.parse(text)
            try:
                if answer is None:
                    self._log.write(text)
                else:
                    self._record(answer, text.strip())
            except (SlamError, OSError) as error:  # the disk is full
                self.fail(str(error), abort=True)

    def _record(self, answer: link.Answer, text: str) -> None:
        now = self._last_answer_s = time.monotonic()
        self._ready.set()
        latency = now - self._due.get(answer.t_us, now)
        self.answers += 1
        self.latencies.append(latency)
        self._features += answer.features
        pose = answer.pose if answer.finite else None
        self.lost += pose is None
        if not answer.finite:
            self.fail(f"invalid pose at {answer.t_us * 1e-6:.2f} s: {text}", abort=True)
        if pose is not None:
            self._check_step(answer.t_us, pose[:3])
            self._estimate.write(formats.tum_line(answer.t_us, pose[:3], pose[3:]))
        self._frames.write(
            f"{answer.t_us},{latency:.4f},{int(pose is None)},{answer.features},"
            f"{self.monitor.now():.3f}"
        )
        if self.on_answer is not None:
            self.on_answer(answer)

    def _check_step(self, t_us: int, position: tuple[float, ...]) -> None:
        if self._last is not None:
            step = math.dist(position, self._last[1])
            dt = abs(t_us - self._last[0]) * 1e-6
            if step > JUMP_M + JUMP_MPS * dt:
                self.fail(f"jumped {step:.1f} m in {dt:.2f} s at {t_us * 1e-6:.2f} s")
        self._last = t_us, position

    def _hangs(self, since: float, limit: float) -> bool:
        """Whether it has slept or worked longer than a limit since a moment of time.monotonic()."""
        waited = time.monotonic() - since
        if waited <= limit:
            return False
        spent = self.monitor.spent_since(since)
        return spent > limit or spent < _ASLEEP * waited

    def _answer_timeout(self) -> float:
        return self._timeout_s * (1.0 if self._ready.is_set() else _START_FACTOR)
