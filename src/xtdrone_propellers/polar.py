"""Lift and drag of an airfoil at any angle of attack."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import extras, files
from xtdrone_core.errors import shown

from .errors import PropellerError

ANGLES = 361  # of a polar, a degree apart
AIR_VISCOSITY = 1.46e-5  # kinematic, at sea level [m^2/s]
_WIDTH = 10.0  # of the change to the separated flow [deg]
_PLATE_DRAG = 1.98  # of a plate across the flow, for a blade without end [-]
_ENDS = 20  # rows of a polar at least


@dataclass(frozen=True)
class Polar:
    """An airfoil.

    Attributes:
        lift, drag: (ANGLES,) coefficients from -180 to 180 degrees.
        reynolds: At which they hold.
        exponent: Drag grows with the Reynolds number over `reynolds` to this power.
    """

    lift: tuple[float, ...]
    drag: tuple[float, ...]
    reynolds: float = 1e5
    exponent: float = -0.4


def angles() -> np.ndarray:
    """(ANGLES,) angles of attack of a polar [rad]."""
    return np.radians(np.linspace(-180.0, 180.0, ANGLES))


def default_polar() -> Polar:
    """Returns the polar of a thin cambered blade at a Reynolds number of 1e5.

    Its numbers are rounded from those of NACA 4408 and Clark Y: zero lift at -4 degrees, slope 5.6
    per radian, stall at 10 and -8 degrees, least drag 0.018 at a lift of 0.5.
    """
    alpha = np.radians(np.arange(-8.0, 11.0))
    lift = 5.6 * (alpha + math.radians(4.0))
    return extended(alpha, lift, 0.018 + 0.03 * (lift - 0.5) ** 2)


def extended(alpha: np.ndarray, lift: np.ndarray, drag: np.ndarray, reynolds: float = 1e5) -> Polar:
    """Extends a polar of attached flow to all angles, as Viterna and Corrigan have it.

    Beyond its ends lift and drag go over to those of a plate: drag rises with the square of the
    sine of the angle, and lift follows from both.

    Args:
        alpha: (K,) rising angles of attack [rad].
        lift, drag: (K,) coefficients.
        reynolds: At which they hold.
    """
    whole = angles()
    low, high = float(alpha[0]), float(alpha[-1])
    if low <= -math.pi + 0.02 and high >= math.pi - 0.02:
        return Polar(
            tuple(np.interp(whole, alpha, lift)), tuple(np.interp(whole, alpha, drag)), reynolds
        )
    slope = np.gradient(lift, alpha)
    start, end = max(slope[0], 0.0), max(slope[-1], 0.0)
    inside = np.clip(whole, low, high)
    attached = np.interp(inside, alpha, lift)
    attached += np.where(whole > high, end, start) * (whole - inside) * 0.3
    attached_drag = np.interp(inside, alpha, drag) + 2.0 * (whole - inside) ** 2
    sine, cosine = np.sin(whole), np.cos(whole)
    plate = 0.5 * _PLATE_DRAG * np.sin(2.0 * whole)
    plate_drag = _PLATE_DRAG * sine**2 + float(drag.min()) * np.abs(cosine)
    width = math.radians(_WIDTH)
    beyond = np.clip(np.maximum(whole - high, low - whole) / width, 0.0, 1.0)
    separated = beyond * beyond * (3.0 - 2.0 * beyond)
    return Polar(
        tuple((1.0 - separated) * attached + separated * plate),
        tuple((1.0 - separated) * attached_drag + separated * plate_drag),
        reynolds,
    )


def read_polar(path: Path | str) -> Polar:
    """Reads a polar: rows of angle [deg], lift and drag coefficient, as XFOIL and AeroDyn write it.

    Lines that do not begin with three numbers are skipped.

    Raises:
        PropellerError: It has too few rows, they do not rise, or the angles are radians.
    """
    rows = []
    for line in files.read_text(path, "polar", error=PropellerError).splitlines():
        words = line.replace(",", " ").split()
        try:
            rows.append([float(word) for word in words[:3]])
        except ValueError:
            continue
    table = np.array([row for row in rows if len(row) == 3])
    if len(table) < _ENDS:
        raise PropellerError(
            f"polar '{shown(path)}' has {len(table)} rows of angle, lift and drag: give at least "
            f"{_ENDS}, with the angle in degrees"
        )
    if not (np.diff(table[:, 0]) > 0.0).all() or not np.isfinite(table).all():
        raise PropellerError(
            f"polar '{shown(path)}': the angles of attack do not rise; sort its rows"
        )
    if np.abs(table[:, 0]).max() < 3.2:
        raise PropellerError(
            f"polar '{shown(path)}': its angles end at {np.abs(table[:, 0]).max():g}, as radians "
            "do; give degrees"
        )
    return extended(np.radians(table[:, 0]), table[:, 1], table[:, 2])


def polar_of(airfoil: str, reynolds: float = 1e5) -> Polar:
    """The polar of an airfoil by its name or file of points; NeuralFoil computes it.

    Args:
        airfoil: A name such as naca4412 or clarky, or a .dat file of its points; a file of a
            polar is read; "" for default_polar().
        reynolds: At which it holds.

    Raises:
        PropellerError: NeuralFoil is missing, or the airfoil unknown.
    """
    if not airfoil:
        return default_polar()
    path = Path(airfoil).expanduser()
    if files.is_file(path) and not _is_points(path):
        return read_polar(path)
    library = extras.require(
        "aerosandbox",
        f"the polar of '{shown(airfoil)}'",
        "propellers",
        PropellerError,
        "give the file of a polar",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unknown names, which are refused below
        points = str(path) if files.is_file(path) else None
        foil = library.Airfoil(name=path.stem, coordinates=points)
    if foil.coordinates is None:
        raise PropellerError(
            f"airfoil '{shown(airfoil)}' is unknown: give a name such as naca4412, or a file"
        )
    alpha = np.arange(-20.0, 21.0)
    found = extras.require(
        "neuralfoil", "a polar", "propellers", PropellerError
    ).get_aero_from_airfoil(foil, alpha=alpha, Re=reynolds, model_size="large")
    lift, drag = np.array(found["CL"]), np.array(found["CD"])
    attached = slice(_stall(lift, -1), _stall(lift, 1) + 1)
    return extended(np.radians(alpha[attached]), lift[attached], drag[attached], reynolds)


def _stall(lift: np.ndarray, side: int) -> int:
    """Index of the largest lift on one side of zero angle, where attached flow ends."""
    middle = len(lift) // 2
    part: Sequence[float] = list(side * lift[middle::side])
    return middle + side * int(np.argmax(part))


def _is_points(path: Path) -> bool:
    """Whether a file has the points of an airfoil: two numbers in each line."""
    lines = files.read_text(path, "airfoil", error=PropellerError).splitlines()[1:4]
    return all(len(line.split()) == 2 for line in lines if line.strip())
