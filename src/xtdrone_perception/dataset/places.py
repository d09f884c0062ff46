"""Where a world leaves room: on its ground, and in the air for a camera."""

from dataclasses import replace

import mujoco
import numpy as np

from xtdrone_sim.scene import mujoco_scene
from xtdrone_sim.world import World

_COLLISIONS = np.array([0, 0, 0, 1, 0, 0], dtype=np.uint8)  # the group of what one collides with
_ABOVE = 150.0  # height from which the ground is looked for [m]
_ASIDE = 15.0  # distance of the ground that says whether a place is a roof [m]
_ROOF = 2.5  # what is so much higher than all around is no ground [m]
_LARGEST = 45.0  # half the side of the square in which places are drawn [m]
_SMALLEST = 20.0
_LEVEL = 0.25  # greatest step within a place [m]
_ATTEMPTS = 60
_BESIDE = 2.0  # distance of the ground that says whether something stands on it [m]
_STEP = 0.7  # what is so much higher than the ground beside it is a thing [m]
_AROUND = np.array([(np.cos(a), np.sin(a)) for a in np.arange(8) * np.pi / 4.0])


class Places:
    """The static part of a world, as rays meet it."""

    def __init__(self, world: World) -> None:
        """Compiles it without actors and without what is only seen."""
        self._model = mujoco_scene.build(replace(world, actors=()), (), (), seen=False)
        self._data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, self._data)
        reach = [
            max(abs(shape.pose.pos[0]), abs(shape.pose.pos[1]))
            for shape in world.shapes
            if shape.collides and shape.kind != "plane"
        ]
        self.half = min(max(*reach, _SMALLEST), _LARGEST) if len(reach) > 1 else _SMALLEST

    def distance(self, pos: np.ndarray, direction: np.ndarray) -> float:
        """Distance from a point along a unit vector to the first thing, inf for none [m]."""
        shape = np.zeros(1, dtype=np.int32)
        distance = mujoco.mj_ray(
            self._model, self._data, pos, direction, _COLLISIONS, True, -1, shape
        )
        return float(distance) if shape[0] >= 0 else np.inf

    def height(self, x: float, y: float) -> float:
        """Height of the highest thing at a place [m]; -inf where there is nothing."""
        down = np.array([0.0, 0.0, -1.0])
        return _ABOVE - self.distance(np.array([x, y, _ABOVE]), down)

    def ground(self, rng: np.random.Generator, radius: float) -> np.ndarray | None:
        """A random level place (3,) on the ground, with a radius free around it [m], or None."""
        for _ in range(_ATTEMPTS):
            x, y = rng.uniform(-self.half, self.half, 2)
            height = self.height(x, y)
            near = np.array([self.height(x + radius * a, y + radius * b) for a, b in _AROUND])
            if not np.isfinite(height) or np.abs(near - height).max() > _LEVEL:
                continue
            aside = min(self.height(x + _ASIDE * a, y + _ASIDE * b) for a, b in _AROUND)
            if height - aside < _ROOF:
                return np.array([x, y, height])
        return None

    def is_ground(self, point: np.ndarray) -> bool:
        """Whether a point on a surface is of the ground, and not of a thing that stands on it."""
        x, y, z = point
        around = min(self.height(x + _BESIDE * a, y + _BESIDE * b) for a, b in _AROUND)
        return bool(z < around + _STEP)

    def sees(self, eye: np.ndarray, point: np.ndarray) -> bool:
        """Whether nothing static is between two points."""
        way = point - eye
        length = float(np.linalg.norm(way))
        return length > 0.0 and self.distance(eye, way / length) > length
