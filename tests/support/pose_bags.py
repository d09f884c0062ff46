"""Bags of ROS 1 and ROS 2 with poses of each type, as other programs record them."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("ros1.bag", "ros2.mcap", "ros2.db3", "folder")
COUNT, PERIOD_S = 21, 0.1


def position(k: int) -> tuple[float, float, float]:
    """Where the vehicle is in message k."""
    return 0.1 * k, 2.0, 3.0


def pose_messages(store: Any, what: str, stamped: bool = True) -> list[tuple[str, Any]]:
    """Returns topic and message of each step, of one kind: pose, covariance, odometry, ... tf."""
    t = store.types
    header_fields = t["std_msgs/msg/Header"].__dataclass_fields__
    zeros = np.zeros(36)

    def header(k: int, frame: str = "map") -> Any:
        stamp = t["builtin_interfaces/msg/Time"](
            *divmod(round(k * PERIOD_S * 1e9) * stamped, 10**9)
        )
        return t["std_msgs/msg/Header"](*([k] if "seq" in header_fields else []), stamp, frame)

    def vector(kind: str, values: tuple[float, ...]) -> Any:
        return t[f"geometry_msgs/msg/{kind}"](*values)

    def turn(z: float = 0.0) -> Any:
        return vector("Quaternion", (0.0, 0.0, np.sin(0.5 * z), np.cos(0.5 * z)))

    def transform(k: int, parent: str, child: str, where: tuple[float, ...], yaw: float) -> Any:
        return t["geometry_msgs/msg/TransformStamped"](
            header(k, parent),
            child,
            t["geometry_msgs/msg/Transform"](vector("Vector3", where), turn(yaw)),
        )

    def message(k: int) -> Any:
        pose = t["geometry_msgs/msg/Pose"](vector("Point", position(k)), turn())
        covariant = t["geometry_msgs/msg/PoseWithCovariance"](pose, zeros)
        if what == "pose":
            return t["geometry_msgs/msg/PoseStamped"](header(k), pose)
        if what == "covariance":
            return t["geometry_msgs/msg/PoseWithCovarianceStamped"](header(k), covariant)
        if what == "odometry":
            still = t["geometry_msgs/msg/Twist"](*[vector("Vector3", (0.0, 0.0, 0.0))] * 2)
            twist = t["geometry_msgs/msg/TwistWithCovariance"](still, zeros)
            return t["nav_msgs/msg/Odometry"](header(k), "base_link", covariant, twist)
        if what == "transform":
            return transform(k, "map", "drone", position(k), 0.0)
        if what == "px4":
            x, y, z = position(k)  # east, north, up
            q = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], np.float32)  # towards east
            ned = np.array([y, x, -z], np.float32)
            return t["px4_msgs/msg/VehicleOdometry"](10_000_000 + round(k * PERIOD_S * 1e6), ned, q)
        if what == "text":
            return t["std_msgs/msg/String"]("hello")
        # The map's frame is turned by a quarter, so that what moves to its right moves forward.
        x, y, z = position(k)
        return t["tf2_msgs/msg/TFMessage"](
            [
                transform(k, "map", "odom", (0.0, 0.0, 1.0), 0.5 * np.pi),
                transform(k, "odom", "uav0/base_link", (y, -x, z - 1.0), 0.0),
                transform(k, "uav0/base_link", "camera", (0.1, 0.0, 0.0), 0.0),
            ]
        )

    topic = "/tf" if what == "tf" else f"/{what}"
    return [(topic, message(k)) for k in range(COUNT)]


def write(folder: Path, kind: str, *whats: str, stamped: bool = True) -> Path:
    """Writes a bag of a kind with messages of some kinds; returns its path."""
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    is_ros1 = kind == "ros1.bag"
    store = get_typestore(Stores.ROS1_NOETIC if is_ros1 else Stores.ROS2_HUMBLE)
    odometry = "uint64 timestamp\nfloat32[3] position\nfloat32[4] q"
    store.register(get_types_from_msg(odometry, "px4_msgs/msg/VehicleOdometry"))
    if is_ros1:
        transforms = "geometry_msgs/TransformStamped[] transforms"
        store.register(get_types_from_msg(transforms, "tf2_msgs/msg/TFMessage"))
    target = folder / (kind if is_ros1 else "bag")
    storage = rosbag2.StoragePlugin.SQLITE3 if kind == "ros2.db3" else rosbag2.StoragePlugin.MCAP
    writer: Any = (
        rosbag1.Writer(target)
        if is_ros1
        else rosbag2.Writer(target, version=9, storage_plugin=storage)
    )
    serialise = store.serialize_ros1 if is_ros1 else store.serialize_cdr
    with writer as bag:
        for what in whats:
            connection: Any = None
            for k, (topic, message) in enumerate(pose_messages(store, what, stamped)):
                name = message.__msgtype__
                if connection is None:
                    connection = bag.add_connection(topic, name, typestore=store)
                bag.write(connection, 1 + round(k * PERIOD_S * 1e9), serialise(message, name))
    if kind in ("ros1.bag", "folder"):
        return target
    return Path(shutil.move(next(target.glob(f"*{Path(kind).suffix}")), folder / kind))
