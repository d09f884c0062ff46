"""Set-points of OFFBOARD, from Agents and from MAVLink clients."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import KEEP, SetPoints
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit

from ..errors import AutopilotError
from ..state.clock import StepClock
from ..state.outbox import Outbox
from ..state.vehicle_status import ACTUATORS, ATTITUDE, NO_SET_POINT, RATES, TRAJECTORY

_TAKEN, _NO_THRUST, _SIDE_FORCE = range(3)  # answers of _take


@njit
def _any_finite(vector: np.ndarray) -> bool:
    for x in vector:  # noqa: SIM110  (compiled code knows no generators)
        if math.isfinite(x):
            return True
    return False


@njit
def _level(set_point: Record, actuators: np.ndarray, own: np.ndarray) -> int:
    """The kind of set-point that s, one record of SET_POINT, and actuators (A,) give.

    Actuators of `own` (A,) alone, such as the servos of an arm, leave the others to a higher level.
    """
    for k in range(actuators.shape[0]):
        if math.isfinite(actuators[k]) and not own[k]:
            return ACTUATORS
    if math.isfinite(set_point.quat[0]):
        return ATTITUDE
    if _any_finite(set_point.rates):
        return RATES
    if _any_finite(set_point.pos) or _any_finite(set_point.vel) or _any_finite(set_point.acc):
        return TRAJECTORY
    return ACTUATORS if _any_finite(actuators) else NO_SET_POINT


@njit
def _take(
    vehicle: Record,
    set_point: Record,
    actuators: np.ndarray,
    own: np.ndarray,
    kept: np.ndarray,
    t_us: int,
) -> int:
    """One vehicle's set-point into its status; kept (A,) holds its actuator commands."""
    kind = _level(set_point, actuators, own)
    for k in range(kept.shape[0]):
        if own[k] and math.isfinite(actuators[k]):
            kept[k] = actuators[k]
    if kind == NO_SET_POINT:
        return _TAKEN
    if kind == ACTUATORS:
        for k in range(kept.shape[0]):
            kept[k] = actuators[k]
    elif kind == TRAJECTORY:
        for k in range(3):
            vehicle.offboard_pos[k] = set_point.pos[k]
            vehicle.offboard_vel[k] = set_point.vel[k]
            vehicle.offboard_acc[k] = set_point.acc[k]
        vehicle.offboard_yaw = set_point.yaw
        vehicle.offboard_yaw_rate = set_point.yaw_rate
    else:
        if not math.isfinite(set_point.force[2]):
            return _NO_THRUST
        for k in range(2):
            if (
                math.isfinite(set_point.force[k])
                and set_point.force[k] != 0.0
                and not vehicle.fully_actuated
            ):
                return _SIDE_FORCE
        for k in range(2):
            vehicle.offboard_side_force[k] = (
                set_point.force[k] if math.isfinite(set_point.force[k]) else 0.0
            )
        for k in range(3):
            vehicle.offboard_rates[k] = (
                set_point.rates[k] if math.isfinite(set_point.rates[k]) else 0.0
            )
        if kind == ATTITUDE:
            for k in range(4):
                vehicle.offboard_quat[k] = set_point.quat[k]
            vehicle.offboard_yaw_rate = set_point.yaw_rate
        vehicle.offboard_thrust = max(set_point.force[2], 0.0)
    vehicle.offboard_kind = kind
    vehicle.offboard_t = t_us
    vehicle.offboard_count += 1
    return _TAKEN


@fleet_kernel
def _take_all(
    status: np.ndarray,
    set_points: np.ndarray,
    actuators: np.ndarray,
    own: np.ndarray,
    kept: np.ndarray,
    t_us: int,
    answers: np.ndarray,
) -> bool:
    """The set-points of a fleet; answers (N,) holds error codes. Returns whether any is set."""
    wrong = False
    for i in range(status.shape[0]):
        answers[i] = _take(status[i], set_points[i], actuators[i], own[i], kept[i], t_us)
        wrong = wrong or answers[i] != _TAKEN
    return wrong


