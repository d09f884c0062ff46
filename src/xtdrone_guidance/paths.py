"""Paths in space: splines through points, by their arc length, and how fast they can be flown."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xtdrone_core.errors import XtdroneError, shown, unknown_name
from xtdrone_core.tables import points_of, read_table

from .curves import CURVES

_SAMPLES = 1500  # points along a path between which it counts as straight
_PER_LEG = 60  # samples between two points of the spline, to measure its length
FARTHEST = 10e3  # greatest coordinate of a point [m]
_WINDOW = 0.06  # part of a path, ahead and behind, in which the nearest point is looked for


class Nearest(NamedTuple):
    """The point of a path that is nearest to a place."""

    arc_length: float  # [m]
    pos: np.ndarray  # (3,) [m]
    tangent: np.ndarray  # (3,) unit vector
    curvature: np.ndarray  # (3,) derivative of the tangent with respect to arc length [1/m]


class SplinePath:
    """A cubic spline through points, closed or open.

    Attributes:
        length: [m].
        closed: Whether it ends where it begins.
        points: (K, 3) samples along it [m].
        arc_lengths: (K,) of those [m].
    """

    def __init__(self, points: np.ndarray, closed: bool) -> None:
        """Lays the spline.

        Args:
            points: (P, 3) [m]; two or more for an open path, three or more for a closed one.
            closed: Whether the path returns from the last point to the first.

        Raises:
            XtdroneError: Too few points, or two neighbours at the same place.
        """
        points = np.asarray(points, dtype=float).reshape(-1, 3)
        least = 3 if closed else 2
        if len(points) < least:
            kind = "a closed path" if closed else "a path"
            raise XtdroneError(
                f"{kind} of {len(points)} points is not allowed: give {least} or more"
            )
        knots = np.vstack([points, points[:1]]) if closed else points
        legs = np.linalg.norm(np.diff(knots, axis=0), axis=1)
        if not (legs > 1e-6).all():
            first = int(np.argmin(legs)) + 1
            raise XtdroneError(
                f"points {first} and {first % len(points) + 1} of the path are at the same place: "
                "leave one of them out"
            )
        self.closed = closed
        self._lay(np.concatenate([[0.0], np.cumsum(legs)]), knots)

    def _lay(self, knots: np.ndarray, values: np.ndarray) -> None:
        from scipy.interpolate import CubicSpline  # slow to import, and needed in flight alone

        ends = "periodic" if self.closed else "natural"
        spline = CubicSpline(knots, values, bc_type=ends)
        fine = np.linspace(0.0, knots[-1], max(_SAMPLES, _PER_LEG * len(knots)) + 1)
        steps = np.linalg.norm(np.diff(spline(fine), axis=0), axis=1)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        self.length = float(along[-1])
        self.arc_lengths = np.linspace(0.0, self.length, _SAMPLES + 1)
        phase = np.interp(self.arc_lengths, along, fine)
        first, second = spline(phase, 1), spline(phase, 2)
        speed = np.linalg.norm(first, axis=1, keepdims=True)
        self.points = spline(phase)
        self._tangents = first / speed
        lengthwise = (second * self._tangents).sum(axis=1, keepdims=True)
        self._curvatures = (second - lengthwise * self._tangents) / speed**2

    def at(self, arc_length: float) -> Nearest:
        """Returns the point at an arc length [m]; an open path is clipped to its ends."""
        s = arc_length % self.length if self.closed else min(max(arc_length, 0.0), self.length)
        place = s / self.length * _SAMPLES
        k = min(int(place), _SAMPLES - 1)
        weight = place - k
        tangent = self._between(self._tangents, k, weight)
        return Nearest(
            s,
            self._between(self.points, k, weight),
            tangent / np.linalg.norm(tangent),
            self._between(self._curvatures, k, weight),
        )

    def nearest(self, pos: np.ndarray, near: float | None = None) -> Nearest:
        """Returns the nearest point of the path.

        Args:
            pos: (3,) [m].
            near: Arc length around which it is looked for, so that a path that crosses itself is
                followed along [m]; None for the whole path.
        """
        if near is None:
            index = np.arange(_SAMPLES)
        else:
            middle, half = round(near / self.length * _SAMPLES), round(_WINDOW * _SAMPLES)
            index = np.arange(middle - half, middle + half)
            index = index % _SAMPLES if self.closed else index[(index >= 0) & (index < _SAMPLES)]
        begin = self.points[index]
        leg = self.points[index + 1] - begin
        weight = ((pos - begin) * leg).sum(axis=1) / (leg * leg).sum(axis=1)
        weight = np.clip(weight, 0.0, 1.0)
        apart = ((begin + weight[:, None] * leg - pos) ** 2).sum(axis=1)
        best = int(np.argmin(apart))
        return self.at((index[best] + weight[best]) / _SAMPLES * self.length)

    def speeds(self, speed: float, acceleration: float) -> np.ndarray:
        """Speeds (K,) [m/s] at `points` that bends and the ends of an open path allow.

        Args:
            speed: Largest [m/s].
            acceleration: Largest across the path, and along it [m/s^2].
        """
        bend = np.linalg.norm(self._curvatures, axis=1)
        fastest = np.minimum(speed, np.sqrt(acceleration / np.maximum(bend, 1e-9)))
        if not self.closed:
            fastest[0] = fastest[-1] = 0.0
        forwards = self._reached(fastest, bend, acceleration)
        return self._reached(forwards[::-1], bend[::-1], acceleration)[::-1]

    def _reached(self, fastest: np.ndarray, bend: np.ndarray, acceleration: float) -> np.ndarray:
        """Speeds (K,) that the acceleration left by the bends (K,) [1/m] reaches [m/s]."""
        step, count = self.length / _SAMPLES, len(fastest)
        speeds = np.tile(fastest, 2) if self.closed else fastest.copy()  # the first lap runs in
        for k in range(1, len(speeds)):
            before = speeds[k - 1]
            across = before * before * bend[(k - 1) % count]
            along = math.sqrt(max(acceleration * acceleration - across * across, 0.0))
            speeds[k] = min(speeds[k], math.sqrt(before * before + 2.0 * along * step))
        return speeds[-count:]

    @staticmethod
    def _between(values: np.ndarray, k: int, weight: float) -> np.ndarray:
        between: np.ndarray = (1.0 - weight) * values[k] + weight * values[k + 1]
        return between


def read_path(name: str, closed: bool) -> SplinePath:
    """Reads a path: the name of a curve, or a CSV file with x,y,z in metres in each row.

    Args:
        name: Name in CURVES, or the path of a file. Its points are relative to the place at which
            the flight begins.
        closed: Whether the path of a file is closed; curves always are.

    Raises:
        XtdroneError: No such curve or file, or a row that is not three numbers.
    """
    if name in CURVES:
        curve, _ = CURVES[name]
        phases = np.linspace(0.0, 2.0 * math.pi, 48, endpoint=False)
        return SplinePath(np.array([curve(phase).pos for phase in phases]), True)
    return SplinePath(read_points(name, "path"), closed)


def read_points(name: str, what: str) -> np.ndarray:
    """Reads a CSV file with x,y,z in metres in each row; a header x,y,z is skipped.

    Args:
        name: Path of the file.
        what: What it should be, for messages.

    Returns:
        (P, 3) [m].

    Raises:
        XtdroneError: No such file, or a row that is not three numbers.
    """
    if not name.lower().endswith(".csv"):
        raise XtdroneError(
            unknown_name(what, name, CURVES) + "; or give a .csv with x,y,z in metres in each row"
        )
    rows = read_table(Path(name).expanduser(), what, XtdroneError)
    return points_of(rows, f"{what} '{shown(name)}'", FARTHEST, "", XtdroneError)
