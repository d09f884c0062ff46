"""ROS messages of rendered sensors as plain fields: topic, type and values, without ROS.

Topics lie below the vehicle's namespace, with Gazebo's own names: the plugin tags
cameraName, imageTopicName, topicName and so on, or else the sensor's name.
Images carry the frame of their optical axis (x right, y down, z forward).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from xtdrone_core.state import SensorDescription
from xtdrone_dynamics.quaternion import from_matrix, multiply

from .frame_names import frame_name
from .rendered_sensor import Header, RosTopic, declared_by

Message = tuple[str, str, dict[str, Any]]  # topic, type, fields (nested as dicts)
Part = dict[str, Any]  # parameters of one camera or scanner
_OPTICAL = from_matrix(0, 0, 1, -1, 0, 0, 0, -1, 0)  # optical frame to camera frame
_FLOAT32 = 7  # sensor_msgs/PointField


def messages(
    sensor: SensorDescription,
    t_us: int,
    data: dict[str, np.ndarray],
    wanted: Callable[[str], bool] = lambda topic: True,
) -> list[Message]:
    """Returns the messages of one reading, in the order in which they are to be sent.

    Args:
        sensor: Its description, from the control socket's request `sensors`.
        t_us: Simulated time of the reading.
        data: ReadingArray by name.
        wanted: Whether a topic has subscribers; other messages are not built.
    """
    return [
        (topic.name, topic.type, topic.fields(_header(sensor, topic.part, t_us), data))
        for topic in declared_by(sensor["kind"]).ros(sensor)
        if wanted(topic.name)
    ]


def topics(sensor: SensorDescription) -> list[tuple[str, str]]:
    """Returns (topic, type) of everything that a sensor sends."""
    return [(topic.name, topic.type) for topic in declared_by(sensor["kind"]).ros(sensor)]


def transforms(sensors: list[SensorDescription]) -> list[dict[str, Any]]:
    """Returns geometry_msgs/TransformStamped from base_link to each frame of each sensor."""
    out = []
    for sensor in sensors:
        optical = declared_by(sensor["kind"]).optical
        for part in sensor["parameters"]:
            x, y, z, w = part["quat"]
            quat = multiply(x, y, z, w, *_OPTICAL) if optical else (x, y, z, w)
            out.append(
                {
                    "header": {"frame_id": frame_name(sensor["namespace"], "base_link")},
                    "child_frame_id": _frame(sensor, part),
                    "transform": {
                        "translation": dict(zip("xyz", part["pos"])),
                        "rotation": dict(zip("xyzw", map(float, quat))),
                    },
                }
            )
    return out


def camera_base(sensor: SensorDescription, camera: Part) -> str:
    """Returns the namespace of a camera's topics."""
    top = f"{sensor['namespace']}/{sensor['tags'].get('cameraName', sensor['sensor'])}"
    return f"{top}/{camera['name']}" if camera["name"] else top


def camera_topics(sensor: SensorDescription, camera: Part) -> list[RosTopic]:
    """Returns the topics of a camera's image and of its CameraInfo."""
    base, tags = camera_base(sensor, camera), sensor["tags"]
    return [
        RosTopic(
            f"{base}/{tags.get('imageTopicName', 'image_raw')}",
            "sensor_msgs/Image",
            camera,
            lambda header, data: image(header, data[camera["name"] or "image"], camera["format"]),
        ),
        RosTopic(
            f"{base}/{tags.get('cameraInfoTopicName', 'camera_info')}",
            "sensor_msgs/CameraInfo",
            camera,
            lambda header, data: camera_info(header, camera),
        ),
    ]


_LENSES = {  # coefficients of each distortion_model, in the order of D
    "plumb_bob": ("k1", "k2", "p1", "p2", "k3"),
    "equidistant": ("k1", "k2", "k3", "k4"),
}


def camera_info(header: Header, camera: Part) -> dict[str, Any]:
    """Returns the fields of sensor_msgs/CameraInfo.

    D describes the lens where its distortion centre is the principal point, which is all
    that this message can say. P is K, with -fx times hack_baseline in its fourth column.
    """
    model = camera["distortion_model"]
    fx, fy, cx, cy, skew = (camera[name] for name in ("fx", "fy", "cx", "cy", "skew"))
    return {
        "header": header,
        "height": camera["height"],
        "width": camera["width"],
        "distortion_model": model,
        "D": [camera[name] for name in _LENSES[model]],
        "K": [fx, skew, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "R": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "P": [fx, skew, cx, -fx * camera["hack_baseline"], 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    }


def image(header: Header, array: np.ndarray, encoding: str) -> dict[str, Any]:
    """Returns the fields of sensor_msgs/Image."""
    height, width = array.shape[:2]
    return {
        "header": header,
        "height": height,
        "width": width,
        "encoding": encoding,
        "is_bigendian": 0,
        "step": array.strides[0],
        "data": array.tobytes(),
    }


def cloud(header: Header, points: np.ndarray) -> dict[str, Any]:
    """Returns the fields of sensor_msgs/PointCloud2; points that were not seen are NaN."""
    height, width = points.shape[:2]
    fields = [
        {"name": name, "offset": 4 * k, "datatype": _FLOAT32, "count": 1}
        for k, name in enumerate("xyz")
    ]
    return {
        "header": header,
        "height": height,
        "width": width,
        "fields": fields,
        "is_bigendian": False,
        "point_step": 12,
        "row_step": 12 * width,
        "data": np.ascontiguousarray(points).tobytes(),
        "is_dense": bool(np.isfinite(points).all()),
    }


_POINT = np.dtype(  # of Velodyne's driver, whose names Ouster's and others' share
    {
        "names": ["x", "y", "z", "intensity", "ring", "time"],
        "formats": ["<f4", "<f4", "<f4", "<f4", "<u2", "<f4"],
        "offsets": [0, 4, 8, 12, 16, 18],
        "itemsize": 22,
    }
)
_FIELD_TYPES = {"<f4": _FLOAT32, "<u2": 4}


def sweep_cloud(header: Header, points: np.ndarray, times: np.ndarray) -> dict[str, Any]:
    """Returns the fields of sensor_msgs/PointCloud2 of a scanner, stamped by point.

    Args:
        header: Its stamp is the time of the first column.
        points: (rows, columns, 3), the lowest row first [m]; NaN where nothing was seen.
        times: (columns,) after the stamp [s].
    """
    height, width = points.shape[:2]
    rows = np.zeros((height, width), dtype=_POINT)  # the intensity is 0: materials have none
    for axis, name in enumerate("xyz"):
        rows[name] = points[..., axis]
    rows["ring"], rows["time"] = np.arange(height)[:, None], times
    offsets = dict(_POINT.fields or {})
    return {
        "header": header,
        "height": height,
        "width": width,
        "fields": [
            {"name": name, "offset": offset, "datatype": _FIELD_TYPES[kind.str], "count": 1}
            for name, (kind, offset, *_) in offsets.items()
        ],
        "is_bigendian": False,
        "point_step": _POINT.itemsize,
        "row_step": _POINT.itemsize * width,
        "data": rows.tobytes(),
        "is_dense": bool(np.isfinite(points).all()),
    }


def _frame(sensor: SensorDescription, part: Part) -> str:
    name = sensor["tags"].get("frameName", sensor["sensor"])
    side = f"_{part['name']}" if part.get("name") else ""
    return frame_name(sensor["namespace"], f"{name}{side}")


def _header(sensor: SensorDescription, part: Part, t_us: int) -> Header:
    return {
        "stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000},
        "frame_id": _frame(sensor, part),
    }
