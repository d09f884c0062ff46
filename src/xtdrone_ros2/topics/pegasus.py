"""Topics with the names, frames and types of Pegasus Simulator's ROS 2 backend.

https://github.com/PegasusSimulator/PegasusSimulator, logic/backends/ros2_backend.py. The state is
the true one. Readings of the IMU and the magnetometer are FRD, and the receiver's velocity is NED,
as there.
"""

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd
from xtdrone_dynamics.quaternion import rotate_inverse_array

from ..wire.layout import Batch
from ..wire.types import Fields
from .row import STATE_RATE, FleetTopic, Step

NAMESPACE = "/drone{i}"
MAP, MAP_NED, BODY, BODY_FRD = "map", "map_ned", "drone{i}_base_link", "drone{i}_base_link_frd"
_FIX = 3  # smallest gps_fix with a position
_NO_FIX, _GPS, _DIAGONAL_KNOWN = -1, 1, 2  # constants of NavSatStatus and NavSatFix


def _header(frame: str) -> Fields:
    return {"header": {"frame_id": frame}}


def _pose(step: Step, out: Batch) -> None:
    out.stamp(step.t_us)
    out["pose.position"], out["pose.orientation"] = step["pos"], step["quat"]


def _twist(step: Step, out: Batch) -> None:
    out.stamp(step.t_us)
    out["twist.linear"] = rotate_inverse_array(step["quat"], step["vel"])
    out["twist.angular"] = step["ang_vel"]


def _twist_inertial(step: Step, out: Batch) -> None:
    out.stamp(step.t_us)
    out["twist.linear"] = step["vel"]


def _acceleration(step: Step, out: Batch) -> None:
    out.stamp(step.t_us)
    out["accel.linear"] = step["acc"]


def _imu(step: Step, out: Batch) -> None:
    out.stamp(step.t_us)
    out["angular_velocity"] = flu_frd(step["gyro"])
    out["linear_acceleration"] = flu_frd(step["accel"])


def _magnetometer(step: Step, out: Batch) -> None:
    out.stamp(step.t_us)
    out["magnetic_field"] = flu_frd(step["mag"])


def _fix(step: Step, out: Batch) -> None:
    out.stamp(step["gps_t_us"])
    out["status.status"] = np.where(step["gps_fix"] < _FIX, _NO_FIX, 0)
    out["latitude"] = np.degrees(step["gps_lat"])
    out["longitude"] = np.degrees(step["gps_lon"])
    out["altitude"] = step["gps_alt"] + step.fleet.geoid
    covariance = np.zeros((len(step.vehicles), 9))
    covariance[:, 0] = covariance[:, 4] = step["gps_eph"] ** 2
    covariance[:, 8] = step["gps_epv"] ** 2
    out["position_covariance"] = covariance


def _fix_velocity(step: Step, out: Batch) -> None:
    out.stamp(step["gps_t_us"])
    out["twist.linear"] = enu_ned(step["gps_vel"])


_IMU_UNKNOWN = {"orientation": {"w": 1.0}, "orientation_covariance": [-1.0] + [0.0] * 8}

TRUE_STATES = (
    FleetTopic("state/pose", "geometry_msgs/PoseStamped", _pose, _header(MAP), STATE_RATE),
    FleetTopic("state/twist", "geometry_msgs/TwistStamped", _twist, _header(BODY), STATE_RATE),
    FleetTopic(
        "state/twist_inertial",
        "geometry_msgs/TwistStamped",
        _twist_inertial,
        _header(MAP),
        STATE_RATE,
    ),
    FleetTopic(
        "state/accel", "geometry_msgs/AccelStamped", _acceleration, _header(MAP), STATE_RATE
    ),
)
READINGS = (
    FleetTopic("sensors/imu", "sensor_msgs/Imu", _imu, {**_header(BODY_FRD), **_IMU_UNKNOWN}),
    FleetTopic(
        "sensors/mag", "sensor_msgs/MagneticField", _magnetometer, _header(BODY_FRD), new="mag_new"
    ),
    FleetTopic(
        "sensors/gps",
        "sensor_msgs/NavSatFix",
        _fix,
        {
            **_header(MAP_NED),
            "status": {"service": _GPS},
            "position_covariance_type": _DIAGONAL_KNOWN,
        },
        new="gps_new",
    ),
    FleetTopic(
        "sensors/gps_twist",
        "geometry_msgs/TwistStamped",
        _fix_velocity,
        _header(MAP_NED),
        new="gps_new",
    ),
)
TOPICS = (*TRUE_STATES, *READINGS)
