"""Small pictures of vehicles and worlds, drawn once by MuJoCo and kept beside the glTF files."""

import io
import math
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_sim.vehicles.pose import body_frames
from xtdrone_sim.vehicles.shapes import Shape
from xtdrone_sim.world import World

from ..gltf import geometry, scene

SIZE = 360, 240  # [pixels]
_VERSION = 2  # a new number makes all of them anew
_SAMPLES = 4
_AZIMUTH, _RAISED = math.radians(-52.0), math.radians(33.0)
_FILLS = 1.85  # distance of the eye in radii of a vehicle
_MARGIN = 0.02  # margin around a vehicle [m]
# Where worlds are looked at from, and what: past a vehicle at the origin [m].
_EYE, _TARGET = np.array((-3.4, -2.5, 1.8)), np.array((3.2, 2.6, 0.7))
_AWAY = 2.6  # times as far on water, where a boat swims


def vehicle_picture(model: Vehicle, world: World) -> bytes:
    """Returns a JPEG of a vehicle on the ground of a world.

    Raises:
        EngineError: Nothing here can render.
    """
    points = _points(model)
    low, high = points.min(axis=0), points.max(axis=0)
    radius = 0.5 * float(np.linalg.norm(high - low)) + _MARGIN
    target = 0.5 * (low + high) - (0.0, 0.0, low[2])
    away = np.array(
        [
            math.cos(_RAISED) * math.cos(_AZIMUTH),
            math.cos(_RAISED) * math.sin(_AZIMUTH),
            math.sin(_RAISED),
        ]
    )
    return _drawn(model, world, target + _FILLS * radius * away, target, -low[2])


def world_picture(model: Vehicle, world: World) -> bytes:
    """Returns a JPEG of a world with a vehicle in it.

    Raises:
        EngineError: Nothing here can render.
    """
    wet = world.water > -math.inf
    return _drawn(model, world, _EYE * (_AWAY if wet else 1.0), _TARGET, 0.25)


def kept(kind: str, shapes: Sequence[Shape], make: Callable[[], bytes]) -> str:
    """Returns the path of the picture of these shapes, made if it is not there."""
    return str(scene.kept(f"{kind}-picture{_VERSION}", shapes, make, ".jpg"))


def _points(model: Vehicle) -> np.ndarray:
    """Returns the corners of everything that is seen of a vehicle (K, 3), joints at zero [m]."""
    frames = body_frames(model)
    corners = [
        part.placed(frames[shape.body].to(shape.pose)).points
        for shape in model.shapes
        if not shape.collides
        for part, _ in geometry.of_shape(shape, True)
    ]
    return np.concatenate(corners) if corners else np.array([(-0.1, -0.1, 0.0), (0.1, 0.1, 0.1)])


def _drawn(
    model: Vehicle, world: World, eye: np.ndarray, target: np.ndarray, height: float
) -> bytes:
    from PIL import Image

    from xtdrone_sim.viewing.flights import blank_state
    from xtdrone_sim.viewing.scene import FlightScene, View

    specs = (VehicleSpec(model.type, "shown", (0.0, 0.0, height)),)
    drawn = FlightScene(world, specs, (model,), SIZE, _SAMPLES)
    try:
        state = blank_state([model])
        state.pos[:] = (0.0, 0.0, height)
        drawn.show(state, SIZE[1])
        image = drawn.picture(View(eye, target), SIZE)
    finally:
        drawn.close()
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(file, "JPEG", quality=82)
    return file.getvalue()
