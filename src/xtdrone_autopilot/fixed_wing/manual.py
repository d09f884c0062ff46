"""Manual modes of a fixed wing: MANUAL, ACRO, STABILIZED, ALTCTL and POSCTL.

As PX4's fw_rate_control, fw_att_control and FixedwingPositionControl.
"""

import math

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from .guidance import (
    Motion,
    control_energy,
    energy_demand,
    fly_line,
    set_airspeed,
    turn_min_airspeed,
)

HEIGHT_DEADBAND = 0.06  # deadband of the height rate stick
HDG_HOLD_INPUT_THRESH = 0.01  # sticks below this count as centred, so that the course is held
HDG_HOLD_YAWRATE_THRESH = 0.15  # largest yaw rate at which a course is captured [rad/s]
THROTTLE_THRESH = -0.9  # throttle stick below which the motor of a landed vehicle stops
STICKS_SWAPPED, AIRSPEED_BY_STICK = 1, 2  # bits of FW_POS_STK_CONF


@njit
def throttle_of(vehicle: Record) -> float:
    """Returns the throttle 0..1 of the stick."""
    return clamp(0.5 * (vehicle.stick_up + 1.0), 0.0, 1.0)


@njit
def set_torque(vehicle: Record, wing: Record, params: Record) -> None:
    """Writes torque and throttle of MANUAL: the sticks command the surfaces."""
    wing.torque[0] = clamp(vehicle.stick_right * params.FW_MAN_R_SC + params.TRIM_ROLL, -1.0, 1.0)
    wing.torque[1] = clamp(
        -vehicle.stick_forward * params.FW_MAN_P_SC + params.TRIM_PITCH, -1.0, 1.0
    )
    wing.torque[2] = clamp(
        vehicle.stick_clockwise * params.FW_MAN_Y_SC + params.TRIM_YAW, -1.0, 1.0
    )
    wing.throttle = throttle_of(vehicle)


@njit
def set_rates(vehicle: Record, wing: Record, params: Record) -> None:
    """Writes rates and throttle of ACRO: the sticks command body rates."""
    wing.rate[0] = vehicle.stick_right * math.radians(params.FW_ACRO_X_MAX)
    wing.rate[1] = -vehicle.stick_forward * math.radians(params.FW_ACRO_Y_MAX)
    wing.rate[2] = vehicle.stick_clockwise * math.radians(params.FW_ACRO_Z_MAX)
    wing.throttle = throttle_of(vehicle)


@njit
def set_attitude(vehicle: Record, wing: Record, params: Record) -> None:
    """Writes attitude and throttle of STABILIZED: the sticks command roll and pitch."""
    max_pitch = math.radians(params.FW_MAN_P_MAX)
    wing.roll = vehicle.stick_right * math.radians(params.FW_MAN_R_MAX)
    wing.pitch = clamp(
        -vehicle.stick_forward * max_pitch + math.radians(params.FW_PSP_OFF), -max_pitch, max_pitch
    )
    wing.throttle = throttle_of(vehicle)


@njit
def height_rate(vehicle: Record, params: Record) -> float:
    """Returns the height rate that the stick commands [m/s]."""
    stick = vehicle.stick_up if params.FW_POS_STK_CONF & STICKS_SWAPPED else -vehicle.stick_forward
    if abs(stick) <= HEIGHT_DEADBAND:
        return 0.0
    command = (stick - math.copysign(HEIGHT_DEADBAND, stick)) / (1.0 - HEIGHT_DEADBAND)
    return command * (params.FW_T_CLMB_R_SP if command > 0.0 else params.FW_T_SINK_R_SP)


@njit
def _airspeed(vehicle: Record, wing: Record, params: Record, stick: float) -> float:
    """Returns the airspeed that the stick commands; centred = FW_AIRSPD_TRIM [m/s]."""
    if not params.FW_POS_STK_CONF & AIRSPEED_BY_STICK:
        return params.FW_AIRSPD_TRIM
    end = params.FW_AIRSPD_MAX if stick > 0.0 else turn_min_airspeed(wing, params)
    return params.FW_AIRSPD_TRIM + abs(stick) * (end - params.FW_AIRSPD_TRIM)


@njit
def fly_height(
    vehicle: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    by_position: bool,
    t_us: int,
    dt: float,
) -> None:
    """Writes roll, pitch and throttle of ALTCTL and POSCTL.

    The sticks command height rate, airspeed and roll.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        by_position: True in POSCTL, which holds its course while the sticks are centred.
        t_us: Present time [us].
        dt: Length of the step [s].
    """
    stick = -vehicle.stick_forward if params.FW_POS_STK_CONF & STICKS_SWAPPED else vehicle.stick_up
    if vehicle.landed:
        wing.manual_takeoff_done = False
    elif not math.isfinite(wing.airspeed) or wing.airspeed > turn_min_airspeed(wing, params):
        wing.manual_takeoff_done = True
    set_airspeed(
        wing,
        params,
        motion,
        _airspeed(vehicle, wing, params, stick),
        turn_min_airspeed(wing, params),
        not wing.manual_takeoff_done,
        dt,
    )
    airspeed = wing.airspeed_sp
    wing.roll = vehicle.stick_right * math.radians(params.FW_R_LIM)
    if by_position and _holds_course(vehicle, wing, motion):
        fly_line(
            wing,
            params,
            motion,
            (wing.course_start[0], wing.course_start[1]),
            (math.cos(wing.course), math.sin(wing.course)),
            params.NPFG_PERIOD,
        )
        airspeed = wing.airspeed_ref / wing.eas2tas
    min_pitch = math.radians(params.FW_P_LIM_MIN) if wing.manual_takeoff_done else 0.0
    max_throttle = 0.0 if vehicle.landed and stick < THROTTLE_THRESH else params.FW_THR_MAX
    demand = energy_demand(
        wing,
        params,
        motion.height,
        height_rate(vehicle, params),
        airspeed,
        params.FW_AIRSPD_MIN,
        (min_pitch, math.radians(params.FW_P_LIM_MAX)),
        (min(params.FW_THR_MIN, max_throttle), max_throttle),
        (params.FW_T_CLMB_R_SP, params.FW_T_SINK_R_SP),
        params.FW_T_ALT_TC,
        True,
    )
    control_energy(wing, params, motion, demand, t_us, dt)


@njit
def _holds_course(vehicle: Record, wing: Record, motion: Motion) -> bool:
    """Returns whether the course is held; captures it once sticks and yaw rate are near zero."""
    if (
        abs(vehicle.stick_right) >= HDG_HOLD_INPUT_THRESH
        or abs(vehicle.stick_clockwise) >= HDG_HOLD_INPUT_THRESH
    ):
        wing.course_held = False
        return False
    if not wing.manual_takeoff_done or (
        not wing.course_held and abs(motion.yaw_rate) < HDG_HOLD_YAWRATE_THRESH
    ):
        wing.course_held = True
        wing.course_start[0], wing.course_start[1] = motion.pos
        wing.course = motion.heading
    return wing.course_held
