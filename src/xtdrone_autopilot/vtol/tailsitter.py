"""The tail-sitter (VT_TYPE 0): it hovers nose up, and tilts forwards to fly on its wings.

States and limits as PX4's vtol_att_control/tailsitter.cpp. PX4 tilts at a given rate whatever
becomes of the height; here the rotors are given the thrust that holds the height, with the lift
of the wings as it is measured, and the tilt waits while no such thrust is to be had.
"""

import math

import numpy as np

from xtdrone_core.fleet_model import ROTOR
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_euler

from ..control.vector import clamp, thrust_newtons, thrust_normalised
from ..fixed_wing.attitude import control_rates
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import begin, holds_height, is_airborne, least_front_s, since, vertical_force

SOFT = 0.1  # of the weight: what lacks of the lift, from which on it tilts back at its full rate
UPRIGHT = 0.26  # tilt below which it hovers again [rad]
FORWARD = 1.05  # tilt from which it may fly on its wings [rad]
MIN_SHARE = 0.5  # of the rotors' thrust that points upwards, for which the thrust makes up
MAX_THRUST = 1.3  # over the weight, with which the tilt goes forwards


@njit
def change_state(v: np.void, u: np.void, w: np.void, q: np.void, m: Motion, t_us: int) -> None:
    """Moves vtol_state on towards what is wanted; arguments as of standard.change_state().

    The motion is that of the body up to fixed-wing flight, then that of the fixed wing.
    """
    wanted = HOVERS if v.quadchute else u.wanted
    if wanted == ON_WINGS:
        if v.vtol_state == HOVERS:
            begin(v, u, m, t_us)
            v.vtol_state, u.tilt = TO_FIXED_WING, max(-m.pitch, 0.0)
            u.thrust = u.vertical = v.sp_thrust
        elif v.vtol_state == TO_HOVER:
            v.vtol_state, u.finished_t = ON_WINGS, t_us
        elif v.vtol_state == TO_FIXED_WING and _flies(v, u, w, q, _tilt(v, m), t_us):
            v.vtol_state, u.finished_t = ON_WINGS, t_us
            u.pusher = thrust_normalised(v, u.thrust)
    elif v.vtol_state == ON_WINGS:
        begin(v, u, m, t_us)
        v.vtol_state, u.tilt = TO_HOVER, 0.5 * math.pi - m.pitch
        u.thrust, u.vertical = thrust_newtons(v, w.throttle), 0.0
    elif v.vtol_state == TO_FIXED_WING:
        v.vtol_state = TO_HOVER
    elif v.vtol_state == TO_HOVER and (_tilt(v, m) < UPRIGHT or not is_airborne(v)):
        v.vtol_state = HOVERS


@njit
def _flies(v, u, w, q, tilt, t_us):
    """Whether it is tilted and fast enough for fixed-wing flight."""
    if not is_airborne(v):
        return True
    if tilt < FORWARD or since(u, t_us) < least_front_s(q, w.eas2tas):
        return False
    if math.isfinite(w.airspeed) and q.FW_USE_AIRSPD:
        return w.airspeed >= q.VT_ARSP_TRANS
    return since(u, t_us) > q.VT_F_TR_OL_TM * w.eas2tas**3


@njit
def _tilt(v, m):
    """Of the body from upright [rad]."""
    return -m.pitch if v.vtol_state in (HOVERS, TO_FIXED_WING) else 0.5 * math.pi - m.pitch


@njit
def _forwards(q):
    """Tilt of level flight on the wings [rad]."""
    return 0.5 * math.pi - math.radians(q.FW_PSP_OFF)


@njit
def change_over(v: np.void, u: np.void, w: np.void, q: np.void, m: Motion, dt: float) -> None:
    """In a transition: the tilt, and the thrust that holds the height there.

    In modes that hold no height it tilts at its rate.

    Args:
        v, u, w, q, m: As of change_state().
        dt: [s].
    """
    v.hover_weight = 1.0
    up = math.cos(_tilt(v, m)) * math.cos(m.roll)
    going = v.vtol_state == TO_FIXED_WING
    rate = 0.5 * math.pi / max(q.VT_F_TRANS_DUR if going else q.VT_B_TRANS_DUR, 0.1)
    if not holds_height(v):
        u.tilt = clamp(u.tilt + (rate if going else -rate) * dt, 0.0, _forwards(q))
        return
    needed = vertical_force(v, u, q, m, u.thrust * up, dt)
    share = max(up, MIN_SHARE)
    if going:
        most = min(MAX_THRUST * v.mass * GRAVITY, v.thrust_max)
        step = rate * dt if needed <= most * math.cos(u.tilt) else -rate * dt
        u.tilt = clamp(u.tilt + step, 0.0, _forwards(q))
        u.thrust = clamp(needed / share, 0.0, v.thrust_max)
        return
    # Nearly level, thrust would only make it faster.
    u.thrust = clamp(needed / share, 0.0, v.thrust_max) * clamp(up / MIN_SHARE, 0.0, 1.0)
    lacking = clamp(needed / (SOFT * v.mass * GRAVITY), -1.0, 1.0)
    u.tilt = clamp(u.tilt - lacking * rate * dt, 0.0, 0.5 * math.pi)


@njit
def attitude(u: np.void) -> tuple[float, float, float, float]:
    """Attitude set-point xyzw of a transition, wings level."""
    return from_euler(0.0, u.tilt, 0.5 * math.pi - u.course)


@njit
def steer(v: np.void, w: np.void, q: np.void, wings: np.void, dt: float) -> None:
    """Torque of the elevons in a transition, for the rates that the rotors turn it with.

    PX4 leaves them where they were; at speed the wings' moment is then more than the rotors'.

    Args:
        v, w, q: As of change_state().
        wings: Record of ESTIMATE with the axes of the wings.
        dt: [s].
    """
    w.rate[0], w.rate[1], w.rate[2] = v.sp_rates[2], -v.sp_rates[1], v.sp_rates[0]
    control_rates(w, q, wings.ang_vel, v.landed, dt)


@njit
def drive(
    w: np.void, q: np.void, throttle: float, actuator: np.ndarray, count: int, commands: np.ndarray
) -> None:
    """Commands of the rotors on its wings: throttle, and its differences turn the nose.

    Args:
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        throttle: 0..1.
        actuator: (A,) of the vehicle.
        count: How many there are.
        commands: (A,), those of rotors are written.
    """
    turn = 0.5 * q.VT_FW_DIFTHR_S_Y * w.torque[2] if q.VT_FW_DIFTHR_EN & 1 else 0.0
    for k in range(count):
        if actuator[k].kind == ROTOR:
            left = math.copysign(1.0, actuator[k].pos[1]) if actuator[k].pos[1] != 0.0 else 0.0
            commands[k] = clamp(throttle + turn * left, 0.0, 1.0)
