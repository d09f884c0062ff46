"""Runs a system under test on a recorded dataset, replayed at the sensor's rate."""

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from xtdrone_core import run_folder

from ..datasets.dataset import Dataset
from ..errors import SlamError
from . import environments, machine
from .adapters import Adapter
from .channel import Channel
from .session import HANG_S, Session

_READ_AHEAD = 8  # pairs that are decoded before their time
_SHOWN = 3  # missing images that a reason names


@dataclass(frozen=True)
class Outcome:
    """What one run left, beside estimate.tum, usage.csv, frames.csv and system.log."""

    system: str
    reason: str  # empty where the run is good, else why not
    frames: int  # pairs of the recording, or of the flight, until the run ended
    answers: int
    dropped: int  # pairs that the system was too slow for
    lost: int  # pairs whose pose it did not know
    latency_ms: float | None  # mean from a pair's time to its answer
    cpu_percent: float  # mean of the whole process tree from the first answer on; a core is 100
    memory_mib: float  # peak of the whole process tree
    parameters: dict
    latency_95_ms: float | None = None  # 95 % of the answers came within this
    cpu_max_percent: float = 0.0  # highest sample
    memory_mean_mib: float = 0.0
    not_arrived: int = 0  # pairs that the channel lost
    missing: int = 0  # pairs of the recording without an image that can be read
    features: float | None = None  # mean of what the system tells
    speed: float = 1.0  # seconds of the dataset per second; 0: as the system takes them
    description: str = ""
    deterministic: bool = False  # says its adapter
    packages: tuple[str, ...] = ()  # of its own environment
    load_before: float | None = None  # processes that waited for a core as the run began
    machine: dict = field(default_factory=dict)  # see machine.describe


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
    words = {"python": sys.executable, "dataset": str(Path(dataset).absolute()),
             "folder": str(Path(folder).absolute())}
    if adapter.requirements:
        words["home"] = str(environments.home(adapter))
    command = adapter.fill(adapter.command, **words)
    for name, value in adapter.parameters.items():
        command += [f"--{name}", str(value)]
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                env=environments.variables(), start_new_session=True)
    except OSError as error:
        raise SlamError(f"cannot start '{command[0]}': {error.strerror}") from error


def run(adapter: Adapter, dataset: Dataset, folder: Path, speed: float = 1.0,
        hang_s: float = HANG_S, progress=None, channel: Channel | None = None) -> Outcome:
    """Replays a dataset to a system; its failure is an outcome, not an error.

    Args:
        adapter: The system.
        dataset: What it sees.
        folder: For the files of the run; made.
        speed: Seconds of the dataset per second; 1 is the sensor's rate. With 0 each pair waits
            until the system has room for it, so that none is dropped.
        hang_s: Without an answer for so long the system is ended [s].
        progress: Called after each pair.
        channel: On which the images come; None: a free one.

    Raises:
        SlamError: The folder cannot be written, or the system cannot be started.
    """
    with opened(adapter, dataset.folder, folder, hang_s, speed) as session:
        _Player(session, adapter, dataset, speed, channel or Channel()).play(progress)
    return session.outcome


