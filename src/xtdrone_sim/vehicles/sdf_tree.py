"""The grammar of SDF files: elements, numbers, frames, links, shapes.

Reads SDF 1.4 to 1.7 as Gazebo 11 does, with nested models, includes and
`relative_to`. What the elements mean for a vehicle or a world is in sdf.py.
"""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lxml import etree

from xtdrone_core import resources
from xtdrone_core.errors import unknown_name

from ..errors import SdfError
from .pose import Pose

MESH_SUFFIXES = (".obj", ".stl")  # what MuJoCo reads
OWN = "{urn:xtdrone}"  # namespace of the elements that only this workspace reads
_OWN_PARENTS = {"effects": "model", "battery": "model", "propeller": "plugin",
                "in_water": "plugin", "servo": "channel", "wheel": "channel",
                "actuator": "channel"}  # name: parent
_MAX_NESTING = 16

_SCRIPT_COLOURS = {  # Gazebo's own material scripts that are one plain colour
    "Grey": (0.7, 0.7, 0.7), "DarkGrey": (0.175, 0.175, 0.175), "White": (1.0, 1.0, 1.0),
    "FlatBlack": (0.1, 0.1, 0.1), "Black": (0.05, 0.05, 0.05), "Red": (1.0, 0.0, 0.0),
    "Green": (0.0, 1.0, 0.0), "Blue": (0.0, 0.0, 1.0), "Yellow": (1.0, 1.0, 0.0),
    "Orange": (1.0, 0.5, 0.1), "SkyBlue": (0.13, 0.44, 0.7), "Indigo": (0.33, 0.0, 0.5),
}


@dataclass(frozen=True)
class Shape:
    """A primitive or mesh of a link, as a body to collide with or only to be seen."""

    name: str  # model::link::collision
    kind: str  # box, sphere, cylinder, plane or mesh
    size: tuple  # box: sides; sphere: radius; cylinder: radius, length; plane: sides; mesh: scale
    pose: Pose  # in the world's frame, or in that of the body that it belongs to
    collides: bool
    colour: tuple = (0.7, 0.7, 0.7, 1.0)  # RGBA
    material: str = ""  # name of Gazebo's material script, for example Gazebo/Bricks
    mesh: Path | None = None
    friction: float = 1.0  # Coulomb's, of the surface
    link: str = ""  # full name
    body: int = 0  # of the vehicle, that it belongs to


def fail(element: Any, message: str) -> None:
    """Raises SdfError with file and line of an element."""
    raise SdfError(f"{element.base}:{element.sourceline}: {message}")


def parse(path: Path, *what: str) -> Any:
    """The first element of some kinds in an SDF file.

    Args:
        path: The file.
        what: Kinds, for example "model"; the first one that the file has counts.

    Raises:
        SdfError: Cannot be read, malformed XML, not SDF, or without that element.
    """
    try:
        root = etree.parse(str(path), etree.XMLParser(
            remove_comments=True, resolve_entities=False, no_network=True)).getroot()
    except OSError as error:
        raise SdfError(f"{path}: cannot be read: {error}") from error
    except etree.XMLSyntaxError as error:
        raise SdfError(f"{path}:{error.lineno}: not well-formed XML: {error.msg}") from error
    if root.tag != "sdf":
        fail(root, f"the root element is <{root.tag}>: an SDF file starts with <sdf>")
    _check_own(root)
    for tag in what:
        if root.find(tag) is not None:
            return root.find(tag)
    fail(root, f"has no <{'> or <'.join(what)}>")


def _check_own(root):
    """Rejects elements of the xtdrone namespace that would be ignored: misspelt or misplaced."""
    for element in root.iter("*"):
        name = etree.QName(element).localname
        parent = element.getparent()
        if element.tag.startswith(OWN):
            if name not in _OWN_PARENTS:
                fail(element, unknown_name("element of xtdrone", name, _OWN_PARENTS))
            if parent.tag != _OWN_PARENTS[name]:
                fail(element, f"<xtdrone:{name}> is in <{parent.tag}>: put it into "
                              f"<{_OWN_PARENTS[name]}>")
        elif element.prefix == "xtdrone" or (parent is not None
                                             and _OWN_PARENTS.get(element.tag) == parent.tag):
            fail(element, f"<{name}> is not in the xtdrone namespace: write <xtdrone:{name}>, with "
                          f'xmlns:xtdrone="{OWN[1:-1]}" in <sdf>')


