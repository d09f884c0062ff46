"""Throttle and steering of rovers and boats in each mode.

As PX4 v1.15's rover_pos_control (steered wheels and boats) and differential_drive. One difference:
in POSCTL rover_pos_control keeps its last outputs; here the throttle stick commands a speed.
"""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import ROVER
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import rotate_inverse

from ..control.laws import Laws, added_law, with_laws
from ..control.vector import clamp, wrap_pi, yaw_of
from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.vehicle_status import (
    ACTUATORS,
    DIFFERENTIAL,
    EVENT_DISARM_LANDED,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_OFFBOARD_LOST,
    EVENT_TARGET_REACHED,
    NEVER,
    NEW_MODE,
    NO_SET_POINT,
    STEERED,
    TRAJECTORY,
    WATCH_NOTHING,
    WATCH_TIME,
)
from .differential import TURNING, alignment_of, control_differential, drive_to_place
from .mixing import drives, mixing_matrix, set_defaults
from .steered import MIN_DT, follow_line, speed_control

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
POSCTL, OFFBOARD, LOITER, LAND = (
    int(Mode.POSCTL),
    int(Mode.OFFBOARD),
    int(Mode.LOITER),
    int(Mode.LAND),
)
_DEADZONE = 0.1  # deadzone of the throttle stick in POSCTL
_STANDSTILL_SPEED = 0.1  # a lower speed counts as standstill [m/s]


@njit
def _drive_to_target(
    vehicle: Record, params: Record, estimate: Record, yaw: float, speed: float, dt: float
) -> float:
    """Drives to the target (AUTO modes, OFFBOARD with a position); returns its distance [m]."""
    dx, dy = vehicle.target[0] - estimate.pos[0], vehicle.target[1] - estimate.pos[1]
    if vehicle.target[0] != vehicle.drive_target[0] or vehicle.target[1] != vehicle.drive_target[1]:
        vehicle.drive_stage = TURNING
        vehicle.drive_target[0], vehicle.drive_target[1] = vehicle.target[0], vehicle.target[1]
    distance = math.hypot(dx, dy)
    if vehicle.drive == DIFFERENTIAL:
        drive_to_place(
            vehicle,
            params,
            distance,
            wrap_pi(math.atan2(dy, dx) - yaw),
            speed,
            estimate.ang_vel[2],
            dt,
        )
    else:
        follow_line(vehicle, params, estimate, distance, speed)
    return distance


@njit
def _follow_velocity(
    vehicle: Record, params: Record, estimate: Record, yaw: float, speed: float, dt: float
) -> None:
    """Turns along an offboard velocity and drives at its speed."""
    east, north = vehicle.offboard_vel[0], vehicle.offboard_vel[1]
    speed_sp = math.hypot(east, north)
    if not speed_sp > 0.01:  # also False for NaN, without a velocity set-point
        vehicle.throttle = vehicle.steering = 0.0
        return
    heading_error = wrap_pi(math.atan2(north, east) - yaw)
    if vehicle.drive == DIFFERENTIAL:
        alignment = alignment_of(heading_error)
        control_differential(
            vehicle,
            params,
            speed,
            alignment * speed_sp,
            estimate.ang_vel[2],
            (1.0 + params.RDD_P_HEADING) * heading_error,
            True,
            True,
            dt,
        )
    else:
        vehicle.throttle = clamp(
            speed_control(params, speed_sp, speed, MIN_DT), 0.0, params.GND_THR_CRUISE
        )
        vehicle.steering = clamp(-heading_error / params.GND_MAX_ANG, -1.0, 1.0)


@njit
def _follow_sticks(
    vehicle: Record, params: Record, estimate: Record, yaw: float, speed: float, dt: float
) -> None:
    """Applies throttle stick and roll stick in MANUAL, ACRO, STABILIZED and POSCTL."""
    forward, right = vehicle.stick_up, vehicle.stick_right
    if vehicle.drive == DIFFERENTIAL:
        max_speed = params.RDD_WHEEL_SPEED * params.RDD_WHEEL_RADIUS
        max_yaw_rate = max_speed / max(0.5 * params.RDD_WHEEL_BASE, 1e-6)
        control_differential(
            vehicle,
            params,
            speed,
            forward * params.RDD_SPEED_SCALE * max_speed,
            estimate.ang_vel[2],
            -right * params.RDD_ANG_SCALE * max_yaw_rate,
            False,
            vehicle.mode == ACRO,
            dt,
        )
        return
    vehicle.steering, vehicle.throttle = right, forward
    if vehicle.mode == POSCTL:
        speed_sp = 0.0 if abs(forward) <= _DEADZONE else forward * params.GND_SPEED_TRIM
        vehicle.throttle = clamp(
            speed_control(params, speed_sp, speed, MIN_DT), -params.GND_THR_MAX, params.GND_THR_MAX
        )
        if speed_sp == 0.0 and vehicle.drive == STEERED:  # wheels brake without throttle
            vehicle.throttle = 0.0
    elif vehicle.mode == STABILIZED:
        if not math.isfinite(vehicle.drive_yaw):
            vehicle.drive_yaw = yaw
        vehicle.drive_yaw = wrap_pi(
            vehicle.drive_yaw - right * math.radians(params.GND_MAN_Y_MAX) * dt
        )
        vehicle.steering = clamp(-wrap_pi(vehicle.drive_yaw - yaw) / params.GND_MAX_ANG, -1.0, 1.0)
        vehicle.throttle = max(0.0, forward)


