"""Set-points of each flight mode.

One compiled pass over the fleet at each step: it turns the mode, the sticks or
the offboard set-point into sp_* of the status record, follows jerk-limited trajectories
in AUTO modes, watches whether their targets are reached, and raises events. The commander
decides on mode changes; missions and returns set the targets.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_core.modes import MODES, Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, HALF_WINGED, MULTICOPTER, NOT_VTOL
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate

from ..control.hover_thrust import estimate_hover_thrust
from ..control.laws import Laws, added_law, with_laws
from ..control.vector import thrust_newtons, thrust_normalised, yaw_of
from ..estimation.lever_arm import at_centre
from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import LOOP_S, LOOP_US, StepClock
from ..state.vehicle_status import (
    ACTUATORS,
    ATTITUDE,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_OFFBOARD_LOST,
    HOVERS,
    NEVER,
    NEW_MODE,
    NO_SET_POINT,
    RATES,
    STAGE_RAMP,
    TARGET_LAND,
    TARGET_LOITER,
    TARGET_ORBIT,
    TARGET_TAKEOFF,
    TO_FIXED_WING,
    TO_HOVER,
    TRAJECTORY,
    WATCH_HEIGHT,
    WATCH_NOTHING,
    WATCH_PLACE,
    on_wings,
)
from . import ground
from .auto import descend, move_to_target, trajectory_step, watch_target
from .sticks import fly_height, fly_position, fly_rates, fly_tilt, thrust_of_stick
from .trajectory import clear_set_points, copy_trajectory, start_trajectory

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
ALTCTL, POSCTL, OFFBOARD = int(Mode.ALTCTL), int(Mode.POSCTL), int(Mode.OFFBOARD)
LOITER = int(Mode.LOITER)
_TO_TARGETS = tuple(int(mode) for mode, spec in MODES.items() if spec.by_target)

STICK_TAKES_OFF = 0.3  # throttle stick from which a take-off begins
ACC_FILTER_S = 0.03  # time constant of the acceleration that damps the velocity loop [s]
WATCH_US = 50_000  # period of looking whether a target is reached [us]
SINKS = 1.1  # a set-point of descent beyond this many times LNDMC_Z_VEL_MAX may be a landing
AUTO_MARGIN = 1.2  # the vertical limits of AUTO modes leave this much to the position loop
CLIMB_FILTER_S = 2.0  # time constant of the climb rate in a transition [s]
BRAKE_S = 0.6  # delay before a vehicle that is to hold begins to brake [s]
OPEN = np.full(3, np.nan)  # no point


@njit
def _begin_mode(vehicle: Record, pos: np.ndarray, vel: np.ndarray, yaw: float) -> None:
    """Begins a mode: a trajectory goes on, or starts at the present motion and heading."""
    goes_on = vehicle.on_trajectory and not vehicle.landed and math.isfinite(vehicle.sp_yaw)
    heading = vehicle.sp_yaw if goes_on else yaw
    rate = vehicle.sp_yaw_rate if goes_on else 0.0
    clear_set_points(vehicle)
    vehicle.sp_yaw, vehicle.sp_yaw_rate = heading, rate
    for k in range(3):
        if not goes_on:
            vehicle.smooth_pos[k] = pos[k]
            vehicle.smooth_vel[k] = 0.0 if vehicle.landed else vel[k]
            vehicle.smooth_acc[k] = 0.0
            vehicle.line[1, k] = math.nan
        vehicle.target_vel[k] = 0.0
    vehicle.free_yaw = vehicle.drive_target[0] = math.nan
    vehicle.mode_stage = 0


@njit
def _offboard(vehicle: Record, actuators: np.ndarray) -> None:
    vehicle.sp_kind = vehicle.offboard_kind
    if vehicle.offboard_kind != TRAJECTORY:
        vehicle.free_yaw = math.nan
    if vehicle.offboard_kind == TRAJECTORY:
        for k in range(3):
            vehicle.sp_pos[k] = vehicle.offboard_pos[k]
            vehicle.sp_vel[k] = vehicle.offboard_vel[k]
            vehicle.sp_acc[k] = vehicle.offboard_acc[k]
        vehicle.sp_yaw = vehicle.offboard_yaw
        vehicle.sp_yaw_rate = vehicle.offboard_yaw_rate
    elif vehicle.offboard_kind == ATTITUDE:
        for k in range(4):
            vehicle.sp_quat[k] = vehicle.offboard_quat[k]
        vehicle.sp_yaw_rate = vehicle.offboard_yaw_rate
        vehicle.sp_thrust = vehicle.offboard_thrust
        vehicle.sp_side_force[0], vehicle.sp_side_force[1] = (
            vehicle.offboard_side_force[0],
            vehicle.offboard_side_force[1],
        )
    elif vehicle.offboard_kind == RATES:
        for k in range(3):
            vehicle.sp_rates[k] = vehicle.offboard_rates[k]
        vehicle.sp_thrust = vehicle.offboard_thrust
        vehicle.sp_side_force[0], vehicle.sp_side_force[1] = (
            vehicle.offboard_side_force[0],
            vehicle.offboard_side_force[1],
        )
    elif (
        vehicle.offboard_kind == ACTUATORS
    ):  # about what the commands lift, to tell take-off and landing
        vehicle.sp_thrust = _thrust_of(vehicle, actuators)


@njit
def _thrust_of(vehicle: Record, actuators: np.ndarray) -> float:
    """Collective thrust [N] at the mean of the actuator commands (A,) that are given."""
    total, count = 0.0, 0
    for command in actuators:
        if math.isfinite(command):
            total += max(command, 0.0)
            count += 1
    return thrust_newtons(vehicle, total / count) if total > 0.0 else 0.0


@njit
def _requests_takeoff(vehicle: Record, pos: np.ndarray) -> bool:
    """Returns whether the set-points demand a take-off."""
    if math.isfinite(vehicle.sp_pos[2]) and vehicle.sp_pos[2] > pos[2]:
        return True
    if math.isfinite(vehicle.sp_vel[2]) and vehicle.sp_vel[2] > 0.0:
        return True
    return math.isfinite(vehicle.sp_acc[2]) and vehicle.sp_acc[2] > 0.0


@njit
def flies_trajectory(vehicle: Record) -> bool:
    """Returns whether the mode feeds the loops of position and velocity."""
    if vehicle.mode == OFFBOARD:
        return vehicle.offboard_kind == TRAJECTORY
    return vehicle.mode not in (STABILIZED, MANUAL, ACRO)


@njit
def flies_to_target(vehicle: Record) -> bool:
    """Returns whether the mode flies to a target."""
    return vehicle.mode in _TO_TARGETS


@njit
def _on_half_wings(vehicle: Record) -> bool:
    """Returns whether vtol.Vtol has written the trajectory of a vehicle beyond its hover."""
    return bool(
        vehicle.vtol_type == HALF_WINGED
        and vehicle.vtol_state != HOVERS
        and flies_to_target(vehicle)
    )


@njit
def _changes_over(vehicle: Record) -> bool:
    """Returns whether other loops than those of hover fly a VTOL, in a transition."""
    return bool(
        vehicle.vtol_type != HALF_WINGED
        and vehicle.vtol_state in (TO_FIXED_WING, TO_HOVER)
        and flies_trajectory(vehicle)
    )


@njit
def _follow_wings(vehicle: Record) -> None:
    """Velocity and acceleration, of which the attitude follows; its position is left open."""
    yaw = vehicle.sp_yaw
    clear_set_points(vehicle)
    vehicle.sp_yaw = yaw
    for k in range(3):
        vehicle.sp_vel[k] = vehicle.smooth_vel[k]
        vehicle.sp_acc[k] = vehicle.smooth_acc[k]


@njit
def _change_over(vehicle: Record, params: Record, yaw: float, dt: float) -> None:
    """A VTOL in a transition: its climb rate goes to zero, pitch and roll follow by vtol.Vtol.

    As PX4's FlightTaskTransition.
    """
    clear_set_points(vehicle)
    backwards = GRAVITY * math.tan(math.radians(params.FW_PSP_OFF))
    vehicle.sp_acc[0], vehicle.sp_acc[1] = -backwards * math.cos(yaw), -backwards * math.sin(yaw)
    vehicle.smooth_vel[2] *= 1.0 - dt / (CLIMB_FILTER_S + dt)
    vehicle.sp_vel[2] = vehicle.smooth_vel[2]


@njit
def _navigate_one(
    vehicle: Record,
    params: Record,
    estimate: Record,
    t_us: int,
    age_us: int,
    actuators: np.ndarray,
    dt: float,
) -> bool:
    """Writes the set-points of the mode; returns whether it requests a take-off."""
    pos, vel, yaw = estimate.pos, estimate.vel, yaw_of(estimate.quat)
    if vehicle.mode_stage == NEW_MODE:
        _begin_mode(vehicle, pos, vel, yaw)
    begins = not vehicle.on_trajectory
    vehicle.on_trajectory = False
    mode = vehicle.mode
    vehicle.sp_kind = TRAJECTORY
    vehicle.sp_side_force[0] = vehicle.sp_side_force[1] = 0.0
    vehicle.climb_max, vehicle.sink_max = params.MPC_Z_VEL_MAX_UP, params.MPC_Z_VEL_MAX_DN
    takeoff_requested = vehicle.stick_up > STICK_TAKES_OFF
    if _on_half_wings(vehicle):
        _follow_wings(vehicle)
    elif _changes_over(vehicle):
        _change_over(vehicle, params, yaw, dt)
    elif mode == OFFBOARD:
        _offboard(vehicle, actuators)
        takeoff_requested = _requests_takeoff(vehicle, pos)
    elif mode == POSCTL:
        if vehicle.stage < STAGE_RAMP:
            start_trajectory(vehicle, pos, 0.0)
        fly_position(vehicle, params, pos, vel, yaw, dt)
    elif mode == ALTCTL:
        if vehicle.stage < STAGE_RAMP:
            start_trajectory(vehicle, pos, 0.0)
        fly_height(vehicle, params, pos, yaw, dt)
    elif mode in (STABILIZED, MANUAL):
        fly_tilt(vehicle, params, yaw, dt)
        vehicle.sp_kind = ATTITUDE
        vehicle.sp_thrust = thrust_of_stick(vehicle)
    elif mode == ACRO:
        vehicle.sp_kind = RATES
        fly_rates(vehicle, params)
        vehicle.sp_thrust = thrust_of_stick(vehicle)
    elif added_law(mode, vehicle, params, estimate, t_us, dt):
        takeoff_requested = _requests_takeoff(vehicle, pos)
    else:
        vehicle.sink_max = max(vehicle.sink_max, AUTO_MARGIN * params.MPC_Z_V_AUTO_DN)
        if vehicle.descend:
            descend(vehicle, params)
        else:
            step = trajectory_step(age_us)
            if begins or step > 0.0:
                move_to_target(vehicle, params, pos, step)
            copy_trajectory(vehicle, 0, 3)
            if vehicle.target_type == TARGET_LAND:
                vehicle.sp_pos[2] = math.nan
        if (
            vehicle.watch != WATCH_NOTHING
            and vehicle.target_type != TARGET_ORBIT
            and age_us % WATCH_US < LOOP_US
        ):
            watch_target(vehicle, params, t_us, pos, yaw)
        takeoff_requested = vehicle.takeoff_requested
    raise_timed_events(vehicle, params, t_us)
    return takeoff_requested


@njit
def raise_timed_events(vehicle: Record, params: Record, t_us: int) -> None:
    """Raises events where offboard set-points are missing, or a failsafe has held for long enough.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        params: Record of its parameters.
        t_us: Simulated time [us].
    """
    if (
        vehicle.mode == OFFBOARD
        and vehicle.armed
        and (t_us - vehicle.offboard_t) * 1e-6 > params.COM_OF_LOSS_T
    ):
        vehicle.events |= EVENT_OFFBOARD_LOST
    if (
        vehicle.failsafe
        and vehicle.mode == LOITER
        and (t_us - vehicle.mode_t) * 1e-6 > params.COM_FAIL_ACT_T
    ):
        vehicle.events |= EVENT_FAILSAFE_DELAY_OVER


@fleet_kernel
def _navigate(
    status: np.ndarray,
    parameters: np.ndarray,
    t_us: int,
    epoch_us: np.ndarray,
    estimates: np.ndarray,
    sensors: np.ndarray,
    actuators: np.ndarray,
    dt: float,
) -> int:
    """Steps all multicopters; returns the union of their EVENT_ bits."""
    events = 0
    for i in range(status.shape[0]):
        vehicle, params, estimate = status[i], parameters[i], estimates[i]
        if vehicle.vehicle_type != MULTICOPTER:
            continue
        age_us = t_us - epoch_us[i]
        acc_up = math.nan
        if age_us != 0:
            accel = at_centre(
                sensors[i].accel, estimate.imu_pos, estimate.ang_vel, vehicle.last_rate, dt
            )
            acc_up = _filter_acceleration(vehicle, estimate.quat, accel, estimate.accel_bias, dt)
        thrust = thrust_normalised(vehicle, vehicle.sp_thrust)
        due, by_trajectory = age_us % LOOP_US == 0, flies_trajectory(vehicle)
        if due:
            estimate_hover_thrust(vehicle, params, estimate.pos, estimate.vel, acc_up, thrust)
        elif by_trajectory:
            if vehicle.sp_kind == TRAJECTORY:
                vehicle.sp_kind = ATTITUDE  # the attitude set-point of the velocity loop is held
            events |= vehicle.events
            continue
        step = LOOP_S if by_trajectory else dt
        takeoff_requested = False
        if vehicle.armed or vehicle.mode_stage == NEW_MODE:
            takeoff_requested = _navigate_one(
                vehicle, params, estimate, t_us, age_us, actuators[i], step
            )
        else:
            vehicle.sp_kind = NO_SET_POINT
        sinks = vehicle.sp_vel[2] <= -SINKS * params.LNDMC_Z_VEL_MAX  # NaN: it does not
        ground.take_off(vehicle, params, t_us, takeoff_requested, step)
        ground.detect(vehicle, params, t_us, estimate.vel, estimate.ang_vel, thrust, sinks)
        events |= vehicle.events
    return events


@njit
def _filter_acceleration(
    vehicle: Record,
    quat: np.ndarray,
    accel: tuple[float, float, float],
    bias: np.ndarray,
    dt: float,
) -> float:
    """World acceleration from the accelerometer, low-passed, for the velocity loop's damping.

    Returns its vertical part before the filter [m/s^2].
    """
    ax, ay, az = rotate(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        accel[0] - bias[0],
        accel[1] - bias[1],
        accel[2] - bias[2],
    )
    if not math.isfinite(ax + ay + az):  # the estimator has no attitude yet
        return math.nan
    gain = dt / (ACC_FILTER_S + dt)
    vehicle.acc_filtered[0] += gain * (ax - vehicle.acc_filtered[0])
    vehicle.acc_filtered[1] += gain * (ay - vehicle.acc_filtered[1])
    vehicle.acc_filtered[2] += gain * (az - GRAVITY - vehicle.acc_filtered[2])
    return az - GRAVITY


@fleet_kernel
def _follow_resets(status: np.ndarray, estimates: np.ndarray, seen: np.ndarray) -> None:
    for i in range(status.shape[0]):
        if estimates[i].reset_count != seen[i]:
            seen[i] = estimates[i].reset_count
            for k in range(3):
                status[i].smooth_pos[k] += estimates[i].reset_pos[k]


class Navigator(Memory):
    """Modes of a fleet.

    Attributes:
        loiter_speed: (N,) horizontal speed of new positions in AUTO.LOITER [m/s], NaN =
            MPC_XY_CRUISE.
    """

    MEMORY = ("_resets", "loiter_speed")

    def __init__(
        self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator, laws: Laws = ()
    ) -> None:
        """The multicopters of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS, whose set-points it writes.
            parameters: Parameters of the fleet.
            estimator: Its state.
            laws: Control laws of further modes; see modes.flight_mode.FlightMode.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigate = with_laws(laws, _navigate, _navigate_one)
        self._resets = estimator.reset_count.copy()
        self.loiter_speed = np.full(len(status), np.nan)
        self.remember_start()

    def step(self, clock: StepClock, sensors: SensorBatch, actuators: np.ndarray, dt: float) -> int:
        """Writes the set-points of every vehicle; returns the union of the EVENT_ bits raised.

        Args:
            clock: Time of the flight stack.
            sensors: Readings of this step.
            actuators: (N, A) commands of offboard set-points of that level.
            dt: Length of the step [s].
        """
        return self._navigate(
            self._status,
            self._parameters.values,
            clock.t_us,
            clock.epoch_us,
            self._estimator.records,
            sensors.records,
            actuators,
            dt,
        )

    def follow_resets(self) -> None:
        """Shifts the trajectories of vehicles whose estimate was reset along with it."""
        _follow_resets(self._status, self._estimator.records, self._resets)

    def begin(self, i: int) -> None:
        """Enters an AUTO mode at once, so that the target set next is not overwritten."""
        vehicle, estimator = self._status[i], self._estimator
        _begin_mode(vehicle, estimator.pos[i], estimator.vel[i], estimator.yaw(i))

    def fly_to(
        self,
        i: int,
        position: npt.ArrayLike,
        kind: int,
        *,
        yaw: float = math.nan,
        accept: float | None = None,
        previous: npt.ArrayLike = OPEN,
        following: npt.ArrayLike = OPEN,
        speed: float = math.nan,
        radius: float = 0.0,
    ) -> None:
        """Sets the target of an AUTO mode; nothing is watched for yet.

        Args:
            i: The vehicle.
            position: (3,) of the target [m].
            kind: A TARGET_.
            yaw: Heading [rad]; NaN = along the path.
            accept: Its acceptance radius [m], inside which the corner is cut; None =
                NAV_ACC_RAD.
            previous: (3,) where the leg begins [m]; NaN = at the vehicle.
            following: (3,) where the next leg ends [m]; NaN = stop at the target.
            speed: Horizontal [m/s]; NaN = MPC_XY_CRUISE, or FW_AIRSPD_TRIM of a fixed wing.
            radius: Radius of a fixed wing's circle, positive = clockwise [m]; 0 = NAV_LOITER_RAD.
        """
        vehicle = self._status[i]
        vehicle["orbit_radius"] = radius
        vehicle["target"], vehicle["previous"], vehicle["following"] = position, previous, following
        vehicle["target_type"], vehicle["target_yaw"], vehicle["target_speed"] = kind, yaw, speed
        vehicle["accept"] = self._parameters.get(i, "NAV_ACC_RAD") if accept is None else accept
        vehicle["watch"], vehicle["lands_next"] = WATCH_NOTHING, False

    def watch(
        self,
        i: int,
        kind: int = WATCH_PLACE,
        *,
        reach: float | None = None,
        height: float | None = None,
        hold: float = 0.0,
        faced: bool = False,
    ) -> None:
        """Raises EVENT_TARGET_REACHED once the target of vehicle i is reached.

        Args:
            i: The vehicle.
            kind: A WATCH_.
            reach: Horizontal distance that counts as reached [m]; None = that of acceptance.
            height: And vertical one [m]; None = NAV_MC_ALT_RAD.
            hold: And for how long it stays there [s].
            faced: Whatever the heading; else it must be within MIS_YAW_ERR of a target's.
        """
        vehicle = self._status[i]
        vehicle["watch"], vehicle["hold_s"] = kind, max(0.0, hold)  # no time where hold is NaN
        vehicle["reach"] = vehicle["accept"] if reach is None else reach
        vehicle["reach_height"] = (
            self._parameters.get(i, "NAV_MC_ALT_RAD") if height is None else height
        )
        vehicle["reached_t"], vehicle["faced"] = NEVER, faced

    def hold(self, i: int) -> None:
        """AUTO.LOITER: stays where it loiters, or where it can come to rest."""
        vehicle = self._status[i]
        estimator, get = self._estimator, self._parameters.get
        circles = on_wings(vehicle)
        near = get(i, "NAV_ACC_RAD") + (get(i, "NAV_LOITER_RAD") if circles else 0.0)
        loiters = (
            (circles or vehicle["on_trajectory"])
            and not vehicle["landed"]
            and vehicle["target_type"] == TARGET_LOITER
            and math.hypot(*(vehicle["target"] - estimator.pos[i])[:2]) <= near
        )
        self.begin(i)
        if loiters:
            vehicle["watch"] = WATCH_NOTHING
            return
        if circles:
            self.fly_to(i, estimator.pos[i], TARGET_LOITER)
            return
        speed = math.hypot(*estimator.vel[i, :2])
        position = estimator.pos[i] + (speed / (2.0 * get(i, "MPC_ACC_HOR")) + BRAKE_S) * np.array(
            [*estimator.vel[i, :2], 0.0]
        )
        self.fly_to(i, position, TARGET_LOITER)

    def land(self, i: int) -> None:
        """AUTO.LAND: straight down; a fixed wing descends on a circle to the height of home."""
        self.begin(i)
        vehicle, position = self._status[i], self._estimator.pos[i].copy()
        if vehicle["vehicle_type"] == FIXED_WING and vehicle["vtol_type"] == NOT_VTOL:
            position[2] = vehicle["home"][2]
        self.fly_to(i, position, TARGET_LAND)

    def take_off(self, i: int, height: float, place: Sequence[float] = (math.nan,) * 2) -> None:
        """AUTO.TAKEOFF: straight up, or straight on, to a height, world z [m].

        A vehicle that hovers flies to a place (2,) [m] that is given, and, as PX4, stays in the
        mode where that is elsewhere; NaN = where it is.
        """
        self.begin(i)
        position = self._estimator.pos[i].copy()
        position[2] = max(height, position[2])
        elsewhere = np.isfinite(place).all() and self._status["vehicle_type"][i] == MULTICOPTER
        if elsewhere:
            elsewhere = math.dist(place, position[:2]) > self._parameters.get(i, "NAV_ACC_RAD")
            position[:2] = place
        self.fly_to(i, position, TARGET_TAKEOFF)
        if elsewhere:
            return
        self.watch(i, WATCH_HEIGHT, height=self.height_reached(i, position[2]))

    def height_reached(self, i: int, height: float) -> float:
        """Returns how far below a take-off height, world z [m], it counts as reached [m]."""
        above = height - self._status["home"][i, 2]
        radius = self._parameters.get(i, "NAV_MC_ALT_RAD")
        return 0.5 * above if 0.0 < above < radius else radius

    def reposition(self, i: int, target: npt.ArrayLike, yaw: float, speed: float) -> None:
        """A new position (3,) [m] to hold in AUTO.LOITER; NaN keeps the present one.

        Without any, and without a yaw, the vehicle comes to rest. A speed that is not above 0 is
        the loiter's.
        """
        if np.isnan(target).all() and math.isnan(yaw):
            self.hold(i)
            return
        vehicle = self._status[i]
        position = np.where(np.isfinite(target), target, vehicle["target"])
        speed = speed if speed > 0 else float(self.loiter_speed[i])
        self.fly_to(i, position, TARGET_LOITER, yaw=yaw, speed=speed)
