"""The compiled part of the flight log: the fleet's state in PX4's frames, and its encoding.

First the kernel fills one snapshot per vehicle: a record of numbers in NED and FRD,
units as in PX4's topics. Then it builds the messages of the topics that are due by
copying bytes of the snapshot, as listed in a table.
"""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.vehicle_type import NOT_VTOL, TAILSITTER
from xtdrone_dynamics.compiled import njit
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
from ..state.ned import heading, quat_to_ned, to_frd, to_ned
from ..state.vehicle_status import TO_FIXED_WING, TO_HOVER

SHARE = 8  # vehicles
MAX_MOTORS = 12  # length of actuator_motors.control
AS_DOUBLE, AS_SINGLE, AS_WHOLE = range(3)  # type in the file: float64, float32, integer
_SOURCE_MAVLINK_0 = 2  # manual_control_setpoint.data_source
_STICK_MOVES = 0.3  # a stick that is faster moves; default of PX4's COM_RC_STICK_OV [1/s]
_STICKS_LOST_US = 1_000_000  # for which lost sticks are logged as not valid [us]
_PWM_OFF = 900.0  # PX4's simulated PWM output for a stopped motor [us]

# Columns for the fields of topics; NED, FRD, quaternions wxyz, angles clockwise from north.
SNAPSHOT = np.dtype(
    [
        (name, "f8", shape) if shape else (name, "f8")
        for name, shape in [
            ("t", ()),
            ("system_id", ()),
            # Attitude, position, and accuracy and status of the estimator.
            ("quat", (4,)),
            ("rates", (3,)),
            ("heading", ()),
            ("heading_var", ()),
            ("tilt_var", ()),
            ("x", ()),
            ("y", ()),
            ("z", ()),
            ("vx", ()),
            ("vy", ()),
            ("vz", ()),
            ("ax", ()),
            ("ay", ()),
            ("az", ()),
            ("eph", ()),
            ("epv", ()),
            ("evh", ()),
            ("evv", ()),
            ("ref_lat", ()),
            ("ref_lon", ()),
            ("ref_alt", ()),  # degrees, m
            ("lat", ()),
            ("lon", ()),
            ("alt", ()),
            ("alt_ellipsoid", ()),
            ("geoid", ()),
            ("reset_xy", (2,)),
            ("reset_z", ()),
            ("resets", ()),
            ("aligned", ()),
            ("located", ()),
            ("gps_used", ()),
            ("vision_used", ()),
            ("baro_used", ()),
            ("mag_used", ()),
            ("at_rest", ()),
            ("dead_reckoning", ()),
            ("vel_ratio", ()),
            ("pos_ratio", ()),
            ("hgt_ratio", ()),
            ("baro_ratio", ()),
            ("mag_ratio", ()),
            ("vision_ratio", ()),
            ("range_ratio", ()),
            ("airspeed_ratio", ()),
            ("sideslip_ratio", ()),
            ("sideslip_used", ()),
            ("sideslip_rejected", ()),
            ("on_wings", ()),
            ("range_used", ()),
            ("airspeed_used", ()),
            ("range_height", ()),
            ("gps_height", ()),
            ("above_ground", ()),
            ("ground_known", ()),
            ("wind_known", ()),
            ("wind_north", ()),
            ("wind_east", ()),
            ("mag_rejected", ()),
            ("airspeed_rejected", ()),
            ("range_rejected", ()),
            ("vel_rejected", ()),
            ("pos_rejected", ()),
            ("hgt_rejected", ()),
            ("control_flags", ()),
            ("innovation_flags", ()),
            ("solution_flags", ()),
            ("gyro_bias", (3,)),
            ("accel_bias", (3,)),
            ("mag_bias", (3,)),  # gauss
            # Set-points: the input of the control loops, and the output of each loop.
            ("target_pos", (3,)),
            ("target_vel", (3,)),
            ("target_acc", (3,)),
            ("target_yaw", ()),
            ("target_yaw_rate", ()),
            ("sp_x", ()),
            ("sp_y", ()),
            ("sp_z", ()),
            ("sp_vx", ()),
            ("sp_vy", ()),
            ("sp_vz", ()),
            ("sp_acc", (3,)),
            ("sp_yaw", ()),
            ("sp_yaw_rate", ()),
            ("sp_thrust_world", (3,)),
            ("sp_quat", (4,)),
            ("sp_roll", ()),
            ("sp_pitch", ()),
            ("sp_heading", ()),
            ("sp_thrust_body", (3,)),
            ("sp_roll_rate", ()),
            ("sp_pitch_rate", ()),
            ("sp_turn_rate", ()),
            # Sticks: forward, right, clockwise, up.
            ("stick_t", ()),
            ("stick_forward", ()),
            ("stick_right", ()),
            ("stick_clockwise", ()),
            ("stick_up", ()),
            ("stick_buttons", ()),
            ("stick_source", ()),
            ("sticks_valid", ()),
            ("sticks_moving", ()),
            ("sticks_logged", ()),
            # Sensors.
            ("gyro", (3,)),
            ("accel", (3,)),
            ("mag", (3,)),  # gauss
            ("baro_pressure", ()),
            ("baro_height", ()),
            ("air_celsius", ()),
            ("air_density", ()),
            ("eas_to_tas", ()),
            ("gps_t", ()),
            ("gps_lat", ()),
            ("gps_lon", ()),
            ("gps_alt", ()),
            ("gps_alt_ellipsoid", ()),
            ("gps_eph", ()),
            ("gps_epv", ()),
            ("gps_speed", ()),
            ("gps_vn", ()),
            ("gps_ve", ()),
            ("gps_vd", ()),
            ("gps_course", ()),
            ("gps_fix", ()),
            ("gps_valid", ()),
            ("gps_sats", ()),
            # Actuators and battery.
            ("motors", (MAX_MOTORS,)),
            ("pwm", (16,)),
            ("n_motors", ()),
            ("battery_voltage", ()),
            ("battery_current", ()),
            ("battery_level", ()),
            ("battery_cells", ()),
            # State.
            ("armed_t", ()),
            ("mode_t", ()),
            ("arming_state", ()),
            ("nav_state", ()),
            ("failsafe", ()),
            ("vehicle_type", ()),
            ("vtol_state", ()),
            ("is_vtol", ()),
            ("is_tailsitter", ()),
            ("in_transition", ()),
            ("in_transition_to_fw", ()),
            ("quadchute", ()),
            ("ready", ()),
            ("mav_type", ()),
            ("landed", ()),
            ("in_air", ()),
            ("home_lat", ()),
            ("home_lon", ()),
            ("home_alt", ()),
            ("home_x", ()),
            ("home_y", ()),
            ("home_z", ()),
            ("home_yaw", ()),
            ("home_set", ()),
            ("mission_seq", ()),
            ("mission_total", ()),
            ("mission_valid", ()),
            ("mission_reached", ()),
            ("mission_finished", ()),
        ]
    ]
)


