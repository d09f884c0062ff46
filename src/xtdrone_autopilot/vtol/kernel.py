"""The compiled part of VTOL control: transitions, attitude set-points and commands of a fleet."""

import math

import numpy as np

from xtdrone_core.fleet_model import ROTOR
from xtdrone_core.modes import MODES, Mode
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    HALF_WINGED,
    MULTICOPTER,
    NOT_VTOL,
    STANDARD_VTOL,
    TAILSITTER,
    TILTROTOR,
)
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.quaternion import from_euler
from xtdrone_dynamics.shapes import Quaternion

from ..control.vector import clamp, yaw_of
from ..fixed_wing.attitude import control_attitude, control_rates
from ..fixed_wing.axes import to_wing_axes
from ..fixed_wing.guidance import (
    Motion,
    fly_leg,
    fly_line,
    measure_airspeed,
    motion_of,
    set_airspeed,
    turn_min_airspeed,
)
from ..fixed_wing.stack import GUIDANCE_S, GUIDANCE_US, deflect
from ..navigation.navigator import flies_to_target
from ..state.vehicle_status import (
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
from . import half_wings, standard, tailsitter, tiltrotor
from .pusher import assist
from .transition import check_quadchute

_MANUAL = tuple(int(mode) for mode, spec in MODES.items() if spec.by_sticks)
LAND, RTL = int(Mode.LAND), int(Mode.RTL)
BLEND_S = 1.0  # time in which the throttle goes from the transition's to that of TECS [s]


@njit
def _step_vehicle(
    vehicle: Record,
    transition: Record,
    wing: Record,
    params: Record,
    estimate: Record,
    readings: Record,
    front_fraction: float,
    t_us: int,
    due: bool,
    origin_height: float,
    dt: float,
) -> None:
    """Steps the transition of one vehicle.

    From fixed-wing flight on, the estimate of a tail-sitter is in the axes of its wings.
    """
    on_half_wings = vehicle.vtol_type == HALF_WINGED
    if vehicle.vtol_state != ON_WINGS or on_half_wings:
        measure_airspeed(wing, readings, origin_height + estimate.pos[2], t_us)
    motion = motion_of(estimate)
    if (
        vehicle.mode == LAND
        or (vehicle.mode == RTL and vehicle.vtol_state == TO_FIXED_WING)
        or (on_half_wings and not flies_to_target(vehicle))
    ):
        transition.requested = HOVERS
    check_quadchute(vehicle, transition, wing, params, motion, t_us)
    last_state = vehicle.vtol_state
    if on_half_wings:
        half_wings.measure_air(vehicle, wing, motion)
        half_wings.change_state(vehicle, transition, wing, params, motion, t_us)
    elif vehicle.vtol_type == TAILSITTER:
        tailsitter.change_state(vehicle, transition, wing, params, motion, t_us)
    elif vehicle.vtol_type == TILTROTOR:
        tiltrotor.change_state(vehicle, transition, wing, params, motion, t_us)
    else:
        standard.change_state(vehicle, transition, wing, params, motion, t_us)
    if vehicle.vtol_state != last_state:
        _enter_state(vehicle, wing, last_state)
    if on_half_wings:
        if vehicle.vtol_state != HOVERS and flies_to_target(vehicle):
            half_wings.fly(vehicle, transition, wing, params, motion, t_us, due, dt)
        return
    if vehicle.vtol_state == HOVERS or vehicle.vtol_state == ON_WINGS:
        vehicle.hover_weight = 1.0 if vehicle.vtol_state == HOVERS else 0.0
        vehicle.sp_tilt = tiltrotor.FORWARDS * (
            1.0 if vehicle.vtol_state == HOVERS else params.VT_TILT_FW
        )
        return
    if vehicle.vtol_type == TAILSITTER:
        tailsitter.change_over(vehicle, transition, wing, params, motion, dt)
        return
    course = math.atan2(motion.vel[0], motion.vel[1])
    accel = math.cos(course) * vehicle.acc_filtered[0] + math.sin(course) * vehicle.acc_filtered[1]
    if vehicle.vtol_type == TILTROTOR:
        tiltrotor.change_over(
            vehicle, transition, wing, params, motion, front_fraction, accel, t_us, dt
        )
    else:
        standard.change_over(vehicle, transition, wing, params, motion, accel, t_us, dt)
    if due:
        _guide(vehicle, transition, wing, params, motion)
    wing.pitch = transition.pitch
    if vehicle.armed:
        control_attitude(wing, params, motion.roll, motion.pitch)
        control_rates(wing, params, estimate.ang_vel, vehicle.landed, dt)


@njit
def _enter_state(vehicle: Record, wing: Record, last_state: int) -> None:
    """Applies a change of vtol_state: control type, integrators and events."""
    if vehicle.vtol_type != HALF_WINGED:
        vehicle.vehicle_type = FIXED_WING if vehicle.vtol_state == ON_WINGS else MULTICOPTER
    if last_state != TO_HOVER or vehicle.vtol_type != STANDARD_VTOL:
        vehicle.vel_integral[:] = 0.0
        vehicle.rate_integral[:] = 0.0
    if vehicle.vtol_state == HOVERS:
        vehicle.mode_stage = NEW_MODE
    elif vehicle.vtol_state == TO_FIXED_WING:
        wing.rate_integral[:] = 0.0
        wing.roll, wing.airspeed_sp = 0.0, math.nan
    if vehicle.vtol_state in (HOVERS, ON_WINGS):
        vehicle.events |= EVENT_TRANSITION_OVER


@njit
def _guide(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion
) -> None:
    """Writes the roll set-point of a transition: straight on, or along the leg to the target."""
    set_airspeed(
        wing,
        params,
        motion,
        vehicle.target_speed,
        turn_min_airspeed(wing, params),
        False,
        GUIDANCE_S,
    )
    roll = wing.roll
    if vehicle.mode in _MANUAL:
        wing.roll = vehicle.stick_right * math.radians(params.FW_R_LIM)
    elif vehicle.vtol_state == TO_FIXED_WING:
        fly_line(
            wing,
            params,
            motion,
            (transition.start_pos[0], transition.start_pos[1]),
            (math.cos(transition.course), math.sin(transition.course)),
            params.NPFG_PERIOD,
        )
    elif (
        vehicle.mode == LAND
        or vehicle.target_type == TARGET_LAND
        or (vehicle.vtol_type == TILTROTOR and _is_past(vehicle, transition, motion))
    ):
        wing.roll = 0.0
    else:
        fly_leg(
            wing,
            params,
            motion,
            (transition.start_pos[0], transition.start_pos[1]),
            (vehicle.target[1], vehicle.target[0]),
        )
    step = math.radians(params.FW_PN_R_SLEW_MAX) * GUIDANCE_S
    wing.roll = clamp(wing.roll, roll - step, roll + step)


@njit
def _is_past(vehicle: Record, transition: Record, motion: Motion) -> bool:
    """Returns whether the vehicle is past its target; it turns back only in hover."""
    north, east = (
        vehicle.target[1] - transition.start_pos[0],
        vehicle.target[0] - transition.start_pos[1],
    )
    return (
        north * (vehicle.target[1] - motion.pos[0]) + east * (vehicle.target[0] - motion.pos[1])
        < 0.0
    )


@njit
def step_fleet(
    status: np.ndarray,
    transitions: np.ndarray,
    wings: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    tailsitters: np.ndarray,
    sensors: np.ndarray,
    front_fractions: np.ndarray,
    t_us: int,
    epoch_us: np.ndarray,
    origin_height: float,
    dt: float,
) -> int:
    """Steps the transitions of the fleet; returns the union of the EVENT_ bits."""
    events = 0
    for i in range(status.shape[0]):
        vehicle = status[i]
        if vehicle.vtol_type != NOT_VTOL:
            due = (t_us - epoch_us[i]) % GUIDANCE_US == 0
            estimate = estimates[i]
            if vehicle.vtol_type in (TAILSITTER, HALF_WINGED):
                tailsitters[i] = estimate
                to_wing_axes(estimate, tailsitters[i])
                if vehicle.vtol_state in (ON_WINGS, TO_HOVER):
                    estimate = tailsitters[i]
            _step_vehicle(
                vehicle,
                transitions[i],
                wings[i],
                parameters[i],
                estimate,
                sensors[i],
                front_fractions[i],
                t_us,
                due,
                origin_height,
                dt,
            )
            events |= vehicle.events
    return events


@njit
def blend_fleet(
    status: np.ndarray,
    transitions: np.ndarray,
    wings: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    front_fractions: np.ndarray,
) -> None:
    """Writes the attitude set-points of the fleet's transitions and of pusher assist."""
    for i in range(status.shape[0]):
        vehicle, transition, wing = status[i], transitions[i], wings[i]
        if vehicle.vtol_type in (NOT_VTOL, HALF_WINGED) or vehicle.vtol_state == ON_WINGS:
            continue
        if vehicle.vtol_state == HOVERS:
            if vehicle.sp_kind == TRAJECTORY:
                transition.pusher = assist(vehicle, parameters[i], motion_of(estimates[i]))
            elif vehicle.sp_kind == NO_SET_POINT or vehicle.mode in _MANUAL:
                transition.pusher = 0.0
            if vehicle.vtol_type == TILTROTOR:
                vehicle.sp_side_force[0] = tiltrotor.push_in_hover(
                    vehicle, parameters[i], front_fractions[i], transition.pusher
                )
        elif vehicle.vtol_type == TAILSITTER:
            if vehicle.sp_kind == TRAJECTORY:
                vehicle.sp_thrust = transition.thrust
            if vehicle.sp_kind != RATES and vehicle.sp_kind != NO_SET_POINT:
                _point(vehicle, tailsitter.attitude(transition))
        elif vehicle.sp_kind != RATES and vehicle.sp_kind != NO_SET_POINT:
            if vehicle.vtol_type == TILTROTOR:
                vehicle.sp_side_force[0] = transition.forward
                if vehicle.sp_kind == TRAJECTORY:
                    vehicle.sp_thrust = transition.thrust
            _point(vehicle, from_euler(wing.roll, -transition.pitch, yaw_of(estimates[i].quat)))


@njit
def _point(vehicle: Record, quat: Quaternion) -> None:
    """Writes the attitude set-point."""
    for k in range(4):
        vehicle.sp_quat[k] = quat[k]
    vehicle.sp_yaw_rate, vehicle.free_yaw = 0.0, math.nan


@njit
def mix_fleet(
    status: np.ndarray,
    transitions: np.ndarray,
    wings: np.ndarray,
    parameters: np.ndarray,
    tailsitters: np.ndarray,
    models: np.ndarray,
    actuators: np.ndarray,
    pushes: np.ndarray,
    signs: np.ndarray,
    t_us: int,
    dt: float,
    commands: np.ndarray,
) -> None:
    """Writes the commands of pushers and surfaces of the fleet."""
    for i in range(status.shape[0]):
        vehicle, transition, wing, n_actuators = (
            status[i],
            transitions[i],
            wings[i],
            models[i].actuators,
        )
        if vehicle.vtol_type in (NOT_VTOL, HALF_WINGED):
            continue
        pusher = transition.pusher
        if vehicle.vtol_state == ON_WINGS:
            fraction = clamp((t_us - transition.finished_t) * 1e-6 / BLEND_S, 0.0, 1.0)
            pusher = fraction * wing.throttle + (1.0 - fraction) * transition.pusher
            if vehicle.vtol_type == TAILSITTER:
                tailsitter.drive(
                    wing, parameters[i], pusher, actuators[i], n_actuators, commands[i]
                )
        else:
            fraction = 1.0 - vehicle.hover_weight
            if vehicle.vtol_type == TAILSITTER and (
                vehicle.vtol_state != HOVERS or not parameters[i].VT_ELEV_MC_LOCK
            ):
                tailsitter.steer(vehicle, wing, parameters[i], tailsitters[i], dt)
                fraction = 1.0
            elif vehicle.vtol_type == TILTROTOR and vehicle.vtol_state != HOVERS:
                fraction = 1.0
            deflect(actuators[i], n_actuators, signs[i], wing.torque, fraction, commands[i])
        for k in range(n_actuators):
            if (
                actuators[i, k].kind == ROTOR
                and pushes[i, k]
                and (vehicle.vtol_type != TILTROTOR or vehicle.vtol_state == ON_WINGS)
            ):
                commands[i, k] = clamp(pusher, 0.0, 1.0)
