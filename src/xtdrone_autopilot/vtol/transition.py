"""What the transitions of all types of VTOL share, as in PX4's VtolType.

Angles and horizontal vectors are as in FIXED_WING_STATE.
"""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp
from ..fixed_wing.guidance import Motion
from ..navigation.navigator import ACC_FILTER_S
from ..state.reasons import (
    DESCENT,
    LOSS_IN_TRANSITION,
    NO_QUADCHUTE,
    PITCHED,
    ROLLED,
    TIMEOUT,
    TOO_LOW,
)
from ..state.vehicle_status import EVENT_QUADCHUTE, HOVERS, ON_WINGS, TO_FIXED_WING, TO_HOVER

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
STEEPEST = 0.3  # pitch set-point of a transition to hover [rad]
MORE_DECELERATION = 1.2  # of VT_B_DEC_MSS, so as not to overshoot
CLIMBS = 0.2  # above which the nose waits [m/s]
MAX_VERTICAL = 2.0  # speed to come back to the height [m/s]
LOSS_US = 5_000_000  # for so long after a transition a loss of height still counts [us]
TECS_US = 1_000_000  # for so long total energy control counts as running [us]


@njit
def since(u: np.void, t_us: int) -> float:
    """Time since the transition began [s]."""
    return (t_us - u.begun_t) * 1e-6


@njit
def is_airborne(v: np.void) -> bool:
    """Whether it flies; on the ground a transition takes no time."""
    return v.armed and not v.landed


@njit
def least_front_s(q: np.void, eas2tas: float) -> float:
    """Least length of a transition to fixed-wing flight [s]; longer in thinner air."""
    return q.VT_TRANS_MIN_TM * eas2tas**3


@njit
def begin(v: np.void, u: np.void, m: Motion, t_us: int) -> None:
    """A transition begins; on the way to fixed-wing flight it holds the heading of the mode."""
    u.begun_t, u.begun_height = t_us, m.height
    u.start[0], u.start[1] = m.pos
    u.course = m.heading
    u.pitch_integral = 0.0
    v.smooth_vel[2] = m.climb


@njit
def front_is_complete(v: np.void, u: np.void, w: np.void, q: np.void, t_us: int) -> bool:
    """Whether it is fast enough for fixed-wing flight."""
    if not is_airborne(v):
        return True
    if math.isfinite(w.airspeed) and q.FW_USE_AIRSPD:
        return since(u, t_us) > least_front_s(q, w.eas2tas) and w.airspeed >= max(
            q.VT_ARSP_TRANS, q.VT_ARSP_BLEND
        )
    return since(u, t_us) > max(q.VT_F_TR_OL_TM, q.VT_TRANS_MIN_TM) * w.eas2tas**3


@njit
def decelerating_pitch(u: np.void, q: np.void, m: Motion, accel: float, dt: float) -> float:
    """Pitch set-point that slows it down by VT_B_DEC_MSS [rad].

    Args:
        u: Record of TRANSITION_STATE.
        q: Parameters.
        m: Motion; the nose does not rise further while the wings lift more than the weight.
        accel: Along its way over the ground [m/s^2].
        dt: [s].
    """
    error = MORE_DECELERATION * q.VT_B_DEC_MSS + accel
    pitch = u.pitch_integral
    if m.climb > CLIMBS and error > 0.0:
        error = 0.0
    if not ((pitch >= STEEPEST and error > 0.0) or (pitch <= 0.0 and error < 0.0)):
        u.pitch_integral += q.VT_B_DEC_I * error * dt
    return clamp(pitch, 0.0, STEEPEST)


@njit
def vertical_force(v: np.void, u: np.void, q: np.void, m: Motion, up: float, dt: float) -> float:
    """What the rotors have to lift, beside the wings, to hold the height [N].

    Args:
        v: Record of VEHICLE_STATUS.
        u: Record of TRANSITION_STATE; its `vertical` is filtered as the acceleration is.
        q: Parameters.
        m: Motion.
        up: What they lift now [N].
        dt: [s].
    """
    wanted = clamp(q.MPC_Z_P * (u.begun_height - m.height), -MAX_VERTICAL, MAX_VERTICAL)
    accel = q.MPC_Z_VEL_P_ACC * (wanted - m.climb)
    u.vertical += dt / (ACC_FILTER_S + dt) * (up - u.vertical)
    return u.vertical + v.mass * (accel - v.acc_filtered[2])


@njit
def watch(v: np.void, u: np.void, w: np.void, q: np.void, m: Motion, t_us: int) -> None:
    """Gives fixed-wing flight up (quad-chute) where one of its limits is passed."""
    if v.quadchute or v.vtol_state == HOVERS:
        return
    ground = m.terrain if math.isfinite(m.terrain) else v.home[2]
    too_high = 0 < q.VT_FW_QC_HMAX < m.height - ground
    if is_airborne(v) and not too_high:
        v.quadchute = _reason(v, u, w, q, m, t_us)
        if v.quadchute:
            v.events |= EVENT_QUADCHUTE


@njit
def _reason(v, u, w, q, m, t_us):
    if q.VT_FW_MIN_ALT > 0.0 and m.height < q.VT_FW_MIN_ALT:
        return TOO_LOW
    if _sinks(v, u, w, q, m, t_us):
        return DESCENT
    changes = v.vtol_state == TO_FIXED_WING or (
        v.vtol_state == ON_WINGS and t_us - u.finished_t < LOSS_US
    )
    if (
        q.VT_QC_T_ALT_LOSS > 0.0
        and changes
        and holds_height(v)
        and u.begun_height - m.height > q.VT_QC_T_ALT_LOSS
    ):
        return LOSS_IN_TRANSITION
    if 0.0 < math.radians(q.VT_FW_QC_P) < abs(m.pitch):
        return PITCHED
    if 0.0 < math.radians(q.VT_FW_QC_R) < abs(m.roll):
        return ROLLED
    if (
        q.VT_TRANS_TIMEOUT > 0.0
        and v.vtol_state == TO_FIXED_WING
        and since(u, t_us) > q.VT_TRANS_TIMEOUT * w.eas2tas**3
    ):
        return TIMEOUT
    return NO_QUADCHUTE


@njit
def holds_height(v: np.void) -> bool:
    """Whether its mode holds a height or a climb rate."""
    return v.mode not in (MANUAL, STABILIZED, ACRO)


@njit
def _sinks(v, u, w, q, m, t_us):
    """Whether it has lost VT_QC_ALT_LOSS below the reference of total energy control."""
    runs = t_us - w.tecs_t < TECS_US and v.vtol_state == ON_WINGS
    if q.VT_QC_ALT_LOSS <= 0.0 or not holds_height(v) or not runs or m.height >= w.ref_height:
        u.highest = math.nan
        return False
    if not math.isfinite(u.highest):
        u.highest = m.height
    u.highest = min(max(u.highest, m.height), w.ref_height)
    return u.highest - m.height > q.VT_QC_ALT_LOSS


@njit
def in_transition(v: np.void) -> bool:
    """Whether it changes between hover and fixed-wing flight."""
    return v.vtol_state == TO_FIXED_WING or v.vtol_state == TO_HOVER
