"""Builds the MuJoCo model of a world with vehicles through MjSpec."""

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
import psutil

from sensor_models.rendered_sensor import has_cameras
from xtdrone_core import Body, SensorBlock, Vehicle, VehicleSpec
from xtdrone_dynamics import quaternion

from ..errors import EngineError
from ..vehicles.actors import Actor, Limb
from ..vehicles.pose import Pose, start_pose
from ..world import Light, World
from ..world.loads import Cable
from ..world.models import WorldModel
from . import materials
from .mujoco_shapes import Shapes, wxyz

SKY = "sky"  # name of the sky's texture
_TIMESTEP = 0.004  # timestep until the first step sets it [s]
_CAMERA_AXES = quaternion.from_matrix(0, 0, -1, -1, 0, 0, 0, 1, 0)  # they look along -z, y up
_ACTOR = "actor/"  # prefix of the names of actors' bodies
_NEAR = 6.0  # distance from an actor's frame within which it may touch something [m]
_COARSE_US = 100_000  # between two moves of an actor that nothing is near
_CABLE_M = 0.004  # width of a cable in pictures
_TAUT_S = 0.01  # time constant with which a cable pulls tight, two steps at least
_HELD_S = 0.01  # time constant of the compliance of grippers [s]
_STIFF = 0.9999  # MuJoCo's largest constraint impedance, for joints that follow targets
_ARENA_BYTES = 43.0  # MuJoCo's arena by the square of the degrees of freedom, measured
_ALWAYS_FIT = 500  # vehicles, with 0.4 GB
_LIGHTS = {
    "directional": mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
    "point": mujoco.mjtLightType.mjLIGHT_POINT,
    "spot": mujoco.mjtLightType.mjLIGHT_SPOT,
}


@dataclass(frozen=True)
class Addresses:
    """Indices of a fleet's state in MuJoCo's arrays."""

    body: np.ndarray  # (N, B) body ids, -1 for none
    base: np.ndarray  # (N, 2) first index of the base's pose in qpos, and of its velocity in qvel
    joint_qpos: np.ndarray  # (N, J) index of each joint in qpos, -1 for none
    joint_qvel: np.ndarray  # (N, J) index of each joint in qvel
    locks: np.ndarray  # (M,) ids of the equality constraints that move joints
    moving: np.ndarray  # (N, J) bool, the joints that they move, in the same order
    tyres: np.ndarray  # (G, 2) vehicle and index of the tyre that a geom is of, -1 for none


def build(
    world: World,
    specs: Sequence[VehicleSpec],
    models: Sequence[Vehicle],
    loaded: Container[int] = frozenset(),
    seen: bool = True,
    inserted: Sequence[WorldModel] = (),
    cables: Sequence[Cable] = (),
    dress: Callable[[mujoco.MjSpec], None] = lambda scene: None,
    picture: Callable[[str], np.ndarray] = materials.picture,
) -> mujoco.MjModel:
    """Compiles the scene.

    The base of each vehicle is a free body with its frame at the vehicle's centre of
    gravity, so that MuJoCo's generalised velocities are those of the centre of gravity.
    Vehicles come first, in order. Joints follow their targets by equality constraints; see
    stiffen().

    At compile time MuJoCo detects bodies with a diagonal mass matrix and stores only the
    diagonal for them. A body that can carry a payload must keep its full matrix.

    Args:
        world: The world.
        specs: The VehicleSpecs.
        models: Their Vehicles.
        loaded: Indices of the vehicles whose mass and centre of gravity may change.
        seen: Whether to include visuals, cameras and lights. Each adds time to every step.
        inserted: Further models: static ones as bodies that are moved from outside (mocap).
        cables: Those on which some of them hang.
        dress: Called with the MjSpec before it is compiled, to change how it looks.
        picture: Makes the texture of a material script's name, see materials.picture().

    Returns:
        The compiled model.

    Raises:
        EngineError: MuJoCo refuses it.
    """
    scene = mujoco.MjSpec()
    _options(scene, world)
    shapes = Shapes(scene, seen, picture)
    for i, (spec, model) in enumerate(zip(specs, models)):
        bodies = _add_bodies(scene, spec, model, start_pose(spec, model), i in loaded)
        for shape in model.shapes:
            shapes.add(bodies[shape.body], f"{spec.name}/{shape.name}", shape)
        if seen:
            _add_cameras(bodies, spec.name, model)
    for shape in world.shapes:
        shapes.add(scene.worldbody, shape.name, shape, fixed=True)
    for each in inserted:
        body = _add_inserted(scene, each)
        for shape in each.shapes:
            shapes.add(body, shape.name, shape, fixed=each.static)
    for actor in world.actors:
        for limb in actor.limbs:
            body = scene.worldbody.add_body(name=_limb_name(actor, limb), mocap=True)
            for shape in limb.shapes:
                shapes.add(body, shape.name, shape)
    for cable in cables:
        _add_cable(scene, cable)
    for spec, model in zip(specs, models):
        _add_welds(scene, spec, model, inserted)
    shapes.finish()
    for light in world.lights if seen else ():
        _add_light(scene, light)
    dress(scene)
    try:
        return scene.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise EngineError(f"MuJoCo refuses the scene: {str(error).splitlines()[0]}") from error


