"""Visual-inertial odometry: IMU readings and images in, poses out."""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_slam.datasets.calibration import Calibration, Imu

from . import start
from .msckf import Filter, Frame, Rig
from .propagation import VELOCITY, preintegrate
from .start import Readings
from .state import Pose, Prior, State
from .tracker import Tracker

_REST_S = 0.3  # time at rest from which the start is one at rest [s]
_LEAST, _WINDOW = {1: 12, 2: 6}, {1: 25, 2: 12}  # images of a start in flight, by cameras
_HELD = 0.02  # standard deviation of the velocity at rest [m/s]
_EVERY = {1: 4, 2: 1}  # images from one try to start in flight to the next
# Points that contradict the filter, of those of the last images, from which it starts again.
_CONTRADICTIONS, _VERDICTS = 25, 12
_REJECTED = 3.0  # rejected points for each that is used: a start that is not needed costs much
_UNSURE = 0.3  # deviation of the velocity from which on the pose counts as lost [m/s]


@dataclass(frozen=True)
class Settings:
    """How an odometry works."""

    cameras: int = 2  # or 1 for the left one alone
    features: int = 160  # corners in an image
    clones: int = 12  # poses in the filter's window
    landmarks: int = 40  # points in the filter's state
    noise: float = 0.4  # standard deviation of a corner [pixels]
    inflation: float = 1.0  # factor on the IMU's noise, for what its calibration leaves out
    threads: int = 1  # of OpenCV

    @classmethod
    def of(cls, cameras: int) -> "Settings":
        """Returns the usual ones for so many cameras.

        One camera has no landmarks: their distances are too uncertain when they would be made.
        """
        return cls() if cameras == 2 else cls(cameras=cameras, landmarks=0, noise=0.5)


