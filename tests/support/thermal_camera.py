"""A rendered sensor of one's own, in one module: an uncooled thermal camera."""

import numpy as np

from sensor_models.cameras import cameras_of
from sensor_models.lens import Lens
from sensor_models.rendered_sensor import RenderedSensor, RosTopic, View
from sensor_models.ros_messages import camera_base, camera_info, image
from xtdrone_core import SensorBlock
from xtdrone_core.state import SensorDescription

COLD, WARM = 280.0, 320.0  # apparent temperatures of a black and of a white surface [K]


class ThermalInstrument:
    """A camera that takes the brightness of a surface for its apparent temperature."""

    kind = "thermal"

    def __init__(self, block: SensorBlock, seed: int, vehicle: int, stream: int):
        """Computes the lens; see RenderedSensor.instrument."""
        self.lenses = [Lens(camera, seed, vehicle, stream) for camera in cameras_of(block)]
        self.parts = [lens.camera for lens in self.lenses]
        self.streams = [lens.stream for lens in self.lenses]
        self.arrays = [("temperature", "<f4", [c.height, c.width]) for c in self.parts]

    def sample(self, view: View) -> dict[str, np.ndarray]:
        """Takes the apparent temperature of each pixel."""
        (camera,), (lens,) = self.parts, self.lenses
        grey = lens.image(view.image(camera, lens)).astype(np.float32).mean(axis=2)
        return {"temperature": COLD + (WARM - COLD) / 255.0 * grey}


def _ros(sensor: SensorDescription) -> list[RosTopic]:
    (camera,) = sensor["parameters"]
    base = camera_base(sensor, camera)
    return [
        RosTopic(
            f"{base}/temperature",
            "sensor_msgs/Image",
            camera,
            lambda header, data: image(header, data["temperature"], "32FC1"),
        ),
        RosTopic(
            f"{base}/camera_info",
            "sensor_msgs/CameraInfo",
            camera,
            lambda header, data: camera_info(header, camera),
        ),
    ]


SENSOR = RenderedSensor(
    kind="thermal",
    types=("thermal", "thermal_camera"),
    parts=cameras_of,
    instrument=ThermalInstrument,
    ros=_ros,
)
