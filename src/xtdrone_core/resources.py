"""Locates models/, worlds/ and launch/ in the checkout or in an installed copy."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from .errors import ScenarioError, unknown_name


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
    raise ScenarioError(f"no models folder in {', '.join(map(str, candidates))}: set XTDRONE_ROOT "
                        "to the workspace's folder")


def vehicle_names() -> list[str]:
    """Names of the vehicles: folders of models/ with a model.sdf that has rotors."""
    return sorted(path.parent.name for path in (root() / "models").glob("*/model.sdf")
                  if "motor_model" in path.read_text(errors="replace"))


def world_names() -> list[str]:
    """Names of the worlds in worlds/."""
    return sorted(path.stem for path in (root() / "worlds").glob("*.world"))


def vehicle_sdf(name: str) -> Path:
    """The SDF file of a vehicle: a name from models/, or a path to an SDF file.

    Raises:
        ScenarioError: No such vehicle.
    """
    return _find("vehicle", name, root() / "models" / name / "model.sdf", vehicle_names)


def world_sdf(name: str) -> Path:
    """The SDF file of a world: a name from worlds/, or a path to an SDF file.

    Raises:
        ScenarioError: No such world.
    """
    return _find("world", name, root() / "worlds" / f"{name}.world", world_names)


def _find(what: str, name: str, path: Path, names: Callable[[], list[str]]) -> Path:
    if "/" in name or name.endswith((".sdf", ".world")):
        path = Path(name).expanduser()
        if path.is_file():
            return path.resolve()
        raise ScenarioError(f"no {what} file '{name}': give a path to an SDF file, or one of "
                            f"{', '.join(names())}")
    if path.is_file():
        return path
    raise ScenarioError(unknown_name(what, name, names()))
