"""Modes of a fixed wing that a pilot flies: MANUAL, ACRO, STABILIZED, ALTCTL and POSCTL.

As in PX4's fw_rate_control, fw_att_control and FixedwingPositionControl.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp
from .guidance import Motion, control_energy, demand, fly_line, least_airspeed, set_airspeed

HEIGHT_DEADBAND = 0.06  # of the stick
COURSE_STICK = 0.01  # below which the sticks count as centred, and the course is held
COURSE_YAW_RATE = 0.15  # below which a course is taken [rad/s]
THROTTLE_OFF = -0.9  # of the stick: below it the motor of a landed vehicle stands
SWAPPED, BY_THROTTLE = 1, 2  # bits of FW_POS_STK_CONF


@njit
def throttle_of(v: np.void) -> float:
    """Throttle 0..1 of the stick."""
    return clamp(0.5 * (v.stick_up + 1.0), 0.0, 1.0)


@njit
def set_torque(v: np.void, w: np.void, q: np.void) -> None:
    """MANUAL: the sticks move the surfaces."""
    w.torque[0] = clamp(v.stick_right * q.FW_MAN_R_SC + q.TRIM_ROLL, -1.0, 1.0)
    w.torque[1] = clamp(-v.stick_forward * q.FW_MAN_P_SC + q.TRIM_PITCH, -1.0, 1.0)
    w.torque[2] = clamp(v.stick_clockwise * q.FW_MAN_Y_SC + q.TRIM_YAW, -1.0, 1.0)
    w.throttle = throttle_of(v)


@njit
def set_rates(v: np.void, w: np.void, q: np.void) -> None:
    """ACRO: the sticks are body rates."""
    w.rate[0] = v.stick_right * math.radians(q.FW_ACRO_X_MAX)
    w.rate[1] = -v.stick_forward * math.radians(q.FW_ACRO_Y_MAX)
    w.rate[2] = v.stick_clockwise * math.radians(q.FW_ACRO_Z_MAX)
    w.throttle = throttle_of(v)


@njit
def set_attitude(v: np.void, w: np.void, q: np.void) -> None:
    """STABILIZED: the sticks are roll and pitch."""
    most = math.radians(q.FW_MAN_P_MAX)
    w.roll = v.stick_right * math.radians(q.FW_MAN_R_MAX)
    w.pitch = clamp(-v.stick_forward * most + math.radians(q.FW_PSP_OFF), -most, most)
    w.throttle = throttle_of(v)


@njit
def height_rate(v: np.void, q: np.void) -> float:
    """Height rate of the stick [m/s]."""
    stick = v.stick_up if q.FW_POS_STK_CONF & SWAPPED else -v.stick_forward
    if abs(stick) <= HEIGHT_DEADBAND:
        return 0.0
    share = (stick - math.copysign(HEIGHT_DEADBAND, stick)) / (1.0 - HEIGHT_DEADBAND)
    return share * (q.FW_T_CLMB_R_SP if share > 0.0 else q.FW_T_SINK_R_SP)


@njit
def _airspeed(v, w, q, stick):
    """Airspeed of the stick, whose middle is the trim airspeed [m/s]."""
    if not q.FW_POS_STK_CONF & BY_THROTTLE:
        return q.FW_AIRSPD_TRIM
    end = q.FW_AIRSPD_MAX if stick > 0.0 else least_airspeed(w, q)
    return q.FW_AIRSPD_TRIM + abs(stick) * (end - q.FW_AIRSPD_TRIM)


@njit
def fly_height(
    v: np.void, w: np.void, q: np.void, m: Motion, by_position: bool, t_us: int, dt: float
) -> None:
    """ALTCTL and POSCTL: the sticks are height rate, airspeed and roll.

    Args:
        v: Record of VEHICLE_STATUS.
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        m: Motion.
        by_position: POSCTL, which holds its course while the sticks are centred.
        t_us: Now [us].
        dt: [s].
    """
    stick = -v.stick_forward if q.FW_POS_STK_CONF & SWAPPED else v.stick_up
    if v.landed:
        w.manual_takeoff_done = False
    elif not math.isfinite(w.airspeed) or w.airspeed > least_airspeed(w, q):
        w.manual_takeoff_done = True
    set_airspeed(
        w, q, m, _airspeed(v, w, q, stick), least_airspeed(w, q), not w.manual_takeoff_done, dt
    )
    airspeed = w.airspeed_sp
    w.roll = v.stick_right * math.radians(q.FW_R_LIM)
    if by_position and _holds_course(v, w, m):
        fly_line(
            w,
            q,
            m,
            (w.course_from[0], w.course_from[1]),
            (math.cos(w.course), math.sin(w.course)),
            q.NPFG_PERIOD,
        )
        airspeed = w.airspeed_ref / w.eas2tas
    low = math.radians(q.FW_P_LIM_MIN) if w.manual_takeoff_done else 0.0
    most = 0.0 if v.landed and stick < THROTTLE_OFF else q.FW_THR_MAX
    d = demand(
        w,
        q,
        m.height,
        height_rate(v, q),
        airspeed,
        q.FW_AIRSPD_MIN,
        (low, math.radians(q.FW_P_LIM_MAX)),
        (min(q.FW_THR_MIN, most), most),
        (q.FW_T_CLMB_R_SP, q.FW_T_SINK_R_SP),
        q.FW_T_ALT_TC,
        True,
    )
    control_energy(w, q, m, d, t_us, dt)


@njit
def _holds_course(v, w, m):
    """Whether the course is held; it is taken where the sticks are centred and it does not turn."""
    if abs(v.stick_right) >= COURSE_STICK or abs(v.stick_clockwise) >= COURSE_STICK:
        w.course_held = False
        return False
    if not w.manual_takeoff_done or (not w.course_held and abs(m.yaw_rate) < COURSE_YAW_RATE):
        w.course_held = True
        w.course_from[0], w.course_from[1] = m.pos
        w.course = m.heading
    return w.course_held
