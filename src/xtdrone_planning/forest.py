"""Worlds of SDF from the random worlds of a batch, as engines and Gazebo read them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from xtdrone_batch.scenes import BOX, CYLINDER, NO_OBJECT, PLANE, SPHERE
from xtdrone_batch.worlds.generate import World
from xtdrone_core import resources
from xtdrone_core.outputs import cannot_write

from .errors import PlanningError
from .people import Walk, add_people, walks

_FRAME = "empty"  # the world whose ground, light and sky it gets
_SIZES = {
    BOX: ("box", ("size",)),
    SPHERE: ("sphere", ("radius",)),
    CYLINDER: ("cylinder", ("radius", "length")),
}


def bounds_of(world: str) -> np.ndarray:
    """Returns the bounds (2, 3) of a batch's world [m].

    Raises:
        XtdroneError: There is no such world.
    """
    return np.array(World(world).file.bounds, dtype=float).reshape(2, 3)


def objects_of(world: str, seed: int, environment: int = 0) -> np.ndarray:
    """Returns the objects of one environment of a batch's world, without ground and padding.

    Raises:
        XtdroneError: There is no such world.
    """
    objects = World(world).generate(1, seed, environment).objects[0]
    stands = (objects["kind"] != NO_OBJECT) & (objects["kind"] != PLANE)
    return objects[stands]


def world_xml(objects: np.ndarray, name: str, people: Sequence[Walk] = ()) -> bytes:
    """Returns objects, and people who walk, as an SDF world on the ground of the empty world.

    Raises:
        PlanningError: An object is a mesh, which has no file.
    """
    tree = etree.parse(str(resources.world_sdf(_FRAME)))
    world = tree.getroot().find("world")
    assert world is not None  # the file is ours
    world.set("name", name)
    model = etree.SubElement(world, "model", name=name)
    _text(model, "static", "1")
    for k, obj in enumerate(objects):
        if int(obj["kind"]) not in _SIZES:
            raise PlanningError("a mesh of a batch's world is not written to SDF: leave it out")
        link = etree.SubElement(model, "link", name=f"object_{k}")
        angles = Rotation.from_quat(obj["quat"]).as_euler("xyz")
        _text(link, "pose", _numbers([*obj["pos"], *angles]))
        for part in ("collision", "visual"):
            shape = etree.SubElement(link, part, name=part)
            _geometry(shape, obj)
            if part == "visual":
                material = etree.SubElement(shape, "material")
                for light in ("ambient", "diffuse"):
                    _text(material, light, _numbers([*obj["colour"], 1.0]))
    add_people(world, people)
    etree.indent(tree)
    return etree.tostring(tree, xml_declaration=True, encoding="utf-8")


def write_world(path: Path, world: str, seed: int, environment: int = 0, people: int = 0) -> int:
    """Writes an environment as an SDF world, with people; returns its number of objects.

    Raises:
        XtdroneError: There is no such world, or the file cannot be written.
    """
    objects = objects_of(world, seed, environment)
    walking = walks(objects, bounds_of(world), people, seed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(world_xml(objects, Path(world).stem, walking))
    except OSError as error:
        raise cannot_write(path, error, PlanningError) from error
    return len(objects)


def _geometry(parent: etree._Element, obj: np.void) -> None:
    """Adds the shape of an object."""
    kind, fields = _SIZES[int(obj["kind"])]
    shape = etree.SubElement(etree.SubElement(parent, "geometry"), kind)
    if kind == "box":
        _text(shape, "size", _numbers(obj["size"]))
        return
    for field, value in zip(fields, obj["size"]):
        _text(shape, field, _numbers([value]))


def _text(parent: etree._Element, tag: str, text: str) -> None:
    etree.SubElement(parent, tag).text = text


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{float(value):.6g}" for value in values)
