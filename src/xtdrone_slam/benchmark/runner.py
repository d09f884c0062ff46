"""Runs a system under test on a recorded dataset, played back at the sensor's rate."""

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import interrupts_wait, tied

from ..datasets.dataset import Dataset
from ..errors import SlamError
from . import environments, link, machine
from .adapters import Adapter
from .channel import Channel
from .session import ANSWER_TIMEOUT_S, Session

_READ_AHEAD = 8  # pairs decoded in advance
_MAX_LISTED = 3  # missing images that a message names


@dataclass(frozen=True)
class Outcome:
    """The summary of one run; beside it are estimate.tum, usage.csv, frames.csv and system.log."""

    system: str
    reason: str  # why the run is invalid; empty if it is valid
    frames: int  # pairs of the recording, or of the flight, until the run ended
    answers: int
    dropped: int  # pairs dropped because the system was too slow
    lost: int  # pairs answered without a pose
    latency_ms: float | None  # mean from the due time of a pair to its answer
    cpu_percent: float  # mean of the process tree from the first answer on; one core is 100
    memory_mib: float  # peak of the process tree
    parameters: dict[str, Any]
    latency_95_ms: float | None = None  # 95th percentile
    cpu_max_percent: float = 0.0  # highest sample
    memory_mean_mib: float = 0.0
    not_arrived: int = 0  # pairs lost by the channel
    missing: int = 0  # pairs of the recording without a readable image
    features: float | None = None  # mean number reported by the system
    speed: float = 1.0  # playback rate, seconds of the dataset per second; 0: lossless
    description: str = ""
    deterministic: bool = False  # as declared by the adapter
    packages: tuple[str, ...] = ()  # packages in the system's own environment
    load_before: float | None = None  # load average when the run began
    machine: dict[str, Any] = field(default_factory=dict)  # see machine.describe


def start(adapter: Adapter, dataset: Path, folder: Path, log: TextIO) -> subprocess.Popen[bytes]:
    """Starts a system in a process group of its own, with pipes for the link.

    Args:
        adapter: The system.
        dataset: Folder with mav0, for its calibration.
        folder: Folder that the system may write to.
        log: File for its standard error.

    Raises:
        SlamError: The system cannot be started, or its environment is missing.
    """
    placeholders = {
        "python": sys.executable,
        "dataset": str(Path(dataset).absolute()),
        "folder": str(Path(folder).absolute()),
    }
    if adapter.requirements:
        placeholders["home"] = str(environments.home(adapter))
    command = adapter.fill(adapter.command, **placeholders)
    for name, value in adapter.parameters.items():
        command += [f"--{name}", str(value)]
    try:
        with interrupts_wait():
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environments.variables(),
                start_new_session=True,
                preexec_fn=tied(),
            )
    except OSError as error:
        raise SlamError(f"cannot start '{command[0]}': {error.strerror}") from error


def run(
    adapter: Adapter,
    dataset: Dataset,
    folder: Path,
    speed: float = 1.0,
    timeout_s: float = ANSWER_TIMEOUT_S,
    progress: Callable[[], object] | None = None,
    channel: Channel | None = None,
) -> Outcome:
    """Plays a dataset back to a system. A failure of the system is an outcome, not an error.

    Args:
        adapter: The system.
        dataset: The recording.
        folder: Folder for the files of the run; created.
        speed: Playback rate, seconds of the dataset per second; 1 is the sensor's rate. With 0
            each pair waits for space in the input queue, so none is dropped.
        timeout_s: Wall time without an answer after which the system is killed [s].
        progress: Called after each pair.
        channel: Image link to the system; None: no limit and no loss.

    Raises:
        SlamError: The folder cannot be written, or the system cannot be started.
    """
    frame_times(adapter, dataset)  # raises what cannot be played before the system is started
    system = SystemRun(adapter, dataset.folder, folder, timeout_s, speed)
    with system as session:
        _Playback(session, adapter, dataset, speed, channel or Channel()).play(progress)
    return system.outcome


class SystemRun:
    """Context manager of a Session: starts the system, stops it, and writes outcome.json.

    Attributes:
        outcome: What came of it; after the context.
    """

    def __init__(
        self,
        adapter: Adapter,
        dataset: Path,
        folder: Path,
        timeout_s: float = ANSWER_TIMEOUT_S,
        speed: float = 1.0,
    ) -> None:
        """Takes arguments as run() does; dataset is the folder with mav0, for its calibration.

        Raises:
            SlamError: The folder cannot be written, or the system cannot be started.
        """
        self.outcome: Outcome
        self._adapter, self._folder, self._speed = adapter, Path(folder), speed
        self._load = machine.load_average()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._log = open(self._folder / "system.log", "w")
        except OSError as error:
            raise SlamError(f"cannot write '{folder}': {error.strerror}") from error
        process = None
        try:
            process = start(adapter, dataset, folder, self._log)
            self._session = Session(process, self._folder, self._log, timeout_s)
        except BaseException:
            self._log.close()
            if process is not None:
                os.killpg(process.pid, 9)
                process.wait()
            raise

    @property
    def session(self) -> Session:
        """The running system."""
        return self._session

    def __enter__(self) -> Session:
        return self._session

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(aborted=kind is not None)

    def close(self, aborted: bool = False) -> None:
        """Stops the system; writes outcome.json unless the run was aborted."""
        session = self._session
        session.close()
        try:
            self._log.close()
        except OSError as failure:
            session.fail(f"cannot write '{self._log.name}': {failure.strerror}")
        if not aborted:
            self.outcome = self._outcome(session)
            try:
                run_folder.write_json(self._folder / "outcome.json", asdict(self.outcome))
            except OSError as failure:  # this run is lost, but a campaign goes on
                session.fail(f"cannot write '{self._folder}': {failure.strerror}")
                self.outcome = replace(self.outcome, reason=session.reason)

    def _outcome(self, session: Session) -> Outcome:
        adapter, usage = self._adapter, session.monitor
        latency_ms = np.array(session.latencies) * 1e3
        return Outcome(
            adapter.name,
            session.reason,
            session.frames,
            session.answers,
            session.dropped,
            session.lost,
            round(float(latency_ms.mean()), 2) if len(latency_ms) else None,
            round(usage.mean_cpu(session.begin_s), 2),
            round(usage.peak_memory(), 1),
            adapter.parameters,
            latency_95_ms=(
                round(float(np.percentile(latency_ms, 95)), 2) if len(latency_ms) else None
            ),
            cpu_max_percent=round(usage.peak_cpu(session.begin_s), 1),
            memory_mean_mib=round(usage.mean_memory(session.begin_s), 1),
            not_arrived=session.not_arrived,
            missing=session.missing,
            features=session.mean_features(),
            speed=self._speed,
            description=adapter.description,
            deterministic=adapter.deterministic,
            packages=tuple(r for r in adapter.requirements if not r.startswith("-")),
            load_before=self._load,
            machine=machine.describe(),
        )