class opened:
    """Context of a Session: starts the system, ends it, and writes outcome.json.

    After it, `session.outcome` is the Outcome.
    """

    def __init__(self, adapter: Adapter, dataset: Path, folder: Path, hang_s: float = HANG_S,
                 speed: float = 1.0):
        """As for run(); dataset is the folder that holds mav0, for its calibration.

        Raises:
            SlamError: The folder cannot be written, or the system cannot be started.
        """
        self._adapter, self._folder, self._speed = adapter, Path(folder), speed
        self._load = machine.load()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._log = open(self._folder / "system.log", "w")
        except OSError as error:
            raise SlamError(f"cannot write '{folder}': {error.strerror}") from error
        process = None
        try:
            process = start(adapter, dataset, folder, self._log)
            self._session = Session(process, self._folder, self._log, hang_s)
        except BaseException:
            self._log.close()
            if process is not None:
                os.killpg(process.pid, 9)
                process.wait()
            raise

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, kind, error, trace):
        session = self._session
        session.close()
        try:
            self._log.close()
        except OSError as failure:
            session.mark(f"cannot write '{self._log.name}': {failure.strerror}")
        if kind is None:
            session.outcome = self._outcome(session)
            try:
                run_folder.write_json(self._folder / "outcome.json", asdict(session.outcome))
            except OSError as failure:  # the run is lost to a campaign, but not the campaign
                session.mark(f"cannot write '{self._folder}': {failure.strerror}")
                session.outcome = replace(session.outcome, reason=session.reason)
        return False

    def _outcome(self, session):
        adapter, usage = self._adapter, session.monitor
        late = np.array(session.latencies) * 1e3
        return Outcome(
            adapter.name, session.reason, session.frames, session.answers, session.dropped,
            session.lost, round(float(late.mean()), 2) if len(late) else None,
            round(usage.mean_cpu(session.begin_s), 2), round(usage.peak_memory(), 1),
            adapter.parameters,
            latency_95_ms=round(float(np.percentile(late, 95)), 2) if len(late) else None,
            cpu_max_percent=round(usage.peak_cpu(session.begin_s), 1),
            memory_mean_mib=round(usage.mean_memory(session.begin_s), 1),
            not_arrived=session.not_arrived, missing=session.missing,
            features=session.mean_features(), speed=self._speed, description=adapter.description,
            deterministic=adapter.deterministic,
            packages=tuple(r for r in adapter.requirements if not r.startswith("-")),
            load_before=self._load, machine=machine.describe())


class _Player:
    """Shows a dataset to a session, each pair at its time."""

    def __init__(self, session, adapter, dataset, speed, channel):
        self._session, self._dataset = session, dataset
        self._speed, self._channel = speed, channel
        self._inputs = adapter.inputs
        if "imu" in adapter.inputs:
            for row in dataset.imu():
                session.imu(int(row[0]), row[1:4], row[4:])

    def play(self, progress) -> None:
        """Until the last answer, or until the session has failed."""
        coming, over = queue.Queue(_READ_AHEAD), threading.Event()
        decoder = threading.Thread(target=self._decode, args=(coming, over), daemon=True)
        decoder.start()
        try:
            self._play(coming, progress)
        finally:  # Python must not end while OpenCV is at work in a thread: that aborts
            over.set()
            while decoder.is_alive():
                with contextlib.suppress(queue.Empty):
                    coming.get(timeout=0.05)

    def _play(self, coming, progress):
        session, times = self._session, self._dataset.times_us
        gone = []
        begin = None
        for t_us in map(int, times):
            images = coming.get()
            session.frames += 1
            if progress is not None:
                progress()
            if isinstance(images, SlamError):
                gone.append(str(images))
                session.missing += 1
                continue
            arrival = self._channel.arrival(t_us, images[0].nbytes + images[1].nbytes)
            if arrival is None:
                session.not_arrived += 1
                continue
            due = None
            if begin is not None and self._speed:
                due = begin + (t_us - times[0]) * 1e-6 / self._speed
                ready = begin + (arrival - times[0]) * 1e-6 / self._speed
                time.sleep(max(ready - time.monotonic(), 0.0))
            session.offer(t_us, *images, due, wait=self._speed == 0)
            if begin is None:  # the flight begins when the system sees
                session.await_first()
                begin = time.monotonic() - (t_us - times[0]) * 1e-6 / (self._speed or 1.0)
            if session.failed():
                return
        if gone:
            session.mark(f"{len(gone)} pairs of the recording are missing: "
                         + "; ".join(gone[:_SHOWN]))
        session.finish()

    def _decode(self, coming, over):
        for index in range(len(self._dataset)):
            if over.is_set():
                return
            try:
                depth = self._dataset.depth(index) if "depth" in self._inputs else None
                coming.put((*self._dataset.pair(index), depth))
            except SlamError as error:
                coming.put(error)
