"""Topics of payload and surroundings: camera mount, landing target, other aircraft."""

import math

from .. import ros_serialisation as ros
from ..convert import geometry
from ..mavlink_link import unpack
from ..rows import Topic
from ..vehicle import Vehicle

_TARGET_SIZE = 0.3, 0.3, 0.0  # size in landing_target/lt_marker [m]


def _mount_angles(payload: bytes) -> geometry.Vector:
    """Returns roll, pitch and yaw of MOUNT_ORIENTATION [rad]."""
    _, roll, pitch, yaw, _ = unpack(265, payload)
    return math.radians(roll), math.radians(pitch), math.radians(yaw)


def _mount_orientation(vehicle: Vehicle, payload: bytes) -> bytes:
    return ros.numbers("4d", *geometry.quaternion_from_euler(*_mount_angles(payload)))


def _mount_status(vehicle: Vehicle, payload: bytes) -> bytes:
    return ros.fields(vehicle.now_us, "1", "3d", *_mount_angles(payload))


def _landing_target(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    w, x, y, z = message.q
    return ros.pose_stamped(
        vehicle.stamp(message.time_usec),
        "landing_target_1",
        (message.y, message.x, -message.z),
        geometry.quat_enu_ned((x, y, z, w)),
    )


def _landing_marker(vehicle: Vehicle, payload: bytes) -> bytes:
    return ros.fields(0, "", "3d", *_TARGET_SIZE)


def _aircraft(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    return b"".join(
        (
            ros.fields(vehicle.now_us, "", "I", message.ICAO_address),
            ros.text(message.callsign),
            ros.numbers(
                "2d4f2B2i2H",
                message.lat * 1e-7,
                message.lon * 1e-7,
                message.altitude * 1e-3,
                message.heading * 1e-2,
                message.hor_velocity * 1e-2,
                message.ver_velocity * 1e-2,
                message.altitude_type,
                message.emitter_type,
                message.tslc,
                0,
                message.flags,
                message.squawk,
            ),
        )
    )


TOPICS: tuple[Topic[Vehicle], ...] = (
    Topic(
        "mount_control/orientation",
        "geometry_msgs/Quaternion",
        "MOUNT_ORIENTATION",
        _mount_orientation,
        10,
    ),
    Topic(
        "mount_control/status",
        "geometry_msgs/Vector3Stamped",
        "MOUNT_ORIENTATION",
        _mount_status,
        10,
    ),
    Topic("landing_target/pose_in", "geometry_msgs/PoseStamped", "LANDING_TARGET", _landing_target),
    Topic(
        "landing_target/lt_marker",
        "geometry_msgs/Vector3Stamped",
        "LANDING_TARGET",
        _landing_marker,
    ),
    Topic("adsb/vehicle", "mavros_msgs/ADSBVehicle", "ADSB_VEHICLE", _aircraft),
)
