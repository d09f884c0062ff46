"""Tail-sitters on half wings: the loops of hover fly them from rest to fast, no others take over.

Their transitions are PX4's by name and command. The guidance of fixed wings (NPFG on legs and
circles, height by a climb rate) becomes velocity and acceleration set-points of those loops: along
the way of the air at its airspeed, with the sideways acceleration of its roll. The airspeed is that
of the learnt wind, so that no pitot tube is needed. On wings are only the modes that fly to a
target; from any other one it goes back to hover.
"""

import math

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp, wrap_pi
from ..fixed_wing.auto import DESCENT, follow_target, watch_target
from ..fixed_wing.guidance import Motion, set_airspeed, turn_min_airspeed, with_wind
from ..fixed_wing.stack import GUIDANCE_S
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import MAX_CLIMB_SP, begin_transition, front_is_complete, is_airborne


@njit
def measure_air(vehicle: Record, wing: Record, motion: Motion) -> None:
    """Writes the equivalent airspeed by the learnt wind [m/s]."""
    wind = vehicle.wind
    north, east, up = motion.vel[0] - wind[1], motion.vel[1] - wind[0], motion.climb - wind[2]
    wing.airspeed = math.sqrt(north * north + east * east + up * up) / wing.eas2tas


@njit
def change_state(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> None:
    """Advances vtol_state towards the requested state; see standard.change_state().

    A front transition goes towards the yaw of the target where that has one, since wings that are
    edge-on to the wind cannot turn there first.
    """
    requested = HOVERS if vehicle.quadchute else transition.requested
    if requested == ON_WINGS:
        if vehicle.vtol_state == HOVERS:
            begin_transition(vehicle, transition, motion, t_us)
            if math.isfinite(vehicle.target_yaw):
                transition.course = 0.5 * math.pi - vehicle.target_yaw
            _keep_speed(transition, motion)
            vehicle.vtol_state = TO_FIXED_WING
        elif vehicle.vtol_state == TO_HOVER or front_is_complete(
            vehicle, transition, wing, params, t_us
        ):
            if vehicle.vtol_state != ON_WINGS:
                transition.finished_t, wing.airspeed_sp = t_us, wing.airspeed
            vehicle.vtol_state = ON_WINGS
    elif vehicle.quadchute:
        vehicle.vtol_state = HOVERS
    elif vehicle.vtol_state in (ON_WINGS, TO_FIXED_WING):
        begin_transition(vehicle, transition, motion, t_us)
        transition.course = math.atan2(motion.vel[1], motion.vel[0])
        _keep_speed(transition, motion)
        vehicle.vtol_state = TO_HOVER
    elif vehicle.vtol_state == TO_HOVER and (
        math.hypot(motion.vel[0], motion.vel[1]) < params.MPC_XY_CRUISE or not is_airborne(vehicle)
    ):
        vehicle.vtol_state = HOVERS


@njit
def _keep_speed(transition: Record, motion: Motion) -> None:
    """Begins a transition at the present speed along its course."""
    north, east = math.cos(transition.course), math.sin(transition.course)
    transition.speed = max(north * motion.vel[0] + east * motion.vel[1], 0.0)


@njit
def fly(
    vehicle: Record,
    transition: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    t_us: int,
    due: bool,
    dt: float,
) -> None:
    """Writes the velocity and the acceleration that the navigator hands on, as its trajectory.

    Args:
        vehicle: Record of VEHICLE_STATUS; smooth_pos, smooth_vel and smooth_acc are written.
        transition: Record of TRANSITION_STATE.
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        t_us: Present time [us].
        due: Whether the guidance of the path is due.
        dt: Length of the step [s].
    """
    if vehicle.vtol_state == ON_WINGS:
        motion = with_wind(motion, (vehicle.wind[1], vehicle.wind[0]))
        if due:
            _guide(vehicle, wing, params, motion, t_us)
        _along_air(vehicle, transition, wing, params, motion)
    else:
        _straight_on(vehicle, transition, params, motion, dt)
    vehicle.smooth_pos[0], vehicle.smooth_pos[1] = motion.pos[1], motion.pos[0]
    vehicle.smooth_pos[2] = motion.height


@njit
def _straight_on(
    vehicle: Record, transition: Record, params: Record, motion: Motion, dt: float
) -> None:
    """Speeds up along the course of a transition, or slows down, at the height of its start."""
    gain = -params.VT_B_DEC_MSS
    if vehicle.vtol_state == TO_FIXED_WING:
        gain = params.VT_ARSP_TRANS / max(params.VT_F_TRANS_DUR, 0.1)
    speed = clamp(transition.speed + gain * dt, 0.0, params.MPC_XY_VEL_MAX)
    gain = gain if speed != transition.speed and speed > 0.0 else 0.0
    transition.speed = speed
    north, east = math.cos(transition.course), math.sin(transition.course)
    _set(vehicle, (speed * north, speed * east), (gain * north, gain * east))
    vehicle.smooth_vel[2] = clamp(
        params.MPC_Z_P * (transition.start_height - motion.height), -MAX_CLIMB_SP, MAX_CLIMB_SP
    )


@njit
def _guide(vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int) -> None:
    """Writes roll, airspeed_ref and height_ref of the leg or circle, and whether it is done."""
    roll, step = wing.roll, math.radians(params.FW_PN_R_SLEW_MAX) * GUIDANCE_S
    least = turn_min_airspeed(wing, params)
    set_airspeed(wing, params, motion, vehicle.target_speed, least, False, GUIDANCE_S)
    if vehicle.descend:
        wing.roll, wing.airspeed_ref = math.radians(params.FW_GPSF_R), wing.airspeed_sp
        wing.height_ref = math.nan
    else:
        wing.height_ref = follow_target(vehicle, wing, params, motion)
    wing.roll = clamp(wing.roll, roll - step, roll + step)
    bearing = math.atan2(motion.pos[0] - vehicle.centre[1], motion.pos[1] - vehicle.centre[0])
    watch_target(vehicle, wing, params, motion, t_us, _flown(vehicle, wing, bearing))
    wing.orbit_bearing = bearing


@njit
def _flown(vehicle: Record, wing: Record, bearing: float) -> float:
    """Returns the angle flown around the centre of an orbit since the last guidance [rad]."""
    return wrap_pi(wing.orbit_bearing - bearing) * math.copysign(1.0, vehicle.orbit_radius)


@njit
def _along_air(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion
) -> None:
    """Keeps the airspeed along the way of the air, turns by the roll, and goes to the height."""
    north, east = motion.vel[0] - motion.wind[0], motion.vel[1] - motion.wind[1]
    speed = math.hypot(north, east)
    if speed > 0.1:
        north, east = north / speed, east / speed
    else:
        north, east = math.cos(transition.course), math.sin(transition.course)
    turn = GRAVITY * math.tan(wing.roll)  # to the right
    airspeed = wing.airspeed_ref
    _set(
        vehicle,
        (airspeed * north + motion.wind[0], airspeed * east + motion.wind[1]),
        (-turn * east, turn * north),
    )
    climb = DESCENT
    if math.isfinite(wing.height_ref):
        climb = (wing.height_ref - motion.height) / params.FW_T_ALT_TC
    vehicle.smooth_vel[2] = clamp(climb, -params.FW_T_SINK_R_SP, params.FW_T_CLMB_R_SP)
    vehicle.sp_yaw = math.atan2(north, east)


@njit
def _set(vehicle: Record, vel: tuple[float, float], acc: tuple[float, float]) -> None:
    """Writes horizontal set-points, (north, east) each [m/s, m/s^2]."""
    vehicle.smooth_vel[0], vehicle.smooth_vel[1] = vel[1], vel[0]
    vehicle.smooth_acc[0], vehicle.smooth_acc[1], vehicle.smooth_acc[2] = acc[1], acc[0], 0.0
