"""The MuJoCo model of a world with vehicles in it, built through MjSpec."""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from xtdrone_core import SensorBlock, VehicleModel, VehicleSpec
from xtdrone_dynamics import quaternion

from ..rendering import materials
from ..vehicles.pose import Pose
from ..vehicles.sdf import World, vehicle_shapes
from ..vehicles.sdf_tree import Shape

CHASE = "chase"  # name of a camera behind each vehicle
_VISUAL_GROUP = 1
_COLLISION_GROUP = 3  # not drawn
_TIMESTEP = 0.004  # until the first step says otherwise [s]
_CAMERA_AXES = quaternion.from_matrix(0, 0, -1, -1, 0, 0, 0, 1, 0)  # MuJoCo looks along -z, y up
_KINDS = {"box": mujoco.mjtGeom.mjGEOM_BOX, "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
          "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER, "plane": mujoco.mjtGeom.mjGEOM_PLANE,
          "mesh": mujoco.mjtGeom.mjGEOM_MESH}


@dataclass(frozen=True)
class CameraView:
    """Size of the images of one camera block."""

    width: int  # [pixels]
    height: int  # [pixels]
    fovy: float  # vertical field of view [deg]
    depth: bool  # gives metres instead of colours


def start_pose(spec: VehicleSpec, model: VehicleModel) -> Pose:
    """Where a vehicle's centre of gravity is at the start, and how it is turned."""
    origin = Pose(spec.pos, quaternion.from_euler(0.0, 0.0, spec.yaw))
    return Pose(origin.point(model.cog), origin.quat)


def build(world: World, specs, models, loaded=frozenset()) -> mujoco.MjModel:
    """Compiles the scene.

    Each vehicle is one free body, whose frame lies in its centre of gravity:
    MuJoCo's generalised velocities are then the centre's own. Vehicles come
    first, in order: vehicle i is body i + 1.

    MuJoCo decides here which bodies have a diagonal mass matrix and stores no
    other for them. One that is to carry a payload must not be of those.

    Args:
        world: The world.
        specs: The VehicleSpecs.
        models: Their VehicleModels.
        loaded: Indices of the vehicles whose mass and centre of gravity may change.

    Returns:
        The compiled model.
    """
    scene = mujoco.MjSpec()
    _options(scene, world)
    assets = {}
    for i, (spec, model) in enumerate(zip(specs, models)):
        pose = start_pose(spec, model)
        body = scene.worldbody.add_body(name=spec.name, pos=pose.pos, quat=_wxyz(pose.quat))
        body.add_freejoint(name=spec.name)
        body.explicitinertial = True
        body.mass = model.mass
        body.ipos = (1e-3 * (i in loaded), 0.0, 0.0)
        inertia = np.array(model.inertia)
        body.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        for shape in vehicle_shapes(model):
            _add_shape(scene, body, f"{spec.name}/{shape.name}", shape, assets)
        _add_cameras(body, spec.name, model)
    for shape in world.shapes:
        _add_shape(scene, scene.worldbody, shape.name, shape, assets)
    for light in world.lights:
        scene.worldbody.add_light(
            type={"directional": mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
                  "point": mujoco.mjtLightType.mjLIGHT_POINT,
                  "spot": mujoco.mjtLightType.mjLIGHT_SPOT}[light.kind],
            pos=light.pos, dir=light.direction, diffuse=light.diffuse, specular=light.specular,
            castshadow=light.cast_shadows)
    return scene.compile()


def camera_view(block: SensorBlock) -> CameraView:
    """Size and field of view of a camera or depth block."""
    camera = block.parameters.get("camera", {})
    camera = camera[0] if isinstance(camera, list) else camera
    image = camera.get("image", {})
    width, height = int(image.get("width", 320)), int(image.get("height", 240))
    hfov = float(camera.get("horizontal_fov", 1.047))
    fovy = 2.0 * math.atan(math.tan(0.5 * hfov) * height / width)
    return CameraView(width, height, math.degrees(fovy), block.kind == "depth")


def _options(scene, world):
    option = scene.option
    option.timestep = _TIMESTEP
    option.gravity = (0.0, 0.0, -world.gravity)
    # A vehicle without a cause to move must neither creep nor turn: the elliptic cone with a
    # high ratio makes friction as stiff as the normal force.
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
    scene.add_texture(name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
                      builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT, rgb1=colour, rgb2=colour,
                      width=16, height=16)


