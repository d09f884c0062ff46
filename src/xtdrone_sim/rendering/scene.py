"""A separate MuJoCo scene for cameras and lidars: rendering and ray casting.

It is compiled separately from the engine's model, so that rendering cannot affect the
flight, and so that it serves any engine: its only input is the poses of the vehicles.
"""

import math
from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sensor_models.lens import Pinhole
from xtdrone_core import FleetState, Vehicle, VehicleSpec
from xtdrone_core.contracts import Engine, WorldEditor
from xtdrone_dynamics.quaternion import to_matrix

from ..scene import mujoco_scene as scene
from ..scene.mujoco_shapes import COLLISION_GROUP
from ..world import World
from ..world.models import WorldModel
from . import offscreen
from .culling import in_view

_MAX_SHAPES = 20_000
FURTHEST = 1e4  # longest beam of a range finder [m]
_SKY = 0.7  # distance of MuJoCo's sky, part of the far plane's; it hides what lies behind
_COLLISIONS = np.array([0, 0, 0, 1, 0, 0], dtype=np.uint8)


class RenderedScene:
    """Draws and measures a world with vehicles. All calls must come from one thread.

    Attributes:
        in_step: Whether the next step of the engine has to wait for the lidars.
        culls: Whether images are drawn without what lies beside them, which gives the same image
            in less time. Not where that throws shadows into them.
    """

    in_step = False
    culls = True

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        largest: tuple[int, int],
        samples: int = 0,
    ) -> None:
        """Compiles the scene; nothing is rendered before the first sample.

        Args:
            world: The World.
            specs, models: The fleet's VehicleSpecs and Vehicles.
            largest: Width and height of the largest image [pixels].
            samples: Per pixel, for smooth edges; 0 for one.
        """
        self._world, self._specs, self._models = world, specs, models
        self._largest, self._samples = largest, samples
        self._gl: Any = None  # MuJoCo's context of OpenGL has no types
        self.mjr_context: Any = None
        self._compile(())

    def _compile(self, inserted: tuple[WorldModel, ...]) -> None:
        """Compiles the scene with models that were inserted into the world."""
        self.close()
        self._shown = inserted
        self.model = self.build(inserted)
        vis = self.model.vis
        vis.global_.offwidth, vis.global_.offheight = self._largest
        vis.quality.offsamples = self._samples
        self._data = mujoco.MjData(self.model)
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_camlight(self.model, self._data)
        self._at = scene.addresses(self.model, self._specs, self._models)
        self._base = self._at.base[:, :1] + np.arange(7)
        self._inserted = scene.placed(self.model, self._data, inserted)
        self._actors = scene.Actors(self.model, self._world)

    def build(self, inserted: tuple[WorldModel, ...]) -> mujoco.MjModel:
        return scene.build(self._world, self._specs, self._models, inserted=inserted)

    def place(
        self,
        state: FleetState,
        inserted: tuple[WorldModel, ...] = (),
        states: Sequence[np.ndarray] = (),
    ) -> None:
        """Puts everything where it is.

        Args:
            state: State of the fleet.
            inserted: The models that were inserted into the world.
            states: (P, 13) of them, see WorldEditor.
        """
        if inserted is not self._shown:
            self._compile(inserted)
        for model, row in zip(self._inserted, states):
            model.pos[:], model.quat[:] = row[:3], np.roll(row[3:7], 1)
        self._actors.place(self._data, state.t_us)
        qpos, moving = self._data.qpos, self._at.moving
        qpos[self._base[:, :3]] = state.pos
        qpos[self._base[:, 3]] = state.quat[:, 3]
        qpos[self._base[:, 4:]] = state.quat[:, :3]
        qpos[self._at.joint_qpos[moving]] = state.joint_pos[moving]
        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_camlight(self.model, self._data)
        if self.mjr_context is not None:
            self._update()

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo's data of the scene, as place() left them."""
        return self._data

    @property
    def renderer(self) -> str:
        """The renderer, for example "egl: llvmpipe". Opens the context."""
        self.open()
        from OpenGL import GL

        name = (GL.glGetString(GL.GL_RENDERER) or b"").decode()
        return f"{offscreen.backend()}: {name}"

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
        """Renders the image of a pinhole camera.

        Args:
            pos: (3,) of the camera, world [m].
            quat: (4,) xyzw, camera frame (x forward, y left) to world.
            pinhole: Its image.
            near: Nothing nearer is drawn [m].
            far: Nothing up to here is missing; things up to twice as far may show [m].
            depth: Whether distances are wanted too.
            key: Names of vehicle, sensor and camera, for scenes that know their cameras.

        Returns:
            (h, w, 3) uint8, and with depth (h, w) float32 along the optical axis [m], inf
            where there is nothing; the first row is the lowest one.

        Raises:
            EngineError: Nothing here can render.
        """
        self.open()
        x, y, z, w = np.asarray(quat, dtype=float)
        matrix = to_matrix(x, y, z, w)
        aside = max(abs(pinhole.left), abs(pinhole.right))
        far = far / _SKY * math.sqrt(1.0 + aside * aside)
        axes = np.array(matrix).reshape(3, 3)
        if self.culls:
            self._cull(pos, axes, pinhole, near, far)
        self.aim(self.mjv_scene, pos, axes[:, 0], axes[:, 2], pinhole, near, far)
        view = mujoco.MjrRect(0, 0, pinhole.width, pinhole.height)
        mujoco.mjr_render(view, self.mjv_scene, self.mjr_context)
        colours = np.empty((pinhole.height, pinhole.width, 3), dtype=np.uint8)
        if not depth:
            mujoco.mjr_readPixels(colours, None, view, self.mjr_context)
            return colours
        distances = np.empty((pinhole.height, pinhole.width), dtype=np.float32)
        mujoco.mjr_readPixels(colours, distances, view, self.mjr_context)
        # 1 at the near plane and 0 at the far one, which keeps distant things exact.
        nothing = distances <= 0.0
        distances = near * far / (near + distances * np.float32(far - near))
        distances[nothing] = np.inf
        return colours, distances

    def cast(
        self,
        vehicle: int,
        pos: npt.ArrayLike,
        directions: np.ndarray,
        longest: float,
        body: int = 0,
    ) -> np.ndarray:
        """Distances along rays to the first thing to collide with, but the sensor's own body.

        Args:
            vehicle: The vehicle that carries the sensor.
            pos: (3,) from where, world [m].
            directions: (M, 3) unit vectors, world; (3,) for one.
            longest: Nothing further away matters [m].
            body: Body of the vehicle that the sensor sits on.

        Returns:
            (M,) [m]; inf where there is nothing.
        """
        count = np.size(directions) // 3
        shapes, distances = np.empty(count, dtype=np.int32), np.empty(count)
        mujoco.mj_multiRay(
            self.model,
            self._data,
            np.asarray(pos, dtype=float),
            np.ascontiguousarray(directions).ravel(),
            _COLLISIONS,
            True,
            self._at.body[vehicle, body],
            shapes,
            distances,
            None,
            count,
            longest,
        )
        distances[shapes < 0] = np.inf
        return distances

    def close(self) -> None:
        """Frees the context. May be called twice."""
        if self.mjr_context is not None:
            self._gl.make_current()
            self.mjr_context.free()
            self._gl.free()
            self.mjr_context = self._gl = None

    @staticmethod
    def aim(
        drawn: mujoco.MjvScene,
        pos: npt.ArrayLike,
        forward: npt.ArrayLike,
        up: npt.ArrayLike,
        pinhole: Pinhole,
        near: float,
        far: float,
    ) -> None:
        """Puts the camera of a MjvScene where a pinhole camera is."""
        for camera in drawn.camera:
            camera.pos, camera.forward, camera.up = pos, forward, up
            camera.frustum_near, camera.frustum_far = near, far
            camera.frustum_center = 0.5 * near * (pinhole.left + pinhole.right)
            camera.frustum_width = 0.0
            camera.frustum_bottom = -near * pinhole.bottom
            camera.frustum_top = -near * pinhole.top
            camera.orthographic = 0

    def open(self) -> None:
        """Makes what MuJoCo draws with, unless it is there."""
        if self.mjr_context is not None:
            return
        self._gl = offscreen.context_class()(*self._largest)
        self._gl.make_current()
        self.mjr_context = mujoco.MjrContext(self.model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.mjr_context)
        self.mjr_context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self.mjv_scene = mujoco.MjvScene(self.model, _MAX_SHAPES)
        self.mjv_scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False  # costs three times the image
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._update()

    def _cull(
        self, pos: npt.ArrayLike, axes: np.ndarray, pinhole: Pinhole, near: float, far: float
    ) -> None:
        """Leaves out of the MjvScene what the camera cannot see; arguments of in_view()."""
        model = self.model
        beside = model.geom_rbound > 0.0  # planes have no end
        beside &= ~in_view(self._data.geom_xpos, model.geom_rbound, pos, axes, pinhole, near, far)
        shown = model.geom_group.copy()
        model.geom_group[beside & (shown < COLLISION_GROUP)] = COLLISION_GROUP  # is not drawn
        RenderedScene._update(self)
        model.geom_group[:] = shown

    def _update(self) -> None:
        mujoco.mjv_updateScene(
            self.model,
            self._data,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self.mjv_scene,
        )


