"""Locates models/, worlds/ and launch/ in the checkout or in an installed copy."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from . import files
from .errors import ScenarioError, XtdroneError, shown, unknown_name

TEMPLATES = {
    ".jinja": "PX4's scripts/jinja_gen.py",
    ".jinja2": "PX4's scripts/jinja_gen.py",
    ".j2": "PX4's scripts/jinja_gen.py",
    ".erb": "erb FILE > FILE.sdf",
    ".rsdf": "erb FILE > FILE.sdf",
    ".em": "empy FILE > FILE.sdf",
}  # programs that render these files
_XACRO, _URDF = ".xacro", ".urdf"  # suffixes
_CONFIG = "model.config"  # names a model's SDF files, one for each version of SDF


def root() -> Path:
    """The folder that holds models/, worlds/ and launch/.

    Searched in this order: XTDRONE_ROOT; the checkout of this file;
    share/xtdrone of the Python environment (after `pip install`).

    Raises:
        ScenarioError: None of the three has a models folder.
    """
    candidates = [Path(os.environ["XTDRONE_ROOT"])] if "XTDRONE_ROOT" in os.environ else []
    candidates += [Path(__file__).resolve().parents[2], Path(sys.prefix) / "share" / "xtdrone"]
    for candidate in candidates:
        if (candidate / "models").is_dir():
            return candidate
    raise ScenarioError(
        f"no models folder in {', '.join(map(str, candidates))}: set XTDRONE_ROOT "
        "to the workspace's folder"
    )


def folders_of(variable: str) -> list[Path]:
    """The folders that an environment variable lists, separated by ':'."""
    return [Path(entry).expanduser() for entry in os.environ.get(variable, "").split(":") if entry]


def model_folders() -> list[Path]:
    """Folders in which Gazebo's `model://NAME` is looked up."""
    named = [*folders_of("GAZEBO_MODEL_PATH"), *folders_of("GZ_SIM_RESOURCE_PATH")]
    return [*named, root() / "models", Path.home() / ".gazebo/models"]


def model_sdf(folder: Path) -> Path:
    """The SDF file of a model's folder.

    It is the one of the newest version of SDF in model.config; without such a file model.sdf, or
    the folder's only SDF file.

    Raises:
        ScenarioError: There is none.
    """
    named = _newest(folder / _CONFIG)
    alone = sorted(folder.glob("*.sdf"))
    for path in (
        *([folder / named] if named else []),
        folder / "model.sdf",
        *(alone if len(alone) == 1 else []),
    ):
        if files.is_file(path):
            return path
    sources = _sources(folder)
    if sources:
        what, how = _first_step(sources[0])
        raise ScenarioError(f"'{folder}' has {what} only, {sources[0].name}: {how}")
    if alone:
        raise ScenarioError(
            f"'{folder}' has {len(alone)} SDF files, {', '.join(path.name for path in alone)}: "
            "name one of them" + (f"; its {_CONFIG} names '{named}'" if named else "")
        )
    raise ScenarioError(
        f"'{folder}' has no SDF file"
        + (f": its {_CONFIG} names '{named}'" if named else ": give a model's folder or file")
    )


def is_model_folder(folder: Path) -> bool:
    """Whether a folder is a model's: it has a model.config, an SDF file, or what becomes one."""
    return files.is_file(folder / _CONFIG) or any(folder.glob("*.sdf")) or bool(_sources(folder))


def _sources(folder: Path) -> list[Path]:
    """The files of a folder that an SDF file can be made of."""
    return sorted(
        path
        for suffix in (*TEMPLATES, _XACRO, _URDF)
        for path in folder.glob(f"*{suffix}")
        if files.is_file(path)
    )


def _first_step(source: Path) -> tuple[str, str]:
    """What a file is that becomes SDF, and how it does."""
    if source.suffix == _URDF:
        return "URDF", f"convert it first (gz sdf -p {source.name} > {source.stem}.sdf)"
    how = TEMPLATES.get(source.suffix, f"xacro {source.name}")
    return "a template", f"render it first ({how})"


def _newest(config: Path) -> str:
    """The file of the newest version of SDF that a model.config names; "" without one."""
    try:
        entries = files.read_xml(config).iterfind("sdf")
    except XtdroneError:
        return ""
    versions = [
        (_version(entry.get("version", "")), (entry.text or "").strip()) for entry in entries
    ]
    return max(versions, key=lambda entry: entry[0], default=((), ""))[1]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def vehicle_names() -> list[str]:
    """Names of the vehicles: folders of models/ with rotors, or with a flight stack's plugin."""
    return sorted(folder.name for folder in (root() / "models").iterdir() if _is_vehicle(folder))