@njit
def _watch_target(vehicle: Record, t_us: int, distance: float, reach: float) -> None:
    """Raises EVENT_TARGET_REACHED once the target is reached and its hold time is over."""
    if vehicle.watch == WATCH_NOTHING:
        return
    if vehicle.reached_t == NEVER and (vehicle.watch == WATCH_TIME or distance <= reach):
        vehicle.reached_t = t_us
    if vehicle.reached_t != NEVER and t_us - vehicle.reached_t >= vehicle.hold_s * 1e6:
        vehicle.watch = WATCH_NOTHING
        vehicle.events |= EVENT_TARGET_REACHED


@njit
def _begin_mode(vehicle: Record) -> None:
    """Resets the state of a mode at its entry."""
    vehicle.mode_stage = 0
    vehicle.speed_integral = vehicle.turn_integral = vehicle.drive_speed = 0.0
    vehicle.drive_yaw = math.nan


@njit
def _drive_vehicle(vehicle: Record, params: Record, estimate: Record, t_us: int, dt: float) -> None:
    """Writes throttle and steering of an armed vehicle."""
    if vehicle.mode_stage == NEW_MODE:
        _begin_mode(vehicle)
    yaw = yaw_of(estimate.quat)
    speed = rotate_inverse(
        estimate.quat[0],
        estimate.quat[1],
        estimate.quat[2],
        estimate.quat[3],
        estimate.vel[0],
        estimate.vel[1],
        estimate.vel[2],
    )[0]
    vehicle.sp_kind = TRAJECTORY
    if vehicle.mode in (MANUAL, STABILIZED, ACRO, POSCTL):
        _follow_sticks(vehicle, params, estimate, yaw, speed, dt)
    elif vehicle.mode == OFFBOARD:
        if (t_us - vehicle.offboard_t) * 1e-6 > params.COM_OF_LOSS_T:
            vehicle.events |= EVENT_OFFBOARD_LOST
        vehicle.sp_kind = vehicle.offboard_kind
        if vehicle.offboard_kind == ACTUATORS:
            return
        if math.isfinite(vehicle.offboard_pos[0]):
            for k in range(2):
                vehicle.target[k] = vehicle.offboard_pos[k]
                vehicle.previous[k] = vehicle.following[k] = math.nan
            _drive_to_target(vehicle, params, estimate, yaw, speed, dt)
        else:
            _follow_velocity(vehicle, params, estimate, yaw, speed, dt)
    elif vehicle.mode == LAND:
        vehicle.throttle = vehicle.steering = 0.0
        if abs(speed) < _STANDSTILL_SPEED:
            vehicle.events |= EVENT_DISARM_LANDED
    elif not added_law(vehicle.mode, vehicle, params, estimate, t_us, dt):
        distance = _drive_to_target(vehicle, params, estimate, yaw, speed, dt)
        _watch_target(
            vehicle,
            t_us,
            distance,
            vehicle.reach
            if vehicle.drive == DIFFERENTIAL
            else max(vehicle.reach, params.GND_L1_DIST),
        )
    if (
        vehicle.failsafe
        and vehicle.mode == LOITER
        and (t_us - vehicle.mode_t) * 1e-6 > params.COM_FAIL_ACT_T
    ):
        vehicle.events |= EVENT_FAILSAFE_DELAY_OVER


@njit
def _drive_fleet(
    status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray, t_us: int, dt: float
) -> int:
    """Steps all rovers and boats; returns the union of their EVENT_ bits."""
    events = 0
    for i in range(status.shape[0]):
        vehicle = status[i]
        if vehicle.vehicle_type != ROVER:
            continue
        vehicle.landed = not vehicle.armed or vehicle.mode == LAND
        if vehicle.armed:
            _drive_vehicle(vehicle, parameters[i], estimates[i], t_us, dt)
        else:
            vehicle.sp_kind = NO_SET_POINT
            vehicle.throttle = vehicle.steering = 0.0
        events |= vehicle.events
    return events


@njit
def _mix_fleet(status: np.ndarray, mixing: np.ndarray, commands: np.ndarray) -> None:
    """Writes the commands (N, A) of all rovers and boats; mixing is from mixing_matrix()."""
    for i in range(status.shape[0]):
        vehicle = status[i]
        if vehicle.vehicle_type != ROVER:
            continue
        for k in range(commands.shape[1]):
            commands[i, k] = clamp(
                mixing[i, k, 0] * vehicle.throttle + mixing[i, k, 1] * vehicle.steering, -1.0, 1.0
            )


class Drive(Memory):
    """Control of the rovers and boats of a fleet."""

    MEMORY = ()

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        fleet: FleetModel,
        laws: Laws = (),
    ) -> None:
        """Sets the kind of drive and the default parameters of rovers.

        Args:
            status: (N,) of VEHICLE_STATUS, whose `drive` is set.
            parameters: Parameters of the fleet.
            estimator: Estimated state of the fleet.
            fleet: The vehicles.
            laws: Control laws of further modes; see modes.flight_mode.FlightMode.
        """
        self._drive = with_laws(laws, _drive_fleet, _drive_vehicle)
        self._status, self._parameters, self._estimator = status, parameters, estimator
        status["drive"] = drives(fleet)
        set_defaults(parameters, fleet, status["vehicle_type"] == ROVER, status["drive"])
        self._mixing = mixing_matrix(fleet)
        self._any = bool((status["vehicle_type"] == ROVER).any())
        self.remember_start()

    def step(self, clock: StepClock, dt: float) -> int:
        """Writes throttle and steering of each mode; returns the EVENT_ bits raised."""
        if not self._any:
            return 0
        return self._drive(
            self._status, self._parameters.values, self._estimator.records, clock.t_us, dt
        )

    def mix(self, commands: np.ndarray) -> None:
        """Writes the commands (N, A) of rovers and boats."""
        if self._any:
            _mix_fleet(self._status, self._mixing, commands)
