"""Topics of what a vehicle carries or meets: camera mount, landing target, other aircraft."""

import math

from .. import convert, ros_serialisation as ros
from ..mavlink_link import unpack
from .row import Topic

_TARGET_SIZE = 0.3, 0.3, 0.0  # of landing_target/lt_marker [m]


def _mount_angles(payload):
    """Roll, pitch and yaw of MOUNT_ORIENTATION [rad]."""
    _, roll, pitch, yaw, _ = unpack(265, payload)
    return [math.radians(angle) for angle in (roll, pitch, yaw)]


def _mount_orientation(v, payload):
    return ros.struct.pack("<4d", *convert.quaternion(*_mount_angles(payload)))


def _mount_status(v, payload):
    return ros.fields(v.now_us, "1", "3d", *_mount_angles(payload))


def _landing_target(v, payload):
    m = v.decoded()
    w, x, y, z = m.q
    return ros.pose_stamped(
        v.stamp(m.time_usec),
        "landing_target_1",
        (m.y, m.x, -m.z),
        convert.quat_enu_ned((x, y, z, w)),
    )


def _landing_marker(v, payload):
    return ros.fields(0, "", "3d", *_TARGET_SIZE)


def _aircraft(v, payload):
    m = v.decoded()
    return b"".join(
        (
            ros.fields(v.now_us, "", "I", m.ICAO_address),
            ros.text(m.callsign),
            ros.struct.pack(
                "<2d4f2B2i2H",
                m.lat * 1e-7,
                m.lon * 1e-7,
                m.altitude * 1e-3,
                m.heading * 1e-2,
                m.hor_velocity * 1e-2,
                m.ver_velocity * 1e-2,
                m.altitude_type,
                m.emitter_type,
                m.tslc,
                0,
                m.flags,
                m.squawk,
            ),
        )
    )


TOPICS = (
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
