"""Fills snapshots from the records of the flight stack."""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.vehicle_type import HALF_WINGED, NOT_VTOL, TAILSITTER
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import AIR_GAS_CONSTANT
from xtdrone_dynamics.earth.atmosphere import density, height_of_pressure
from xtdrone_dynamics.earth.geodesy import to_geodetic
from xtdrone_dynamics.quaternion import to_euler

from ..control.vector import thrust_normalised
from ..estimation.status import solution_status
from ..state.estimator_flags import (
    AIRSPEED_USED,
    ALIGNED,
    AT_REST,
    BARO_USED,
    GPS_USED,
    HEIGHT_BY_GPS,
    HEIGHT_BY_RANGE,
    MAG_USED,
    POSITION_VALID,
    RANGE_USED,
    SIDESLIP_USED,
    TEST_AIRSPEED,
    TEST_BARO,
    TEST_HGT,
    TEST_MAG,
    TEST_POS,
    TEST_RANGE,
    TEST_SIDESLIP,
    TEST_VEL,
    TEST_VISION,
    VISION_USED,
)
from ..state.local_origin import shifted
from ..state.ned import heading, quat_to_ned, to_frd, to_ned
from ..state.vehicle_status import TO_FIXED_WING, TO_HOVER
from .snapshot import MAX_MOTORS

_SOURCE_MAVLINK_0 = 2  # manual_control_setpoint.data_source
_STICK_MOVING_RATE = 0.3  # a faster stick counts as moving; default of PX4's COM_RC_STICK_OV [1/s]
_STICKS_LOST_US = 1_000_000  # lost sticks are logged as not valid for this time [us]
_PWM_OFF = 900.0  # PX4's simulated PWM output for a stopped motor [us]
_ZERO_CELSIUS = 273.15  # [K]

# Bits of estimator_status.control_mode_flags.
_CS_TILT, _CS_YAW, _CS_GPS, _CS_IN_AIR, _CS_WIND, _CS_BARO = 1, 2, 4, 1 << 7, 1 << 8, 1 << 9
_CS_RANGE, _CS_GPS_HEIGHT, _CS_EV = 1 << 10, 1 << 11, 1 << 12
_CS_SIDESLIP, _CS_FIXED_WING, _CS_AIRSPEED = 1 << 15, 1 << 17, 1 << 19
# Bits of estimator_status.innovation_check_flags.
_REJECT_MAG, _REJECT_AIRSPEED, _REJECT_SIDESLIP, _REJECT_HAGL = 7 << 4, 1 << 8, 1 << 9, 1 << 10


@njit
def _horizontal_variance(sigma: np.ndarray) -> float:
    """Returns the sum of the variances of the first two axes."""
    return sigma[0] * sigma[0] + sigma[1] * sigma[1]


@njit
def fill_estimate(
    snapshot: Record, origin: tuple[float, float, float], estimate: Record, acc: np.ndarray
) -> None:
    """Fills position, velocity, attitude and their accuracies; acc is (3,), world [m/s^2]."""
    lat0, lon0, alt0 = origin
    pos, vel, quat, reset_pos = estimate.pos, estimate.vel, estimate.quat, estimate.reset_pos
    pos_std, vel_std, att_std = estimate.pos_std, estimate.vel_std, estimate.att_std
    quat_to_ned(quat, snapshot.quat)
    to_frd(estimate.ang_vel, snapshot.rates)
    snapshot.heading = to_euler(
        snapshot.quat[1], snapshot.quat[2], snapshot.quat[3], snapshot.quat[0]
    )[2]
    snapshot.heading_var = att_std[2] * att_std[2]
    snapshot.tilt_var = _horizontal_variance(att_std)
    snapshot.x, snapshot.y, snapshot.z = pos[1], pos[0], -pos[2]
    snapshot.vx, snapshot.vy, snapshot.vz = vel[1], vel[0], -vel[2]
    snapshot.ax, snapshot.ay, snapshot.az = acc[1], acc[0], -acc[2]
    snapshot.eph, snapshot.epv = math.sqrt(_horizontal_variance(pos_std)), pos_std[2]
    snapshot.evh, snapshot.evv = math.sqrt(_horizontal_variance(vel_std)), vel_std[2]
    snapshot.reset_xy[0], snapshot.reset_xy[1], snapshot.reset_z = (
        reset_pos[1],
        reset_pos[0],
        -reset_pos[2],
    )
    lat, lon = to_geodetic(pos[0], pos[1], lat0, lon0)
    snapshot.lat, snapshot.lon, snapshot.alt = math.degrees(lat), math.degrees(lon), pos[2] + alt0
    snapshot.alt_ellipsoid = snapshot.alt + snapshot.geoid
    snapshot.resets = estimate.reset_count & 0xFF
    to_frd(estimate.gyro_bias, snapshot.gyro_bias)
    to_frd(estimate.accel_bias, snapshot.accel_bias)
    to_frd(estimate.field_bias, snapshot.mag_bias, 1e4)


