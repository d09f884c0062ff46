"""One system under test at work: fed with pairs, listened to, watched."""

import collections
import math
import os
import queue
import subprocess
import threading
import time
from pathlib import Path

from ..datasets import formats
from ..errors import SlamError
from . import link
from .monitor import Monitor

_QUEUE = 4  # pairs that may wait for the system; the next one is dropped
HANG_S = 10.0  # wall time without an answer after which a system counts as hanging [s]
_START = 3.0  # times as long it has for the answer to the first pair
JUMP_M, JUMP_MPS = 1.0, 20.0  # a step beyond JUMP_M + JUMP_MPS dt is no motion but a jump
_ROOM_S = 2e-3  # between two looks for room for a pair [s]
_END = None


class Session:
    """A process on the link. Its files stand in a folder, each line as soon as it is known.

    Attributes:
        reason: Why the run is no good; empty while it is.
        sent, dropped, answers, lost: Pairs so far: handed over, not taken in time, answered,
            answered without a pose.
        frames, not_arrived, missing: Pairs of the recording so far, and those that the channel or
            the recording lost; counted by whoever feeds the session.
        latencies: Wall time from a pair's moment to its answer, one each [s].
        monitor: CPU and memory of the process tree.
        begin_s: On the monitor's clock, when the first pair had been answered [s].
        on_answer: Called with each link.Answer, by the thread that listens; None at first.
    """

    def __init__(self, process: subprocess.Popen, folder: Path, log, hang_s: float = HANG_S):
        """Takes over a process that runner.start has started.

        Args:
            process: The system.
            folder: For estimate.tum, frames.csv and usage.csv.
            log: Text file for what it says beside its answers.
            hang_s: Without an answer for so long it counts as hanging; three times as long before
                the first one, as it may load for long [s].

        Raises:
            SlamError: A file cannot be written.
        """
        folder = Path(folder)
        self._process, self._log, self._hang_s = process, log, hang_s
        self._estimate = formats.LineFile(folder / "estimate.tum")
        self._frames = formats.LineFile(folder / "frames.csv", "t_us,latency_s,lost,features")
        self.sent = self.dropped = self.answers = self.lost = 0
        self.frames = self.not_arrived = self.missing = 0
        self.latencies = []
        self._features = 0
        self.reason = ""
        self.begin_s = 0.0
        self.on_answer = None
        self._over = False  # the reason ends the run at once
        self._due = {}  # t_us: wall time at which the pair was due [s]
        self._readings = collections.deque()  # (t_us, message) of the IMU that no pair has taken
        self._newest_us = -1  # of the pairs that were handed over
        self._last = None  # t_us and place of the last pose
        self._heard = time.monotonic()
        self._queue = queue.Queue(_QUEUE)
        self._ready = threading.Event()
        self.monitor = Monitor(process.pid, folder / "usage.csv")
        self._listener = threading.Thread(target=self._listen, daemon=True)
        threading.Thread(target=self._feed, daemon=True).start()
        self._listener.start()

    def imu(self, t_us: int, gyro, accel) -> None:
        """Adds a reading, which goes before the first pair that is no older: (3,) and (3,).

        Readings may come long before their pair, as images take their time. One that comes after
        such a pair has gone is left out, as the system would get it out of order.
        """
        if t_us > self._newest_us:
            self._readings.append((t_us, link.pack_imu(t_us, gyro, accel)))

    def offer(self, t_us: int, left, right, depth=None, due: float | None = None,
              wait: bool = False) -> None:
        """Hands a pair over; where too many wait already it is dropped, and its IMU kept.

        Args:
            t_us: Of the exposure.
            left, right: (H, W) uint8.
            depth: (H, W) float32 [m], or None.
            due: Wall time by time.monotonic() from which the latency counts; now, if None [s].
            wait: Until there is room, or the system has failed; then no pair is dropped.
        """
        readings, count = self._readings, 0
        while count < len(readings) and readings[count][0] <= t_us:
            count += 1
        parts = [readings[i][1] for i in range(count)]
        if depth is not None:
            parts.append(link.pack_depth(t_us, depth))
        parts.append(link.pack(t_us, left, right))
        while wait and self._queue.full() and not self.failed():
            time.sleep(_ROOM_S)
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

    def await_first(self) -> None:
        """Waits for the first answer: a system may load for long."""
        while not self._ready.wait(0.02) and not self.failed():
            pass
        self.begin_s = self.monitor.now()

    def mark(self, reason: str, over: bool = False) -> None:
        """Says why the run is no good; the first reason counts.

        Args:
            reason: In words.
            over: Whether the run ends here.
        """
        self.reason = self.reason or reason
        self._over = self._over or over

    def alive(self) -> bool:
        """Whether the system's process goes on."""
        return self._process.poll() is None

    def failed(self) -> bool:
        """Whether the run is over before its time."""
        status = self._process.poll()
        if status is not None:
            self.mark(f"ended with status {status} in mid-flight", over=True)
        elif time.monotonic() - self._heard > self._patience():
            self.mark(f"no answer for {self._patience():g} s", over=True)
        return self._over

    def finish(self) -> None:
        """No more pairs come: waits for the last answers and the end of the process."""
        end = time.monotonic() + self._hang_s
        try:
            self._queue.put(_END, timeout=self._hang_s)
            status = self._process.wait(max(end - time.monotonic(), 0.1))
        except (queue.Full, subprocess.TimeoutExpired):
            self.mark(f"did not end within {self._hang_s:g} s of the last pair")
            return
        self._listener.join(5.0)
        if status != 0:
            self.mark(f"ended with status {status}")
        elif self.answers == self.lost:
            self.mark("never gave a pose")

    def mean_features(self) -> float | None:
        """Features per answer, as the system tells them; None where it tells of none."""
        return round(self._features / self.answers, 1) if self._features else None

    def close(self) -> None:
        """Ends the process and all that it started, and the files."""
        try:
            os.killpg(self._process.pid, 9)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._listener.join(5.0)
        self.monitor.close()
        for file in (self._estimate, self._frames):
            file.close()
        if self.monitor.failure:
            self.mark(self.monitor.failure)

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
            try:
                if answer is None:
                    self._log.write(text)
                else:
                    self._take(answer, text.strip())
            except (SlamError, OSError) as error:  # the disk is full
                self.mark(str(error), over=True)

    def _take(self, answer, text):
        now = self._heard = time.monotonic()
        self._ready.set()
        latency = now - self._due.get(answer.t_us, now)
        self.answers += 1
        self.latencies.append(latency)
        self._features += answer.features
        known = answer.pose is not None and answer.finite
        self.lost += not known
        if not answer.finite:
            self.mark(f"a pose that is none at {answer.t_us * 1e-6:.2f} s: {text}", over=True)
        if known:
            self._check_step(answer.t_us, answer.pose[:3])
            self._estimate.write(formats.tum_line(answer.t_us, answer.pose[:3], answer.pose[3:]))
        self._frames.write(f"{answer.t_us},{latency:.4f},{int(not known)},{answer.features}")
        if self.on_answer is not None:
            self.on_answer(answer)

    def _check_step(self, t_us, place):
        if self._last is not None:
            step = math.dist(place, self._last[1])
            dt = abs(t_us - self._last[0]) * 1e-6
            if step > JUMP_M + JUMP_MPS * dt:
                self.mark(f"jumped {step:.1f} m in {dt:.2f} s at {t_us * 1e-6:.2f} s")
        self._last = t_us, place

    def _patience(self):
        return self._hang_s * (1.0 if self._ready.is_set() else _START)
