"""Options of a flight that is recorded."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xtdrone_core import XtdroneError, files
from xtdrone_core.errors import shown

from ..errors import SlamError

_MAX_LIGHT = 1000.0  # factor
HOVER, GROUND = "hover", "ground"  # where a recording begins


@dataclass(frozen=True)
class FlightOptions:
    """The options of `xtdrone slam record`."""

    world: str = "indoor"  # a name from worlds/, or an SDF file
    trajectory: str = "reference"  # see trajectories.load
    seed: int = 1
    light: float = 1.0  # factor on every lamp and the ambient light
    texture: float = 1.0  # fraction of the surfaces that keep their texture
    vehicle: str = "iris_stereo"  # type, with a grey stereo pair or a lidar
    gps: str = ""  # preset of the GNSS receiver; empty: the vehicle's
    sweep: float = 1.0  # time of a lidar's scan, as a fraction of that between two; 0: one instant
    begin: str = HOVER  # after the climb, or GROUND: at rest before it

    def __post_init__(self) -> None:
        for name in ("world", "trajectory", "vehicle", "gps", "begin"):
            if not isinstance(getattr(self, name), str):
                raise SlamError(
                    f"a {name} of {shown(getattr(self, name))} is not allowed: give a text"
                )
        if self.begin not in (HOVER, GROUND):
            raise SlamError(
                f"a begin of '{shown(self.begin)}' is not allowed: give {HOVER} or {GROUND}"
            )
        if not isinstance(self.seed, int) or self.seed < 0:
            raise SlamError(
                f"a seed of {shown(self.seed)} is not allowed: give a whole number from 0"
            )
        if not (isinstance(self.light, (int, float)) and 0 <= self.light <= _MAX_LIGHT):
            raise SlamError(
                f"a light of {shown(self.light)} is not allowed: give a factor from 0 "
                f"to {_MAX_LIGHT:g}"
            )
        if not (isinstance(self.texture, (int, float)) and 0 <= self.texture <= 1):
            raise SlamError(
                f"a texture of {shown(self.texture)} is not allowed: give a fraction from 0 to 1"
            )

        if not (isinstance(self.sweep, (int, float)) and 0 <= self.sweep <= 1):
            raise SlamError(
                f"a sweep of {shown(self.sweep)} is not allowed: give a fraction from 0 to 1"
            )

    def sensors(self) -> str:
        """Returns the scenario's changes of the sensors: the sweep of a vehicle's lidar.

        Raises:
            XtdroneError: No such vehicle.
        """
        from sensor_models.rendered.lidar import lidar_of  # here, since a help text needs neither
        from xtdrone_sim.vehicles.sdf import load_vehicle

        blocks = load_vehicle(self.vehicle).sensors
        rates = [lidar_of(block).rate for block in blocks if block.kind == "lidar"]
        return f"lidar.sweep={self.sweep / max(rates):.6g}" if rates and self.sweep else ""

    @property
    def label(self) -> str:
        """Short name for a folder: the world, and all options that are not at their default."""
        default = FlightOptions()
        parts = [Path(self.world).stem]
        if self.trajectory != default.trajectory:
            parts.append(Path(self.trajectory).stem)
        parts += [
            f"{name}{getattr(self, name):g}"
            for name in ("seed", "light", "texture", "sweep")
            if getattr(self, name) != getattr(default, name)
        ]
        parts += [
            value
            for value in (self.vehicle, self.gps, self.begin)
            if value not in (default.vehicle, default.gps, default.begin)
        ]
        return re.sub(r"[^A-Za-z0-9._+-]", "-", "_".join(parts))

    def metadata(self) -> dict[str, Any]:
        """Returns plain data for a report, with file names instead of paths."""
        return {
            **asdict(self),
            "world": Path(self.world).name,
            "trajectory": Path(self.trajectory).name,
        }

    def arguments(self) -> list[str]:
        """Returns the options as arguments of `xtdrone slam record`."""
        return [word for key, value in asdict(self).items() for word in (f"--{key}", str(value))]

    def save(self, folder: Path) -> None:
        """Writes slam.json into a run folder."""
        (Path(folder) / "slam.json").write_text(json.dumps(asdict(self), indent=2) + "\n")

    def matches(self, folder: Path) -> bool:
        """Returns whether a run folder contains a flight with exactly these options."""
        try:
            saved = files.read_json(Path(folder) / "slam.json")
            return {"sweep": FlightOptions.sweep, "begin": HOVER, **saved} == asdict(self)
        except XtdroneError:
            return False
