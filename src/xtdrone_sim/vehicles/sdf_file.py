"""SDF files: found by path or URI, read as Gazebo reads them, xacro's rendered first."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

from lxml import etree

from xtdrone_core import files, resources
from xtdrone_core.errors import ScenarioError, shown, unknown_name

from ..errors import SdfError

Element = Any  # an element of lxml, whose class is private

OWN = "{urn:xtdrone}"  # namespace of the elements that only this workspace reads
_OWN_PARENTS = {
    "effects": "model",
    "battery": "model",
    "propeller": "plugin",
    "gripper_channel": "plugin",
    "in_water": "plugin",
    "slipstream": "plugin",
    "servo": "channel",
    "wheel": "channel",
    "actuator": "channel",
    "hull": "model",
    "half_wing": "model",
    "water": "world",
    "figure": "actor",
    "colour": "actor",
    "swing": "joint",
    "roll": "joint",
}  # name: parent
_FUEL_CACHES = ".gz/fuel", ".ignition/fuel"  # below the home folder
_XACRO_S = 60.0  # time-out of a file's rendering [s]
_XACRO = re.compile(rb"\sxmlns:xacro\s*=")
_EXPRESSION = re.compile(rb"\$[({]|<xacro:")
_NEEDED = re.compile(rb"\$\{|<xacro:(?!arg\b)")
_ROBOT = re.compile(rb"<robot[\s>]")
_ROOT = re.compile(rb"<[A-Za-z_][\w:.-]*")
_DECLARED = re.compile(rb"\sxmlns:([\w.-]+)\s*=")
_PREFIX = re.compile(rb"</?([A-Za-z_][\w.-]*):[A-Za-z_]|\s([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*\s*=")
_DECLARATION = re.compile(rb"<\?xml[^>]*\?>")


_NOTES: ContextVar[list[str] | None] = ContextVar("notes", default=None)


@contextlib.contextmanager
def noted() -> Iterator[list[str]]:
    """Gathers what note() says about the files that are read within it, each line once."""
    notes: list[str] = []
    before = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(before)


def note(element: Element, message: str) -> None:
    """Notes what of an element is not used as its file gives it; it becomes a warning."""
    notes, line = _NOTES.get(), f"{Path(element.base).name}:{element.sourceline}: {message}"
    if notes is not None and line not in notes:
        notes.append(line)


def fail(element: Element, message: str) -> NoReturn:
    """Raises SdfError with file and line of an element."""
    raise SdfError(f"{element.base}:{element.sourceline}: {message}")


def parse(path: Path, *what: str) -> Element:
    """The first element of some kinds in an SDF file.

    Args:
        path: The file.
        what: Kinds, for example "model"; the first one that the file has counts.

    Raises:
        SdfError: Cannot be read, malformed XML, not SDF, or without that element.
    """
    data = _content(path)
    if not _is_xacro(path, data):
        return _first(_root(data, str(path)), what)
    return _first(_root(_expanded(path, data), str(path)), what, expand=True)


def parse_text(words: str, name: str, *what: str) -> Element:
    """Does as parse() with SDF text that comes without a file; messages call it by the name.

    Raises:
        SdfError: Malformed XML, not SDF, or without that element.
    """
    return _first(_root(words.encode(errors="replace"), name), what)


def _root(data: bytes, name: str) -> Element:
    """The root element of a document."""
    # Gazebo's parser takes a declaration that stands behind a comment, as templates leave it.
    data = _DECLARATION.sub(lambda found: b" " * len(found[0]) if found.start() else found[0], data)
    return files.parse_xml(_with_namespaces(files.without_comments(data)), name, SdfError)


def _with_namespaces(data: bytes) -> bytes:
    """A document that declares its prefixes: TinyXML knows no namespaces, and takes any."""
    declared = {*_DECLARED.findall(data), b"xml", b"xmlns", b"xtdrone"}
    missing = sorted({a or b for a, b in _PREFIX.findall(data)} - declared)
    root = _ROOT.search(data)
    if not missing or root is None:
        return data
    more = b"".join(b' xmlns:%b="%b"' % (prefix, prefix) for prefix in missing)
    return data[: root.end()] + more + data[root.end() :]


def _first(root: Element, what: tuple[str, ...], expand: bool = False) -> Element:
    """The first element of some kinds in an SDF document; `expand`: xacro has made it."""
    if root.tag == "robot":
        fail(root, f"is URDF: convert it by {_commands(Path(root.base), expand, urdf=True)}")
    if root.tag != "sdf":
        fail(root, f"the root element is <{root.tag}>: an SDF file starts with <sdf>")
    _check_own(root)
    for tag in what:
        if root.find(tag) is not None:
            return root.find(tag)
    include = root.find("include")
    if include is not None and "model" in what:  # a file may consist of one
        return _included(include, what)
    fail(root, f"has no <{'> or <'.join(what)}>")


def _included(include: Element, what: tuple[str, ...]) -> Element:
    """What the <include> that is all of a file brings in, under the name that it gives."""
    uri = include.findtext("uri", "").strip()
    if not uri:
        fail(include, "<include> has no <uri>")
    path = resolve_model(include, uri)
    model = next(iter(_root(_content(path), str(path)).iterchildren(*what)), None)
    if model is None:
        fail(include, f"'{path}' has no <{'> or <'.join(what)}>")
    name = include.findtext("name", "").strip()
    if name:
        model.set("name", name)
    return model


def resolve_uri(element: Element, uri: str) -> Path:
    """The file or folder that a URI of this element's file names.

    `model://NAME/...` is looked up among the models beside the SDF file, then in GAZEBO_MODEL_PATH,
    models/ and ~/.gazebo/models; so is the model of an address of Fuel that is not in the cache of
    the new Gazebo, ~/.gz/fuel; other paths count from the SDF file's folder, then from those
    of GAZEBO_RESOURCE_PATH.

    Raises:
        SdfError: Nothing is there.
    """
    beside = Path(element.base).parent
    if uri.startswith(("http://", "https://")):
        uri = _of_fuel(element, uri)
    if uri.startswith(("model://", "models://", "package://")):
        variable, relative = "GAZEBO_MODEL_PATH", uri.split("://", 1)[1].lstrip("/")
        folders = [beside.parent, beside.parent / "models", *resources.model_folders()]
    else:
        variable, relative = "GAZEBO_RESOURCE_PATH", uri.removeprefix("file://")
        folders = [beside, *resources.folders_of("GAZEBO_RESOURCE_PATH")]
    for folder in folders:
        if os.path.exists(folder / relative):
            return (folder / relative).resolve()
    fail(
        element,
        f"'{shown(uri)}' does not exist: looked in {', '.join(map(str, dict.fromkeys(folders)))}; "
        f"name the folder that holds it in {variable}",
    )


def _of_fuel(element: Element, uri: str) -> str:
    """What stands for an address of Fuel on this machine: a folder of the cache, or model://NAME.

    Raises:
        SdfError: The address names no model that is here.
    """
    _, _, host, _, owner, kind, name, *inside = [*unquote(uri).split("/"), *[""] * 4]
    rest = [part for part in inside if part and part != "tip" and not part.isdigit()]
    if rest[:1] == ["files"]:
        rest = rest[1:]
    for cache in _FUEL_CACHES:
        folder = Path.home() / cache / host / owner.lower() / kind / name.lower()
        versions = [each for each in folder.glob("*") if each.name.isdigit()]
        if versions:
            return str(max(versions, key=lambda each: int(each.name)).joinpath(*rest))
    beside = Path(element.base).parent  # a model may stand for that of Fuel with its own name
    for parent in (beside.parent, beside.parent / "models", *resources.model_folders()):
        for known in (name, name.lower().replace(" ", "_")):  # as of Gazebo 11's ground_plane
            folder = parent / known
            if name and folder.is_dir() and folder.resolve() != beside.resolve():
                return "model://" + "/".join([known, *rest])
    fail(
        element,
        f"'{shown(uri)}' is on the network, and neither in ~/{_FUEL_CACHES[0]} nor among the "
        f"models: run 'gz fuel download -u \"{shown(uri)}\"', or name the folder that holds "
        f"'{shown(name)}' in GZ_SIM_RESOURCE_PATH",
    )


def resolve_model(element: Element, uri: str) -> Path:
    """The SDF file that an <include>'s URI names: a file, or that of a model's folder.

    The new Gazebo also takes the name of a model without model://.

    Raises:
        SdfError: Nothing is there, or no SDF file in the folder.
    """
    bare = "://" not in uri and not (Path(element.base).parent / uri).exists()
    path = resolve_uri(element, f"model://{uri}" if bare else uri)
    if not path.is_dir():
        return path
    try:
        return resources.model_sdf(path)
    except ScenarioError as error:
        fail(element, str(error))


def _content(path: Path) -> bytes:
    """The file's text."""
    if path.suffix in resources.TEMPLATES:
        raise SdfError(
            f"{path}: is a template: render it first ({resources.TEMPLATES[path.suffix]})"
        )
    return files.read_bytes(path, "SDF file", error=SdfError)


