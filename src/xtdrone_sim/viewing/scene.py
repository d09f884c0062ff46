"""A world with vehicles for people: with shadows, a sky, a ground with a grid, and trails."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np

from sensor_models.lens import Pinhole
from xtdrone_core import FleetState, Vehicle, VehicleSpec
from xtdrone_dynamics.quaternion import from_matrix

from ..rendering.scene import RenderedScene
from ..scene import mujoco_scene
from ..scene.mujoco_shapes import COLLISION_GROUP
from ..world import World
from ..world.models import WorldModel

FIELD = math.radians(45.0)  # vertical field of view [rad]
_HALF = math.tan(0.5 * FIELD)
# Nearest and farthest that is drawn, distance of the light [m]. MuJoCo's bias against surfaces
# that shadow themselves is a part of the depth that is drawn, and too small unless that and the
# distance of the light are large.
_NEAR, _FAR, _SUN = 0.1, 20_000.0, 10_000.0
_ZENITH, _NADIR = (0.33, 0.53, 0.82), (1.0, 1.0, 1.0)  # the horizon has their mean
_GROUND, _LINE = (0.49, 0.54, 0.45), (0.59, 0.63, 0.55)  # a ground without texture
_GRID = 2.0  # distance of the lines on such a ground [m]
_SHADOWS, _COARSE = 2048, 1024  # side of the shadow map with and without smooth edges [pixels]
_SHADOW_REACH = 1.6  # times the reach of the fleet's trails
_MIN_SHADOW_REACH = 12.0  # [m]
_GROWTH, _SHIFT = 1.5, 0.25  # steps of that reach, and of the shadows' middle in reaches
_TRAIL_PIXELS = 3.5  # width of a trail, in an image 720 pixels high
_WORLD = np.array([0, 1, 0, 1, 0, 0], dtype=np.uint8)  # geom groups without the vehicles'
_JUMP = 5.0  # distance of two points of a trail from which there is a gap [m]


class View(NamedTuple):
    """Place and direction of a camera."""

    eye: np.ndarray  # (3,) world [m]
    target: np.ndarray  # (3,) world [m]


class Trails(NamedTuple):
    """Paths of the vehicles."""

    points: np.ndarray  # (K, N, 3) world, the latest last [m]
    colours: np.ndarray  # (N, 3) RGB, 0..1


class FlightScene(RenderedScene):
    """Draws a flight. All calls must come from one thread.

    Attributes:
        shadows: Whether shadows are drawn; without a graphics card they take most of the time.
    """

    culls = False  # shadows and trails

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        size: tuple[int, int],
        samples: int = 4,
    ) -> None:
        """Compiles the scene.

        Args:
            world: The World.
            specs, models: The vehicles of the fleet.
            size: Width and height of the largest image [pixels].
            samples: Samples per pixel, for smooth edges; 0 for one.
        """
        self.shadows = True
        self._trails: Trails | None = None
        self._height = size[1]
        self._shadows = np.zeros(3), _MIN_SHADOW_REACH
        super().__init__(world, specs, models, size, samples)

    def show(
        self,
        state: FleetState,
        height: int,
        trails: Trails | None = None,
        inserted: Sequence = ((), ()),
        around: np.ndarray | None = None,
    ) -> None:
        """Places all that moves.

        Args:
            state: State of the fleet.
            height: Height of the image that will be drawn [pixels].
            trails: Paths of the vehicles.
            inserted: The last two arguments of place().
            around: (K, 3) points around which there are shadows; None: vehicles and trails.
        """
        self._trails, self._height = trails, height
        if around is None:
            around = state.pos if trails is None else np.concatenate([state.pos, *trails.points])
        middle = 0.5 * (around.min(axis=0) + around.max(axis=0))
        reach = float(np.linalg.norm(around - middle, axis=1).max())
        wanted = max(_MIN_SHADOW_REACH, _SHADOW_REACH * (reach + middle[2]))
        self._shadows = steady_shadows(middle, wanted)
        self.place(state, *inserted)

    def picture(self, view: View, size: tuple[int, int]) -> np.ndarray:
        """Draws the image (h, w, 3) uint8 of a view, its first row the highest."""
        width, height = size
        side = _HALF * width / height
        forward = _unit(view.target - view.eye)
        left = _unit(np.cross((0.0, 0.0, 1.0), forward))
        axes = np.stack([forward, left, np.cross(forward, left)], axis=1)
        image = self.draw(
            view.eye,
            from_matrix(*axes.ravel()),
            Pinhole(-side, side, -_HALF, _HALF, width, height),
            _NEAR,
            _FAR,
        )
        return image[::-1]

    def set_samples(self, samples: int) -> None:
        """Changes the samples per pixel."""
        self.close()
        self.model.vis.quality.offsamples = self._samples = samples
        self.model.vis.quality.shadowsize = _SHADOWS if samples else _COARSE

    def ray_distances(
        self, origin: np.ndarray, directions: np.ndarray, longest: float
    ) -> np.ndarray:
        """Returns distances (M,) from a point to the world along unit vectors (M, 3) [m].

        Args:
            origin: The point (3,).
            directions: The unit vectors.
            longest: Distance up to which obstacles are found [m]; beyond it is inf.
        """
        count = len(directions)
        geoms, distances = np.empty(count, dtype=np.int32), np.empty(count)
        mujoco.mj_multiRay(
            self.model,
            self._data,
            origin,
            directions.ravel(),
            _WORLD,
            True,
            -1,
            geoms,
            distances,
            None,
            count,
            longest,
        )
        return np.where(geoms < 0, np.inf, distances)

    def build(self, inserted: Sequence[WorldModel]) -> mujoco.MjModel:
        """Builds the scene with models that were inserted."""
        model = mujoco_scene.build(
            self._world, self._specs, self._models, inserted=inserted, dress=_dress
        )
        model.vis.quality.shadowsize = _SHADOWS if self._samples else _COARSE
        # In groups of their own: a camera has to see past the world, not past the vehicles.
        vehicles = [model.body(spec.name).id for spec in self._specs]
        model.geom_group[
            np.isin(model.body_rootid[model.geom_bodyid], vehicles)
            & (model.geom_group == COLLISION_GROUP)
        ] += 1
        model.geom_group[
            np.isin(model.body_rootid[model.geom_bodyid], vehicles)
            & (model.geom_group < COLLISION_GROUP)
        ] = 2
        return model

    def _update(self) -> None:
        super()._update()
        self.mjv_scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self.shadows
        assert self.mjr_context is not None
        self.mjr_context.shadowClip = self._shadows[1]
        for light in self.mjv_scene.lights[: self.mjv_scene.nlight]:
            if light.castshadow:  # the map of its shadows is around its axis
                light.pos = self._shadows[0] - _SUN * np.array(light.dir)
        if self._trails is not None:
            self._add_trails(*self._trails)

    def _add_trails(self, points: np.ndarray, colours: np.ndarray) -> None:
        pieces = np.stack([points[:-1], points[1:]], axis=2)  # (K - 1, N, 2, 3)
        length = np.linalg.norm(pieces[:, :, 1] - pieces[:, :, 0], axis=2)
        scene, width = self.mjv_scene, max(2.0, _TRAIL_PIXELS * self._height / 720)
        for k, i in np.argwhere((length > 1e-4) & (length < _JUMP)):
            if scene.ngeom >= scene.maxgeom:
                return
            geom = scene.geoms[scene.ngeom]
            fade = (k + 1) / len(pieces)
            mujoco.mjv_initGeom(
                geom,
                mujoco.mjtGeom.mjGEOM_LINE,
                np.zeros(3),
                np.zeros(3),
                np.zeros(9),
                np.array([*colours[i], fade], dtype=np.float32),
            )
            mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_LINE, width, *pieces[k, i])
            geom.emission = 1.0
            scene.ngeom += 1


def pixels(points: np.ndarray, view: View, size: tuple[int, int]) -> np.ndarray:
    """Projects points (N, 3) into the image of a view: (N, 2) [pixels]; NaN behind the eye."""
    forward = _unit(view.target - view.eye)
    right = _unit(np.cross(forward, (0.0, 0.0, 1.0)))
    up = np.cross(right, forward)
    away = points - view.eye
    depth = away @ forward
    depth = np.where(depth > _NEAR, depth, np.nan)
    scale = 0.5 * size[1] / (_HALF * depth)
    return np.stack([0.5 * size[0] + away @ right * scale, 0.5 * size[1] - away @ up * scale], 1)


def _dress(scene: Any) -> None:  # a MjSpec, which has no annotations
    """Adds sky, shadows and ground, which the cameras of vehicles do not get."""
    sky = scene.texture(mujoco_scene.SKY)
    sky.builtin, sky.rgb1, sky.rgb2 = mujoco.mjtBuiltin.mjBUILTIN_GRADIENT, _ZENITH, _NADIR
    sky.width = sky.height = 256
    sun = next(
        (light for light in scene.lights if light.type == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL),
        None,
    )
    if sun is not None:
        sun.castshadow = True
    scene.add_texture(
        name="ground",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        width=512,
        height=512,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=_GROUND,
        rgb2=_GROUND,
        mark=mujoco.mjtMark.mjMARK_EDGE,
        markrgb=_LINE,
    )
    material = scene.add_material(
        name="ground", texuniform=True, texrepeat=(1.0 / _GRID, 1.0 / _GRID)
    )
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "ground"
    for geom in scene.worldbody.geoms:
        if (
            geom.type == mujoco.mjtGeom.mjGEOM_PLANE
            and geom.group != COLLISION_GROUP
            and not geom.material
        ):
            geom.material, geom.rgba = "ground", (1.0, 1.0, 1.0, 1.0)


def steady_shadows(middle: np.ndarray, reach: float) -> tuple[np.ndarray, float]:
    """Rounds middle and reach of the shadows, so that their edges do not flicker."""
    reach = _GROWTH ** math.ceil(math.log(reach, _GROWTH))
    step = _SHIFT * reach
    return step * np.round(middle / step), reach * (1.0 + _SHIFT)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)