_WHY = {
    _NO_THRUST: "an attitude or body rates need a force along the body's z axis",
    _SIDE_FORCE: "a force across the body's z axis cannot be flown: its rotors all push along z",
}


class Offboard(Memory):
    """Takes set-points and requests of a fleet.

    Attributes:
        actuators: (N, A) commands that are flown where the set-point is of that level.
        own: (N, A) bool, the actuators that follow them at every level.
        by_actuators: Whether there has been one of that level.
    """

    MEMORY = ("actuators", "by_actuators")

    def __init__(
        self,
        status: np.ndarray,
        on_requests: Callable[[SetPoints], None],
        own: np.ndarray,
        clock: StepClock,
        outbox: Outbox,
    ) -> None:
        """No set-points yet.

        Args:
            status: (N,) of VEHICLE_STATUS.
            on_requests: Called with set-points that ask for a mode, for arming or disarming.
            own: (N, A) of control.output.not_allocated().
            clock: Time of the flight stack.
            outbox: Sends warnings.
        """
        self._status, self._on_requests, self._clock, self._outbox = (
            status,
            on_requests,
            clock,
            outbox,
        )
        n = len(status)
        self.by_actuators = False
        self.own = own
        self.actuators = np.full(own.shape, np.nan)
        self._no_actuators = np.full(own.shape, np.nan)
        self._answers = np.zeros(n, dtype=np.int64)
        self.remember_start()

    def apply(self, set_points: SetPoints) -> None:
        """Takes a fleet's set-points, then its requests to change mode and to arm.

        Raises:
            AutopilotError: Commands for another number of actuators than the fleet has.
        """
        set_point, given = set_points, self._actuators_of(set_points)
        if _take_all(
            self._status,
            set_point.records,
            given,
            self.own,
            self.actuators,
            self._clock.t_us,
            self._answers,
        ):
            for i in np.flatnonzero(self._answers):
                self._outbox.say_once(int(i), f"Set-point ignored: {_WHY[self._answers[i]]}")
        if (set_point.mode != KEEP).any() or (set_point.arm != KEEP).any():
            self._on_requests(set_point)

    def take(self, i: int, set_point: np.void, actuators: np.ndarray | None = None) -> None:
        """Takes a set-point of vehicle i alone.

        Args:
            i: The vehicle.
            set_point: A record of SET_POINT; its mode and arm are ignored.
            actuators: (K,) commands of its first actuators, or None.

        Raises:
            AutopilotError: It cannot be flown.
        """
        given = self._no_actuators[i]
        if actuators is not None:
            given = given.copy()
            given[: len(actuators)] = actuators[: len(given)]
            self.by_actuators = True
        answer = _take(
            self._status[i], set_point, given, self.own[i], self.actuators[i], self._clock.t_us
        )
        if answer != _TAKEN:
            raise AutopilotError(_WHY[answer])

    def set_own(self, i: int, first: int, values: Sequence[float]) -> None:
        """Commands actuators of vehicle i that no loop allocates.

        Args:
            i: The vehicle.
            first: Number of the first of them, from 0.
            values: Commands; not finite = as it is.
        """
        for k, value in zip(np.flatnonzero(self.own[i])[first:], values):
            if math.isfinite(value):
                self.actuators[i, k] = value

    def set_actuator(self, i: int, k: int, value: float) -> None:
        """Commands actuator k of vehicle i, one of those that no loop allocates."""
        self.actuators[i, k] = value

    def _actuators_of(self, set_points: SetPoints) -> np.ndarray:
        if set_points.actuators.shape[1] == 0:
            return self._no_actuators
        if set_points.actuators.shape != self.actuators.shape:
            raise AutopilotError(
                f"actuator commands {set_points.actuators.shape} do not fit: give "
                f"{self.actuators.shape}, a column for each actuator"
            )
        self.by_actuators = True
        return set_points.actuators
