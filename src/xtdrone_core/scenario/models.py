"""Models that are put into the world at the start, such as a parcel or a marker.

A list is a string with entries separated by ';': a name from models/ or the path of an SDF file or
model's folder, and where it stands [m, m, m, rad]; NAME= in front gives it another name:

    parcel@3,0; goal=marker_board@5,1,0,1.57
"""

import re
from dataclasses import dataclass
from pathlib import Path

from .. import resources
from ..errors import ScenarioError, shown
from .options import number

_ENTRY = re.compile(r"(?:([^=@]+)=)?([^=@]+)@([^@]+)")
_FAR = 1e5  # [m]
_LIMITS = (("x", _FAR, "m"), ("y", _FAR, "m"), ("z", _FAR, "m"), ("yaw", 100.0, "rad"))


@dataclass(frozen=True)
class PlacedModel:
    """A model of the world.

    Attributes:
        name: Its name in the world.
        sdf: Its SDF file.
        pos: Where it stands, world [m].
        yaw: About the vertical [rad].
    """

    name: str
    sdf: Path
    pos: tuple[float, float, float]
    yaw: float = 0.0


def parse_models(text: str) -> tuple[PlacedModel, ...]:
    """The models of a list.

    Args:
        text: Entries as above; empty for none.

    Raises:
        ScenarioError: An entry cannot be parsed, or there is no such model.
    """
    models: list[PlacedModel] = []
    for entry in filter(None, map(str.strip, text.split(";"))):
        match = _ENTRY.fullmatch(entry)
        words = match[3].split(",") if match else []
        if match is None or not 2 <= len(words) <= 4:
            raise ScenarioError(
                f"model '{shown(entry)}' is not allowed: write MODEL@X,Y,Z,YAW or "
                "NAME=MODEL@X,Y,Z,YAW, separated by ';'"
            )
        x, y, z, yaw = (
            number(f"{what} of model '{shown(entry)}'", word, -most, most, unit=unit)
            for (what, most, unit), word in zip(_LIMITS, [*words, "0", "0"])
        )
        sdf = resources.world_model_sdf(match[2].strip())
        name = (match[1] or (sdf.parent.name if sdf.stem == "model" else sdf.stem)).strip()
        if name in (model.name for model in models):
            raise ScenarioError(
                f"there are two models '{name}': give one another name, as in "
                f"{name}_1={match[2].strip()}@{match[3]}"
            )
        models.append(PlacedModel(name, sdf, (x, y, z), yaw))
    return tuple(models)
