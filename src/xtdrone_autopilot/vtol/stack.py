"""The VTOLs of a fleet: between the multicopter's loops and the fixed wing's."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import ROTOR
from xtdrone_core.modes import ROS_NAME, Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    MULTICOPTER,
    NOT_VTOL,
    STANDARD_VTOL,
    TAILSITTER,
    TILTROTOR,
)
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import from_euler

from ..control.vector import clamp, yaw_of
from ..fixed_wing.attitude import control_attitude, control_rates
from ..fixed_wing.axes import of_wings
from ..fixed_wing.guidance import (
    fly_leg,
    fly_line,
    least_airspeed,
    measure_airspeed,
    motion,
    set_airspeed,
)
from ..fixed_wing.stack import GUIDANCE_S, GUIDANCE_US, FixedWing, deflect
from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.reasons import BY_COMMAND
from ..state.vehicle_status import (
    EVENT_QUADCHUTE,
    EVENT_TRANSITION_OVER,
    HOVERS,
    NEW_MODE,
    NO_SET_POINT,
    ON_WINGS,
    RATES,
    TARGET_LAND,
    TO_FIXED_WING,
    TO_HOVER,
    TRAJECTORY,
)
from . import standard, tailsitter, tiltrotor
from .pusher import assist
from .state import new_state
from .transition import watch

_MANUAL = (
    int(Mode.MANUAL),
    int(Mode.STABILIZED),
    int(Mode.ACRO),
    int(Mode.ALTCTL),
    int(Mode.POSCTL),
)
LAND, RTL = int(Mode.LAND), int(Mode.RTL)
BLEND_S = 1.0  # in which the throttle goes from the transition's to total energy control's [s]
# Modes in which no transition to fixed-wing flight begins, as in PX4.
_HOVERING_MODES = (Mode.TAKEOFF, Mode.LAND, Mode.RTL)


@njit
def _step_one(v, u, w, q, e, s, front, t_us, due, sea, dt):
    """A vehicle's transition; e has the axes of its wings from fixed-wing flight on."""
    if v.vtol_state != ON_WINGS:
        measure_airspeed(w, s, sea + e.pos[2], t_us)
    m = motion(e)
    if v.mode == LAND or (v.mode == RTL and v.vtol_state == TO_FIXED_WING):
        u.wanted = HOVERS
    watch(v, u, w, q, m, t_us)
    before = v.vtol_state
    if v.vtol_type == TAILSITTER:
        tailsitter.change_state(v, u, w, q, m, t_us)
    elif v.vtol_type == TILTROTOR:
        tiltrotor.change_state(v, u, w, q, m, t_us)
    else:
        standard.change_state(v, u, w, q, m, t_us)
    if v.vtol_state != before:
        _enter_state(v, w, before)
    if v.vtol_state == HOVERS or v.vtol_state == ON_WINGS:
        v.hover_weight = 1.0 if v.vtol_state == HOVERS else 0.0
        v.sp_tilt = tiltrotor.FORWARDS * (1.0 if v.vtol_state == HOVERS else q.VT_TILT_FW)
        return
    if v.vtol_type == TAILSITTER:
        tailsitter.change_over(v, u, w, q, m, dt)
        return
    along = math.atan2(m.vel[0], m.vel[1])
    accel = math.cos(along) * v.acc_filtered[0] + math.sin(along) * v.acc_filtered[1]
    if v.vtol_type == TILTROTOR:
        tiltrotor.change_over(v, u, w, q, m, front, accel, t_us, dt)
    else:
        standard.change_over(v, u, w, q, m, accel, t_us, dt)
    if due:
        _guide(v, u, w, q, m)
    w.pitch = u.pitch
    if v.armed:
        control_attitude(w, q, m.roll, m.pitch)
        control_rates(w, q, e.ang_vel, v.landed, dt)


@njit
def _enter_state(v, w, before):
    """It hovers, flies on its wings or begins a transition now."""
    v.vehicle_type = FIXED_WING if v.vtol_state == ON_WINGS else MULTICOPTER
    if before != TO_HOVER or v.vtol_type != STANDARD_VTOL:
        v.vel_integral[:] = 0.0
        v.rate_integral[:] = 0.0
    if v.vtol_state == HOVERS:
        v.mode_stage = NEW_MODE
    elif v.vtol_state == TO_FIXED_WING:
        w.rate_integral[:] = 0.0
        w.roll, w.airspeed_sp = 0.0, math.nan
    if v.vtol_state in (HOVERS, ON_WINGS):
        v.events |= EVENT_TRANSITION_OVER


