"""Runs a system under test on a recorded dataset, replayed at the sensor's rate."""

import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import yaml

from xtdrone_core import run_folder
from xtdrone_core.errors import unknown_name

from . import environments, formats, link
from .dataset import Dataset
from .errors import SlamError
from .monitor import Monitor

_QUEUE = 4  # pairs that may wait for the system; the next one is dropped
_READ_AHEAD = 8  # pairs that are decoded before their time
START_S = 30.0  # wall time that a system has for the answer to the first pair [s]
HANG_S = 10.0  # wall time without an answer after which a system counts as hanging [s]
_END = None


@dataclass(frozen=True)
class Adapter:
    """How to start a system, from its adapter.yaml."""

    name: str
    command: tuple[str, ...]
    description: str
    deterministic: bool
    parameters: dict  # name: value, given as --name value
    inputs: tuple[str, ...] = ("stereo",)  # names of link.INPUTS
    requirements: tuple[str, ...] = ()  # pip packages of its own environment


@dataclass(frozen=True)
class Outcome:
    """What one run left, beside estimate.tum, usage.csv, frames.csv and system.log."""

    system: str
    reason: str  # empty where the run is good, else why not
    frames: int  # pairs replayed
    answers: int
    dropped: int  # pairs that the system was too slow for
    lost: int  # pairs whose pose it did not know
    latency_ms: float | None  # mean from a pair's time to its answer
    cpu_percent: float  # mean of the whole process tree; a core is 100
    memory_mib: float  # peak of the whole process tree
    parameters: dict


def names() -> list[str]:
    """Systems that come with the workspace."""
    folder = resources.files("xtdrone_slam") / "systems"
    return sorted(path.name for path in folder.iterdir()
                  if path.is_dir() and (path / "adapter.yaml").is_file())


def load_adapter(name: str, **parameters) -> Adapter:
    """A system by its name, or by the path of a folder with an adapter.yaml.

    Args:
        **parameters: Instead of those in the file.

    Raises:
        SlamError: No such system or parameter.
    """
    if os.sep in name:
        path = Path(name) / "adapter.yaml"
    elif name in names():
        path = Path(str(resources.files("xtdrone_slam") / "systems" / name / "adapter.yaml"))
    else:
        raise SlamError(unknown_name("system", name, names()) + ", or give a folder with an "
                        "adapter.yaml")
    try:
        values = yaml.safe_load(path.read_text())
        known = dict(values.get("parameters", {}))
        adapter = Adapter(path.parent.name, tuple(map(str, values["command"])),
                          str(values.get("description", "")), bool(values.get("deterministic")),
                          {**known, **parameters},
                          tuple(map(str, values.get("inputs", ("stereo",)))),
                          tuple(map(str, values.get("requirements", ()))))
    except (OSError, KeyError, TypeError, AttributeError, ValueError, yaml.YAMLError) as error:
        raise SlamError(f"cannot read '{path}': {error!r}; it needs a command, as a "
                        "list") from error
    for parameter in parameters:
        if parameter not in known:
            raise SlamError(unknown_name(f"parameter of '{adapter.name}'", parameter, known))
    for name in adapter.inputs:
        if name not in link.INPUTS:
            raise SlamError(unknown_name(f"input of '{adapter.name}'", name, link.INPUTS))
    return adapter


def start(adapter: Adapter, dataset: Path, folder: Path, log) -> subprocess.Popen:
    """Starts a system, the leader of a process group of its own, with pipes for the link.

    Args:
        adapter: The system.
        dataset: Folder that holds mav0, for its calibration.
        folder: Where the system may write.
        log: File for its standard error.

    Raises:
        SlamError: The system cannot be started, or its environment is missing.
    """
    source = Path(__file__).parents[1]
    words = {"python": sys.executable, "dataset": str(Path(dataset).absolute()),
             "folder": str(Path(folder).absolute())}
    if adapter.requirements:
        words["environment"] = str(environments.python(adapter.name))
    command = [word.format(**words) for word in adapter.command]
    for name, value in adapter.parameters.items():
        command += [f"--{name}", str(value)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(source), *filter(None, [os.environ.get("PYTHONPATH")])])}
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=log, env=environment, start_new_session=True)
    except OSError as error:
        raise SlamError(f"cannot start '{command[0]}': {error.strerror}") from error