def _add_shape(scene, body, name, shape: Shape, assets):
    kind = shape.kind
    geom = body.add_geom(type=_KINDS[kind], pos=shape.pose.pos,
                         quat=_wxyz(shape.pose.quat), rgba=shape.colour,
                         friction=(shape.friction, 0.005, 0.0001))
    if kind == "box":
        geom.size = [0.5 * side for side in shape.size]
    elif kind == "sphere":
        geom.size = [shape.size[0], 0.0, 0.0]
    elif kind == "cylinder":
        geom.size = [shape.size[0], 0.5 * shape.size[1], 0.0]
    elif kind == "plane":
        geom.size = [0.5 * shape.size[0], 0.5 * shape.size[1], 1.0]
    else:
        geom.meshname = _mesh(scene, shape, assets)
    if shape.material and not shape.collides:
        geom.material = _material(scene, shape.material, kind != "box", assets)
        if kind == "box":
            geom.type = mujoco.mjtGeom.mjGEOM_MESH
            geom.meshname = _papered_box(scene, shape.size, assets)
    if shape.collides:
        geom.name = name
        geom.group = _COLLISION_GROUP
    else:
        geom.group = _VISUAL_GROUP
        geom.contype = geom.conaffinity = 0


def _mesh(scene, shape, assets) -> str:
    """The name of a mesh asset, loaded once per file and scale."""
    key = shape.mesh, shape.size
    if key not in assets:
        assets[key] = f"asset_{len(assets)}"
        scene.add_mesh(name=assets[key], file=str(shape.mesh), scale=shape.size)
    return assets[key]


def _material(scene, script, uniform, assets) -> str:
    """The name of a material that is painted like Gazebo's script of that name.

    Args:
        uniform: Whether MuJoCo lays the picture on, for shapes without texture coordinates.
    """
    if script not in assets:
        assets[script] = f"asset_{len(assets)}"
        image = materials.picture(script)
        texture = scene.add_texture(name=assets[script], type=mujoco.mjtTexture.mjTEXTURE_2D,
                                    width=image.shape[1], height=image.shape[0], nchannel=3)
        texture.data = image.tobytes()
    key = script, uniform
    if key not in assets:
        assets[key] = f"asset_{len(assets)}"
        repeat = 2.0 / materials.TILE if uniform else 1.0
        material = scene.add_material(name=assets[key], texuniform=uniform, specular=0.1,
                                      shininess=0.1, texrepeat=(repeat, repeat))
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = assets[script]
    return assets[key]


def _papered_box(scene, size, assets) -> str:
    """The name of a box as a mesh, with texture coordinates that give every side the same scale.

    MuJoCo projects a flat texture along one axis of a primitive box, which
    smears it over the sides.
    """
    if size not in assets:
        name = assets[size] = f"asset_{len(assets)}"
        half = 0.5 * np.array(size)
        points, coordinates, faces = [], [], []
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for side in (1, -1):
                first = len(points)
                for a, b in ((-1, -1), (side, -side), (1, 1), (-side, side)):
                    point = np.zeros(3)
                    point[axis], point[u], point[v] = side, a, b
                    points.append(point * half)
                    # The side's longer horizontal direction runs along the picture's rows.
                    flat = (v, u) if axis == 1 else (u, v)
                    coordinates.append([point[k] * half[k] / materials.TILE for k in flat])
                faces += [[first, first + 1, first + 2], [first, first + 2, first + 3]]
        scene.add_mesh(name=name, uservert=np.array(points).ravel(),
                       usertexcoord=np.array(coordinates).ravel(),
                       userface=np.array(faces).ravel(), userfacetexcoord=np.array(faces).ravel(),
                       inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
    return assets[size]


def _add_cameras(body, name, model):
    for block in model.sensors:
        if block.kind in ("camera", "depth"):
            pose = Pose(block.pos, block.quat).to(Pose(quat=_CAMERA_AXES))
            body.add_camera(name=f"{name}/{block.name}", pos=pose.pos, quat=_wxyz(pose.quat),
                            fovy=camera_view(block).fovy)
    down = Pose(quat=quaternion.from_euler(0.0, 0.3, 0.0)).to(Pose(quat=_CAMERA_AXES))
    span = max(math.dist((0.0, 0.0, 0.0), rotor.pos) for rotor in model.rotors)
    body.add_camera(name=f"{name}/{CHASE}", pos=(-7.0 * span, 0.0, 2.8 * span),
                    quat=_wxyz(down.quat),
                    mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACK)


def _wxyz(quat):
    return quat[3], quat[0], quat[1], quat[2]