def _is_vehicle(folder: Path) -> bool:
    try:
        sdf = files.read_bytes(model_sdf(folder))
    except XtdroneError:
        return False
    return b"motor_model" in sdf or b"mavlink_interface" in sdf


def world_names() -> list[str]:
    """Names of the worlds in worlds/."""
    return sorted(path.stem for path in (root() / "worlds").glob("*.world"))


def vehicle_sdf(name: str | os.PathLike[str]) -> Path:
    """The SDF file of a vehicle: a name from models/, or a path to an SDF file or model's folder.

    Raises:
        ScenarioError: No such vehicle.
    """
    name = os.fspath(name)
    return _find("vehicle", name, root() / "models" / name, vehicle_names)


def world_model_sdf(name: str | os.PathLike[str]) -> Path:
    """The SDF file of a model of a world: a name from models/, or a path as of vehicle_sdf().

    Raises:
        ScenarioError: No such model.
    """
    name = os.fspath(name)
    return _find("model", name, root() / "models" / name, world_model_names)


def world_model_names() -> list[str]:
    """Names of the models in models/ that are no vehicles."""
    folders = (path for path in (root() / "models").iterdir() if is_model_folder(path))
    return sorted(folder.name for folder in folders if not _is_vehicle(folder))


def world_sdf(name: str | os.PathLike[str]) -> Path:
    """The SDF file of a world: a name from worlds/, or a path to an SDF file.

    Raises:
        ScenarioError: No such world.
    """
    name = os.fspath(name)
    return _find("world", name, root() / "worlds" / f"{name}.world", world_names)


def batch_world_names() -> list[str]:
    """Names of the world files in worlds/batch."""
    return sorted(path.stem for path in (root() / "worlds" / "batch").glob("*.yaml"))


def batch_world(name: Path | str) -> Path:
    """A world file for a batch: a name from worlds/batch or worlds, or a path.

    Raises:
        ScenarioError: A word without '.' and '/' that is no name.
    """
    path = Path(name).expanduser()
    if path.suffix or path.name != str(name):
        return path
    if str(name) in batch_world_names():
        return root() / "worlds" / "batch" / f"{name}.yaml"
    if str(name) in world_names():
        return world_sdf(str(name))
    raise ScenarioError(
        unknown_name("world", name, [*batch_world_names(), *world_names()], "a YAML or SDF file")
    )


def track_names() -> list[str]:
    """Names of the race tracks in worlds/tracks."""
    return sorted(path.stem for path in (root() / "worlds" / "tracks").glob("*.yaml"))


def track_file(name: Path | str) -> Path:
    """The YAML file of a race track: a path, which need not exist, or a name from worlds/tracks.

    Raises:
        ScenarioError: A word without '.' and '/' that is no name.
    """
    path = Path(name).expanduser()
    if path.suffix or path.name != str(name):
        return path
    if str(name) not in track_names():
        raise ScenarioError(unknown_name("track", name, track_names(), "a YAML file"))
    return root() / "worlds" / "tracks" / f"{name}.yaml"


def mission_names() -> list[str]:
    """Names of the plans in docs/missions."""
    return sorted(path.stem for path in (root() / "docs" / "missions").glob("*.plan"))


def mission_plan(name: Path | str) -> Path:
    """The .plan file of a mission: a path, which need not exist, or a name from docs/missions.

    Raises:
        ScenarioError: A word without '.' and '/' that is neither a file nor a name, or a name
            with .plan where there is no such file.
    """
    path = Path(name).expanduser()
    if not path.exists() and path.name == str(name) == f"{path.stem}.plan":
        if path.stem in mission_names():
            raise ScenarioError(
                f"no file '{name}' in this folder: the plan that ships is called '{path.stem}'"
            )
    if path.exists() or path.suffix or path.name != str(name):
        return path
    if str(name) not in mission_names():
        raise ScenarioError(unknown_name("mission", name, mission_names(), "a .plan file"))
    return root() / "docs" / "missions" / f"{name}.plan"


def _find(what: str, name: str, path: Path, names: Callable[[], list[str]]) -> Path:
    given = "/" in name or Path(name).suffix != ""
    if given:
        path = Path(os.path.realpath(os.path.expanduser(name)))
    if files.is_folder(path):
        return model_sdf(path)
    if files.is_file(path):
        return path
    if given:
        raise ScenarioError(
            f"no {what} file '{shown(name)}': give a path to an SDF file, or one "
            f"of {', '.join(names())}"
        )
    raise ScenarioError(unknown_name(what, name, names(), "a path to an SDF file"))
