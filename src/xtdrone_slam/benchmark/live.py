"""A live flight: messages from topics are recorded and passed on to the system under test."""

import threading
import time
from collections import deque
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from ..datasets.dataset import DatasetWriter
from ..errors import SlamError
from .channel import Channel
from .session import Session
from .stereo_pairs import StereoPairs

MIN_HEIGHT = 0.5  # height between take-off and landing at which a flight counts [m]


class LiveRun:
    """Pairs the images and orders IMU readings and truth. Its methods are thread-safe.

    Attributes:
        landed: Set when the vehicle has come down again.
        last_message_s: Wall time of the last image or true pose, by time.monotonic() [s].
    """

    def __init__(
        self,
        writer: DatasetWriter,
        session: Session,
        channel: Channel,
        imu_pos: npt.ArrayLike,
        period_us: int,
    ) -> None:
        """Waits for the vehicle to take off.

        Args:
            writer: Records all messages.
            session: Gets the pairs that the channel delivers, and the IMU.
            channel: The image link.
            imu_pos: (3,) IMU relative to the centre of gravity, body [m].
            period_us: Period of the camera, from which missing pairs are counted.
        """
        self._writer, self._session, self._channel = writer, session, channel
        self._imu_pos, self._period_us = np.array(imu_pos), period_us
        self._lock = threading.RLock()
        self._flying = False
        self._pairs = StereoPairs()
        # Arrival, t_us, left, right and due time of pairs that the channel delays.
        self._in_transit: deque[tuple[int, int, np.ndarray, np.ndarray, float]] = deque()
        self._last_us: int | None = None  # time of the last pair
        self.landed = threading.Event()
        self.last_message_s = time.monotonic()

    def truth(
        self, t_us: int, pos: np.ndarray, quat: np.ndarray, vel: np.ndarray, rate: np.ndarray
    ) -> None:
        """Takes the true state: centre of gravity, xyzw, velocity (world), body rates [rad/s]."""
        with self._lock:
            self.last_message_s = time.monotonic()
            if not self._flying and not self.landed.is_set() and pos[2] > MIN_HEIGHT:
                self._flying = True
            elif self._flying and pos[2] < MIN_HEIGHT:
                self._flying = False
                self.landed.set()
            self._deliver(t_us)
            if self._flying:
                attitude = Rotation.from_quat(quat)
                self._write(
                    self._writer.truth,
                    t_us,
                    pos + attitude.apply(self._imu_pos),
                    quat,
                    vel + attitude.apply(np.cross(rate, self._imu_pos)),
                )

    def imu(self, t_us: int, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: (3,) [rad/s] and (3,) [m/s^2], body."""
        with self._lock:
            if self._flying:
                self._session.imu(t_us, gyro, accel)
                self._write(self._writer.imu, t_us, gyro, accel)

    def image(self, side: str, t_us: int, pixels: np.ndarray) -> None:
        """Takes an image (H, W) uint8 of the left or right camera."""
        with self._lock:
            self.last_message_s = time.monotonic()
            if not self._flying:
                return
            pair = self._pairs.add(side, t_us, pixels)
            if pair is not None:
                self._pair(*pair)

    def close(self) -> None:
        """Delivers the pairs still in transit and ends the recording."""
        with self._lock:
            self._flying = False
            self._deliver(None)
            self._writer.close()

    def _pair(self, t_us: int, left: np.ndarray, right: np.ndarray) -> None:
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
            self._in_transit.append((arrival, t_us, left, right, time.monotonic()))
            self._deliver(t_us)
        self._write(self._writer.images, t_us, left, right)

    def _deliver(self, now_us: int | None) -> None:
        """Submits the pairs that have arrived by now_us; None: all."""
        while self._in_transit and (now_us is None or self._in_transit[0][0] <= now_us):
            _, t_us, left, right, due = self._in_transit.popleft()
            self._session.submit(t_us, left, right, due=due)

    def _write(self, method: Callable[..., None], *values: object) -> None:
        try:
            method(*values)
        except SlamError as error:  # for example a full disk: the run becomes invalid
            self._session.fail(str(error), abort=True)