def _is_xacro(path: Path, data: bytes) -> bool:
    """Whether a file has to be expanded by xacro first, whatever it is called.

    SDF may declare its namespace and use it nowhere, or for arguments that Gazebo does without, as
    PX4's delta_wing.sdf does: Gazebo reads such a file as it is.
    """
    plain = files.without_comments(data)
    declared = _XACRO.search(plain) is not None
    if declared and _ROBOT.search(plain) is not None:
        return True
    if path.suffix == ".xacro":
        return _EXPRESSION.search(plain) is not None
    return declared and _NEEDED.search(plain) is not None


def _commands(path: Path, expand: bool, urdf: bool) -> str:
    """The commands that make SDF of a file of xacro, of URDF, or of both."""
    stem, source = path.with_suffix("").stem, path.name
    commands = []
    if expand:
        commands, source = [f"xacro {source} > {stem}.{'urdf' if urdf else 'sdf'}"], f"{stem}.urdf"
    if urdf:
        commands.append(f"gz sdf -p {source} > {stem}.sdf")
    return " and ".join(f"'{command}'" for command in commands)


def _expanded(path: Path, data: bytes) -> bytes:
    """What a xacro file with this text expands to."""
    program = shutil.which("xacro")
    if program is None:
        raise SdfError(
            f"{path}: is a xacro file, and there is no program xacro: install it, for "
            f"example by 'pip install xacro', or run "
            f"{_commands(path, True, _ROBOT.search(data) is not None)} elsewhere"
        )
    try:
        return subprocess.run(
            [program, str(path)], capture_output=True, check=True, cwd=path.parent, timeout=_XACRO_S
        ).stdout
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise SdfError(
            f"{path}: xacro cannot expand it: {said[-1] if said else 'no reason given'}"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise SdfError(f"{path}: xacro does not end within {_XACRO_S:g} s") from error


def _check_own(root: Element) -> None:
    """Rejects elements of the xtdrone namespace that would be ignored: misspelt or misplaced."""
    for element in root.iter("*"):
        name = etree.QName(element).localname
        parent = element.getparent()
        if element.tag.startswith(OWN):
            if name not in _OWN_PARENTS:
                fail(element, unknown_name("element of xtdrone", name, _OWN_PARENTS))
            if parent.tag != _OWN_PARENTS[name]:
                fail(
                    element,
                    f"<xtdrone:{name}> is in <{parent.tag}>: put it into <{_OWN_PARENTS[name]}>",
                )
        elif element.prefix == "xtdrone" or (
            parent is not None and _OWN_PARENTS.get(element.tag) == parent.tag
        ):
            fail(
                element,
                f"<{name}> is not in the xtdrone namespace: write <xtdrone:{name} "
                f'xmlns:xtdrone="{OWN[1:-1]}">',
            )