@njit
def fill_estimator_status(snapshot: Record, estimate: Record, height_ref: int) -> None:
    """Fills which sources the estimator fuses and rejects, and its test ratios."""
    flags, ratios, terrain, wind = (
        estimate.flags,
        estimate.test_ratios,
        estimate.terrain,
        estimate.wind,
    )
    snapshot.aligned = flags & ALIGNED != 0
    snapshot.located = flags & POSITION_VALID != 0
    snapshot.gps_used = flags & GPS_USED != 0
    snapshot.vision_used = flags & VISION_USED != 0
    snapshot.baro_used = flags & BARO_USED != 0
    snapshot.mag_used = flags & MAG_USED != 0
    snapshot.at_rest = flags & AT_REST != 0
    snapshot.above_ground, snapshot.ground_known = -snapshot.z - terrain, math.isfinite(terrain)
    snapshot.wind_known = math.isfinite(wind[0])
    snapshot.wind_north, snapshot.wind_east = wind[1], wind[0]
    aided = snapshot.gps_used > 0.0 or snapshot.vision_used > 0.0
    snapshot.dead_reckoning = snapshot.located > 0.0 and not aided
    snapshot.vel_ratio, snapshot.pos_ratio, snapshot.hgt_ratio = (
        ratios[TEST_VEL],
        ratios[TEST_POS],
        ratios[TEST_HGT],
    )
    snapshot.baro_ratio, snapshot.mag_ratio = ratios[TEST_BARO], ratios[TEST_MAG]
    snapshot.vision_ratio = ratios[TEST_VISION]
    snapshot.range_ratio, snapshot.airspeed_ratio = ratios[TEST_RANGE], ratios[TEST_AIRSPEED]
    snapshot.sideslip_ratio = ratios[TEST_SIDESLIP]
    snapshot.sideslip_used, snapshot.on_wings = flags & SIDESLIP_USED != 0, estimate.on_wings
    snapshot.sideslip_rejected = snapshot.sideslip_ratio > 1.0
    snapshot.range_used = flags & RANGE_USED != 0
    snapshot.airspeed_used = flags & AIRSPEED_USED != 0
    snapshot.range_height = snapshot.range_used > 0.0 and height_ref == HEIGHT_BY_RANGE
    snapshot.gps_height = snapshot.gps_used > 0.0 and height_ref == HEIGHT_BY_GPS
    snapshot.range_rejected, snapshot.airspeed_rejected = (
        snapshot.range_ratio > 1.0,
        snapshot.airspeed_ratio > 1.0,
    )
    snapshot.vel_rejected, snapshot.pos_rejected = (
        snapshot.vel_ratio > 1.0,
        snapshot.pos_ratio > 1.0,
    )
    snapshot.hgt_rejected = snapshot.hgt_ratio > 1.0
    snapshot.control_flags = (
        snapshot.aligned * (_CS_TILT | _CS_YAW)
        + snapshot.gps_used * _CS_GPS
        + snapshot.in_air * _CS_IN_AIR
        + snapshot.wind_known * _CS_WIND
        + snapshot.baro_used * _CS_BARO
        + snapshot.range_height * _CS_RANGE
        + snapshot.gps_height * _CS_GPS_HEIGHT
        + snapshot.vision_used * _CS_EV
        + snapshot.sideslip_used * _CS_SIDESLIP
        + snapshot.on_wings * _CS_FIXED_WING
        + snapshot.airspeed_used * _CS_AIRSPEED
    )
    snapshot.mag_rejected = snapshot.mag_ratio > 1.0
    snapshot.innovation_flags = (
        snapshot.vel_rejected * 3
        + snapshot.pos_rejected * 4
        + snapshot.hgt_rejected * 8
        + snapshot.mag_rejected * _REJECT_MAG
        + snapshot.airspeed_rejected * _REJECT_AIRSPEED
        + snapshot.sideslip_rejected * _REJECT_SIDESLIP
        + snapshot.range_rejected * _REJECT_HAGL
    )
    snapshot.solution_flags = solution_status(flags, ratios)