def refuse_unknown(element: Any, known: Iterable[str]) -> None:
    """Refuses children of an element that are not known, or appear twice.

    Args:
        element: In the xtdrone namespace.
        known: Names of its children.
    """
    what = element.tag.replace(OWN, "xtdrone:")
    if (element.text or "").strip():
        fail(element, f"<{what}> holds the text '{element.text.strip()}': it holds "
                      + (f"the elements {', '.join(known)}" if known else
                         "nothing; leave it out to switch it off"))
    seen = set()
    for child in element:
        if child.tag not in known:
            fail(child, unknown_name(f"element of <{what}>", str(child.tag), known)
                 if known else f"<{what}> holds nothing: take <{child.tag}> out")
        if child.tag in seen:
            fail(child, f"<{child.tag}> appears twice in <{what}>")
        seen.add(child.tag)


def text(element: Any, tag: str, default: str | None = None) -> str:
    """The text of a child; without a default the child must be there."""
    child = element.find(tag)
    if child is None or not (child.text or "").strip():
        if default is None:
            name = element.tag.replace(OWN, "xtdrone:")
            fail(element, f"<{name}>{_named(element)} has no <{tag}>")
        return default
    return child.text.strip()


def numbers(element: Any, count: int) -> tuple[float, ...]:
    """The finite numbers that an element's text lists."""
    tokens = (element.text or "").split()
    try:
        values = tuple(map(float, tokens))
    except ValueError:
        values = ()
    if len(values) != count or not all(map(math.isfinite, values)):
        what = "a number" if count == 1 else f"{count} numbers"
        fail(element, f"<{element.tag}> is '{' '.join(tokens)}': give {what}")
    return values


def number(element: Any, tag: str, default: float | None = None) -> float:
    """The number in a child; without a default the child must be there."""
    child = element.find(tag)
    if child is None and default is not None:
        return default
    text(element, tag)
    return numbers(child, 1)[0]


def vector(element: Any, tag: str, default: tuple) -> tuple[float, ...]:
    """As many numbers in a child as the default has."""
    child = element.find(tag)
    return default if child is None else numbers(child, len(default))


def pose_of(element: Any) -> Pose:
    """The <pose> of an element in its own reference frame."""
    child = element.find("pose")
    if child is None or not (child.text or "").strip():
        return Pose()
    return Pose.of(*numbers(child, 6))


def name_of(element: Any) -> str:
    """The name attribute, which must be there."""
    if not element.get("name"):
        fail(element, f"<{element.tag}> has no name attribute")
    return element.get("name")


def plugin_name(element: Any) -> str:
    """The file name of a plugin without folder, lib and .so."""
    return element.get("filename", "").rpartition("/")[2].removeprefix("lib").removesuffix(".so")


def to_dict(element: Any) -> dict:
    """An element's tags as text, nested tags as dicts, repeated tags as lists."""
    out = {}
    for child in element:
        value = to_dict(child) if len(child) else (child.text or "").strip()
        if child.tag in out:
            known = out[child.tag]
            out[child.tag] = [*known, value] if isinstance(known, list) else [known, value]
        else:
            out[child.tag] = value
    return out


def resolve_uri(element: Any, uri: str) -> Path:
    """The file or folder that a URI of this element's file names.

    `model://NAME/...` is looked up in models/ and in GAZEBO_MODEL_PATH; other
    paths count from the SDF file's folder.

    Raises:
        SdfError: Nothing is there.
    """
    beside = Path(element.base).parent
    if uri.startswith(("model://", "package://")):
        relative = uri.split("://", 1)[1]
        folders = [resources.root() / "models",
                   *map(Path, filter(None, os.environ.get("GAZEBO_MODEL_PATH", "").split(":"))),
                   beside.parent]
        candidates = [folder / relative for folder in folders]
    elif uri.startswith(("http://", "https://")):
        fail(element, f"'{uri}' is on the network: put the file beside the SDF file")
    else:
        candidates = [beside / uri.removeprefix("file://")]
    for candidate in candidates:
        if candidate.exists():
            return candidate.resolve()
    fail(element, f"'{uri}' does not exist: looked for {', '.join(map(str, candidates))}")