# Bits of estimator_status.control_mode_flags.
_CS_TILT, _CS_YAW, _CS_GPS, _CS_IN_AIR, _CS_WIND, _CS_BARO = 1, 2, 4, 1 << 7, 1 << 8, 1 << 9
_CS_RANGE, _CS_GPS_HEIGHT, _CS_EV = 1 << 10, 1 << 11, 1 << 12
_CS_SIDESLIP, _CS_FIXED_WING, _CS_AIRSPEED = 1 << 15, 1 << 17, 1 << 19
# Of innovation_check_flags.
_REJECT_MAG, _REJECT_AIRSPEED, _REJECT_SIDESLIP, _REJECT_HAGL = 7 << 4, 1 << 8, 1 << 9, 1 << 10


@njit
def _variance(sigma):
    return sigma[0] * sigma[0] + sigma[1] * sigma[1]


@njit
def _estimate(s, origin, e, acc):
    lat0, lon0, alt0 = origin
    pos, vel, quat, reset_pos = e.pos, e.vel, e.quat, e.reset_pos
    pos_std, vel_std, att_std = e.pos_std, e.vel_std, e.att_std
    quat_to_ned(quat, s.quat)
    to_frd(e.ang_vel, s.rates)
    s.heading = to_euler(s.quat[1], s.quat[2], s.quat[3], s.quat[0])[2]
    s.heading_var = att_std[2] * att_std[2]
    s.tilt_var = _variance(att_std)
    s.x, s.y, s.z = pos[1], pos[0], -pos[2]
    s.vx, s.vy, s.vz = vel[1], vel[0], -vel[2]
    s.ax, s.ay, s.az = acc[1], acc[0], -acc[2]
    s.eph, s.epv = math.sqrt(_variance(pos_std)), pos_std[2]
    s.evh, s.evv = math.sqrt(_variance(vel_std)), vel_std[2]
    s.reset_xy[0], s.reset_xy[1], s.reset_z = reset_pos[1], reset_pos[0], -reset_pos[2]
    lat, lon = to_geodetic(pos[0], pos[1], lat0, lon0)
    s.lat, s.lon, s.alt = math.degrees(lat), math.degrees(lon), pos[2] + alt0
    s.alt_ellipsoid = s.alt + s.geoid
    s.resets = e.reset_count & 0xFF
    to_frd(e.gyro_bias, s.gyro_bias)
    to_frd(e.accel_bias, s.accel_bias)
    to_frd(e.field_bias, s.mag_bias, 1e4)


