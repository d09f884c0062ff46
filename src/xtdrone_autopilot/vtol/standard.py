"""Standard VTOL (VT_TYPE 2): separate rotors for lift in hover and for forward thrust.

As PX4's vtol_att_control/standard.cpp. Another type of VTOL is a module with these two functions,
and a line for each in stack.py.
"""

import math

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from ..fixed_wing.guidance import Motion
from ..state.vehicle_status import HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER
from .transition import (
    begin_transition,
    decelerating_pitch,
    elapsed_s,
    front_is_complete,
    is_airborne,
    min_front_transition_s,
)


@njit
def change_state(
    vehicle: Record, transition: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> None:
    """Advances vtol_state towards the requested state.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        transition: Record of TRANSITION_STATE.
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        t_us: Present time [us].
    """
    if vehicle.quadchute:
        vehicle.vtol_state, transition.pusher = HOVERS, 0.0
    elif transition.requested == ON_WINGS:
        if vehicle.vtol_state in (HOVERS, TO_HOVER):
            begin_transition(vehicle, transition, motion, t_us)
            vehicle.vtol_state = TO_FIXED_WING
        elif vehicle.vtol_state == TO_FIXED_WING and front_is_complete(
            vehicle, transition, wing, params, t_us
        ):
            vehicle.vtol_state, transition.finished_t = ON_WINGS, t_us
    elif vehicle.vtol_state == ON_WINGS:
        begin_transition(vehicle, transition, motion, t_us)
        vehicle.vtol_state = TO_HOVER
    elif vehicle.vtol_state == TO_FIXED_WING:
        vehicle.vtol_state, transition.pusher = HOVERS, 0.0
    elif vehicle.vtol_state == TO_HOVER and (
        motion.forward < params.MPC_XY_CRUISE
        or not is_airborne(vehicle)
        or elapsed_s(transition, t_us) > params.VT_B_TRANS_DUR
    ):
        vehicle.vtol_state = HOVERS


@njit
def change_over(
    vehicle: Record,
    transition: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    accel: float,
    t_us: int,
    dt: float,
) -> None:
    """Writes hover_weight, pitch and pusher throttle of a transition.

    Args:
        vehicle, transition, wing, params, motion, t_us: See change_state().
        accel: Acceleration along the course over the ground [m/s^2].
        dt: Length of the step [s].
    """
    if vehicle.vtol_state == TO_FIXED_WING:
        step = params.VT_PSHER_SLEW * dt if params.VT_PSHER_SLEW > 0.0 else 1.0
        transition.pusher = max(min(transition.pusher + step, params.VT_F_TRANS_THR), 0.0)
        vehicle.hover_weight = _front_weight(transition, wing, params, t_us)
        transition.pitch = math.radians(params.FW_PSP_OFF) * (1.0 - vehicle.hover_weight)
        return
    transition.pusher = 0.0
    transition.pitch = decelerating_pitch(transition, params, motion, accel, dt)
    vehicle.hover_weight = 1.0
    if params.VT_B_TRANS_RAMP > 0.0:
        ramp = min(params.VT_B_TRANS_RAMP, params.VT_B_TRANS_DUR)
        vehicle.hover_weight = clamp(elapsed_s(transition, t_us) / ramp, 0.0, 1.0)


@njit
def _front_weight(transition: Record, wing: Record, params: Record, t_us: int) -> float:
    """Returns hover_weight in a front transition, by the airspeed or else by the elapsed time."""
    min_time_s = min_front_transition_s(params, wing.eas2tas)
    if params.FW_USE_AIRSPD == 0 or not math.isfinite(wing.airspeed):
        return clamp(2.0 * (1.0 - elapsed_s(transition, t_us) / max(min_time_s, 1e-3)), 0.0, 1.0)
    margin = max(params.VT_ARSP_TRANS, params.VT_ARSP_BLEND) - params.VT_ARSP_BLEND
    if (
        margin <= 0.0
        or wing.airspeed < params.VT_ARSP_BLEND
        or elapsed_s(transition, t_us) <= min_time_s
    ):
        return 1.0
    return clamp(1.0 - (wing.airspeed - params.VT_ARSP_BLEND) / margin, 0.0, 1.0)
