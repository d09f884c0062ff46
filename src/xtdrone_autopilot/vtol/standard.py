"""The standard VTOL (VT_TYPE 2): rotors that carry it in hover, and others that push it forwards.

As PX4's vtol_att_control/standard.cpp. Another type of VTOL is a module with these two functions,
and a line for each in stack.py.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import (
    begin,
    decelerating_pitch,
    front_is_complete,
    is_airborne,
    least_front_s,
    since,
)


@njit
def change_state(v: np.void, u: np.void, w: np.void, q: np.void, m: Motion, t_us: int) -> None:
    """Moves vtol_state on towards what is wanted.

    Args:
        v: Record of VEHICLE_STATUS.
        u: Record of TRANSITION_STATE.
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        m: Motion.
        t_us: Now [us].
    """
    if v.quadchute:
        v.vtol_state, u.pusher = HOVERS, 0.0
    elif u.wanted == ON_WINGS:
        if v.vtol_state in (HOVERS, TO_HOVER):
            begin(v, u, m, t_us)
            v.vtol_state = TO_FIXED_WING
        elif v.vtol_state == TO_FIXED_WING and front_is_complete(v, u, w, q, t_us):
            v.vtol_state, u.finished_t = ON_WINGS, t_us
    elif v.vtol_state == ON_WINGS:
        begin(v, u, m, t_us)
        v.vtol_state = TO_HOVER
    elif v.vtol_state == TO_FIXED_WING:
        v.vtol_state, u.pusher = HOVERS, 0.0
    elif v.vtol_state == TO_HOVER and (
        m.forward < q.MPC_XY_CRUISE or not is_airborne(v) or since(u, t_us) > q.VT_B_TRANS_DUR
    ):
        v.vtol_state = HOVERS


@njit
def change_over(
    v: np.void, u: np.void, w: np.void, q: np.void, m: Motion, accel: float, t_us: int, dt: float
) -> None:
    """In a transition: the share of each set of actuators, pitch and pusher.

    Args:
        v, u, w, q, m, t_us: As of change_state().
        accel: Along the way over the ground [m/s^2].
        dt: [s].
    """
    if v.vtol_state == TO_FIXED_WING:
        step = q.VT_PSHER_SLEW * dt if q.VT_PSHER_SLEW > 0.0 else 1.0
        u.pusher = max(min(u.pusher + step, q.VT_F_TRANS_THR), 0.0)
        v.hover_weight = _front_weight(u, w, q, t_us)
        u.pitch = math.radians(q.FW_PSP_OFF) * (1.0 - v.hover_weight)
        return
    u.pusher = 0.0
    u.pitch = decelerating_pitch(u, q, m, accel, dt)
    v.hover_weight = 1.0
    if q.VT_B_TRANS_RAMP > 0.0:
        ramp = min(q.VT_B_TRANS_RAMP, q.VT_B_TRANS_DUR)
        v.hover_weight = clamp(since(u, t_us) / ramp, 0.0, 1.0)


@njit
def _front_weight(u, w, q, t_us):
    """Share of the rotors on the way to fixed-wing flight, by the airspeed or else by the time."""
    least = least_front_s(q, w.eas2tas)
    if q.FW_USE_AIRSPD == 0 or not math.isfinite(w.airspeed):
        return clamp(2.0 * (1.0 - since(u, t_us) / max(least, 1e-3)), 0.0, 1.0)
    margin = max(q.VT_ARSP_TRANS, q.VT_ARSP_BLEND) - q.VT_ARSP_BLEND
    if margin <= 0.0 or w.airspeed < q.VT_ARSP_BLEND or since(u, t_us) <= least:
        return 1.0
    return clamp(1.0 - (w.airspeed - q.VT_ARSP_BLEND) / margin, 0.0, 1.0)
