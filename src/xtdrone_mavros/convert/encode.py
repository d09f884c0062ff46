"""Set-points and other inputs in ENU, FLU and SI units as MAVLink messages."""

import math

from xtdrone_core.mavlink.dialect import mavlink

from ..rows import RosMessage
from .decode import coordinate_scale
from .geometry import Numbers, enu_ned, euler, flu_frd, quat_enu_ned, yaw_enu_ned

BODY_FRAMES = (mavlink.MAV_FRAME_BODY_NED, mavlink.MAV_FRAME_BODY_OFFSET_NED)
# Bits of a type mask of position targets: what is ignored.
NO_POSITION, NO_VELOCITY, NO_ACCELERATION = 0b111, 0b111000, 0b111000000
NO_YAW, NO_YAW_RATE = 1 << 10, 1 << 11
FORCE = 1 << 9
POSITION_ONLY = 0b100111111000  # position and yaw
POSITION_AND_YAW_RATE = 0b000111111000
VELOCITY_ONLY = 0b010111000111  # velocity and yaw rate
ACCELERATION_ONLY = 0b110000111111


def mav_frame(name: str) -> int | None:
    """Returns the number of a MAV_FRAME by its name without MAV_FRAME_, or None."""
    return next(
        (
            number
            for number, entry in mavlink.enums["MAV_FRAME"].items()
            if entry.name == f"MAV_FRAME_{name}"
        ),
        None,
    )


def mav_frame_name(number: int) -> str:
    """Returns the name of a MAV_FRAME without MAV_FRAME_; its number if it has none."""
    entry = mavlink.enums["MAV_FRAME"].get(number)
    return str(number) if entry is None else entry.name.removeprefix("MAV_FRAME_")


def set_position_target(
    i: int,
    t_us: int,
    frame: int,
    mask: int,
    pos: Numbers,
    vel: Numbers,
    acc: Numbers,
    yaw: float,
    yaw_rate: float,
) -> mavlink.MAVLink_message:
    """Encodes SET_POSITION_TARGET_LOCAL_NED for vehicle i, from ENU, or FLU in body frames."""
    body = frame in BODY_FRAMES
    to_mavlink = flu_frd if body else enu_ned
    return mavlink.MAVLink_set_position_target_local_ned_message(
        t_us // 1000 & 0xFFFFFFFF,
        i + 1,
        1,
        frame,
        mask,
        *to_mavlink(pos),
        *to_mavlink(vel),
        *to_mavlink(acc),
        -yaw if body else yaw_enu_ned(yaw),
        -yaw_rate,
    )


def set_global_target(
    i: int,
    t_us: int,
    frame: int,
    mask: int,
    lat: float,
    lon: float,
    alt: float,
    vel: Numbers,
    acc: Numbers,
    yaw: float,
    yaw_rate: float,
) -> mavlink.MAVLink_message:
    """Encodes SET_POSITION_TARGET_GLOBAL_INT for vehicle i; lat, lon [deg], vectors in ENU."""
    return mavlink.MAVLink_set_position_target_global_int_message(
        t_us // 1000 & 0xFFFFFFFF,
        i + 1,
        1,
        frame,
        mask,
        round(lat * 1e7),
        round(lon * 1e7),
        alt,
        *enu_ned(vel),
        *enu_ned(acc),
        yaw_enu_ned(yaw),
        -yaw_rate,
    )


def set_attitude_target(
    i: int, t_us: int, mask: int, quat: Numbers, rate: Numbers, thrust: float
) -> mavlink.MAVLink_message:
    """Encodes SET_ATTITUDE_TARGET for vehicle i; thrust is clipped to 0..1, as by MAVROS."""
    x, y, z, w = quat_enu_ned(quat)
    return mavlink.MAVLink_set_attitude_target_message(
        t_us // 1000 & 0xFFFFFFFF,
        i + 1,
        1,
        mask,
        [w, x, y, z],
        *flu_frd(rate),
        min(max(thrust, 0.0), 1.0),
    )


def vision_position(
    t_us: int, pos: Numbers, quat: Numbers, covariance: Numbers | None = None
) -> mavlink.MAVLink_message:
    """Encodes VISION_POSITION_ESTIMATE; covariance is the upper triangle (21), or None."""
    roll, pitch, yaw = euler(quat_enu_ned(quat))
    return mavlink.MAVLink_vision_position_estimate_message(
        t_us, *enu_ned(pos), roll, pitch, yaw, covariance or [0.0] * 21
    )


def _scaled(value: float, scale: float) -> int:
    """Returns a coordinate of a mission item; NaN is the smallest integer, as in MAVROS."""
    return round(value * scale) if math.isfinite(value) else -(2**31)


def mission_item(waypoint: RosMessage, current: bool) -> dict[str, float]:
    """Returns the fields of a MISSION_ITEM_INT from a mavros_msgs/Waypoint.

    MAVROS leaves its coordinates as they are.
    """
    scale = coordinate_scale(waypoint.frame)
    return dict(
        frame=waypoint.frame,
        command=waypoint.command,
        current=int(current),
        autocontinue=int(waypoint.autocontinue),
        param1=waypoint.param1,
        param2=waypoint.param2,
        param3=waypoint.param3,
        param4=waypoint.param4,
        x=_scaled(waypoint.x_lat, scale),
        y=_scaled(waypoint.y_long, scale),
        z=waypoint.z_alt,
    )
