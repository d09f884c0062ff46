"""The fixed-wing flight stack of a fleet: from modes and targets to actuator commands."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR, SURFACE
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.control_surfaces import surface_signs
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    NOT_VTOL,
    TAILSITTER,
    lifting_rotors,
    tilted_rotors,
)
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import from_euler

from ..control.vector import clamp, thrust_newtons, wrap_pi, yaw_of
from ..interfaces import Estimator
from ..navigation.navigator import raise_timed_events
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.vehicle_status import (
    ACTUATORS,
    ATTITUDE,
    NEW_MODE,
    NO_SET_POINT,
    RATES,
    TARGET_LAND,
    TARGET_TAKEOFF,
    TRAJECTORY,
)
from . import auto, manual, offboard
from .attitude import control_attitude, control_rates
from .axes import of_body
from .guidance import measure_airspeed, motion
from .land_detector import detect
from .state import TAKEOFF_NOT_BEGUN, new_state

GUIDANCE_US = 20_000  # period of guidance, as of PX4's position estimate [us]
GUIDANCE_S = GUIDANCE_US * 1e-6
MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
ALTCTL, POSCTL, OFFBOARD = int(Mode.ALTCTL), int(Mode.POSCTL), int(Mode.OFFBOARD)


@njit
def _guide(v, w, q, m, t_us, accel):
    """Set-points of the mode: attitude and throttle, rates, or torque."""
    mode = v.mode
    by_target = mode not in (MANUAL, STABILIZED, ACRO, ALTCTL, POSCTL, OFFBOARD)
    if not by_target or v.target_type != TARGET_TAKEOFF:
        w.takeoff, w.integrators_rest = TAKEOFF_NOT_BEGUN, False
    if not by_target or v.target_type != TARGET_LAND:
        w.landing = w.flaring = False
    v.sp_kind = ATTITUDE
    roll = w.roll
    if mode == MANUAL:
        manual.set_torque(v, w, q)
    elif mode == ACRO:
        manual.set_rates(v, w, q)
        v.sp_kind = RATES
    elif mode == STABILIZED:
        manual.set_attitude(v, w, q)
    elif mode in (ALTCTL, POSCTL):
        manual.fly_height(v, w, q, m, mode == POSCTL, t_us, GUIDANCE_S)
    elif mode == OFFBOARD:
        offboard.follow_set_point(v, w, q, m, t_us, GUIDANCE_S)
        v.sp_kind = ATTITUDE if v.offboard_kind == TRAJECTORY else v.offboard_kind
    else:
        auto.fly_auto(v, w, q, m, t_us, accel, GUIDANCE_S)
    if (
        by_target
        or mode in (ALTCTL, POSCTL)
        or (mode == OFFBOARD and v.offboard_kind == TRAJECTORY)
    ):
        step = math.radians(q.FW_PN_R_SLEW_MAX) * GUIDANCE_S
        w.roll = clamp(w.roll, roll - step, roll + step)
    else:
        w.airspeed_sp = math.nan


@njit
def _report(v, w, m, yaw):
    """The set-points where telemetry and log look for them."""
    quat = from_euler(w.roll, -w.pitch, yaw)
    for k in range(4):
        v.sp_quat[k] = quat[k]
    v.sp_rates[0], v.sp_rates[1], v.sp_rates[2] = w.rate[0], -w.rate[1], -w.rate[2]
    v.sp_yaw, v.sp_thrust = yaw, thrust_newtons(v, w.throttle)
    if v.vtol_type == TAILSITTER:
        of_body(v.sp_quat, v.sp_rates)
    for k in range(3):
        v.sp_pos[k] = v.target[k]


@njit
def _stabilise(v, w, q, m, rates, dt):
    """Torque of the present set-points."""
    if v.mode == MANUAL:
        w.rate_integral[:] = 0.0
        return
    if v.sp_kind == ATTITUDE:
        control_attitude(w, q, m.roll, m.pitch)
        if v.mode in (STABILIZED, ALTCTL, POSCTL):
            most = math.radians(q.FW_Y_RMAX)
            w.rate[2] += clamp(v.stick_clockwise * math.radians(q.FW_MAN_YR_MAX), -most, most)
    control_rates(w, q, rates, v.landed or w.integrators_rest, dt)
    if v.mode == ACRO and not q.FW_ACRO_YAW_EN:
        w.rate_integral[2] = 0.0
        w.torque[2] = clamp(v.stick_clockwise * q.FW_MAN_Y_SC, -1.0, 1.0)


@njit
def deflect(
    actuator: np.ndarray,
    count: int,
    signs: np.ndarray,
    torque: np.ndarray,
    share: float,
    commands: np.ndarray,
) -> None:
    """Commands of the control surfaces of one vehicle.

    Args:
        actuator: (A,) of it.
        count: How many there are.
        signs: (A, 3) of surface_signs.
        torque: (3,) -1..1 about the forward, right and down axes.
        share: Of the torque that they give.
        commands: (A,), those of surfaces are written.
    """
    for k in range(count):
        if actuator[k].kind == SURFACE:
            wanted = 0.0
            for axis in range(3):
                wanted += signs[k, axis] * torque[axis]
            commands[k] = clamp(share * wanted, -1.0, 1.0)


@njit
def _allocate(actuator, count, pushes, signs, w, commands):
    """Throttle to the rotors that push forwards, torque to the surfaces."""
    for k in range(count):
        if actuator[k].kind == ROTOR:
            commands[k] = clamp(w.throttle, 0.0, 1.0) if pushes[k] else 0.0
    deflect(actuator, count, signs, w.torque, 1.0, commands)


@njit
def _fly_one(v, w, q, e, s, t_us, due, sea, dt):
    measure_airspeed(w, s, sea + e.pos[2], t_us)
    m = motion(e)
    if due:
        raise_timed_events(v, q, t_us)
        if v.vtol_type == NOT_VTOL or not v.armed:  # on its wings no VTOL lands
            detect(v, w, q, m, s.accel, t_us)
        if v.armed:
            _guide(v, w, q, m, t_us, s.accel[0])
            around = math.atan2(e.pos[1] - v.centre[1], e.pos[0] - v.centre[0])
            turned = wrap_pi(w.around - around) * math.copysign(1.0, v.orbit_radius)
            auto.watch(v, w, q, m, t_us, turned)
            w.around = around
    if not v.armed:
        v.sp_kind, v.sp_thrust = NO_SET_POINT, 0.0
        w.rate_integral[:] = 0.0
        w.torque[:] = 0.0
        w.roll = w.throttle = 0.0
        w.takeoff = TAKEOFF_NOT_BEGUN
        return
    if v.mode_stage == NEW_MODE:
        v.mode_stage = 0
    if v.sp_kind != ACTUATORS:
        _stabilise(v, w, q, m, e.ang_vel, dt)
        _report(v, w, m, yaw_of(e.quat))


@njit
def _fly(
    status,
    state,
    parameters,
    estimates,
    tailsitters,
    sensors,
    vehicle,
    actuator,
    pushes,
    signs,
    t_us,
    epoch_us,
    sea,
    dt,
    commands,
):
    """One pass over the fleet; returns the union of the events."""
    events = 0
    for i in range(status.shape[0]):
        v, w = status[i], state[i]
        if v.vehicle_type != FIXED_WING:
            continue
        due = (t_us - epoch_us[i]) % GUIDANCE_US == 0
        e = tailsitters[i] if v.vtol_type == TAILSITTER else estimates[i]
        _fly_one(v, w, parameters[i], e, sensors[i], t_us, due, sea, dt)
        _allocate(actuator[i], vehicle[i].actuators, pushes[i], signs[i], w, commands[i])
        events |= v.events
    return events


class FixedWing(Memory):
    """Flies the vehicles of a fleet whose vehicle_type is FIXED_WING, VTOLs on their wings too.

    Attributes:
        records: (N,) of FIXED_WING_STATE.
        tailsitters: (N,) of ESTIMATE, of tail-sitters with the axes of their wings.
        signs: (N, A, 3) of surface_signs.
        pushes: (N, A) bool, the rotors that follow the throttle.
    """

    MEMORY = ("records",)

    def __init__(
        self,
        fleet: FleetModel,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        origin: Sequence[float],
    ):
        """The fixed wings of a fleet.

        Args:
            fleet: The vehicles.
            status: (N,) of VEHICLE_STATUS.
            parameters: Of the fleet.
            estimator: Its state.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
        """
        self._fleet, self._status, self._parameters = fleet, status, parameters
        self._estimator, self._sea = estimator, float(origin[2])
        vtols = status["vtol_type"] != NOT_VTOL
        self.signs = surface_signs(fleet)
        self.pushes = fleet.rotor_mask & ~(vtols[:, None] & lifting_rotors(fleet))
        self.pushes |= tilted_rotors(fleet)
        self.tailsitters = np.zeros_like(estimator.records)
        self._any = bool(vtols.any() or (status["vehicle_type"] == FIXED_WING).any())
        self.records = new_state(fleet.n)
        self.remember_start()

    def step(self, clock: StepClock, sensors: SensorBatch, dt: float, commands: np.ndarray) -> int:
        """Writes the commands (N, A) of the fixed wings; returns the EVENT_ bits raised.

        Args:
            clock: Time of the flight stack.
            sensors: Readings of this step.
            dt: Length of the step [s].
            commands: (N, A); rows of other vehicles are left as they are.
        """
        if not self._any:
            return 0
        return _fly(
            self._status,
            self.records,
            self._parameters.values,
            self._estimator.records,
            self.tailsitters,
            sensors.records,
            self._fleet.vehicle,
            self._fleet.actuator,
            self.pushes,
            self.signs,
            clock.t_us,
            clock.epoch_us,
            self._sea,
            dt,
            commands,
        )