@njit
def _health(s, e, height_ref):
    """Fills in which sensors the estimator fuses and rejects, and its test ratios."""
    flags, ratios, terrain, wind = e.flags, e.test_ratios, e.terrain, e.wind
    s.aligned = flags & ALIGNED != 0
    s.located = flags & POSITION_VALID != 0
    s.gps_used = flags & GPS_USED != 0
    s.vision_used = flags & VISION_USED != 0
    s.baro_used = flags & BARO_USED != 0
    s.mag_used = flags & MAG_USED != 0
    s.at_rest = flags & AT_REST != 0
    s.above_ground, s.ground_known = -s.z - terrain, math.isfinite(terrain)
    s.wind_known = math.isfinite(wind[0])
    s.wind_north, s.wind_east = wind[1], wind[0]
    aided = s.gps_used > 0.0 or s.vision_used > 0.0
    s.dead_reckoning = s.located > 0.0 and not aided
    s.vel_ratio, s.pos_ratio, s.hgt_ratio = ratios[TEST_VEL], ratios[TEST_POS], ratios[TEST_HGT]
    s.baro_ratio, s.mag_ratio = ratios[TEST_BARO], ratios[TEST_MAG]
    s.vision_ratio = ratios[TEST_VISION]
    s.range_ratio, s.airspeed_ratio = ratios[TEST_RANGE], ratios[TEST_AIRSPEED]
    s.sideslip_ratio = ratios[TEST_SIDESLIP]
    s.sideslip_used, s.on_wings = flags & SIDESLIP_USED != 0, e.on_wings
    s.sideslip_rejected = s.sideslip_ratio > 1.0
    s.range_used = flags & RANGE_USED != 0
    s.airspeed_used = flags & AIRSPEED_USED != 0
    s.range_height = s.range_used > 0.0 and height_ref == HEIGHT_BY_RANGE
    s.gps_height = s.gps_used > 0.0 and height_ref == HEIGHT_BY_GPS
    s.range_rejected, s.airspeed_rejected = s.range_ratio > 1.0, s.airspeed_ratio > 1.0
    s.vel_rejected, s.pos_rejected = s.vel_ratio > 1.0, s.pos_ratio > 1.0
    s.hgt_rejected = s.hgt_ratio > 1.0
    s.control_flags = (
        s.aligned * (_CS_TILT | _CS_YAW)
        + s.gps_used * _CS_GPS
        + s.in_air * _CS_IN_AIR
        + s.wind_known * _CS_WIND
        + s.baro_used * _CS_BARO
        + s.range_height * _CS_RANGE
        + s.gps_height * _CS_GPS_HEIGHT
        + s.vision_used * _CS_EV
        + s.sideslip_used * _CS_SIDESLIP
        + s.on_wings * _CS_FIXED_WING
        + s.airspeed_used * _CS_AIRSPEED
    )
    s.mag_rejected = s.mag_ratio > 1.0
    s.innovation_flags = (
        s.vel_rejected * 3
        + s.pos_rejected * 4
        + s.hgt_rejected * 8
        + s.mag_rejected * _REJECT_MAG
        + s.airspeed_rejected * _REJECT_AIRSPEED
        + s.sideslip_rejected * _REJECT_SIDESLIP
        + s.range_rejected * _REJECT_HAGL
    )
    s.solution_flags = solution_status(flags, ratios)