def refuse_too_many(models: Sequence[Vehicle]) -> None:
    """Checks before the scene is built that MuJoCo's arena fits, which grows with the square.

    Raises:
        EngineError: Too many vehicles; it says how many fit.
    """
    if len(models) <= _ALWAYS_FIT:
        return
    freedoms = sum(6 + len(model.joints) for model in models) / len(models)
    memory = psutil.virtual_memory().total + psutil.swap_memory().total
    most = int(math.sqrt(memory / _ARENA_BYTES) / freedoms)
    if len(models) > most:
        raise EngineError(
            f"{len(models)} vehicles do not fit into one world of this machine: with its "
            f"{memory / 1e9:.0f} GB at most {most} do; fly that many, or more by 'xtdrone batch'"
        )


class Actors:
    """A world's actors in a scene compiled by build()."""

    def __init__(self, model: mujoco.MjModel, world: World) -> None:
        """Finds their limbs."""
        self._actors = [
            (actor, [int(model.body(_limb_name(actor, limb)).mocapid[0]) for limb in actor.limbs])
            for actor in world.actors
        ]
        self._first = np.array([ids[0] for _, ids in self._actors], dtype=int)
        self._reach = np.array(
            [_NEAR + actor.fastest * _COARSE_US * 1e-6 for actor, _ in self._actors]
        )
        self._moving = np.array([actor.moves for actor, _ in self._actors], dtype=bool)

    def place(self, data: mujoco.MjData, t_us: int, which: np.ndarray | None = None) -> None:
        """Puts them, or those of these indices, where they are at a simulated time."""
        for i in range(len(self._actors)) if which is None else which.tolist():
            actor, ids = self._actors[i]
            for k, pose in zip(ids, actor.limbs_at(t_us * 1e-6), strict=True):
                data.mocap_pos[k], data.mocap_quat[k] = pose.pos, wxyz(pose.quat)

    def follow(self, data: mujoco.MjData, t_us: int, pos: np.ndarray, all_of: bool) -> np.ndarray:
        """Moves on those that something is near, and the others ten times a second.

        Args:
            data: Data of the scene.
            t_us: Simulated time.
            pos: (N, 3) of what they may touch, world [m].
            all_of: Whether all of them are moved on.

        Returns:
            Indices of what a moving actor is near: it may have to wake up.
        """
        apart = np.abs(pos[:, None] - data.mocap_pos[self._first]).max(axis=2)  # (N, A)
        near = (apart < self._reach) & self._moving
        self.place(
            data,
            t_us,
            None if all_of or t_us % _COARSE_US == 0 else np.flatnonzero(near.any(axis=0)),
        )
        return np.flatnonzero(near.any(axis=1))

    def __bool__(self) -> bool:
        return bool(self._actors)


def actor_of(body: str) -> str:
    """Name of the actor whose limb a body of the scene is; empty for other bodies."""
    return body.split("/")[1] if body.startswith(_ACTOR) else ""


def _limb_name(actor: Actor, limb: Limb) -> str:
    return f"{_ACTOR}{actor.name}/{limb.name}"


def _add_light(scene: mujoco.MjSpec, light: Light) -> None:
    # MuJoCo has one map of shadows: the viewer draws that of the sun.
    added = scene.worldbody.add_light(
        type=_LIGHTS[light.kind],
        pos=light.pos,
        dir=light.direction,
        diffuse=light.diffuse,
        specular=light.specular,
        castshadow=light.cast_shadows and light.kind == "directional",
    )
    if light.kind != "directional":
        added.attenuation, added.range = light.attenuation, light.range
    if light.cutoff > 0.0:
        added.cutoff, added.exponent = math.degrees(0.5 * light.cutoff), light.falloff


