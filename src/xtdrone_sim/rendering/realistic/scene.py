"""Realistic images of a fleet's cameras; the interface of RenderedScene.

MuJoCo draws albedo, depth and, where surfaces differ in more, their numbers; and depth as seen
from the sun. Everything else is computed here. Depth images and lidars are those of RenderedScene.
"""

import dataclasses
import math
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sensor_models.cameras import CameraParameters
from sensor_models.lens import Pinhole
from sensor_models.rendered_sensor import cameras_in
from xtdrone_core import FleetState, Vehicle, VehicleSpec
from xtdrone_dynamics.quaternion import to_matrix

from ...scene import mujoco_scene
from ...world import World
from ...world.models import WorldModel
from ..scene import RenderedScene
from . import glare, ground, lamps, occlusion, passes, rain, shade, shadows, surfaces, textures, wet
from .conditions import Conditions
from .lens import blur, exposure, flare, optics

_FAR = 8000.0  # images end there, whatever a camera's <clip> says [m]
_ROUND = 96, 48  # sides of spheres and cylinders, around and along
_FIRST = 1.0  # near plane of shadow maps [m]
_DROP = 0.7  # luminance of a raindrop in that of the sky
_PLAIN = CameraParameters.pinhole(16, 16, 1.0)  # its lens is that of cameras of nobody
_NONE = np.zeros((0, 0), dtype=np.int32)
_DRY = np.zeros((0, 0), dtype=np.float32)
_SEEN = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)  # groups of geoms that are drawn


@dataclasses.dataclass(frozen=True)
class _Eye:
    """A camera of the fleet."""

    vehicle: int
    body: int
    camera: CameraParameters


def _matrix(quat: npt.ArrayLike) -> np.ndarray:
    """Returns the matrix (3, 3) of a quaternion xyzw."""
    x, y, z, w = np.asarray(quat, dtype=float)
    matrix: np.ndarray = np.array(to_matrix(x, y, z, w))
    return matrix.reshape(3, 3)