@njit
def fill_set_points(snapshot: Record, vehicle: Record) -> None:
    """Fills the input of the control loops, and the output of each loop."""
    offboard = vehicle.mode == Mode.OFFBOARD
    to_ned(vehicle.offboard_pos if offboard else vehicle.sp_pos, snapshot.target_pos)
    to_ned(vehicle.offboard_vel if offboard else vehicle.smooth_vel, snapshot.target_vel)
    to_ned(vehicle.offboard_acc if offboard else vehicle.smooth_acc, snapshot.target_acc)
    snapshot.target_yaw = heading(vehicle.offboard_yaw if offboard else vehicle.sp_yaw)
    snapshot.target_yaw_rate = -(vehicle.offboard_yaw_rate if offboard else vehicle.sp_yaw_rate)
    snapshot.sp_x, snapshot.sp_y, snapshot.sp_z = (
        vehicle.sp_pos[1],
        vehicle.sp_pos[0],
        -vehicle.sp_pos[2],
    )
    snapshot.sp_vx, snapshot.sp_vy, snapshot.sp_vz = (
        vehicle.sp_vel[1],
        vehicle.sp_vel[0],
        -vehicle.sp_vel[2],
    )
    to_ned(vehicle.sp_acc, snapshot.sp_acc)
    snapshot.sp_yaw, snapshot.sp_yaw_rate = heading(vehicle.sp_yaw), -vehicle.sp_yaw_rate
    quat_to_ned(vehicle.sp_quat, snapshot.sp_quat)
    w, x, y, z = snapshot.sp_quat[0], snapshot.sp_quat[1], snapshot.sp_quat[2], snapshot.sp_quat[3]
    snapshot.sp_roll, snapshot.sp_pitch, snapshot.sp_heading = to_euler(x, y, z, w)
    snapshot.sp_roll_rate, snapshot.sp_pitch_rate = vehicle.sp_rates[0], -vehicle.sp_rates[1]
    snapshot.sp_turn_rate = -vehicle.sp_rates[2]
    thrust = -thrust_normalised(vehicle, vehicle.sp_thrust)
    snapshot.sp_thrust_body[2] = thrust
    snapshot.sp_thrust_world[0] = thrust * 2.0 * (x * z + w * y)
    snapshot.sp_thrust_world[1] = thrust * 2.0 * (y * z - w * x)
    snapshot.sp_thrust_world[2] = thrust * (1.0 - 2.0 * (x * x + y * y))


@njit
def fill_local_origin(
    snapshot: Record, world: tuple[float, float, float], origin: np.ndarray
) -> None:
    """Moves positions from the world's origin to another one, (3,) [rad, rad, m]."""
    snapshot.ref_lat, snapshot.ref_lon = math.degrees(origin[0]), math.degrees(origin[1])
    snapshot.ref_alt = origin[2]
    snapshot.x, snapshot.y, snapshot.z = shifted(snapshot.x, snapshot.y, snapshot.z, world, origin)
    snapshot.sp_x, snapshot.sp_y, snapshot.sp_z = shifted(
        snapshot.sp_x, snapshot.sp_y, snapshot.sp_z, world, origin
    )
    snapshot.home_x, snapshot.home_y, snapshot.home_z = shifted(
        snapshot.home_x, snapshot.home_y, snapshot.home_z, world, origin
    )
    target = snapshot.target_pos
    target[0], target[1], target[2] = shifted(target[0], target[1], target[2], world, origin)


@njit
def fill_sticks(snapshot: Record, vehicle: Record, params: Record, t_us: int) -> None:
    """Fills manual control: positions of the sticks, and whether they are valid and moving."""
    age = t_us - vehicle.stick_t
    lost = age - np.int64(params.COM_RC_LOSS_T * 1e6)
    snapshot.sticks_logged, snapshot.sticks_valid = lost <= _STICKS_LOST_US, lost <= 0
    snapshot.stick_t, snapshot.stick_buttons = vehicle.stick_t, vehicle.stick_buttons
    snapshot.stick_forward, snapshot.stick_right, snapshot.stick_up = (
        vehicle.stick_forward,
        vehicle.stick_right,
        vehicle.stick_up,
    )
    snapshot.stick_clockwise, snapshot.stick_source = (
        vehicle.stick_clockwise,
        _SOURCE_MAVLINK_0 + vehicle.stick_link,
    )
    snapshot.sticks_moving = False
    for rate in vehicle.stick_rates:
        if lost <= 0 and abs(rate) > _STICK_MOVING_RATE:
            snapshot.sticks_moving = True