def stiffen(model: mujoco.MjModel) -> None:
    """Makes joints reach their targets at the end of each step, whatever its length.

    A joint at distance r from its target, moving at v, then gets the acceleration
    -v / dt - r / dt^2: MuJoCo's reference acceleration -b v - k r with b = 1 / dt, k = 1 / dt^2.
    """
    dt, joints = model.opt.timestep, model.eq_type == mujoco.mjtEq.mjEQ_JOINT
    model.eq_solref[joints] = -_STIFF / dt**2, -_STIFF / dt
    model.eq_solimp[joints, :2] = _STIFF


def addresses(
    model: mujoco.MjModel, specs: Sequence[VehicleSpec], models: Sequence[Vehicle]
) -> Addresses:
    """Finds the indices of the vehicles in a scene compiled by build()."""
    n = len(specs)
    body = np.full((n, max((len(vehicle.bodies) for vehicle in models), default=1)), -1)
    joints = np.full((2, n, max((len(vehicle.joints) for vehicle in models), default=0)), -1)
    base = np.zeros((n, 2), dtype=int)
    locks: list[int] = []
    tyres = np.full((model.ngeom, 2), -1)
    for i, (spec, vehicle) in enumerate(zip(specs, models, strict=True)):
        free = model.joint(spec.name)
        base[i] = free.qposadr[0], free.dofadr[0]
        for k, part in enumerate(vehicle.bodies):
            body[i, k] = model.body(_body_name(spec, k, part)).id
        for k, joint in enumerate(vehicle.joints):
            name = f"{spec.name}/{joint.name}"
            driven = model.joint(name)
            joints[:, i, k] = driven.qposadr[0], driven.dofadr[0]
            locks.append(model.equality(name).id)
        for shape in vehicle.shapes:
            if shape.tyre >= 0:
                tyres[model.geom(f"{spec.name}/{shape.name}").id] = i, shape.tyre
    return Addresses(
        body, base, joints[0], joints[1], np.array(locks, dtype=int), joints[0] >= 0, tyres
    )


class Placed(NamedTuple):
    """Views of MuJoCo's arrays for an inserted model."""

    body: int
    pos: np.ndarray  # (3,) [m]
    quat: np.ndarray  # (4,) wxyz
    vel: np.ndarray  # (6,) velocity, world, and angular velocity, body; (0,) for a static model


def placed(
    model: mujoco.MjModel, data: mujoco.MjData, inserted: Sequence[WorldModel]
) -> list[Placed]:
    """The inserted models in a scene compiled by build()."""
    views = []
    for each in inserted:
        body = model.body(each.name)
        if each.static:
            k = body.mocapid[0]
            views.append(Placed(body.id, data.mocap_pos[k], data.mocap_quat[k], data.qvel[:0]))
        else:
            joint = model.joint(each.name)
            p, v = joint.qposadr[0], joint.dofadr[0]
            views.append(
                Placed(
                    body.id, data.qpos[p : p + 3], data.qpos[p + 3 : p + 7], data.qvel[v : v + 6]
                )
            )
    return views


def _body_name(spec: VehicleSpec, k: int, body: Body) -> str:
    return spec.name if k == 0 else f"{spec.name}/{body.name}"


def _add_bodies(
    scene: mujoco.MjSpec, spec: VehicleSpec, vehicle: Vehicle, pose: Pose, loaded: bool
) -> list[mujoco.MjsBody]:
    """Adds the bodies of a vehicle with their joints."""
    added: list[mujoco.MjsBody] = []
    for k, part in enumerate(vehicle.bodies):
        parent, place = (
            (scene.worldbody, pose) if k == 0 else (added[part.parent], Pose(part.pos, part.quat))
        )
        body = parent.add_body(name=_body_name(spec, k, part), pos=place.pos, quat=wxyz(place.quat))
        _weigh(body, part, part.cog)
        added.append(body)
        if k == 0:
            body.add_freejoint(name=spec.name)
            if loaded:
                body.ipos = (part.cog[0] + 1e-3, *part.cog[1:])
            # A new joint target would not wake a sleeping vehicle, and tyres and water always act.
            if vehicle.joints or vehicle.tyres or vehicle.hulls:
                body.sleep = mujoco.mjtSleepPolicy.mjSLEEP_NEVER
    for joint in vehicle.joints:
        name = f"{spec.name}/{joint.name}"
        added[joint.body].add_joint(
            name=name,
            pos=joint.anchor,
            axis=joint.axis,
            damping=joint.damping,
            type=mujoco.mjtJoint.mjJNT_SLIDE if joint.prismatic else mujoco.mjtJoint.mjJNT_HINGE,
        )
        lock = scene.add_equality(name=name, type=mujoco.mjtEq.mjEQ_JOINT, name1=name)
        lock.data[:5] = 0.0
    for k, one in enumerate(vehicle.bodies):
        for m in range(k):  # no self-collision within a vehicle, as in Gazebo
            scene.add_exclude(
                bodyname1=_body_name(spec, k, one), bodyname2=_body_name(spec, m, vehicle.bodies[m])
            )
    return added