class RealisticScene(RenderedScene):
    """Draws a world with vehicles as a camera would see it. All calls must come from one thread."""

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        conditions: Conditions,
        seed: int,
        largest: tuple[int, int],
        samples: int = 0,
    ) -> None:
        """Compiles the scene; nothing is rendered before the first sample.

        Args:
            world, specs, models, largest, samples: As for RenderedScene; with samples each pixel
                is the mean of four.
            conditions: Light and air.
            seed: The scenario's, of rain.
        """
        self.conditions, self._seed = conditions, seed
        self._finer = 2 if samples else 1
        self._decode, self._encode = shade.decoded(), exposure.encoded()
        self._bright = _DROP / math.pi * conditions.sky.ambient
        self.lamps = lamps.Lamps(world)
        sky = conditions.sky
        sunny = conditions.shadows and sky.sun.any() and sky.towards[2] > 0.0
        self._shadows = shadows.Shadows(
            sky.towards if sunny else None, conditions.rain > 0.0, self.lamps.parallel
        )
        self._unlit = True  # the lamps' shadows are those of an earlier time
        self._eyes: dict[tuple[str, ...], _Eye] = {
            (spec.name, block.name, camera.name): _Eye(i, block.body, camera)
            for i, (spec, model) in enumerate(zip(specs, models, strict=True))
            for block in model.sensors
            for camera in cameras_in(block)
        }
        self._state: FleetState | None = None
        width, height = (max(self._finer * side, shadows.SIDE) for side in largest)
        # What smoothes edges and round things changes depth images, so not where there are any.
        self._measured = any(block.kind == "depth" for model in models for block in model.sensors)
        super().__init__(world, specs, models, (width, height), samples if self._measured else 0)

    def place(self, state: FleetState, inserted: tuple = (), states: Sequence = ()) -> None:
        """Puts everything where it is; see RenderedScene.place()."""
        self._state, self._unlit = state, True
        super().place(state, inserted, states)

    def draw(
        self,
        pos: npt.ArrayLike,
        quat: npt.ArrayLike,
        pinhole: Pinhole,
        near: float,
        far: float,
        depth: bool = False,
        key: tuple = (),
    ) -> Any:  # an image, or with depth a pair of image and distances
        """Renders an image; see RenderedScene.draw(). `key` names the camera."""
        distances = super().draw(pos, quat, pinhole, near, far, True)[1] if depth else None
        self.open()
        axes = _matrix(quat)
        image = self._image(np.asarray(pos, dtype=float), axes, pinhole, near, key)
        return (image, distances) if depth else image

    def luminance(
        self, pos: np.ndarray, axes: np.ndarray, pinhole: Pinhole, near: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """What a pinhole camera sees, before its lens.

        Args:
            pos: (3,) of the camera, world [m].
            axes: (3, 3) forward, left and up as columns, world.
            pinhole: Its image.
            near: Nothing nearer is drawn [m].

        Returns:
            (h, w, 3) luminance [cd/m^2] and (h, w) distance along the optical axis [m].
        """
        self.open()
        sky, conditions = self.conditions.sky, self.conditions
        self.aim(self.wide_scene, pos, axes[:, 0], axes[:, 2], pinhole, near, _FAR)
        albedo, distance = passes.drawn(
            self.wide_scene, self.mjr_context, pinhole.width, pinhole.height, near, _FAR
        )
        ids = _NONE
        if len(self._surfaces) > 1:
            number = passes.numbers(
                self.wide_scene, self.mjr_context, pinhole.width, pinhole.height
            )
            ids = self._rows[np.minimum(number, len(self._rows) - 1)]
        left, bottom = pinhole.left, -pinhole.bottom
        pixel = (pinhole.right - pinhole.left) / pinhole.width
        if self._ground is not None:
            ground.extend(
                albedo, distance, ids, *self._ground, pos[2], axes[2], left, bottom, pixel, _FAR
            )
        normals = shade.normals_of(distance, left, bottom, pixel)
        dark = occlusion.occlusion(distance, normals, left, bottom, pixel, 2)
        maps, beside = self._shadows.draw(self._from_sun, pos, axes, distance)
        self._light_lamps()
        films = np.zeros(distance.shape, dtype=np.float32) if conditions.rain > 0.0 else _DRY
        light = shade.shade(
            albedo,
            distance,
            normals,
            dark,
            ids,
            self._surfaces,
            self._decode,
            left,
            bottom,
            pixel,
            pos,
            axes,
            sky.map,
            sky.towards,
            sky.sun,
            sky.ambient,
            maps.depth,
            maps.places,
            self.lamps.rows,
            self.lamps.cubes,
            (beside.depth, beside.places),
            conditions.air,
            conditions.veil,
            self._t_s(),
            wet.puddles(conditions.rain),
            films,
        )
        if conditions.rain > 0.0:
            light = wet.reflected(
                light,
                distance,
                films,
                left,
                bottom,
                pixel,
                pos,
                axes,
                sky.map,
                conditions.air,
                conditions.veil,
            )
        return light, distance

    def _image(
        self, pos: np.ndarray, axes: np.ndarray, pinhole: Pinhole, near: float, key: tuple[str, ...]
    ) -> np.ndarray:
        """The exposed image (h, w, 3) uint8 of a camera."""
        eye = self._eyes.get(key)
        camera = _PLAIN if eye is None else eye.camera
        fine = self._fine(pinhole)
        left, bottom = pinhole.left, -pinhole.bottom
        pixel = (pinhole.right - pinhole.left) / fine.width
        light, distance = self.luminance(pos, axes, fine, near)
        vel, ang = self._motion(eye, pos, axes)
        seconds = camera.exposure_time
        if seconds > 0.0 and (vel.any() or ang.any()):
            light = blur.blurred(light, distance, vel, ang, seconds, left, bottom, pixel)
        if self.conditions.rain > 0.0:
            falling = rain.drops(
                self.conditions.rain, left, pinhole.right, bottom, -pinhole.top, self._random(key)
            )
            rain.streaks(
                light, distance, falling, -axes[2], vel, seconds, self._bright, left, bottom, pixel
            )
        if self._finer == 2:
            light, pixel = optics.halved(light), 2.0 * pixel
        if camera.flare > 0.0:
            bright = glare.sources(
                self.conditions,
                self.lamps.rows,
                pos,
                axes,
                float(light[::8, ::8].mean()),
                partial(self.unobstructed, pos, near),
            )
            if bright:
                light = flare.flared(light, bright, camera.flare, left, bottom, pixel)
        if camera.chromatic_aberration:
            light = optics.fringed(light, camera.chromatic_aberration, left, bottom, pixel)
        if camera.bloom > 0.0:
            light = optics.bloomed(light, camera.bloom)
        # Bulbs come after bloom, as they have a veil of their own; nothing else is as bright.
        coarse = np.ascontiguousarray(distance[:: self._finer, :: self._finer])
        lamps.bulbs(light, coarse, self.lamps.rows, pos, axes, left, bottom, pixel)
        if camera.vignetting > 0.0:
            optics.vignetted(light, camera.vignetting, left, bottom, pixel)
        value = camera.exposure_value
        gain = exposure.gain_of(exposure.automatic(light) if value is None else value)
        return exposure.expose(light, gain, self._encode)

    def _motion(
        self, eye: _Eye | None, pos: np.ndarray, axes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocity (3,) and angular velocity (3,) of a camera in its own axes."""
        if eye is None or self._state is None:
            return np.zeros(3), np.zeros(3)
        state, at = self._state, (eye.vehicle, eye.body)
        turn = _matrix(state.body_quat[at])
        ang = turn @ state.body_ang_vel[at]
        vel = state.body_vel[at] + np.cross(ang, pos - state.body_pos[at])
        return vel @ axes, ang @ axes

    def _random(self, key: tuple[str, ...]) -> np.random.Generator:
        """Returns the generator of one image of one camera, the same at each run."""
        t_us = 0 if self._state is None else int(self._state.t_us)
        return np.random.default_rng([self._seed, zlib.crc32(repr(key).encode()), t_us])

    def _fine(self, pinhole: Pinhole) -> Pinhole:
        return dataclasses.replace(
            pinhole, width=self._finer * pinhole.width, height=self._finer * pinhole.height
        )

    def _t_s(self) -> float:
        return 0.0 if self._state is None else self._state.t_us * 1e-6

    def _light_lamps(self) -> None:
        """Brings the shadows of point and spot lights up to date."""
        if len(self.lamps.cubes) and self._unlit:
            self.lamps.draw(
                self._from_lamp,
                self._data.geom_xpos[self._movers],
                self.model.geom_rbound[self._movers],
            )
        self._unlit = False

    def _from_sun(
        self,
        eye: np.ndarray,
        forward: np.ndarray,
        up: np.ndarray,
        half: float,
        far: float,
        side: int,
    ) -> np.ndarray:
        """Distances (side, side) along a direction, of a square of half a side `half`."""
        return passes.square(
            self.wide_scene, self.mjr_context, eye, forward, up, half, _FIRST, far, side, True
        )

    def _from_lamp(
        self,
        moving: bool,
        eye: np.ndarray,
        forward: np.ndarray,
        up: np.ndarray,
        half: float,
        near: float,
        far: float,
        side: int,
    ) -> np.ndarray:
        """Distances (side, side) from a lamp to what moves, or to what never does."""
        still, movers = self._parts
        return passes.square(
            movers if moving else still,
            self.mjr_context,
            eye,
            forward,
            up,
            half,
            near,
            far,
            side,
            False,
        )

    def unobstructed(self, pos: np.ndarray, near: float, directions: np.ndarray) -> np.ndarray:
        """Returns whether rays (M, 3) from a point meet nothing drawn from `near` on; (M,)."""
        length = np.linalg.norm(directions, axis=1)
        directions = directions / length[:, None]
        shapes, distances = np.empty(len(directions), dtype=np.int32), np.empty(len(directions))
        for k, direction in enumerate(directions):
            shapes[k] = -1
            distances[k] = mujoco.mj_ray(
                self.model,
                self._data,
                pos + near * direction,
                direction,
                _SEEN,
                True,
                -1,
                shapes[k : k + 1],
            )
        return (shapes < 0) | (distances > length - near)

    def build(self, inserted: tuple[WorldModel, ...]) -> mujoco.MjModel:
        self._shadows.forget()
        self.lamps.forget()
        model = mujoco_scene.build(
            self._world, self._specs, self._models, inserted=inserted, picture=textures.picture
        )
        if not self._measured:
            model.vis.quality.numslices, model.vis.quality.numstacks = _ROUND
        return model

    def open(self) -> None:
        if self.mjr_context is not None:
            return
        self.wide_scene, self._parts = None, []
        super().open()
        self.wide_scene = passes.bare(self.model, len(self.mjv_scene.geoms))
        if len(self.lamps.cubes):
            self._parts = [passes.bare(self.model, len(self.mjv_scene.geoms)) for _ in range(2)]
            moves = (self.model.body_weldid > 0) | (self.model.body_mocapid >= 0)
            self._movers = np.flatnonzero(
                moves[self.model.geom_bodyid] & (self.model.geom_group < 3)
            )
        self._surfaces, self._surface_of = surfaces.table_of(self.model, self._world.water)
        self._ground = ground.ground_of(self.model, self._surface_of)
        self._update()

    def _update(self) -> None:
        super()._update()
        wide = self.wide_scene
        if wide is None:
            return
        mujoco.mjv_updateScene(
            self.model,
            self._data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            wide,
        )
        for part, kind in zip(
            self._parts, (mujoco.mjtCatBit.mjCAT_STATIC, mujoco.mjtCatBit.mjCAT_DYNAMIC)
        ):
            mujoco.mjv_updateScene(
                self.model, self._data, self._option, None, self._camera, kind, part
            )
        wide.nlight = 1  # even light from everywhere: what is drawn is the albedo
        light = wide.lights[0]
        light.headlight, light.ambient = 1, (1.0, 1.0, 1.0)
        light.diffuse = light.specular = (0.0, 0.0, 0.0)
        self._rows = np.zeros(wide.ngeom + 1, dtype=np.int32)
        several = len(self._surfaces) > 1
        for _k, geom in enumerate(wide.geoms[: wide.ngeom]):
            geom.emission = 0.0
            if several and geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                self._rows[geom.segid + 1] = self._surface_of[geom.objid]