@njit
def _set_points(s, v):
    offboard = v.mode == Mode.OFFBOARD
    to_ned(v.offboard_pos if offboard else v.sp_pos, s.target_pos)
    to_ned(v.offboard_vel if offboard else v.smooth_vel, s.target_vel)
    to_ned(v.offboard_acc if offboard else v.smooth_acc, s.target_acc)
    s.target_yaw = heading(v.offboard_yaw if offboard else v.sp_yaw)
    s.target_yaw_rate = -(v.offboard_yaw_rate if offboard else v.sp_yaw_rate)
    s.sp_x, s.sp_y, s.sp_z = v.sp_pos[1], v.sp_pos[0], -v.sp_pos[2]
    s.sp_vx, s.sp_vy, s.sp_vz = v.sp_vel[1], v.sp_vel[0], -v.sp_vel[2]
    to_ned(v.sp_acc, s.sp_acc)
    s.sp_yaw, s.sp_yaw_rate = heading(v.sp_yaw), -v.sp_yaw_rate
    quat_to_ned(v.sp_quat, s.sp_quat)
    w, x, y, z = s.sp_quat[0], s.sp_quat[1], s.sp_quat[2], s.sp_quat[3]
    s.sp_roll, s.sp_pitch, s.sp_heading = to_euler(x, y, z, w)
    s.sp_roll_rate, s.sp_pitch_rate = v.sp_rates[0], -v.sp_rates[1]
    s.sp_turn_rate = -v.sp_rates[2]
    thrust = -thrust_normalised(v, v.sp_thrust)
    s.sp_thrust_body[2] = thrust
    s.sp_thrust_world[0] = thrust * 2.0 * (x * z + w * y)
    s.sp_thrust_world[1] = thrust * 2.0 * (y * z - w * x)
    s.sp_thrust_world[2] = thrust * (1.0 - 2.0 * (x * x + y * y))


@njit
def _sticks(s, v, q, t_us):
    age = t_us - v.stick_t
    lost = age - np.int64(q.COM_RC_LOSS_T * 1e6)
    s.sticks_logged, s.sticks_valid = lost <= _STICKS_LOST_US, lost <= 0
    s.stick_t, s.stick_buttons = v.stick_t, v.stick_buttons
    s.stick_forward, s.stick_right, s.stick_up = v.stick_forward, v.stick_right, v.stick_up
    s.stick_clockwise, s.stick_source = v.stick_clockwise, _SOURCE_MAVLINK_0 + v.stick_link
    s.sticks_moving = False
    for rate in v.stick_rates:
        if lost <= 0 and abs(rate) > _STICK_MOVES:
            s.sticks_moving = True


@njit
def _air(s, pressure, kelvin):
    s.baro_pressure = pressure
    s.air_celsius = kelvin - 273.15
    if pressure > 0.0 and kelvin > 0.0:
        s.baro_height = height_of_pressure(pressure)
        s.air_density = pressure / (AIR_GAS_CONSTANT * kelvin)
        s.eas_to_tas = math.sqrt(density(0.0) / s.air_density)


@njit
def _gps(s, r):
    vel, fix = r.gps_vel, r.gps_fix
    s.gps_t = r.gps_t_us
    s.gps_lat, s.gps_lon = math.degrees(r.gps_lat), math.degrees(r.gps_lon)
    s.gps_alt, s.gps_alt_ellipsoid = r.gps_alt, r.gps_alt + s.geoid
    s.gps_vn, s.gps_ve, s.gps_vd = vel[1], vel[0], -vel[2]
    s.gps_speed = math.hypot(vel[0], vel[1])
    s.gps_course = math.atan2(vel[0], vel[1])
    s.gps_eph, s.gps_epv = r.gps_eph, r.gps_epv
    s.gps_fix, s.gps_valid, s.gps_sats = fix, fix >= 3, r.gps_sats


