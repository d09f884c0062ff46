"""ROS messages of cameras and lidars as plain fields: topic, type and values, without ROS.

Topics lie below the vehicle's name, with Gazebo's own names: the plugin tags
cameraName, imageTopicName, topicName and so on, or else the sensor's name.
Images carry the frame of their optical axis (x right, y down, z forward).
"""

from collections.abc import Callable

import numpy as np

from xtdrone_dynamics.quaternion import from_matrix, multiply

Message = tuple[str, str, dict]  # topic, type like sensor_msgs/Image, fields (nested as dicts)
_OPTICAL = from_matrix(0, 0, 1, -1, 0, 0, 0, -1, 0)  # optical frame to camera frame
_FLOAT32 = 7  # sensor_msgs/PointField


def messages(
    sensor: dict, t_us: int, data: dict, wanted: Callable[[str], bool] = lambda topic: True
) -> list[Message]:
    """The messages of one reading.

    Args:
        sensor: Its description, from the control socket's request `sensors`.
        t_us: The reading's stamp.
        data: Array by name.
        wanted: Whether a topic has subscribers; other messages are not built.

    Returns:
        Messages in the order in which they are to be sent.
    """
    if sensor["kind"] == "lidar":
        return _scan(sensor, t_us, data["ranges"], wanted)
    out = []
    for camera in sensor["parameters"]:
        name = camera["name"] or "image"
        image, info, _ = _camera_topics(sensor, camera)
        header = _header(sensor, camera, t_us)
        if wanted(image):
            out.append((image, "sensor_msgs/Image", _image(header, data[name], camera["format"])))
        if wanted(info):
            out.append((info, "sensor_msgs/CameraInfo", camera_info(header, camera)))
        if sensor["kind"] == "depth":
            out += _depth(sensor, camera, header, data["depth"], wanted)
    return out


def topics(sensor: dict) -> list[tuple[str, str]]:
    """(topic, type) of everything that a sensor sends."""
    if sensor["kind"] == "lidar":
        rows = sensor["parameters"][0]["rows"]
        return [
            (
                _lidar_topic(sensor),
                "sensor_msgs/PointCloud2" if rows > 1 else "sensor_msgs/LaserScan",
            )
        ]
    found = []
    for camera in sensor["parameters"]:
        image, info, depths = _camera_topics(sensor, camera)
        found += [(image, "sensor_msgs/Image"), (info, "sensor_msgs/CameraInfo")]
        if sensor["kind"] == "depth":
            found += zip(
                depths, ("sensor_msgs/Image", "sensor_msgs/CameraInfo", "sensor_msgs/PointCloud2")
            )
    return found