def inserted_in(engine: object) -> tuple:
    """The last two arguments of place(): models and states, or none of an engine without them."""
    return (engine.inserted, engine.inserted_states()) if isinstance(engine, WorldEditor) else ()


class Beams:
    """Rays of range finders, cast in a separate scene."""

    def __init__(
        self, world: World, specs: Sequence[VehicleSpec], models: Sequence[Vehicle], engine: Engine
    ) -> None:
        """Compiles the scene.

        Args:
            world, specs, models: As for RenderedScene.
            engine: Engine that moves them.
        """
        self.mjv_scene = RenderedScene(world, specs, models, (1, 1))
        self._engine, self._peopled = engine, bool(world.actors)
        self._placed: list[np.ndarray] | None = None  # poses of the bodies in the scene

    def __call__(self, vehicle: int, point: np.ndarray, direction: np.ndarray) -> float:
        """Distance from a point along a direction to the first thing but the vehicle [m]."""
        state, further = self._engine.state, inserted_in(self._engine)
        poses = (
            state.pos,
            state.quat,
            state.joint_pos,
            *further[1:],
            np.array([state.t_us * self._peopled]),
        )
        if self._placed is None or not all(map(np.array_equal, poses, self._placed)):
            self.mjv_scene.place(state, *further)
            self._placed = [pose.copy() for pose in poses]
        return float(self.mjv_scene.cast(vehicle, point, direction, FURTHEST)[0])
