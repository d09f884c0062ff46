"""Cameras and lidars of a vehicle."""

from dataclasses import dataclass

from .part import Element, add, add_pose
from .sensors import Sensor


@dataclass(frozen=True, kw_only=True)
class Rendered(Sensor):
    """A sensor with a picture of the world; parameters have the names of XTDrone's Table II."""

    def fill_sensor(self, sensor: Element) -> None:
        """Adds rate, preset and parameters to `<sensor>`."""
        if self.rate is not None:
            add(sensor, "update_rate", float(self.rate))
        if self.preset:
            add(sensor, "preset", self.preset)
        for name, value in self.parameters.items():
            add(sensor, name, value)
        self.fill_view(sensor)

    def fill_view(self, sensor: Element) -> None:
        """Adds SDF's own elements of the kind."""


@dataclass(frozen=True, kw_only=True)
class Camera(Rendered):
    """A camera that looks along its x axis.

    Examples:
        >>> Camera(preset="mt9v034", pos=(0.1, 0.0, 0.0)).named
        'camera'
        >>> Camera(name="eye", width=640, height=480, horizontal_fov=1.2, rate=25.0).rate
        25.0
    """

    type, label = "camera", "camera"

    width: int | None = None  # [pixels]; None: the preset's, or 320
    height: int | None = None  # [pixels]; None: the preset's, or 240
    horizontal_fov: float | None = None  # [rad]; None: the preset's, or 1.047

    def fill_view(self, sensor: Element) -> None:
        """Adds `<camera>`."""
        self.fill_camera(add(sensor, "camera", name=self.named))

    def fill_camera(self, camera: Element) -> None:
        """Adds field of view and size of the picture."""
        if self.horizontal_fov is not None:
            add(camera, "horizontal_fov", self.horizontal_fov)
        if self.width is not None or self.height is not None:
            image = add(camera, "image")
            for tag, value in (("width", self.width), ("height", self.height)):
                if value is not None:
                    add(image, tag, value)


@dataclass(frozen=True, kw_only=True)
class DepthCamera(Camera):
    """A camera with the distance of each pixel.

    Examples:
        >>> DepthCamera(preset="r200").named
        'depth'
    """

    type, label = "depth", "depth"


@dataclass(frozen=True, kw_only=True)
class StereoCamera(Camera):
    """Two cameras side by side, whose shutters open together.

    Examples:
        >>> StereoCamera(preset="mt9v034", baseline=0.12).named
        'stereo'
    """

    type, label = "multicamera", "stereo"

    baseline: float = 0.12  # distance between the cameras [m]

    def fill_view(self, sensor: Element) -> None:
        """Adds the left and the right `<camera>`."""
        for name, side in (("left", 0.5), ("right", -0.5)):
            camera = add(sensor, "camera", name=name)
            add_pose(camera, (0.0, side * self.baseline, 0.0))
            self.fill_camera(camera)


@dataclass(frozen=True, kw_only=True)
class Lidar(Rendered):
    """A scanner; of a plane where the preset or the parameter rows says so.

    Examples:
        >>> Lidar(preset="hokuyo_utm30lx", pos=(0.0, 0.0, 0.1), rate=25.0).named
        'lidar'
    """

    type, label = "ray", "lidar"
