"""What all parts have: they write themselves into an SDF document."""

import hashlib
import math
import os
import re
from pathlib import Path
from typing import Any

from lxml import etree

from xtdrone_core.errors import ScenarioError, shown

Element = Any  # an element of lxml, whose class has no public name
Vector = tuple[float, float, float]
Colour = tuple[float, ...]  # RGB or RGBA, 0..1
OWN = "{urn:xtdrone}"  # namespace of the elements that only this workspace reads
ORIGIN: Vector = (0.0, 0.0, 0.0)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")


class Part:
    """A part of a vehicle or world. Inherit and implement write(), or inherit from a kind of it.

    Examples:
        >>> class Ring(Part):
        ...     def write(self, model):
        ...         add(model, "frame", name="ring", attached_to="base_link")
        >>> isinstance(Ring(), Part)
        True
    """

    def write(self, model: Element) -> None:
        """Adds the part to an SDF element: `<model>` of a vehicle, `<world>` of a world."""
        raise NotImplementedError


def add(parent: Element, tag: str, value: object = None, **attributes: str) -> Element:
    """Adds a child element; a value is text, a number, a bool or a sequence of numbers."""
    # Declared on the element itself: after a file that declares it on <sdf>, Gazebo 11 spawns none.
    own = {"xtdrone": OWN[1:-1]} if tag.startswith(OWN) else None
    child = etree.SubElement(parent, tag, attributes, nsmap=own)
    if value is not None:
        child.text = words(value)
    return child


def words(value: object) -> str:
    """Returns a value as SDF's text; numbers keep all their digits."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    return " ".join(repr(float(x)) for x in value)  # type: ignore[attr-defined]


def add_pose(parent: Element, pos: Vector, rpy: Vector = ORIGIN, **attributes: str) -> None:
    """Adds a `<pose>`: position [m], roll, pitch and yaw [rad]; none at the frame itself."""
    if any(pos) or any(rpy) or attributes:
        add(parent, "pose", (*pos, *rpy), **attributes)


def add_inertial(link: Element, mass: float, inertia: Vector) -> None:
    """Adds an `<inertial>` [kg], principal moments [kg m^2]."""
    inertial = add(link, "inertial")
    add(inertial, "mass", mass)
    matrix = add(inertial, "inertia")
    for tag, value in zip(("ixx", "iyy", "izz"), inertia, strict=True):
        add(matrix, tag, value)
    for tag in ("ixy", "ixz", "iyz"):
        add(matrix, tag, 0.0)


def add_colour(visual: Element, colour: Colour) -> None:
    """Adds a `<material>` of one colour."""
    rgba = colour if len(colour) == 4 else (*colour, 1.0)
    material = add(visual, "material")
    for tag in ("ambient", "diffuse"):
        add(material, tag, rgba)


def box_inertia(mass: float, size: Vector) -> Vector:
    """Returns principal moments of a solid box [kg m^2]: its mass [kg] and sides [m]."""
    x, y, z = size
    return (
        mass * (y * y + z * z) / 12.0,
        mass * (x * x + z * z) / 12.0,
        mass * (x * x + y * y) / 12.0,
    )


def check_name(what: str, name: str) -> None:
    """Refuses what is no name of a vehicle, sensor or model.

    Raises:
        ScenarioError: It is none.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ScenarioError(
            f"{what} '{shown(name)}' is not allowed: use letters, digits and '_', "
            "at most 100, the first one a letter"
        )


def check_positive(what: str, **values: object) -> None:
    """Refuses numbers that are not finite and above 0, also in vectors.

    Raises:
        ScenarioError: One is not.
    """
    for name, value in values.items():
        for number in value if isinstance(value, (tuple, list)) else (value,):
            if not (isinstance(number, (int, float)) and math.isfinite(number) and number > 0):
                raise ScenarioError(
                    f"{name} {shown(value)} of {what} is not allowed: give numbers above 0"
                )


def check_vectors(what: str, **values: Any) -> None:  # anything that a user gives: checked here
    """Refuses what is not three finite numbers.

    Raises:
        ScenarioError: One is not.
    """
    for name, value in values.items():
        try:
            fine = len(value) == 3 and all(math.isfinite(number) for number in value)
        except TypeError:
            fine = False
        if not fine:
            raise ScenarioError(
                f"{name} {shown(value)} of {what} is not allowed: give three finite numbers"
            )


def document(kind: str, name: str) -> tuple[Element, Element]:
    """Returns an SDF document with a `<model>` or `<world>` of that name: (root, that element)."""
    root = etree.Element("sdf", {"version": "1.7"})
    return root, add(root, kind, name=name)


def text_of(root: Element) -> str:
    """Returns a document as indented text."""
    etree.indent(root)
    text: str = etree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0"?>\n{text}\n'


def write_file(path: Path | str, text: str) -> Path:
    """Writes a document; another process that reads the file meanwhile finds all of it or none.

    Raises:
        ScenarioError: It cannot be written.
    """
    path = Path(path).expanduser()
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text)
        partial.replace(path)
    except OSError as error:
        raise ScenarioError(f"cannot write '{shown(path)}': {error.strerror or error}") from error
    return path


def kept_file(kind: str, name: str, text: str) -> Path:
    """Returns the file of a document in the cache, by its content; written if it is not there.

    Args:
        kind: models or worlds, the folder.
        name: Name of the model or world.
        text: The document.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "xtdrone" / kind
    folder = base / hashlib.sha256(text.encode()).hexdigest()[:16]
    path = folder / f"{name}.world" if kind == "worlds" else folder / name / "model.sdf"
    return path if path.is_file() else write_file(path, text)