@njit
def _state(s, v, q, origin, commands):
    lat0, lon0, alt0 = origin
    s.armed_t = v.armed_t if v.armed else 0
    s.mode_t = max(v.mode_t, 0)
    s.arming_state = 2 if v.armed else 1
    s.nav_state = v.nav_state
    s.failsafe, s.ready, s.landed, s.in_air = v.failsafe, v.ready, v.landed, not v.landed
    s.mav_type = q.MAV_TYPE
    s.vehicle_type, s.vtol_state, s.quadchute = v.vehicle_type, v.vtol_state, v.quadchute != 0
    s.is_vtol, s.is_tailsitter = v.vtol_type != NOT_VTOL, v.vtol_type == TAILSITTER
    s.in_transition_to_fw = v.vtol_state == TO_FIXED_WING
    s.in_transition = v.vtol_state in (TO_FIXED_WING, TO_HOVER)
    lat, lon = to_geodetic(v.home[0], v.home[1], lat0, lon0)
    s.home_lat, s.home_lon, s.home_alt = math.degrees(lat), math.degrees(lon), v.home[2] + alt0
    s.home_x, s.home_y, s.home_z = v.home[1], v.home[0], -v.home[2]
    s.home_yaw, s.home_set = heading(v.home_yaw), v.home_set
    for r in range(min(commands.shape[0], MAX_MOTORS)):
        if r < s.n_motors:
            s.motors[r] = commands[r]
            s.pwm[r] = 1000.0 + 1000.0 * commands[r] if v.armed else _PWM_OFF


@njit
def _convert(numbers, whole_columns, singles, wholes):
    """Numbers of a snapshot to float32, and whole_columns to int64, 0 where not finite."""
    for k in range(numbers.shape[0]):
        singles[k] = numbers[k]
    for k in whole_columns:
        wholes[k] = np.int64(numbers[k]) if math.isfinite(numbers[k]) else np.int64(0)


@njit
def new_snapshots(snapshots: np.ndarray, origin: tuple, geoid: float, n_motors: int) -> None:
    """Fills in the constant columns: snapshots (N,) of SNAPSHOT, geoid [m], n_motors (N,)."""
    lat0, lon0, alt0 = origin
    for i in range(snapshots.shape[0]):
        s = snapshots[i]
        s.ref_lat, s.ref_lon, s.ref_alt = math.degrees(lat0), math.degrees(lon0), alt0
        s.geoid = geoid
        s.n_motors = n_motors[i]
        for r in range(MAX_MOTORS):
            s.motors[r] = math.nan
        for r in range(16):
            s.pwm[r] = _PWM_OFF