def run(adapter: Adapter, dataset: Dataset, folder: Path, speed: float = 1.0,
        hang_s: float = HANG_S, progress=None) -> Outcome:
    """Replays a dataset to a system; its failure is an outcome, not an error.

    Args:
        adapter: The system.
        dataset: What it sees.
        folder: For the files of the run; made.
        speed: Seconds of the dataset per second; 1 is the sensor's rate.
        hang_s: Without an answer for so long the system is ended [s].
        progress: Called after each pair.

    Raises:
        SlamError: The folder cannot be written, or the system cannot be started.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "system.log", "w") as log:
        imu = dataset.imu() if "imu" in adapter.inputs else np.zeros((0, 7))
        process = start(adapter, dataset.folder, folder, log)
        player = _Player(process, adapter, dataset, imu, folder, speed, hang_s, log)
        try:
            reason = player.play(progress)
        finally:
            player.close()
    usage = player.monitor
    latencies = player.latencies
    outcome = Outcome(adapter.name, reason, player.sent + player.dropped, player.answers,
                      player.dropped, player.lost,
                      round(1e3 * sum(latencies) / len(latencies), 2) if latencies else None,
                      round(usage.mean_cpu(), 2), round(usage.peak_memory(), 1),
                      adapter.parameters)
    run_folder.write_json(folder / "outcome.json", asdict(outcome))
    return outcome


class _Player:
    """Feeds one process and listens to it."""

    def __init__(self, process, adapter, dataset, imu, folder, speed, hang_s, log):
        self._process, self._dataset = process, dataset
        self._speed, self._hang_s, self._log = speed, hang_s, log
        self._inputs = adapter.inputs
        self._imu = imu
        self._told = 0  # IMU readings that the system has
        self._estimate = formats.LineFile(folder / "estimate.tum")
        self._frames = formats.LineFile(folder / "frames.csv", "t_us,latency_s,lost,features")
        self.sent = self.dropped = self.answers = self.lost = 0
        self.latencies = []
        self._reason = ""
        self._due = {}  # t_us: wall time at which the pair was due [s]
        self._heard = time.monotonic()
        self._queue = queue.Queue(_QUEUE)
        self._ready = threading.Event()
        self.monitor = Monitor(process.pid, folder / "usage.csv")
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._feeder.start()
        self._listener.start()

    def play(self, progress) -> str:
        """All pairs, each at its time; returns why the run is no good, or nothing."""
        times = self._dataset.times_us
        coming = queue.Queue(_READ_AHEAD)
        threading.Thread(target=self._decode, args=(coming,), daemon=True).start()
        begin = None
        for t_us in times:
            pair = coming.get()
            if isinstance(pair, SlamError):
                raise pair
            if begin is not None:
                due = begin + (t_us - times[0]) * 1e-6 / self._speed
                time.sleep(max(due - time.monotonic(), 0.0))
            self._offer(int(t_us), pair)
            if begin is None:  # a system may load for long; the flight begins when it sees
                while not self._ready.wait(0.1) and not self._failed():
                    pass
                begin = time.monotonic()
            if progress is not None:
                progress()
            if self._failed():
                return self._reason
        return self._finish()

    def close(self) -> None:
        """Ends the process and all that it started, and the files."""
        try:
            os.killpg(self._process.pid, 9)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._listener.join(5.0)
        self.monitor.close()
        self._estimate.close()
        self._frames.close()

    def _decode(self, coming):
        for index in range(len(self._dataset)):
            try:
                depth = self._dataset.depth(index) if "depth" in self._inputs else None
                coming.put((*self._dataset.pair(index), depth))
            except SlamError as error:
                coming.put(error)
                return

    def _offer(self, t_us, data):
        """Queues a pair with what belongs before it; a dropped pair leaves its IMU to the next."""
        self._due[t_us] = time.monotonic()
        left, right, depth = data
        until = int(np.searchsorted(self._imu[:, 0], t_us, side="right"))
        parts = [link.pack_imu(int(row[0]), row[1:4], row[4:])
                 for row in self._imu[self._told:until]]
        if depth is not None:
            parts.append(link.pack_depth(t_us, depth))
        try:
            self._queue.put_nowait(b"".join([*parts, link.pack(t_us, left, right)]))
            self._told = until
            self.sent += 1
        except queue.Full:
            self.dropped += 1

    def _feed(self):
        while True:
            data = self._queue.get()
            try:
                if data is _END:
                    self._process.stdin.close()
                    return
                self._process.stdin.write(data)
                self._process.stdin.flush()
            except OSError:  # it has ended; the exit status says why
                return

    def _listen(self):
        for line in self._process.stdout:
            text = line.decode(errors="replace")
            answer = link.parse(text)
            if answer is None:
                self._log.write(text)
                continue
            now = self._heard = time.monotonic()
            self._ready.set()
            latency = now - self._due.get(answer.t_us, now)
            self.answers += 1
            self.latencies.append(latency)
            known = answer.pose is not None and answer.finite
            self.lost += not known
            if not answer.finite and not self._reason:
                self._reason = f"a pose that is none at {answer.t_us * 1e-6:.2f} s: {text.strip()}"
            if known:
                self._estimate.write(formats.tum_line(answer.t_us, answer.pose[:3],
                                                      answer.pose[3:]))
            self._frames.write(f"{answer.t_us},{latency:.4f},{int(not known)},{answer.features}")

    def _failed(self):
        status = self._process.poll()
        if status is not None:
            self._reason = self._reason or f"ended with status {status} in mid-flight"
        elif time.monotonic() - self._heard > self._patience():
            self._reason = self._reason or f"no answer for {self._patience():g} s"
        return bool(self._reason)

    def _patience(self):
        return self._hang_s if self._ready.is_set() else min(START_S, self._hang_s)

    def _finish(self):
        """Waits for the last answers and the end of the process."""
        end = time.monotonic() + self._hang_s
        try:
            self._queue.put(_END, timeout=self._hang_s)
            status = self._process.wait(max(end - time.monotonic(), 0.1))
        except (queue.Full, subprocess.TimeoutExpired):
            return self._reason or f"did not end within {self._hang_s:g} s of the last pair"
        self._listener.join(5.0)
        if status != 0:
            return self._reason or f"ended with status {status}"
        if self.answers == self.lost:
            return self._reason or "never gave a pose"
        return self._reason