class Scope:
    """A model with its frames: names of links, joints, frames and nested models to poses."""

    def __init__(self, element: Any, pose: Pose, prefix: str = "", depth: int = 0):
        """Reads the names in a model.

        Args:
            element: The <model>, or a <world> (whose models count as nested).
            pose: Of the model in the root's frame.
            prefix: What names of this scope begin with in the root's terms, like "gps0::".
            depth: How deep this scope is nested.
        """
        if depth > _MAX_NESTING:
            fail(element, f"models are nested more than {_MAX_NESTING} deep: a model includes "
                          "itself")
        self.element = element
        self.prefix = prefix
        self._pose = pose
        self._known = {}
        self._open = set()  # names being resolved now, to find circles
        self._elements = {}
        for child in element.iterchildren("link", "joint", "frame", "model"):
            self._add(name_of(child), child)
        self._nested = {}
        self._lights = [(child, pose.to(pose_of(child))) for child in element.iterchildren("light")]
        for child in list(element.iterchildren("include")):
            self._include(child, depth)
        for child in element.iterchildren("model"):
            name = name_of(child)
            self._nested[name] = Scope(child, self.pose(name, child), f"{prefix}{name}::",
                                       depth + 1)

    def links(self) -> list:
        """(full name, element, pose in the root's frame) of all links, nested ones too."""
        own = [(self.prefix + name_of(link), link, self.pose(name_of(link), link))
               for link in self.element.iterchildren("link")]
        return own + [found for nested in self._nested.values() for found in nested.links()]

    def elements(self, tag: str) -> list:
        """(scope, element) of every direct child with a tag, nested models' too."""
        own = [(self, child) for child in self.element.iterchildren(tag)]
        return own + [found for nested in self._nested.values() for found in nested.elements(tag)]

    def own(self, name: str) -> Any:
        """The vehicle's block <xtdrone:name>, of the model or of one nested in it; or None."""
        found = [element for _, element in self.elements(OWN + name)]
        if len(found) > 1:
            fail(found[1], f"a second <xtdrone:{name}>: give a vehicle one")
        return found[0] if found else None

    def lights(self) -> list:
        """(element, pose in the root's frame) of all lights, nested models' too."""
        return self._lights + [found for nested in self._nested.values()
                               for found in nested.lights()]

    def find(self, tag: str, name: str, asker: Any) -> Any:
        """The link or joint of a name, which must be there."""
        scope, last = self, name
        if "::" in name:
            head, _, last = name.rpartition("::")
            for part in head.split("::"):
                scope = scope._nested.get(part)
                if scope is None:
                    fail(asker, f"there is no model '{part}' for '{name}'")
        element = scope._elements.get(last)
        if element is None or element.tag != tag:
            fail(asker, f"there is no {tag} '{name}' in model '{name_of(self.element)}'")
        return element

    def pose(self, name: str, asker: Any) -> Pose:
        """Where a frame lies in the root's frame.

        Raises:
            SdfError: No such frame, or frames that refer to each other in a circle.
        """
        if name in ("", "__model__", "world"):
            return self._pose
        if name in self._known:
            return self._known[name]
        if "::" in name:
            head, _, rest = name.partition("::")
            if head not in self._nested:
                fail(asker, f"there is no model '{head}' for '{name}'")
            return self._nested[head].pose(rest, asker)
        element = self._elements.get(name)
        if element is None:
            fail(asker, f"there is no frame '{name}' in model '{name_of(self.element)}'")
        if name in self._open:
            fail(element, f"the frame '{name}' is relative to itself")
        self._open.add(name)
        pose = self.pose(self._reference(element), element).to(pose_of(element))
        self._open.discard(name)
        self._known[name] = pose
        return pose

    def _reference(self, element) -> str:
        child = element.find("pose")
        if child is not None:
            named = child.get("relative_to") or child.get("frame")
            if named:
                return named
        if element.tag == "joint":
            return text(element, "child")
        return element.get("attached_to", "") if element.tag == "frame" else ""

    def _add(self, name, element):
        if name in self._elements:
            fail(element, f"there are two elements called '{name}'")
        self._elements[name] = element

    def _include(self, element, depth):
        path = resolve_uri(element, text(element, "uri"))
        if path.is_dir():
            path = path / "model.sdf"
        model = parse(path, "model", "light")
        if model.tag == "light":  # as Gazebo's own model://sun
            self._lights.append((model, self._pose.to(pose_of(model))))
            return
        name = text(element, "name", name_of(model))
        source = element if element.find("pose") is not None else model
        self._add(name, source)
        self._nested[name] = Scope(model, self.pose(name, element), f"{self.prefix}{name}::",
                                   depth + 1)