def camera_info(header: dict, camera: dict) -> dict:
    """Fields of sensor_msgs/CameraInfo.

    D describes the lens where its distortion centre is the principal point, which is all
    that this message can say. P is K, with -fx times hack_baseline in its fourth column.
    """
    fx, fy, cx, cy, skew = (camera[name] for name in ("fx", "fy", "cx", "cy", "skew"))
    return {
        "header": header,
        "height": camera["height"],
        "width": camera["width"],
        "distortion_model": "plumb_bob",
        "D": [camera[name] for name in ("k1", "k2", "p1", "p2", "k3")],
        "K": [fx, skew, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        "R": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        "P": [fx, skew, cx, -fx * camera["hack_baseline"], 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    }


def transforms(sensors: list[dict]) -> list[dict]:
    """geometry_msgs/TransformStamped from each vehicle's base_link to its sensors' frames."""
    out = []
    for sensor in sensors:
        for part in sensor["parameters"]:
            quat = tuple(part["quat"])
            if sensor["kind"] != "lidar":
                quat = multiply(*quat, *_OPTICAL)
            out.append(
                {
                    "header": {"frame_id": f"{sensor['vehicle']}/base_link"},
                    "child_frame_id": _frame(sensor, part),
                    "transform": {
                        "translation": dict(zip("xyz", part["pos"])),
                        "rotation": dict(zip("xyzw", map(float, quat))),
                    },
                }
            )
    return out


def _camera_topics(sensor, camera):
    tags, side = sensor["tags"], camera["name"]
    top = f"/{sensor['vehicle']}/{tags.get('cameraName', sensor['sensor'])}"
    base = f"{top}/{side}" if side else top
    image = f"{base}/{tags.get('imageTopicName', 'image_raw')}"
    info = f"{base}/{tags.get('cameraInfoTopicName', 'camera_info')}"
    depths = (
        f"{base}/{tags.get('depthImageTopicName', 'depth/image_raw')}",
        f"{base}/{tags.get('depthImageCameraInfoTopicName', 'depth/camera_info')}",
        f"{base}/{tags.get('pointCloudTopicName', 'depth/points')}",
    )
    return image, info, depths


def _lidar_topic(sensor):
    return f"/{sensor['vehicle']}/{sensor['tags'].get('topicName', sensor['sensor']).lstrip('/')}"


def _frame(sensor, part):
    name = sensor["tags"].get("frameName", sensor["sensor"])
    side = f"_{part['name']}" if part.get("name") else ""
    return f"{sensor['vehicle']}/{name}{side}"


def _header(sensor, part, t_us):
    return {
        "stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000},
        "frame_id": _frame(sensor, part),
    }


def _image(header, array, encoding):
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


def _depth(sensor, camera, header, depth, wanted):
    image, info, points = _camera_topics(sensor, camera)[2]
    out = []
    if wanted(image):
        out.append((image, "sensor_msgs/Image", _image(header, depth, "32FC1")))
    if wanted(info):
        out.append((info, "sensor_msgs/CameraInfo", camera_info(header, camera)))
    if wanted(points):
        # Rays of the pinhole alone: a depth camera's lens is taken as free of distortion here.
        v, u = np.mgrid[0 : depth.shape[0], 0 : depth.shape[1]]
        y = (v - camera["cy"]) / camera["fy"]
        x = (u - camera["cx"] - camera["skew"] * y) / camera["fx"]
        known = np.where(np.isfinite(depth), depth, np.nan)
        cloud = np.stack([x * known, y * known, known], axis=-1).astype(np.float32)
        out.append((points, "sensor_msgs/PointCloud2", _cloud(header, cloud)))
    return out


def _scan(sensor, t_us, ranges, wanted):
    lidar, topic = sensor["parameters"][0], _lidar_topic(sensor)
    header = _header(sensor, lidar, t_us)
    if not wanted(topic):
        return []
    step = (lidar["max_angle"] - lidar["min_angle"]) / max(1, lidar["columns"] - 1)
    if lidar["rows"] == 1:
        return [
            (
                topic,
                "sensor_msgs/LaserScan",
                {
                    "header": header,
                    "angle_min": lidar["min_angle"],
                    "angle_max": lidar["max_angle"],
                    "angle_increment": step,
                    "time_increment": 0.0,
                    "scan_time": sensor["period_us"] * 1e-6,
                    "range_min": lidar["minimum"],
                    "range_max": lidar["maximum"],
                    "ranges": ranges[0].tolist(),
                    "intensities": [],
                },
            )
        ]
    azimuth = lidar["min_angle"] + step * np.arange(lidar["columns"])
    elevation = np.linspace(lidar["min_elevation"], lidar["max_elevation"], lidar["rows"])[:, None]
    known = np.where(np.isfinite(ranges), ranges, np.nan)
    cloud = np.stack(
        np.broadcast_arrays(
            known * np.cos(elevation) * np.cos(azimuth),
            known * np.cos(elevation) * np.sin(azimuth),
            known * np.sin(elevation),
        ),
        axis=-1,
    ).astype(np.float32)
    return [(topic, "sensor_msgs/PointCloud2", _cloud(header, cloud))]


def _cloud(header, points):
    """A cloud with its rows and columns; points that were not seen are nan."""
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
