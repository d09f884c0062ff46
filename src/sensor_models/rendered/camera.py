"""Camera, and stereo pair of cameras."""

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_core.state import ReadingArray, SensorDescription

from ..cameras import FORMATS, CameraParameters, cameras_of
from ..lens import Lens
from ..rendered_sensor import RenderedSensor, RosTopic, View
from ..ros_messages import camera_topics


class CameraInstrument:
    """One camera, or a stereo pair."""

    def __init__(self, block: SensorBlock, seed: int, vehicle: int, stream: int):
        """Computes the lenses; see RenderedSensor.instrument."""
        self.lenses = lenses_of(block, seed, vehicle, stream)
        self.parts = [lens.camera for lens in self.lenses]
        self.kind = "stereo" if len(self.parts) == 2 else "camera"
        self.streams = [lens.stream for lens in self.lenses]
        self.arrays = [image_array(camera) for camera in self.parts]

    def sample(self, view: View) -> dict[str, np.ndarray]:
        """Takes an image with each camera."""
        return {
            camera.name or "image": lens.image(view.image(camera, lens))
            for camera, lens in zip(self.parts, self.lenses)
        }


def lenses_of(block: SensorBlock, seed: int, vehicle: int, stream: int) -> list[Lens]:
    """Returns the lens of each camera of a block, with a random stream of its own."""
    return [Lens(camera, seed, vehicle, stream + k) for k, camera in enumerate(cameras_of(block))]


def image_array(camera: CameraParameters) -> ReadingArray:
    """Returns name, type and shape of a camera's image."""
    channels = FORMATS[camera.format]
    shape = [camera.height, camera.width] + ([channels] if channels > 1 else [])
    return camera.name or "image", "|u1", shape


def _ros(sensor: SensorDescription) -> list[RosTopic]:
    """An image and a CameraInfo for each camera."""
    return [topic for camera in sensor["parameters"] for topic in camera_topics(sensor, camera)]


SENSOR = RenderedSensor(
    kind="camera",
    types=("camera", "wideanglecamera", "multicamera"),
    parts=cameras_of,
    instrument=CameraInstrument,
    ros=_ros,
    readings=("camera", "stereo"),
)
