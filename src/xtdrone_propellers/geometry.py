"""The geometry of a propeller's blade: chord and pitch over the radius, and its files."""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown

from .errors import PropellerError

INCH = 0.0254  # [m]
ELEMENTS = 16  # annuli of a blade
_ROOT = 0.15  # of a generic blade, over the radius
_FEWEST = 4  # stations of a file
_SIZE = re.compile(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(?:x(\d))?")


@dataclass(frozen=True)
class Geometry:
    """A blade.

    Attributes:
        name: Of the propeller.
        radius: [m].
        blades: Number of blades.
        position, chord: (K,) rising radii and chords over the radius.
        pitch: (K,) angle of the chord to the disc [rad].
    """

    name: str
    radius: float
    blades: int
    position: tuple[float, ...]
    chord: tuple[float, ...]
    pitch: tuple[float, ...]

    def elements(self) -> np.ndarray:
        """(ELEMENTS, 4) radius, width and chord over the propeller's radius, and pitch [rad]."""
        edges = np.linspace(self.position[0], 1.0, ELEMENTS + 1)
        middle = 0.5 * (edges[1:] + edges[:-1])
        return np.stack(
            [
                middle,
                np.diff(edges),
                np.interp(middle, self.position, self.chord),
                np.interp(middle, self.position, self.pitch),
            ],
            axis=1,
        )


def generic(diameter: float, pitch: float, blades: int = 2) -> Geometry:
    """A blade of constant geometric pitch with the chord of a common propeller.

    Args:
        diameter: [inch].
        pitch: [inch].
        blades: Number of blades.
    """
    position = np.linspace(_ROOT, 1.0, 18)
    radius = 0.5 * diameter
    chord = 0.19 * np.sqrt(np.clip(1.0 - ((position - 0.42) / 0.62) ** 2, 0.04, None))
    angle = np.arctan(pitch / (2.0 * math.pi * position * radius))
    return Geometry(
        f"generic-{diameter:g}x{pitch:g}" + (f"x{blades}" if blades != 2 else ""),
        radius * INCH,
        blades,
        tuple(position.tolist()),
        tuple(chord.tolist()),
        tuple(angle.tolist()),
    )


def size_of(name: str, metric: bool = True) -> tuple[float, float, int] | None:
    """Diameter and pitch [inch] and blades of a name such as 10x4.7 or 5x4.3x3; None without.

    With `metric`, diameters above 40 are millimetres, as the names of small propellers have them.
    """
    found = _SIZE.search(name)
    if found is None:
        return None
    diameter, pitch, blades = float(found[1]), float(found[2]), int(found[3] or 2)
    unit = 25.4 if metric and diameter > 40.0 else 1.0
    return diameter / unit, pitch / unit, blades


def read_geometry(path: Path | str, diameter: float = 0.0, blades: int = 0) -> Geometry:
    """Reads a geometry file: UIUC's (r/R, c/R, beta) or APC's (STATION, CHORD, ..., TWIST).

    Args:
        path: The file.
        diameter: [inch]; 0: that of the file or its name.
        blades: 0: those of the file, or 2.

    Raises:
        PropellerError: It is neither, its radii do not rise, or its units are mixed.
    """
    text = files.read_text(path, "geometry of a propeller", error=PropellerError)
    name, where = Path(path).stem, f"geometry '{shown(path)}'"
    size = size_of(name)
    apc = re.search(r"STATION\s+CHORD", text, re.IGNORECASE)
    rows = _rows(text)
    if len(rows) < _FEWEST:
        raise PropellerError(
            f"{where} has {len(rows)} rows of numbers: give at least {_FEWEST} of r/R, c/R and "
            "beta [deg], or APC's of STATION, CHORD and TWIST"
        )
    if apc:
        found = re.search(r"RADIUS:?\s+([\d.]+)", text, re.IGNORECASE)
        named = 0.5 * size[0] if size else float(found[1]) if found else 0.0
        radius = 0.5 * diameter or named or float(rows[-1][0])
        twist = _column(text, "TWIST")
        table = np.array([[row[0] / radius, row[1] / radius, row[twist]] for row in rows])
        counted = re.search(r"BLADES:?\s+(\d+)", text, re.IGNORECASE)
        blades = blades or (int(counted[1]) if counted else 2)
    else:
        radius = 0.5 * diameter or (0.5 * size[0] if size else 0.0)
        table = np.array([row[:3] for row in rows if len(row) >= 3])
        blades = blades or (size[2] if size else 2)
    if radius <= 0.0:
        raise PropellerError(
            f"{where} does not say how large the propeller is: give --diameter [inch], or a "
            "name such as mine_10x4.7.txt"
        )
    _check(table, where)
    return Geometry(
        name,
        radius * INCH,
        blades,
        tuple(table[:, 0].tolist()),
        tuple(table[:, 1].tolist()),
        tuple(np.radians(table[:, 2]).tolist()),
    )


def _rows(text: str) -> list[list[float]]:
    """Lines that are numbers alone, three or more."""
    rows = []
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        try:
            row = [float(word) for word in words]
        except ValueError:
            continue
        if len(row) >= 3:
            rows.append(row)
    return rows


def _column(text: str, name: str) -> int:
    """Index of a column of APC's table by its heading."""
    heading = next(line for line in text.splitlines() if re.search(r"STATION\s+CHORD", line, re.I))
    words = heading.upper().split()
    return words.index(name) if name in words else 2


def _check(table: np.ndarray, where: str) -> None:
    """Refuses radii that do not rise, and units that cannot be."""
    position, chord, pitch = table.T
    if not np.isfinite(table).all():
        raise PropellerError(f"{where} has a number that is not finite: correct it")
    falls = np.flatnonzero(np.diff(position) <= 0.0)
    if falls.size:
        k = int(falls[0])
        raise PropellerError(
            f"{where}: the radius falls from {position[k]:g} to {position[k + 1]:g}; give "
            "rising radii"
        )
    if position[0] <= 0.0 or position[-1] > 1.02:
        raise PropellerError(
            f"{where}: the radii go from {position[0]:g} to {position[-1]:g}; give r/R above 0, "
            "up to 1 (the diameter, for APC's inches)"
        )
    if chord.min() <= 0.0 or chord.max() > 0.7:
        raise PropellerError(
            f"{where}: the chord over the radius is {chord.min():g} to {chord.max():g}; give c/R "
            "above 0, up to 0.7"
        )
    if np.abs(pitch).max() < 1.6:
        raise PropellerError(
            f"{where}: the largest pitch is {np.abs(pitch).max():g}, as radians are; give degrees"
        )
    if np.abs(pitch).max() > 90.0:
        raise PropellerError(
            f"{where}: the largest pitch is {np.abs(pitch).max():g}; give degrees up to 90"
        )