# The message of each frame and the size of its images or scan, or why it cannot be read.
_Decoded = queue.Queue[tuple[bytes, int] | SlamError]


def frame_times(adapter: Adapter, dataset: Dataset) -> np.ndarray:
    """Returns the times (T,) of what a system gets from a dataset: pairs or scans [us].

    Raises:
        SlamError: The dataset has none.
    """
    if not adapter.takes_scans:
        _ = dataset.calibration  # raises
        return dataset.times_us
    if dataset.scans is None:
        raise SlamError(
            f"'{adapter.name}' needs scans, and '{dataset.folder}' has none: run xtdrone slam "
            "record --vehicle iris_3d_lidar"
        )
    return dataset.scans.times_us


class _Playback:
    """Submits the pairs or scans of a dataset to a session, each at its time."""

    def __init__(
        self, session: Session, adapter: Adapter, dataset: Dataset, speed: float, channel: Channel
    ) -> None:
        self._session, self._dataset = session, dataset
        self._speed, self._channel = speed, channel
        self._what = "scans" if adapter.takes_scans else "pairs"
        self._inputs, self._times = adapter.inputs, frame_times(adapter, dataset)
        if "imu" in adapter.inputs:
            for row in dataset.imu():
                session.imu(int(row[0]), row[1:4], row[4:])

    def play(self, progress: Callable[[], object] | None) -> None:
        """Runs until the last answer, or until the session has failed."""
        decoded: _Decoded = queue.Queue(_READ_AHEAD)
        stop = threading.Event()
        decoder = threading.Thread(target=self._decode, args=(decoded, stop), daemon=True)
        decoder.start()
        try:
            self._play(decoded, progress)
        finally:  # Python aborts if it exits while a thread is inside OpenCV
            stop.set()
            while decoder.is_alive():
                with contextlib.suppress(queue.Empty):
                    decoded.get(timeout=0.05)

    def _play(self, decoded: "_Decoded", progress: Callable[[], object] | None) -> None:
        session, times = self._session, self._times
        unreadable = []
        begin = None
        for t_us in map(int, times):
            frame = decoded.get()
            session.frames += 1
            if progress is not None:
                progress()
            if isinstance(frame, SlamError):
                unreadable.append(str(frame))
                session.missing += 1
                continue
            message, size = frame
            arrival = self._channel.arrival(t_us, size)
            if arrival is None:
                session.not_arrived += 1
                continue
            due = None
            if begin is not None and self._speed:
                due = begin + (t_us - times[0]) * 1e-6 / self._speed
                ready = begin + (arrival - times[0]) * 1e-6 / self._speed
                time.sleep(max(ready - time.monotonic(), 0.0))
            session.submit_frame(t_us, message, due, wait=self._speed == 0)
            if begin is None:  # playback starts once the system has loaded
                session.wait_for_first_answer()
                begin = time.monotonic() - (t_us - times[0]) * 1e-6 / (self._speed or 1.0)
            if session.failed():
                return
        if unreadable:
            session.fail(
                f"{len(unreadable)} {self._what} of the recording are missing: "
                + "; ".join(unreadable[:_MAX_LISTED])
            )
        session.finish()

    def _decode(self, decoded: "_Decoded", stop: threading.Event) -> None:
        for index, t_us in enumerate(map(int, self._times)):
            if stop.is_set():
                return
            try:
                decoded.put(self._frame(index, t_us))
            except SlamError as error:
                decoded.put(error)

    def _frame(self, index: int, t_us: int) -> tuple[bytes, int]:
        """Returns the message of a frame, and the size of what the channel carries."""
        dataset = self._dataset
        if "lidar" in self._inputs:
            assert dataset.scans is not None  # frame_times() has found it
            points = dataset.scans.points(index)
            return link.pack_scan(t_us, points), points.nbytes
        depth = link.pack_depth(t_us, dataset.depth(index)) if "depth" in self._inputs else b""
        left, right = dataset.pair(index)
        return depth + link.pack(t_us, left, right), left.nbytes + right.nbytes