def shapes_of(scope: Scope) -> list[Shape]:
    """All collisions and visuals of a model or world, in its frame."""
    found = []
    for name, link, pose in scope.links():
        for child in link.iterchildren("collision", "visual"):
            shape = _shape(child, f"{name}::{name_of(child)}", pose)
            if shape is not None:
                found.append(replace(shape, link=name))
    return found


def _shape(element, name, link_pose) -> Shape | None:
    geometry = element.find("geometry")
    if geometry is None or len(geometry) == 0:
        fail(element, f"{element.tag} '{name}' has no <geometry>")
    form = geometry[0]
    collides = element.tag == "collision"
    pose = link_pose.to(pose_of(element))
    mesh = None
    if form.tag == "box":
        size = numbers(_child(form, "size"), 3)
    elif form.tag == "sphere":
        size = (number(form, "radius"),)
    elif form.tag == "cylinder":
        size = (number(form, "radius"), number(form, "length"))
    elif form.tag == "plane":
        size = vector(form, "size", (100.0, 100.0))
        pose = pose.to(Pose(quat=_towards(form, vector(form, "normal", (0.0, 0.0, 1.0)))))
    elif form.tag == "mesh":
        size = vector(form, "scale", (1.0, 1.0, 1.0))
        mesh = resolve_uri(form, text(form, "uri"))
        if mesh.suffix.lower() not in MESH_SUFFIXES:
            if collides:
                fail(form, f"'{mesh.name}' cannot be collided with: convert it to "
                           f"{' or '.join(MESH_SUFFIXES)}")
            return None  # a picture without this mesh is better than no flight
    elif form.tag == "empty":
        return None
    else:
        fail(form, f"geometry <{form.tag}> is not supported: use box, sphere, cylinder, plane or "
                   "mesh")
    if not (all(size) if form.tag == "mesh" else all(side > 0 for side in size)):
        fail(form, f"size of '{name}' is {size}: give lengths above 0")
    colour, material = _material(element)
    friction = element.find("surface/friction/ode/mu")
    return Shape(name, form.tag, size, pose, collides, colour, material, mesh,
                 1.0 if friction is None else numbers(friction, 1)[0])


def _child(element, tag):
    text(element, tag)
    return element.find(tag)


def _towards(element, normal) -> tuple:
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


def _material(element) -> tuple:
    """Colour and script name of a visual."""
    material = element.find("material")
    if material is None:
        return Shape.colour, Shape.material
    script = material.findtext("script/name", "").strip()
    plain = _SCRIPT_COLOURS.get(script.rpartition("/")[2])
    colour = (*plain, 1.0) if plain else (1.0, 1.0, 1.0, 1.0) if script else Shape.colour
    for tag in ("diffuse", "ambient"):
        if material.find(tag) is not None:
            rgb = (material.find(tag).text or "").split()
            colour = numbers(material.find(tag), len(rgb) if len(rgb) in (3, 4) else 4)
            colour = colour if len(colour) == 4 else (*colour, 1.0)
            break
    transparency = number(element, "transparency", 0.0)
    return (*colour[:3], colour[3] * (1.0 - transparency)), "" if plain else script


def _named(element) -> str:
    return f" '{element.get('name')}'" if element.get("name") else ""
