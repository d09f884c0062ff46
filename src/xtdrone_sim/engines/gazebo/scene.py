"""Images and lidar scans of a fleet from Gazebo; same interface as rendering.RenderedScene.

Gazebo renders the ideal image of each camera from the poses at the time of
exposure, and its physics casts the rays of lidars and range finders. Lens
distortion, noise and latency come from sensor_models, as with every engine.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sensor_models.lens import Pinhole
from sensor_models.measured.range_finder import RangeParameters
from sensor_models.rendered.lidar import LidarParameters, lidar_of
from sensor_models.rendered_sensor import cameras_in
from sensor_models.sensor import STEP_US, period_steps
from xtdrone_core import FleetState, Vehicle, VehicleSpec

from ...world.models import WorldModel
from .channel import Channel
from .world import link_name

READY_S = 90.0  # wall-clock time-out while Gazebo loads its visuals [s]
_CAMERAS, _NAME, _DRAW = range(1, 4)  # must match looks.hh
_DRAWING = struct.Struct("<Q13d")

Key = tuple[str, str, str]  # names of vehicle, sensor and camera within it (empty if single)


def camera_keys(specs: Sequence[VehicleSpec], models: Sequence[Vehicle]) -> list[Key]:
    """Keys of all cameras of a fleet."""
    return [
        (spec.name, block.name, camera.name)
        for spec, model in zip(specs, models)
        for block in model.sensors
        for camera in cameras_in(block)
    ]


def scanners(specs: Sequence[VehicleSpec], models: Sequence[Vehicle]) -> str:
    """Describes the lidars and range finders of a fleet in the plugin's format; see rays.hh."""
    lines = []
    for spec, model in zip(specs, models):
        for block in model.sensors:
            if block.kind == "lidar":
                lidar = lidar_of(block)
                beams: LidarParameters | RangeParameters = lidar
                fan = (
                    lidar.columns,
                    lidar.min_angle,
                    lidar.max_angle,
                    lidar.rows,
                    lidar.min_elevation,
                    lidar.max_elevation,
                )
            elif block.kind == "range":
                beams, fan = RangeParameters.from_block(block), (1, 0.0, 0.0, 1, 0.0, 0.0)
            else:
                continue
            period = period_steps(beams.rate) * STEP_US
            numbers = period, *block.pos, *block.quat, *fan, beams.minimum, beams.maximum
            lines.append(
                f"{spec.name}\t{link_name(block.body)}\t{block.name}\t"
                f"{' '.join(map(str, numbers))}\n"
            )
    return "".join(lines)


class GazeboScene:
    """Renders and casts rays in gzserver. All calls must come from one thread.

    Attributes:
        in_step: True: lidars scan the bodies at their current physics poses, so no step may begin
            before the scan is complete.
    """

    in_step = True

    def __init__(
        self,
        channel: Channel,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        cast: Callable[..., np.ndarray],
    ):
        """Waits until Gazebo has loaded everything that is visible to the sensors.

        Args:
            channel: Channel to the plugin's camera socket.
            specs, models: The fleet's VehicleSpecs and Vehicles.
            cast: GazeboEngine.cast.

        Raises:
            EngineError: Gazebo cannot render on this machine.
        """
        self._channel = channel
        self.cast = cast
        self._numbers = {key: i for i, key in enumerate(camera_keys(specs, models))}
        bodies = [
            f"{spec.name}::{link_name(k)}" if k else spec.name
            for spec, model in zip(specs, models, strict=True)
            for k in range(len(model.bodies))
        ]
        links = {
            (spec.name, block.name): link_name(block.body)
            for spec, model in zip(specs, models, strict=True)
            for block in model.sensors
        }
        lines = ["\t".join(bodies)]
        lines += [
            f"{vehicle}\t{links[vehicle, sensor]}\t{sensor}\t{int(camera == 'right')}"
            for vehicle, sensor, camera in self._numbers
        ]
        channel.ask(_CAMERAS, "\n".join(lines), READY_S)
        width = max(len(model.bodies) for model in models)
        self._used = np.array([[k < len(model.bodies) for k in range(width)] for model in models])
        self._poses = np.zeros((len(bodies), 7))

    @property
    def renderer(self) -> str:
        """Name of the renderer, for example "gazebo: llvmpipe"."""
        if not self._numbers:
            return "gazebo: rays"
        return f"gazebo: {self._channel.text(_NAME)}"

    def place(
        self,
        state: FleetState,
        inserted: Sequence[WorldModel] = (),
        states: Sequence[np.ndarray] = (),
    ) -> None:
        """Places the bodies for images; rays use their physics poses. See RenderedScene.place().

        Gazebo shows its inserted models itself.
        """
        self._poses[:, :3] = state.body_pos[self._used]
        self._poses[:, 3:] = state.body_quat[self._used]

    def draw(
        self,
        pos: npt.ArrayLike,
        quat: npt.ArrayLike,
        pinhole: Pinhole,
        near: float,
        far: float,
        depth: bool = False,
        key: Key = ("", "", ""),
    ) -> Any:  # an image, or with depth a pair of image and distances
        """Draws with the camera of this key; see RenderedScene.draw()."""
        head = _DRAWING.pack(
            self._numbers[key],
            pinhole.left,
            pinhole.right,
            -pinhole.bottom,
            -pinhole.top,
            near,
            far,
            *np.asarray(pos),
            *np.asarray(quat),
        )
        shape = pinhole.height, pinhole.width
        size = 3 * shape[0] * shape[1]
        data = self._channel.request(
            _DRAW, head + self._poses.tobytes(), size=size + 4 * shape[0] * shape[1] * depth
        )
        colours = np.frombuffer(data, np.uint8, size).reshape(*shape, 3)
        if not depth:
            return colours
        distances = np.frombuffer(data, np.float32, offset=size).reshape(shape)
        return colours, np.where(distances < far, distances, np.float32(np.inf))

    def close(self) -> None:
        """Does nothing: the engine closes the channel."""