@njit
def append(share: int, arguments: tuple, scratch: tuple) -> None:
    """Appends the data messages of the topics that are due to the buffers of some vehicles.

    Args:
        share: Which vehicles: SHARE of them from SHARE times that on.
        arguments: The following, of the whole fleet.
        scratch: Not needed.

        t_us: (1,) simulated time [us].
        epoch_us: (N,) start time of each vehicle [us]; its topics' periods begin there.
        grid_us: Time step of the logging schedule [us]; every period is a multiple of it.
        cycle: (C, T) bool, the topics that are due at each time step; it repeats after C steps.
        tables: How the messages are built:
            sizes: (T,) bytes of each topic's message.
            templates: (T, S) the message's bytes with all constant fields filled in.
            starts: (T + 1,) first row of each topic in runs.
            runs: (P, 4) bytes to copy: AS_DOUBLE, AS_SINGLE or AS_WHOLE, first byte of the
                source, first byte of the message, count.
            whole_columns: (W,) indices of the snapshot's numbers that runs copies as AS_WHOLE.
        on_change: (T,) bool, topics that are also logged when the vehicle's state changes.
        where: (T,) a topic is logged only if this number of the snapshot is not 0; -1 = always.
        out: (N, B) buffers; length: (N,) bytes in use.
        state_key: (N,) int64 last state of each vehicle, to detect changes for on_change.
        snapshots: (N,) of SNAPSHOT.
        forms: The snapshots as numbers:
            numbers: the same memory as (N, K) float64.
            singles, wholes: (N, K) float32 and int64, overwritten with their converted values.
            doubles_bytes, singles_bytes, wholes_bytes: numbers, singles and wholes as uint8.
        origin: Latitude, longitude [rad] and height [m] of the world's origin.
        status, parameters, estimates, sensors, batteries, missions: (N,) records of the fleet.
        commands: (N, A) of the actuators.
    """
    (
        now,
        epoch_us,
        grid_us,
        cycle,
        tables,
        on_change,
        where,
        out,
        length,
        state_key,
        snapshots,
        forms,
        origin,
        status,
        parameters,
        estimates,
        sensors,
        batteries,
        missions,
        commands,
    ) = arguments
    t_us = now[0]
    sizes, templates, starts, runs, whole_columns = tables
    numbers, singles, wholes, doubles_bytes, singles_bytes, wholes_bytes = forms
    for i in range(share * SHARE, min((share + 1) * SHARE, len(status))):
        age = t_us - epoch_us[i]
        if age % grid_us != 0:
            continue
        due = cycle[age // grid_us % cycle.shape[0]]
        s, v, e, r, mission = snapshots[i], status[i], estimates[i], sensors[i], missions[i]
        key = (
            np.int64(v.mode)
            | np.int64(v.armed) << 8
            | np.int64(v.landed) << 9
            | np.int64(v.failsafe) << 10
            | np.int64(v.ready) << 11
            | np.int64(e.flags & ~AT_REST) << 12
            | np.int64(mission.seq) << 24
            | np.int64(mission.total) << 40
            | np.int64(mission.last_reached & 0x3F) << 56
            | np.int64(mission.finished) << 62
        )
        wanted = changed = key != state_key[i]
        state_key[i] = key
        for topic in range(len(due)):
            wanted |= due[topic]
        _air(s, r.baro_pressure, r.baro_temperature)  # keeps what it last read
        if not wanted:
            continue
        s.t = t_us
        _state(s, v, parameters[i], origin, commands[i])
        _estimate(s, origin, e, v.acc_filtered)
        _health(s, e, parameters[i].EKF2_HGT_REF)
        s.mission_seq, s.mission_total = mission.seq, mission.total
        s.mission_valid = mission.total > 0
        s.mission_reached, s.mission_finished = mission.last_reached, mission.finished
        _set_points(s, v)
        _sticks(s, v, parameters[i], t_us)
        to_frd(r.gyro, s.gyro)
        to_frd(r.accel, s.accel)
        to_frd(r.mag, s.mag, 1e4)
        _gps(s, r)
        s.battery_voltage, s.battery_current = batteries[i].voltage, batteries[i].current
        s.battery_level, s.battery_cells = batteries[i].level, parameters[i].BAT1_N_CELLS
        _convert(numbers[i], whole_columns, singles[i], wholes[i])
        for topic in range(cycle.shape[1]):
            if not (due[topic] or (changed and on_change[topic])):
                continue
            if where[topic] >= 0 and numbers[i, where[topic]] == 0.0:
                continue
            at = length[i]
            if at + sizes[topic] > out.shape[1]:
                continue
            for k in range(sizes[topic]):
                out[i, at + k] = templates[topic, k]
            for k in range(starts[topic], starts[topic + 1]):
                kind, first, to, count = runs[k, 0], runs[k, 1], at + runs[k, 2], runs[k, 3]
                if kind == AS_SINGLE:
                    for m in range(count):
                        out[i, to + m] = singles_bytes[i, first + m]
                elif kind == AS_DOUBLE:
                    for m in range(count):
                        out[i, to + m] = doubles_bytes[i, first + m]
                else:
                    for m in range(count):
                        out[i, to + m] = wholes_bytes[i, first + m]
            length[i] = at + sizes[topic]
