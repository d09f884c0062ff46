"""Declaration of a kind of sensor that sees the scene; a new one is a module of rendered/.

Its SENSOR is a RenderedSensor. These modules and those of the entry-point group
`xtdrone.sensors` are found automatically. The SDF reader, the renderers, the reports, the readings
of a simulation and the topics of ROS all follow from the declaration.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xtdrone_core import SensorBlock
from xtdrone_core.state import ReadingArray, SensorDescription
from xtdrone_dynamics.quaternion import multiply, rotate, rotate_array

from .cameras import CameraParameters
from .lens import Lens, Pinhole
from .sensor import declarations


class Part(Protocol):
    """Parameters of one camera or scanner of a sensor: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def pos(self) -> tuple[float, float, float]:
        """Position in the frame of the sensor's body [m]."""

    @property
    def quat(self) -> tuple[float, float, float, float]:
        """Attitude xyzw, to the frame of the sensor's body; x looks forward."""

    @property
    def rate(self) -> float:
        """Readings per second [Hz]."""

    @property
    def latency(self) -> float:
        """Time from the measurement to the reading's arrival [s]."""


class Scene(Protocol):
    """Draws images and casts rays; see xtdrone_sim.rendering.scene.RenderedScene."""

    def draw(
        self,
        pos: npt.ArrayLike,
        quat: npt.ArrayLike,
        pinhole: Pinhole,
        near: float,
        far: float,
        depth: bool = False,
        key: tuple[str, ...] = (),
    ) -> Any:  # an image, or with depth a pair of image and distances
        """Renders the image of a pinhole camera."""

    def cast(
        self,
        vehicle: int,
        pos: npt.ArrayLike,
        directions: np.ndarray,
        longest: float,
        body: int = 0,
    ) -> np.ndarray:
        """Returns the distances along rays."""


@dataclass(frozen=True)
class View:
    """The scene at one instant, from a sensor on its vehicle."""

    scene: Scene
    vehicle: int  # index in the fleet
    body: int  # index of the body that the sensor is mounted on
    names: tuple[str, str]  # names of vehicle and sensor
    pos: np.ndarray  # (3,) position of that body, world [m]
    quat: np.ndarray  # (4,) xyzw, that body to world
    t_us: int  # simulated time [us]
    before: "Callable[[int], View] | None" = None  # places the scene and returns the view as they
    # were so long ago [us]; None where only one instant is known

    def pose(self, part: Part) -> tuple[np.ndarray, tuple[float, float, float, float]]:
        """Returns the world position (3,) and attitude xyzw of a part of the sensor."""
        x, y, z, w = self.quat
        return (
            self.pos + np.array(rotate(x, y, z, w, *part.pos)),
            multiply(x, y, z, w, *part.quat),
        )

    def image(self, camera: CameraParameters, lens: Lens, far: float = 0.0) -> np.ndarray:
        """Renders the pinhole image of a camera, for Lens.image().

        Args:
            camera: The part that looks.
            lens: Its lens.
            far: Nothing up to here is missing [m]; 0 for the camera's own.
        """
        return self.scene.draw(
            *self.pose(camera),
            lens.pinhole,
            camera.near,
            far or camera.far,
            key=(*self.names, camera.name),
        )

    def image_and_depth(
        self, camera: CameraParameters, lens: Lens, far: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Renders the pinhole image of a camera and its distances, for Lens.depth()."""
        image, distances = self.scene.draw(
            *self.pose(camera),
            lens.pinhole,
            camera.near,
            far or camera.far,
            True,
            (*self.names, camera.name),
        )
        return image, distances

    def ranges(self, part: Part, rays: np.ndarray, maximum: float) -> np.ndarray:
        """Returns distances (M,) along rays (M, 3) of a part's frame [m]; inf for too far."""
        pos, quat = self.pose(part)
        directions = rotate_array(np.broadcast_to(quat, (len(rays), 4)), rays)
        return self.scene.cast(self.vehicle, pos, directions, maximum, self.body)


class Instrument(Protocol):
    """One sensor of a vehicle.

    One whose readings take time has an attribute `sweep_us`: how long before a reading it begins
    to see the scene [us]. It finds what was then by View.before.
    """

    @property
    def kind(self) -> str:
        """Kind of its readings."""

    @property
    def parts(self) -> Sequence[Part]:
        """Parameters of each camera or scanner in it; all share rate and latency."""

    @property
    def lenses(self) -> Sequence[Lens]:
        """Lenses of its cameras; empty without any."""

    @property
    def streams(self) -> Sequence[np.ndarray]:
        """Random streams of its noise, (4,) uint64 each; see streams.new_stream()."""

    @property
    def arrays(self) -> Sequence[ReadingArray]:
        """Arrays of a reading."""

    def sample(self, view: View) -> dict[str, np.ndarray]:
        """Returns the arrays of one reading by name."""


Header = dict[str, Any]  # fields of std_msgs/Header


class RosTopic(NamedTuple):
    """A topic of ROS on which a sensor sends its readings."""

    name: str
    type: str  # such as sensor_msgs/Image
    part: dict[str, Any]  # parameters of the part that it belongs to
    fields: Callable[[Header, dict[str, np.ndarray]], dict[str, Any]]  # builds the fields of a
    # message from the arrays of a reading; nested fields are dicts


@dataclass(frozen=True)
class RenderedSensor:
    """One kind of sensor that sees the scene."""

    kind: str  # kind of its SDF blocks
    types: tuple[str, ...]  # types of SDF's <sensor>
    parts: Callable[[SensorBlock], Sequence[Part]]  # its parameters
    instrument: Callable[[SensorBlock, int, int, int], Instrument]  # its arguments: block, seed,
    # number of the vehicle, number of the first random stream; it may use two streams
    ros: Callable[[SensorDescription], Sequence[RosTopic]]
    readings: tuple[str, ...] = ()  # kinds of its readings; () = its own
    casts: bool = False  # casts rays, which see where the engine's bodies are at that moment
    optical: bool = True  # its frames in ROS have the axes of images: x right, y down, z forward

    @property
    def reading_kinds(self) -> tuple[str, ...]:
        """Kinds of its readings."""
        return self.readings or (self.kind,)


@functools.cache
def rendered_sensors() -> dict[str, RenderedSensor]:
    """Returns every kind of rendered sensor by name.

    Raises:
        SensorError: A module that cannot be loaded, or two of one kind.
    """
    return {
        name: sensor
        for name, sensor in declarations().items()
        if isinstance(sensor, RenderedSensor)
    }


def declared_by(reading_kind: str) -> RenderedSensor:
    """Returns the declaration of the sensor that has readings of this kind."""
    return next(
        sensor for sensor in rendered_sensors().values() if reading_kind in sensor.reading_kinds
    )


def parts_of(block: SensorBlock) -> Sequence[Part]:
    """Returns the parameters of each camera or scanner of a block; () if it sees nothing.

    Raises:
        SensorError: Invalid parameters.
    """
    sensor = rendered_sensors().get(block.kind)
    return sensor.parts(block) if sensor else ()


def has_cameras(block: SensorBlock) -> bool:
    """Whether a block has cameras, without reading all of its parameters."""
    sensor = rendered_sensors().get(block.kind)
    return sensor is not None and not sensor.casts


def cameras_in(block: SensorBlock) -> list[CameraParameters]:
    """Returns the cameras of a block; [] if it has none."""
    return [part for part in parts_of(block) if isinstance(part, CameraParameters)]
