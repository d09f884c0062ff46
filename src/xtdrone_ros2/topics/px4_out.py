"""Topics that PX4 v1.15 publishes by uXRCE-DDS, below /fmu/out, from the flight stack's estimates.

Vehicle 0 is /fmu/out/..., vehicle i /px4_i/fmu/out/..., as PX4 names its instances. World NED, body
FRD, quaternions wxyz; what is not known is NaN, where the message allows it. Rates are those of
PX4's client: every 12 ms, the first step after its 10 ms, and 2 Hz or with each change for the
status.
"""

import math
from collections.abc import Iterator

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned
from xtdrone_core.modes import MODES, NAV_STATES, Mode
from xtdrone_dynamics.earth.geodesy import to_geodetic_array

from ..wire.layout import Batch
from ..wire.quality import PX4_OUT
from .row import FleetTopic, Step

_NAN, _INF = math.nan, math.inf
_PERIOD_US, _STATUS_US, _BATTERY_US = 12_000, 500_000, 200_000
_STEP_US = 4_000  # time over which a reading of the IMU is the mean [us]
_NED = 1  # pose_frame of VehicleOdometry
_DISARMED, _ARMED = 1, 2
_WXYZ = [3, 0, 1, 2]
_NAV_STATE = np.array([MODES[mode].nav_state for mode in Mode])
_OFFBOARD, _MANUAL = 14, (0, 1, 2, 6, 10, 15)  # nav_state
_NOT_BY_RATES = (0, 13)  # manual and termination


def namespace(i: int) -> str:
    """Returns PX4's namespace for its instance i."""
    return f"/px4_{i}" if i else ""


def _stamped(step: Step, out: Batch, *also: str) -> None:
    for name in ("timestamp", *also):
        out[name] = step.t_us


def _attitude(step: Step, out: Batch) -> None:
    _stamped(step, out, "timestamp_sample")
    out["q"] = quat_enu_ned(step["est_quat"])[:, _WXYZ]


def _local(step: Step) -> np.ndarray:
    return enu_ned(step["est_pos"] - step.fleet.offsets)


def _odometry(step: Step, out: Batch) -> None:
    _attitude(step, out)
    out["position"], out["velocity"] = _local(step), enu_ned(step["est_vel"])
    out["angular_velocity"] = flu_frd(step["est_ang_vel"])


def _heading(step: Step) -> np.ndarray:
    x, y, z, w = quat_enu_ned(step["est_quat"]).T
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _geodetic(step: Step, pos: np.ndarray) -> np.ndarray:
    """Returns latitude, longitude [deg], height above the sea [m] of positions (N, 3), world."""
    found = to_geodetic_array(np.nan_to_num(pos), *step.fleet.origin)
    found[:, :2] = np.degrees(found[:, :2])
    return found


def _local_position(step: Step, out: Batch) -> None:
    _stamped(step, out, "timestamp_sample")
    known = np.isfinite(step["est_pos"]).all(axis=1)
    for name in (
        "xy_valid",
        "z_valid",
        "v_xy_valid",
        "v_z_valid",
        "xy_global",
        "z_global",
        "heading_good_for_control",
    ):
        out[name] = known
    out["x"], out["y"], out["z"] = _local(step).T
    vel = enu_ned(step["est_vel"])
    out["vx"], out["vy"], out["vz"] = vel.T
    out["z_deriv"] = vel[:, 2]
    out["heading"] = _heading(step)
    origin = _geodetic(step, step.fleet.offsets)
    out["ref_lat"], out["ref_lon"], out["ref_alt"] = origin.T
    height = step["range_distance"]
    valid = np.isfinite(height) & (height > 0.0)
    out["dist_bottom"], out["dist_bottom_valid"] = np.where(valid, height, _NAN), valid


def _global_position(step: Step, out: Batch) -> None:
    _stamped(step, out, "timestamp_sample")
    found = _geodetic(step, step["est_pos"])
    out["lat"], out["lon"], out["alt"] = found.T
    out["alt_ellipsoid"] = found[:, 2] + step.fleet.geoid


def _combined(step: Step, out: Batch) -> None:
    _stamped(step, out)
    out["gyro_rad"], out["accelerometer_m_s2"] = flu_frd(step["gyro"]), flu_frd(step["accel"])


def _gps(step: Step, out: Batch) -> None:
    _stamped(step, out)
    out["timestamp_sample"] = step["gps_t_us"]
    out["latitude_deg"] = np.degrees(step["gps_lat"])
    out["longitude_deg"] = np.degrees(step["gps_lon"])
    out["altitude_msl_m"] = step["gps_alt"]
    out["altitude_ellipsoid_m"] = step["gps_alt"] + step.fleet.geoid
    vel = enu_ned(step["gps_vel"])
    out["vel_n_m_s"], out["vel_e_m_s"], out["vel_d_m_s"] = vel.T
    out["vel_m_s"] = np.hypot(vel[:, 0], vel[:, 1])
    out["cog_rad"] = np.arctan2(vel[:, 1], vel[:, 0])
    for field, name in (
        ("eph", "gps_eph"),
        ("epv", "gps_epv"),
        ("hdop", "gps_hdop"),
        ("vdop", "gps_vdop"),
        ("fix_type", "gps_fix"),
        ("satellites_used", "gps_sats"),
    ):
        out[field] = step[name]


