"""Landing targets: where a vehicle shall land, from LANDING_TARGET.

As PX4 v1.15's landing_target_estimator: angles to the target become a relative position by the
distance to the ground, and a filter of position and velocity for each horizontal axis smoothes it.
The velocity relative to a stationary target (LTEST_MODE 1) aids the vehicle's estimator. A position
that the message has is taken as it is.
"""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.quaternion import rotate

from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock

PERIOD_US = 20_000  # of the filter's prediction, as in PX4 [us]
TIMEOUT_US = 2_000_000  # the filter begins anew after so long without a measurement [us]
STATIONARY = 1  # LTEST_MODE of a target that does not move: it measures the vehicle's velocity
_OUTLIER = 3.84  # test ratio beyond which a measurement is rejected: 5 % of the good ones
_NEVER = -(1 << 62)
_SHALLOW = 1e-6  # vertical part of a ray to the target, below which there is no position

TARGET = np.dtype(
    [
        ("pos", "f8", (3,)),  # world [m]
        ("t", "i8"),  # of the measurement [us]
        ("new", "?"),  # not looked at yet
        # The filter: position relative to the vehicle and its rate, east and north.
        ("running", "?"),
        ("relative", "f8", (2, 2)),  # axis; position [m], velocity [m/s]
        ("variance", "f8", (2, 2, 2)),  # axis; its covariance
        ("predicted_t", "i8"),  # [us]
        ("updated_t", "i8"),  # last measurement that was accepted [us]
    ],
    align=True,
)


class LandingTargets(Memory):
    """The landing target of each vehicle of a fleet.

    Attributes:
        records: (N,) of TARGET.
    """

    MEMORY = ("records",)

    def __init__(
        self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator, clock: StepClock
    ) -> None:
        """No target has been seen; status: (N,) of VEHICLE_STATUS."""
        self._status, self._parameters = status, parameters
        self._estimator, self._clock = estimator, clock
        self.records = np.zeros(len(status), dtype=TARGET)
        self.records["t"] = _NEVER
        self.remember_start()

    def take_position(self, i: int, t_us: int, pos: np.ndarray) -> None:
        """The target of vehicle i was at pos (3,), world [m], at a time [us]."""
        record = self.records[i]
        record["pos"], record["t"], record["new"] = pos, min(t_us, self._clock.t_us), True

    def take_angles(self, i: int, forward: float, right: float) -> bool:
        """The target was seen by a sensor of vehicle i at tangents forward and right of its axis.

        Returns:
            Whether it counts: the distance to the ground is known.
        """
        estimator = self._estimator
        height = float(estimator.pos[i, 2] - estimator.terrain[i])
        if not math.isfinite(height) or not (math.isfinite(forward) and math.isfinite(right)):
            return False
        qx, qy, qz, qw = estimator.quat[i]
        x, y, z = rotate(qx, qy, qz, qw, *self._ray(i, forward, right))
        if abs(z) < _SHALLOW:
            return False
        down = height - self._get(i, "LTEST_SENS_POS_Z")
        # PX4 adds the sensor's place in the world's axes, not in the vehicle's.
        east = -x / z * down + self._get(i, "LTEST_SENS_POS_Y")
        north = -y / z * down + self._get(i, "LTEST_SENS_POS_X")
        self._measure(i, (east, north), down)
        return True

    def step(self) -> None:
        """Predicts the filters of the vehicles for which PERIOD_US ends now."""
        running = self.records["running"]
        if not np.count_nonzero(running):
            return
        for i in np.flatnonzero(running & self._clock.due(PERIOD_US)):
            if self._clock.t_us - self.records["updated_t"][i] > TIMEOUT_US:
                self.records["running"][i] = False
            else:
                self._predict(i)

    def _ray(self, i: int, forward: float, right: float) -> tuple[float, float, float]:
        """The ray to the target in the body's axes, forward, left and up."""
        turn = math.radians(45.0 * self._get(i, "LTEST_SENS_ROT"))  # clockwise from above
        x = forward * self._get(i, "LTEST_SCALE_X")
        y = right * self._get(i, "LTEST_SCALE_Y")
        c, s = math.cos(turn), math.sin(turn)
        return c * x - s * y, -(s * x + c * y), -1.0

    def _measure(self, i: int, relative: Sequence[float], down: float) -> None:
        record, now = self.records[i], self._clock.t_us
        if not record["running"]:
            record["relative"][:, 0], record["relative"][:, 1] = (
                relative,
                -self._estimator.vel[i, :2],
            )
            record["variance"] = np.diag(
                [self._get(i, "LTEST_POS_UNC_IN"), self._get(i, "LTEST_VEL_UNC_IN")]
            )
            record["running"] = True
            record["predicted_t"] = record["updated_t"] = now
            return
        noise = self._get(i, "LTEST_MEAS_UNC") * down * down
        accepted = [update(record, axis, relative[axis], noise) for axis in range(2)]
        if not all(accepted):
            return
        record["predicted_t"] = record["updated_t"] = now
        place = self._estimator.pos[i] + (*record["relative"][:, 0], -down)
        self.take_position(i, now, place)
        if self._get(i, "LTEST_MODE") == STATIONARY:
            variance = np.ascontiguousarray(record["variance"][:, 1, 1])
            self._estimator.fuse_velocity(i, -record["relative"][:, 1], variance)

    def _predict(self, i: int) -> None:
        record, now = self.records[i], self._clock.t_us
        dt = (now - record["predicted_t"]) * 1e-6
        noise = self._get(i, "LTEST_ACC_UNC")
        for axis in range(2):
            predict(record, axis, -float(self._status["acc_filtered"][i, axis]), noise, dt)
        record["predicted_t"] = now

    def _get(self, i: int, name: str) -> float:
        return self._parameters.get(i, name)


def predict(record: Record, axis: int, acc: float, noise: float, dt: float) -> None:
    """Predicts one axis of a filter.

    Args:
        record: Of TARGET.
        axis: 0 or 1.
        acc: Acceleration of the target relative to the vehicle [m/s^2].
        noise: Variance of that [(m/s^2)^2].
        dt: Length of the step [s].
    """
    record["relative"][axis, 0] += record["relative"][axis, 1] * dt + 0.5 * dt * dt * acc
    record["relative"][axis, 1] += acc * dt
    moved = np.array([[1.0, dt], [0.0, 1.0]])
    gain = np.array([0.5 * dt * dt, dt])
    variance = record["variance"][axis]
    record["variance"][axis] = moved @ variance @ moved.T + noise * np.outer(gain, gain)


def update(record: Record, axis: int, measured: float, noise: float) -> bool:
    """Corrects one axis of a filter by a measured position; False where that is an outlier.

    Args:
        record: Of TARGET.
        axis: 0 or 1.
        measured: [m].
        noise: Variance of that [m^2].
    """
    variance = record["variance"][axis].copy()
    residual = measured - record["relative"][axis, 0]
    total = variance[0, 0] + noise
    if residual * residual > _OUTLIER * total:
        return False
    gain = variance[:, 0] / total
    record["relative"][axis] += gain * residual
    record["variance"][axis] = variance - np.outer(gain, variance[0])
    return True