class VisualInertialOdometry:
    """Takes IMU readings and images of one or two cameras.

    Its world is level, its origin is the place of the first image that it uses. Where most points
    contradict the filter, it starts again in flight, at the place and heading that it had.

    Attributes:
        started: "" before the start, then "rest" or "flight".
    """

    def __init__(self, calibration: Calibration, settings: Settings | None = None) -> None:
        """Waits for the first image.

        Args:
            calibration: Of the cameras, and the IMU's noise.
            settings: How it works.
        """
        given = settings or Settings()
        cameras = given.cameras
        lenses = (calibration.left, calibration.right)[:cameras]
        self.started = ""
        self._rig = Rig.of([camera.pose for camera in lenses])
        self._tracker = Tracker(calibration, cameras, given.features, given.threads)
        self._deviation = given.noise / calibration.left.intrinsics[0]
        self._imu = _inflated(calibration.imu, given.inflation)
        self._clones, self._landmarks = given.clones, given.landmarks
        self._readings: deque[tuple[float, np.ndarray, np.ndarray]] = deque()
        self._filter: Filter | None = None
        self._last: float | None = None  # time of the last image
        # Of the images before the start: points, readings up to each, ways [pixels].
        self._frames: list[Frame] = []
        self._between: list[Readings] = []
        self._moved: list[float] = []
        self._at_rest = False
        self._images = 0  # so far
        self._begun = 0.0  # deviation of the velocity at the start [m/s]
        self._origin = np.eye(4)  # of the filter's world, moved by each start but the first
        self._verdicts: deque[tuple[int, int]] = deque(maxlen=_VERDICTS)  # points used, rejected

    @property
    def state(self) -> State | None:
        """The estimate at the last image; None before the start."""
        return None if self._filter is None else self._filter.state

    def imu(self, t: float, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: time [s], (3,) [rad/s], (3,) [m/s^2]."""
        self._readings.append((t, np.array(gyro), np.array(accel)))

    def images(
        self, t: float, left: np.ndarray, right: np.ndarray
    ) -> tuple[np.ndarray | None, int]:
        """Takes the images of a time; the readings up to it have been taken.

        Args:
            t: Time of the exposure [s].
            left, right: (H, W) uint8; the right one is not used with one camera.

        Returns:
            (4, 4) body to world, or None before the start and where nothing has been seen for too
            long; and the number of points that were used.
        """
        self._images += 1
        readings = None if self._last is None else held(self._readings, self._last, t)
        self._last = t
        frame = self._tracker.step(left, right, self._turn(readings))
        if self._filter is None:
            if readings is not None:
                self._between.append(readings)
                self._moved.append(self._tracker.moved)
            self._frames.append(frame)
            self._try_to_start()
            if self._filter is None:
                return None, 0
        else:
            assert readings is not None  # it has been started by images
            self._correct(self._filter, readings, frame, self._tracker.moved)
        pose, used = self._pose(self._filter.state), self._filter.used
        unsure = self._unsure(self._filter.state)
        if self._contradicted(self._filter):
            self._start_again(pose, frame)
        return (None, 0) if unsure else (pose, used)

    def _unsure(self, state: State) -> bool:
        """Returns whether the IMU has moved the state on alone for too long."""
        variance = state.covariance[VELOCITY, VELOCITY].diagonal().max()
        return not self._at_rest and bool(variance > max(_UNSURE, self._begun) ** 2)

    def _pose(self, state: State) -> np.ndarray:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = state.rotation, state.position
        return self._origin @ pose

    def _contradicted(self, own: Filter) -> bool:
        """Returns whether most of the last points contradicted the filter."""
        self._verdicts.append((own.used, len(own.rejected)))
        used, rejected = np.sum(self._verdicts, axis=0)
        return bool(rejected >= _CONTRADICTIONS and rejected > _REJECTED * used)

    def _start_again(self, pose: np.ndarray, frame: Frame) -> None:
        """Forgets the filter; the next one begins level at its place and heading."""
        self._filter = None
        self._verdicts.clear()
        self._frames = [frame]
        self._origin = np.eye(4)
        heading = np.arctan2(pose[1, 0], pose[0, 0])
        self._origin[:3, :3] = Rotation.from_rotvec([0.0, 0.0, heading]).as_matrix()
        self._origin[:3, 3] = pose[:3, 3]

    def _correct(self, own: Filter, readings: Readings, frame: Frame, moved: float) -> None:
        own.state.propagate(readings.times, readings.gyro, readings.accel)
        if self._at_rest:
            self._at_rest = start.at_rest(readings, [moved]) is not None
            if self._at_rest:
                own.hold(_HELD)
        own.update(frame)
        self._tracker.forget(own.rejected)

    def _turn(self, readings: Readings | None) -> np.ndarray:
        """Returns how the left camera's frame turned along readings (3, 3)."""
        if readings is None:
            return np.eye(3)
        bias = np.zeros(3) if self._filter is None else self._filter.state.gyro_bias
        rotation, way = np.empty((3, 3)), np.empty(3)
        preintegrate(readings.times, readings.gyro - bias, readings.accel, rotation, way)
        camera = self._rig.rotations[0]
        return camera.T @ rotation.T @ camera

    def _try_to_start(self) -> None:
        """Starts the filter where the images so far allow it, and gives them to it."""
        if len(self._frames) < 2:
            return
        cameras = len(self._rig.positions)
        whole = joined(self._between)
        pose = None
        if whole.times[-1] - whole.times[0] >= _REST_S:
            pose = start.at_rest(whole, self._moved)
        if pose is not None:
            self._begin("rest", pose, start.AT_REST)
        elif len(self._frames) >= _LEAST[cameras] and self._images % _EVERY[cameras] == 0:
            found = start.in_flight(self._rig, self._frames, self._between, self._deviation)
            if found is not None:
                self._begin("flight", *found)
        if self._filter is None and len(self._frames) >= _WINDOW[cameras]:
            del self._frames[0], self._between[0], self._moved[0]

    def _begin(self, how: str, pose: Pose, prior: Prior) -> None:
        self.started, self._at_rest = how, how == "rest"
        self._begun = prior.velocity
        state = State(pose, prior, self._imu)
        own = self._filter = Filter(
            state, self._rig, self._deviation, self._clones, self._landmarks
        )
        own.update(self._frames[0])
        for readings, frame, moved in zip(
            self._between, self._frames[1:], self._moved, strict=True
        ):
            self._correct(own, readings, frame, moved)
        self._frames, self._between, self._moved = [], [], []


def held(
    readings: deque[tuple[float, np.ndarray, np.ndarray]], begin: float, end: float
) -> Readings:
    """Returns the means of readings between their times, from one time to another.

    Args:
        readings: Time [s], (3,) [rad/s] and (3,) [m/s^2] of each; those before the last one up to
            the end are taken away.
        begin, end: [s]
    """
    if not readings:
        return Readings(np.array([begin, end]), np.zeros((1, 3)), np.zeros((1, 3)))
    at = np.array([t for t, _, _ in readings])
    table = np.array([np.concatenate([gyro, accel]) for _, gyro, accel in readings])
    inside = at[(at > begin + 1e-6) & (at < end - 1e-6)]
    times = np.concatenate([[begin], inside, [end]])
    values = np.column_stack([np.interp(times, at, column) for column in table.T])
    means = 0.5 * (values[1:] + values[:-1])
    while len(readings) > 1 and readings[1][0] <= end:
        readings.popleft()
    return Readings(times, means[:, :3].copy(), means[:, 3:].copy())


def joined(parts: list[Readings]) -> Readings:
    """Returns readings one after the other."""
    return Readings(
        np.concatenate([parts[0].times[:1], *(part.times[1:] for part in parts)]),
        np.concatenate([part.gyro for part in parts]),
        np.concatenate([part.accel for part in parts]),
    )


def _inflated(imu: Imu, factor: float) -> Imu:
    return replace(
        imu,
        gyroscope_noise_density=factor * imu.gyroscope_noise_density,
        accelerometer_noise_density=factor * imu.accelerometer_noise_density,
    )