@njit
def _guide(v, u, w, q, m):
    """Roll set-point of a transition: straight on, then along the way to the target."""
    set_airspeed(w, q, m, v.target_speed, least_airspeed(w, q), False, GUIDANCE_S)
    roll = w.roll
    if v.mode in _MANUAL:
        w.roll = v.stick_right * math.radians(q.FW_R_LIM)
    elif v.vtol_state == TO_FIXED_WING:
        fly_line(
            w,
            q,
            m,
            (u.start[0], u.start[1]),
            (math.cos(u.course), math.sin(u.course)),
            q.NPFG_PERIOD,
        )
    elif (
        v.mode == LAND
        or v.target_type == TARGET_LAND
        or (v.vtol_type == TILTROTOR and _is_past(v, u, m))
    ):
        w.roll = 0.0
    else:
        fly_leg(w, q, m, (u.start[0], u.start[1]), (v.target[1], v.target[0]))
    step = math.radians(q.FW_PN_R_SLEW_MAX) * GUIDANCE_S
    w.roll = clamp(w.roll, roll - step, roll + step)


@njit
def _is_past(v, u, m):
    """Whether it is beyond its target, to which it does not turn back before it hovers."""
    north, east = v.target[1] - u.start[0], v.target[0] - u.start[1]
    return north * (v.target[1] - m.pos[0]) + east * (v.target[0] - m.pos[1]) < 0.0


@njit
def _step(
    status,
    transitions,
    wings,
    parameters,
    estimates,
    tailsitters,
    sensors,
    fronts,
    t_us,
    epoch_us,
    sea,
    dt,
):
    """One pass over the fleet; returns the union of the events."""
    events = 0
    for i in range(status.shape[0]):
        v = status[i]
        if v.vtol_type != NOT_VTOL:
            due = (t_us - epoch_us[i]) % GUIDANCE_US == 0
            e = estimates[i]
            if v.vtol_type == TAILSITTER:
                tailsitters[i] = e
                of_wings(e, tailsitters[i])
                if v.vtol_state in (ON_WINGS, TO_HOVER):
                    e = tailsitters[i]
            _step_one(
                v,
                transitions[i],
                wings[i],
                parameters[i],
                e,
                sensors[i],
                fronts[i],
                t_us,
                due,
                sea,
                dt,
            )
            events |= v.events
    return events


@njit
def _blend(status, transitions, wings, parameters, estimates, fronts):
    for i in range(status.shape[0]):
        v, u, w = status[i], transitions[i], wings[i]
        if v.vtol_type == NOT_VTOL or v.vtol_state == ON_WINGS:
            continue
        if v.vtol_state == HOVERS:
            if v.sp_kind == TRAJECTORY:
                u.pusher = assist(v, parameters[i], motion(estimates[i]))
            elif v.sp_kind == NO_SET_POINT or v.mode in _MANUAL:
                u.pusher = 0.0
            if v.vtol_type == TILTROTOR:
                v.sp_side_force[0] = tiltrotor.push_in_hover(v, parameters[i], fronts[i], u.pusher)
        elif v.vtol_type == TAILSITTER:
            if v.sp_kind == TRAJECTORY:
                v.sp_thrust = u.thrust
            if v.sp_kind != RATES and v.sp_kind != NO_SET_POINT:
                _point(v, tailsitter.attitude(u))
        elif v.sp_kind != RATES and v.sp_kind != NO_SET_POINT:
            if v.vtol_type == TILTROTOR:
                v.sp_side_force[0] = u.forward
                if v.sp_kind == TRAJECTORY:
                    v.sp_thrust = u.thrust
            _point(v, from_euler(w.roll, -u.pitch, yaw_of(estimates[i].quat)))


@njit
def _point(v, quat):
    """Writes an attitude set-point."""
    for k in range(4):
        v.sp_quat[k] = quat[k]
    v.sp_yaw_rate, v.free_yaw = 0.0, math.nan


@njit
def _mix(
    status,
    transitions,
    wings,
    parameters,
    tailsitters,
    vehicle,
    actuator,
    pushes,
    signs,
    t_us,
    dt,
    commands,
):
    for i in range(status.shape[0]):
        v, u, w, count = status[i], transitions[i], wings[i], vehicle[i].actuators
        if v.vtol_type == NOT_VTOL:
            continue
        pusher = u.pusher
        if v.vtol_state == ON_WINGS:
            share = clamp((t_us - u.finished_t) * 1e-6 / BLEND_S, 0.0, 1.0)
            pusher = share * w.throttle + (1.0 - share) * u.pusher
            if v.vtol_type == TAILSITTER:
                tailsitter.drive(w, parameters[i], pusher, actuator[i], count, commands[i])
        else:
            share = 1.0 - v.hover_weight
            if v.vtol_type == TAILSITTER and (
                v.vtol_state != HOVERS or not parameters[i].VT_ELEV_MC_LOCK
            ):
                tailsitter.steer(v, w, parameters[i], tailsitters[i], dt)
                share = 1.0
            elif v.vtol_type == TILTROTOR and v.vtol_state != HOVERS:
                share = 1.0
            deflect(actuator[i], count, signs[i], w.torque, share, commands[i])
        for k in range(count):
            if (
                actuator[i, k].kind == ROTOR
                and pushes[i, k]
                and (v.vtol_type != TILTROTOR or v.vtol_state == ON_WINGS)
            ):
                commands[i, k] = clamp(pusher, 0.0, 1.0)


