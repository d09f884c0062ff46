"""Depth camera: an image and the distance of each pixel along the optical axis."""

from typing import Any

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_core.state import ReadingArray, SensorDescription

from ..cameras import cameras_of
from ..rendered_sensor import Header, RenderedSensor, RosTopic, View
from ..ros_messages import camera_base, camera_info, camera_topics, cloud, image
from .camera import image_array, lenses_of

_COLOUR_FAR = 100.0  # up to here the colour image is complete [m]


class DepthInstrument:
    """One depth camera."""

    kind = "depth"

    def __init__(self, block: SensorBlock, seed: int, vehicle: int, stream: int):
        """Computes the lens; see RenderedSensor.instrument."""
        self.lenses = lenses_of(block, seed, vehicle, stream)
        self.parts = [lens.camera for lens in self.lenses]
        self.streams = [lens.stream for lens in self.lenses]
        self.arrays: list[ReadingArray] = []
        for camera in self.parts:
            self.arrays += [("depth", "<f4", [camera.height, camera.width]), image_array(camera)]

    def sample(self, view: View) -> dict[str, np.ndarray]:
        """Takes the depth image, then the image."""
        data = {}
        for camera, lens in zip(self.parts, self.lenses):
            colours, distances = view.image_and_depth(camera, lens, max(camera.far, _COLOUR_FAR))
            data["depth"] = lens.depth(distances)
            data[camera.name or "image"] = lens.image(colours)
        return data


def _ros(sensor: SensorDescription) -> list[RosTopic]:
    """Image and CameraInfo, the same of the depth image, and a cloud."""
    return [topic for camera in sensor["parameters"] for topic in _camera_ros(sensor, camera)]


def _camera_ros(sensor: SensorDescription, camera: dict[str, Any]) -> list[RosTopic]:
    base, tags = camera_base(sensor, camera), sensor["tags"]

    def points(header: Header, data: dict[str, np.ndarray]) -> dict[str, Any]:
        # Rays of the pinhole alone: a depth camera's lens is taken as free of distortion here.
        depth = data["depth"]
        v, u = np.mgrid[0 : depth.shape[0], 0 : depth.shape[1]]
        y = (v - camera["cy"]) / camera["fy"]
        x = (u - camera["cx"] - camera["skew"] * y) / camera["fx"]
        known = np.where(np.isfinite(depth), depth, np.nan)
        return cloud(header, np.stack([x * known, y * known, known], axis=-1).astype(np.float32))

    return [
        *camera_topics(sensor, camera),
        RosTopic(
            f"{base}/{tags.get('depthImageTopicName', 'depth/image_raw')}",
            "sensor_msgs/Image",
            camera,
            lambda header, data: image(header, data["depth"], "32FC1"),
        ),
        RosTopic(
            f"{base}/{tags.get('depthImageCameraInfoTopicName', 'depth/camera_info')}",
            "sensor_msgs/CameraInfo",
            camera,
            lambda header, data: camera_info(header, camera),
        ),
        RosTopic(
            f"{base}/{tags.get('pointCloudTopicName', 'depth/points')}",
            "sensor_msgs/PointCloud2",
            camera,
            points,
        ),
    ]


SENSOR = RenderedSensor(
    kind="depth",
    types=("depth", "depth_camera", "rgbd_camera"),
    parts=cameras_of,
    instrument=DepthInstrument,
    ros=_ros,
)
