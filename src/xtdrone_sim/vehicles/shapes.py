"""Collisions and visuals of links, with their geometry, colour and friction."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import SdfError
from .look import Look, look_of
from .mesh import MESH_SUFFIXES, Extrusion, MeshFile, MeshSource, Revolved
from .pose import Pose
from .sdf_file import Element, fail, note, resolve_uri
from .sdf_tree import FARTHEST, Scope, flag, name_of, number, numbers, pose_of, text, vector

_NO_MESH = "__default__"  # SDF's default of a mesh's <uri>
_TIP = 1e-3  # radius of a cone's tip over that of its base
_ARC = tuple(  # half a circle of radius 1 from below: distances from the axis, and heights
    (math.cos(angle), math.sin(angle))
    for angle in (math.radians(degrees) for degrees in range(-84, 85, 12))
)
_THINNEST = 1e-9  # smaller sides count as none [m]; of a mesh its scale


@dataclass(frozen=True)
class Shape:
    """A primitive, mesh or heightmap of a link, as a body to collide with or only to be seen."""

    name: str  # model::link::collision
    kind: str  # box, sphere, cylinder, plane, mesh or heightmap
    size: tuple  # box, plane, heightmap: sides; sphere: radius; cylinder: radius, length;
    # mesh: scale
    pose: Pose  # pose in the world's frame, or in that of its body
    collides: bool
    look: Look = field(default_factory=Look)
    mesh: MeshSource | None = None
    heights: Path | None = None  # picture of a heightmap: its brightness is the height
    friction: float = 1.0  # Coulomb friction of the surface
    friction2: float = 1.0  # friction of a wheel along its axis
    link: str = ""  # full name
    body: int = 0  # index of the vehicle's body that it belongs to
    tyre: int = -1  # index of the vehicle's tyre whose contact it is; -1 = none


def shapes_of(scope: Scope, remarks: list[str] | None = None) -> list[Shape]:
    """All collisions and visuals of a model or world, in its frame.

    Args:
        scope: The model or world.
        remarks: Gets a line on each visual that cannot be drawn.
    """
    shapes, notes = [], [] if remarks is None else remarks
    for name, link, pose in scope.links():
        for child in link.iterchildren("collision", "visual"):
            shapes += [
                replace(shape, link=name)
                for shape in _shapes(child, f"{name}::{name_of(child)}", pose, notes)
            ]
    return shapes


def _shapes(element: Element, name: str, link_pose: Pose, remarks: list[str]) -> list[Shape]:
    geometry = element.find("geometry")
    if geometry is None or len(geometry) == 0:
        fail(element, f"{element.tag} '{name}' has no <geometry>")
    form = geometry[0]
    if form.tag == "empty":
        return []
    if form.tag not in _FORMS:
        fail(form, f"geometry <{form.tag}> is not supported: use {', '.join(_FORMS)}")
    collides = element.tag == "collision"
    try:
        shapes = _FORMS[form.tag](
            form, Shape(name, form.tag, (), link_pose.to(pose_of(element)), collides)
        )
    except SdfError as error:
        if collides or form.tag not in _OF_FILES:
            raise
        remarks.append(f"visual '{name}' is not drawn: {error}")
        return []
    for shape in shapes:
        if not all(
            (abs(side) if shape.kind == "mesh" else side) > _THINNEST for side in shape.size
        ):
            remarks.append(f"{element.tag} '{name}' is left out: its size is {shape.size}")
            return []
        if max(map(abs, shape.size)) > FARTHEST:
            fail(
                form,
                f"the size of {element.tag} '{name}' is {shape.size}: give metres up to "
                f"{FARTHEST:g}",
            )
    ode = element.find("surface/friction/ode")
    mu = 1.0 if ode is None else number(ode, "mu", 1.0)
    mu2 = mu if ode is None else number(ode, "mu2", mu)
    look = look_of(element)
    return [
        replace(
            shape, friction=mu, friction2=mu2, look=look if shape.look == Look() else shape.look
        )
        for shape in shapes
    ]


def _box(form: Element, shape: Shape) -> list[Shape]:
    return [replace(shape, size=numbers(_child(form, "size"), 3))]


def _sphere(form: Element, shape: Shape) -> list[Shape]:
    return [replace(shape, size=(number(form, "radius"),))]


def _cylinder(form: Element, shape: Shape) -> list[Shape]:
    return [replace(shape, size=(number(form, "radius"), number(form, "length")))]


def _plane(form: Element, shape: Shape) -> list[Shape]:
    turn = Pose(quat=_towards(form, vector(form, "normal", (0.0, 0.0, 1.0))))
    return [replace(shape, size=vector(form, "size", (100.0, 100.0)), pose=shape.pose.to(turn))]


def _mesh(form: Element, shape: Shape) -> list[Shape]:
    if text(form, "uri", _NO_MESH) == _NO_MESH:
        what = "collision" if shape.collides else "visual"
        note(form, f"<mesh> of {what} '{shape.name}' names no file: it has no shape")
        return []
    path = resolve_uri(form, text(form, "uri"))
    if path.suffix.lower() not in MESH_SUFFIXES:
        fail(
            form,
            f"'{path.name}' is no mesh that can be read: convert it to "
            f"{' or '.join(MESH_SUFFIXES)}",
        )
    sub = form.find("submesh")
    mesh = MeshFile(path) if sub is None else MeshFile(path, text(sub, "name"), flag(sub, "center"))
    return [replace(shape, size=vector(form, "scale", (1.0, 1.0, 1.0)), mesh=mesh)]


def _polyline(form: Element, shape: Shape) -> list[Shape]:
    points = [(x, y) for x, y in (numbers(p, 2) for p in form.iterchildren("point"))]
    if points and points[0] == points[-1]:
        points.pop()
    if len(points) < 3:
        fail(
            form, f"<polyline> of '{shape.name}' has {len(points)} corners: give 3 or more <point>"
        )
    height = number(form, "height", 1.0)
    if height <= 0.0:
        fail(form, f"<height> of '{shape.name}' is {height:g}: give metres above 0")
    return [
        replace(shape, kind="mesh", size=(1.0, 1.0, 1.0), mesh=Extrusion(tuple(points), height))
    ]


def _capsule(form: Element, shape: Shape) -> list[Shape]:
    radius, length = _positive(form, shape, "radius"), _positive(form, shape, "length")
    lower = [(r * radius, z * radius - 0.5 * length) for r, z in _ARC if z <= 0.0]
    upper = [(r * radius, z * radius + 0.5 * length) for r, z in _ARC if z >= 0.0]
    return [_solid(shape, Revolved((*lower, *upper)))]


def _cone(form: Element, shape: Shape) -> list[Shape]:
    radius, half = _positive(form, shape, "radius"), 0.5 * _positive(form, shape, "length")
    return [_solid(shape, Revolved(((radius, -half), (_TIP * radius, half))))]


def _ellipsoid(form: Element, shape: Shape) -> list[Shape]:
    x, y, z = numbers(_child(form, "radii"), 3)
    if min(x, y, z) <= 0.0:
        fail(form, f"<radii> of '{shape.name}' are {x:g} {y:g} {z:g}: give metres above 0")
    return [_solid(shape, Revolved(_ARC, (x, y, z)))]


def _solid(shape: Shape, body: Revolved) -> Shape:
    return replace(shape, kind="mesh", size=(1.0, 1.0, 1.0), mesh=body)


def _positive(form: Element, shape: Shape, tag: str) -> float:
    value = number(form, tag)
    if value <= 0.0:
        fail(form, f"<{tag}> of '{shape.name}' is {value:g}: give metres above 0")
    return value


def _heightmap(form: Element, shape: Shape) -> list[Shape]:
    picture = resolve_uri(form, text(form, "uri"))
    moved = shape.pose.to(Pose(vector(form, "pos", (0.0, 0.0, 0.0))))
    texture, repeats = None, (1.0, 1.0)
    size = vector(form, "size", (1.0, 1.0, 1.0))
    layers = [layer for layer in form.iterchildren("texture") if layer.find("diffuse") is not None]
    if layers and not shape.collides:
        try:
            texture = resolve_uri(layers[0], text(layers[0], "diffuse"))
            each = number(layers[0], "size", 10.0)
            repeats = (size[0] / each, size[1] / each) if each > 0.0 else repeats
        except SdfError:
            pass  # as Gazebo's own file://media, which is not here
    look = Look((1.0, 1.0, 1.0, 1.0), "" if texture else "Gazebo/Grass", texture, repeats, True)
    return [replace(shape, size=size, heights=picture, pose=moved, look=look)]


_FORMS = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "plane": _plane,
    "mesh": _mesh,
    "polyline": _polyline,
    "heightmap": _heightmap,
    "ellipsoid": _ellipsoid,
    "capsule": _capsule,
    "cone": _cone,
}
_OF_FILES = ("mesh", "heightmap")  # a picture without them is better than no flight


def _child(element: Element, tag: str) -> Element:
    text(element, tag)
    return element.find(tag)


def _towards(element: Element, normal: tuple[float, float, float]) -> tuple:
    """The quaternion that turns the z axis towards a vector."""
    x, y, z = normal
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        fail(element, "<normal> has length 0")
    if z <= -length * (1.0 - 1e-12):
        return (1.0, 0.0, 0.0, 0.0)
    w = length + z
    scale = 1.0 / math.sqrt(x * x + y * y + w * w)
    return (-y * scale, x * scale, 0.0, w * scale)