class Vtol(Memory):
    """Hover, fixed-wing flight and transitions of the vehicles whose vtol_type is not NOT_VTOL.

    In hover and in transitions their vehicle_type is MULTICOPTER, as in PX4, on the wings it is
    FIXED_WING; the loops of either type do the rest.

    Attributes:
        records: (N,) of TRANSITION_STATE.
    """

    MEMORY = ("records",)

    def __init__(
        self,
        fleet: FleetModel,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        fixed_wing: FixedWing,
        clock: StepClock,
        origin: Sequence[float],
    ):
        """The VTOLs of a fleet, in hover.

        Args:
            fleet: The vehicles.
            status: (N,) of VEHICLE_STATUS.
            parameters: Of the fleet.
            estimator: Its state.
            fixed_wing: Flies them on their wings.
            clock: Time of the flight stack.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
        """
        self._fleet, self._status, self._parameters = fleet, status, parameters
        self._estimator, self._wings, self._clock = estimator, fixed_wing, clock
        self._sea = float(origin[2])
        self._any = bool((status["vtol_type"] != NOT_VTOL).any())
        rotors = np.maximum(fleet.rotor_mask.sum(axis=1), 1)
        self._fronts = fixed_wing.pushes.sum(axis=1) / rotors  # of tiltrotors
        self.records = new_state(fleet.n)
        self.remember_start()

    def is_vtol(self, i: int) -> bool:
        """Whether vehicle i is a VTOL."""
        return bool(self._status["vtol_type"][i] != NOT_VTOL)

    def why_not(self, i: int, state: int) -> str:
        """Why VTOL i may not be asked for a state, HOVERS or ON_WINGS; empty where it may."""
        if state not in (HOVERS, ON_WINGS):
            return f"state {state} is not allowed: 3 is hover, 4 fixed-wing flight"
        mode = Mode(self._status["mode"][i])
        if state == ON_WINGS and mode in _HOVERING_MODES:
            return f"mode {ROS_NAME[mode]} hovers: change to AUTO.LOITER first"
        return ""

    def ask(self, i: int, state: int, at_once: bool = False) -> None:
        """Vehicle i changes to HOVERS or ON_WINGS; to hover at_once is a quad-chute."""
        v = self._status[i]
        self.records["wanted"][i] = state
        if state == ON_WINGS:
            v["quadchute"] = 0
        elif at_once and v["vtol_state"] != HOVERS and v["armed"]:
            v["quadchute"] = BY_COMMAND
            v["events"] |= EVENT_QUADCHUTE

    def step(self, clock: StepClock, sensors: SensorBatch, dt: float) -> int:
        """Moves the transitions on; returns the EVENT_ bits raised.

        Args:
            clock: Time of the flight stack.
            sensors: Readings of this step.
            dt: Length of the step [s].
        """
        if not self._any:
            return 0
        return _step(
            self._status,
            self.records,
            self._wings.records,
            self._parameters.values,
            self._estimator.records,
            self._wings.tailsitters,
            sensors.records,
            self._fronts,
            clock.t_us,
            clock.epoch_us,
            self._sea,
            dt,
        )

    def blend(self) -> None:
        """Attitude set-points of transitions, and of a hover that the pusher helps."""
        if self._any:
            _blend(
                self._status,
                self.records,
                self._wings.records,
                self._parameters.values,
                self._estimator.records,
                self._fronts,
            )

    def mix(self, dt: float, commands: np.ndarray) -> None:
        """Writes the commands of pushers and surfaces, beside the mixer's of the rotors.

        Args:
            dt: Length of the step [s].
            commands: (N, A).
        """
        if self._any:
            _mix(
                self._status,
                self.records,
                self._wings.records,
                self._parameters.values,
                self._wings.tailsitters,
                self._fleet.vehicle,
                self._fleet.actuator,
                self._wings.pushes,
                self._wings.signs,
                self._clock.t_us,
                dt,
                commands,
            )
