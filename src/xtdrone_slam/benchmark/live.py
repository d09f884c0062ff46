"""A live flight as a system sees it: what comes over topics is recorded and handed on."""

import threading
import time
from collections import deque

import numpy as np
from scipy.spatial.transform import Rotation

from ..datasets.dataset import DatasetWriter
from ..errors import SlamError
from .channel import Channel
from .session import Session

ABOVE = 0.5  # of the ground: from here on, and down to here, a flight counts [m]


class LiveRun:
    """Puts pairs, IMU readings and truth into order; its methods may be called by any thread.

    Attributes:
        over: Set when the vehicle has come down again.
        heard: Wall time of the last image or true pose, by time.monotonic() [s].
    """

    def __init__(self, writer: DatasetWriter, session: Session, channel: Channel, imu_pos,
                 period_us: int):
        """Waits for the vehicle to rise.

        Args:
            writer: Gets everything.
            session: Gets the pairs that the channel lets through, and the IMU.
            channel: The way of the images.
            imu_pos: (3,) from the centre of gravity, body [m].
            period_us: Of the camera; what is missing in between is counted.
        """
        self._writer, self._session, self._channel = writer, session, channel
        self._imu_pos, self._period_us = np.array(imu_pos), period_us
        self._lock = threading.RLock()
        self._flying = False
        self._waiting = {"left": {}, "right": {}}  # images whose other has not come, by time
        self._on_the_way = deque()  # (arrival, t_us, left, right) that the channel delays
        self._last_us = None  # of the last pair
        self.over = threading.Event()
        self.heard = time.monotonic()

    def truth(self, t_us: int, pos, quat, vel, rate) -> None:
        """The true state: centre of gravity [m], xyzw, velocity (world) and rate (body) [rad/s]."""
        with self._lock:
            self.heard = time.monotonic()
            if not self._flying and not self.over.is_set() and pos[2] > ABOVE:
                self._flying = True
            elif self._flying and pos[2] < ABOVE:
                self._flying = False
                self.over.set()
            self._deliver(t_us)
            if self._flying:
                turn = Rotation.from_quat(quat)
                self._write("truth", t_us, pos + turn.apply(self._imu_pos), quat,
                            vel + turn.apply(np.cross(rate, self._imu_pos)))

    def imu(self, t_us: int, gyro, accel) -> None:
        """A reading: (3,) [rad/s] and (3,) [m/s^2], body."""
        with self._lock:
            if self._flying:
                self._session.imu(t_us, gyro, accel)
                self._write("imu", t_us, gyro, accel)

    def image(self, side: str, t_us: int, pixels: np.ndarray) -> None:
        """An image (H, W) uint8 of the left or right camera."""
        with self._lock:
            self.heard = time.monotonic()
            if not self._flying:
                return
            self._waiting[side][t_us] = pixels
            for t_us in sorted(set(self._waiting["left"]) & set(self._waiting["right"])):
                self._pair(t_us, self._waiting["left"].pop(t_us), self._waiting["right"].pop(t_us))

    def close(self) -> None:
        """Hands over what is still on its way, and ends the recording."""
        with self._lock:
            self._flying = False
            self._deliver(None)
            self._writer.close()

    def _pair(self, t_us, left, right):
        session = self._session
        if self._last_us is not None:
            gap = round((t_us - self._last_us) / self._period_us) - 1
            session.frames += gap
            session.missing += gap
        self._last_us = t_us
        session.frames += 1
        arrival = self._channel.arrival(t_us, left.nbytes + right.nbytes)
        if arrival is None:
            session.not_arrived += 1
        else:
            self._on_the_way.append((arrival, t_us, left, right, time.monotonic()))
            self._deliver(t_us)
        self._write("images", t_us, left, right)

    def _deliver(self, now_us):
        """Hands over what has arrived by now; None: everything."""
        while self._on_the_way and (now_us is None or self._on_the_way[0][0] <= now_us):
            _, t_us, left, right, due = self._on_the_way.popleft()
            self._session.offer(t_us, left, right, due=due)

    def _write(self, what, *values):
        try:
            getattr(self._writer, what)(*values)
        except SlamError as error:  # the disk is full: the system goes on, the run is marked
            self._session.mark(str(error), over=True)