@njit
def fill_air(snapshot: Record, pressure: float, temperature: float) -> None:
    """Fills pressure [Pa], temperature [K] and density of the air; 0 leaves the last values."""
    snapshot.baro_pressure = pressure
    snapshot.air_celsius = temperature - _ZERO_CELSIUS
    if pressure > 0.0 and temperature > 0.0:
        snapshot.baro_height = height_of_pressure(pressure)
        snapshot.air_density = pressure / (AIR_GAS_CONSTANT * temperature)
        snapshot.eas_to_tas = math.sqrt(density(0.0) / snapshot.air_density)


@njit
def fill_gps(snapshot: Record, readings: Record) -> None:
    """Fills the last fix of the GPS receiver."""
    vel, fix = readings.gps_vel, readings.gps_fix
    snapshot.gps_t = readings.gps_t_us
    snapshot.gps_lat, snapshot.gps_lon = (
        math.degrees(readings.gps_lat),
        math.degrees(readings.gps_lon),
    )
    snapshot.gps_alt, snapshot.gps_alt_ellipsoid = (
        readings.gps_alt,
        readings.gps_alt + snapshot.geoid,
    )
    snapshot.gps_vn, snapshot.gps_ve, snapshot.gps_vd = vel[1], vel[0], -vel[2]
    snapshot.gps_speed = math.hypot(vel[0], vel[1])
    snapshot.gps_course = math.atan2(vel[0], vel[1])
    snapshot.gps_eph, snapshot.gps_epv = readings.gps_eph, readings.gps_epv
    snapshot.gps_fix, snapshot.gps_valid, snapshot.gps_sats = fix, fix >= 3, readings.gps_sats


@njit
def fill_state(
    snapshot: Record,
    vehicle: Record,
    params: Record,
    origin: tuple[float, float, float],
    commands: np.ndarray,
) -> None:
    """Fills state, home and motor outputs; commands is (A,)."""
    lat0, lon0, alt0 = origin
    snapshot.armed_t = vehicle.armed_t if vehicle.armed else 0
    snapshot.mode_t = max(vehicle.mode_t, 0)
    snapshot.arming_state = 2 if vehicle.armed else 1
    snapshot.nav_state = vehicle.nav_state
    snapshot.failsafe, snapshot.ready, snapshot.landed, snapshot.in_air = (
        vehicle.failsafe,
        vehicle.ready,
        vehicle.landed,
        not vehicle.landed,
    )
    snapshot.mav_type = params.MAV_TYPE
    snapshot.vehicle_type, snapshot.vtol_state, snapshot.quadchute = (
        vehicle.vehicle_type,
        vehicle.vtol_state,
        vehicle.quadchute != 0,
    )
    snapshot.is_vtol, snapshot.is_tailsitter = (
        vehicle.vtol_type != NOT_VTOL,
        vehicle.vtol_type in (TAILSITTER, HALF_WINGED),
    )
    snapshot.in_transition_to_fw = vehicle.vtol_state == TO_FIXED_WING
    snapshot.in_transition = vehicle.vtol_state in (TO_FIXED_WING, TO_HOVER)
    lat, lon = to_geodetic(vehicle.home[0], vehicle.home[1], lat0, lon0)
    snapshot.home_lat, snapshot.home_lon, snapshot.home_alt = (
        math.degrees(lat),
        math.degrees(lon),
        vehicle.home[2] + alt0,
    )
    snapshot.home_x, snapshot.home_y, snapshot.home_z = (
        vehicle.home[1],
        vehicle.home[0],
        -vehicle.home[2],
    )
    snapshot.home_yaw, snapshot.home_set = heading(vehicle.home_yaw), vehicle.home_set
    for r in range(min(commands.shape[0], MAX_MOTORS)):
        if r < snapshot.n_motors:
            snapshot.motors[r] = commands[r]
            snapshot.pwm[r] = 1000.0 + 1000.0 * commands[r] if vehicle.armed else _PWM_OFF


@njit
def fill_constants(
    snapshots: np.ndarray, origin: tuple[float, float, float], geoid: float, n_motors: np.ndarray
) -> None:
    """Fills the constant columns.

    Args:
        snapshots: (N,) of SNAPSHOT.
        origin: Latitude, longitude [rad] and height [m] of the world's origin.
        geoid: Height of the geoid above the ellipsoid [m].
        n_motors: (N,) number of motors.
    """
    lat0, lon0, alt0 = origin
    for i in range(snapshots.shape[0]):
        snapshot = snapshots[i]
        snapshot.ref_lat, snapshot.ref_lon, snapshot.ref_alt = (
            math.degrees(lat0),
            math.degrees(lon0),
            alt0,
        )
        snapshot.geoid = geoid
        snapshot.n_motors = n_motors[i]
        for r in range(MAX_MOTORS):
            snapshot.motors[r] = math.nan
        for r in range(16):
            snapshot.pwm[r] = _PWM_OFF