def _add_inserted(scene: mujoco.MjSpec, model: WorldModel) -> mujoco.MjsBody:
    body = scene.worldbody.add_body(
        name=model.name, pos=model.start.pos, quat=wxyz(model.start.quat), mocap=model.static
    )
    if not model.static:
        _weigh(body, model, (0.0, 0.0, 0.0))
        body.add_freejoint(name=model.name)
    return body


def _add_cable(scene: mujoco.MjSpec, cable: Cable) -> None:
    """Adds a tendon that pulls at its full length, and keeps both ends awake."""
    name = f"{cable.vehicle}/{cable.model}"
    tendon = scene.add_tendon(
        name=name,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        range=(0.0, cable.length),
        width=_CABLE_M,
        rgba=(0.1, 0.1, 0.1, 1.0),
    )
    tendon.solref_limit = (_TAUT_S, 1.0)
    for end, body, at in (("above", cable.vehicle, cable.above), ("below", cable.model, cable.at)):
        part = scene.body(body)
        part.sleep = mujoco.mjtSleepPolicy.mjSLEEP_NEVER
        part.add_site(name=f"{name}/{end}", pos=at)
        tendon.wrap_site(f"{name}/{end}")


def weld_name(vehicle: str, gripper: str, model: str) -> str:
    """Name of the constraint by which a vehicle's gripper holds an inserted model."""
    return f"{vehicle}/{gripper}/{model}"


def _add_welds(
    scene: mujoco.MjSpec, spec: VehicleSpec, vehicle: Vehicle, inserted: Sequence[WorldModel]
) -> None:
    """Adds a constraint for each free model and gripper of a vehicle, which holds nothing yet."""
    for gripper in vehicle.grippers:
        for each in inserted:
            if not each.static:
                weld = scene.add_equality(
                    name=weld_name(spec.name, gripper.name, each.name),
                    type=mujoco.mjtEq.mjEQ_WELD,
                    objtype=mujoco.mjtObj.mjOBJ_BODY,
                    name1=_body_name(spec, gripper.body, vehicle.bodies[gripper.body]),
                    name2=each.name,
                    active=False,
                )
                weld.solref = _HELD_S, 1.0


def _weigh(body: mujoco.MjsBody, part: Body | WorldModel, cog: Sequence[float]) -> None:
    """Gives a body the mass and inertia of a vehicle's Body or of a WorldModel."""
    body.explicitinertial = True
    body.ipos = cog
    body.mass = part.mass
    inertia = np.array(part.inertia)
    body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]


def _options(scene: mujoco.MjSpec, world: World) -> None:
    option = scene.option
    option.timestep = _TIMESTEP
    option.gravity = (0.0, 0.0, -world.gravity)
    # A vehicle without external force must neither creep nor turn: the elliptic friction cone with
    # a high impedance ratio makes friction as stiff as the normal force.
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 10.0
    scene.visual.global_.offwidth = 1920
    scene.visual.global_.offheight = 1200
    scene.visual.headlight.ambient = world.ambient
    scene.visual.headlight.diffuse = (0.2, 0.2, 0.2) if world.lights else (0.6, 0.6, 0.6)
    scene.visual.map.znear = 0.001
    scene.visual.map.zfar = 50.0
    scene.stat.extent = 20.0
    colour = world.background
    scene.add_texture(
        name=SKY,
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        rgb1=colour,
        rgb2=colour,
        width=16,
        height=16,
    )


def _add_cameras(bodies: Sequence[mujoco.MjsBody], name: str, model: Vehicle) -> None:
    for block in model.sensors:
        if has_cameras(block):
            pose = Pose(block.pos, block.quat).to(Pose(quat=_CAMERA_AXES))
            bodies[block.body].add_camera(
                name=f"{name}/{block.name}", pos=pose.pos, quat=wxyz(pose.quat), fovy=_fovy(block)
            )


def _fovy(block: SensorBlock) -> float:
    """Vertical field of view of a camera or depth block [deg]."""
    camera = block.parameters.get("camera", {})
    camera = camera[0] if isinstance(camera, list) else camera
    image = camera.get("image", {})
    width, height = int(image.get("width", 320)), int(image.get("height", 240))
    hfov = float(camera.get("horizontal_fov", 1.047))
    return math.degrees(2.0 * math.atan(math.tan(0.5 * hfov) * height / width))