def _battery(step: Step, out: Batch) -> None:
    _stamped(step, out)
    volts, amperes = step["battery_voltage"], step["battery_current"]
    out["connected"] = np.isfinite(volts)
    out["voltage_v"] = out["voltage_filtered_v"] = volts
    out["current_a"] = out["current_filtered_a"] = amperes


def _nav_state(step: Step) -> np.ndarray:
    return _NAV_STATE[step["mode"]]


def _status(step: Step, out: Batch) -> None:
    _stamped(step, out)
    out["nav_state"] = out["nav_state_user_intention"] = _nav_state(step)
    out["arming_state"] = np.where(step["armed"], _ARMED, _DISARMED)
    out["pre_flight_checks_pass"] = step["ready"]
    out["vehicle_type"], out["is_vtol"] = step.fleet.vehicle_type, step.fleet.vtol
    out["system_id"] = np.arange(1, step.fleet.n + 1) % 256


def _control_mode(step: Step, out: Batch) -> None:
    _stamped(step, out)
    state = _nav_state(step)
    by_hand, offboard = np.isin(state, _MANUAL), state == _OFFBOARD
    altitude = ~np.isin(state, (0, 10, 15))
    position = altitude & (state != 1)
    out["flag_armed"] = step["armed"]
    out["flag_control_manual_enabled"] = by_hand
    out["flag_control_offboard_enabled"] = offboard
    out["flag_control_auto_enabled"] = ~by_hand & ~offboard
    for name in ("position", "velocity"):
        out[f"flag_control_{name}_enabled"] = position
    for name in ("altitude", "climb_rate"):
        out[f"flag_control_{name}_enabled"] = altitude
    out["flag_control_attitude_enabled"] = ~np.isin(state, (0, 10, 13))
    for name in ("rates", "allocation"):
        out[f"flag_control_{name}_enabled"] = ~np.isin(state, _NOT_BY_RATES)


_UNKNOWN3 = [_NAN] * 3
_OF_ODOMETRY = {
    "pose_frame": _NED,
    "velocity_frame": _NED,
    "position_variance": _UNKNOWN3,
    "orientation_variance": _UNKNOWN3,
    "velocity_variance": _UNKNOWN3,
}
_OF_LOCAL = dict.fromkeys(
    (
        "eph",
        "epv",
        "evh",
        "evv",
        "heading_var",
        "tilt_var",
        "unaided_heading",
        "ax",
        "ay",
        "az",
        "hagl_min",
    ),
    _NAN,
) | dict.fromkeys(("vxy_max", "vz_max", "hagl_max"), _INF)
_OF_GPS = dict.fromkeys(
    ("s_variance_m_s", "c_variance_rad", "heading", "heading_offset", "heading_accuracy"), _NAN
) | {"vel_ned_valid": True}
_OF_BATTERY = dict.fromkeys(
    ("current_average_a", "discharged_mah", "time_remaining_s", "temperature", "remaining"), _NAN
)
_MASK = sum(
    1 << number for number in {MODES[mode].nav_state for mode in Mode} if number in NAV_STATES
)
_OF_STATUS = {
    "component_id": 1,
    "system_type": 2,
    "valid_nav_states_mask": _MASK,
    "can_set_nav_states_mask": _MASK,
    "power_input_valid": True,
}


def _rows() -> Iterator[FleetTopic]:
    for name, kind, fill, constants, period_us in (
        ("vehicle_attitude", "VehicleAttitude", _attitude, {}, _PERIOD_US),
        ("vehicle_odometry", "VehicleOdometry", _odometry, _OF_ODOMETRY, _PERIOD_US),
        ("vehicle_local_position", "VehicleLocalPosition", _local_position, _OF_LOCAL, _PERIOD_US),
        (
            "vehicle_global_position",
            "VehicleGlobalPosition",
            _global_position,
            {"eph": _NAN, "epv": _NAN, "terrain_alt": _NAN},
            _PERIOD_US,
        ),
        (
            "sensor_combined",
            "SensorCombined",
            _combined,
            {"gyro_integral_dt": _STEP_US, "accelerometer_integral_dt": _STEP_US},
            _PERIOD_US,
        ),
        ("battery_status", "BatteryStatus", _battery, _OF_BATTERY, _BATTERY_US),
    ):
        yield FleetTopic(name, f"px4_msgs/{kind}", fill, constants, period_us, quality=PX4_OUT)
    yield FleetTopic(
        "vehicle_gps_position", "px4_msgs/SensorGps", _gps, _OF_GPS, new="gps_new", quality=PX4_OUT
    )
    for name, kind, fill, constants in (
        ("vehicle_status", "VehicleStatus", _status, _OF_STATUS),
        ("vehicle_control_mode", "VehicleControlMode", _control_mode, {}),
    ):
        yield FleetTopic(
            name,
            f"px4_msgs/{kind}",
            fill,
            constants,
            _STATUS_US,
            changes=("mode", "armed", "ready"),
            quality=PX4_OUT,
        )


TOPICS = tuple(_rows())
