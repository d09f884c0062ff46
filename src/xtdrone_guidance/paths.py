"""Paths in space: splines through points, by their arc length, and how fast they can be flown."""

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xtdrone_autopilot.navigation import mission_items, plan_file
from xtdrone_core.errors import XtdroneError, shown, unknown_name
from xtdrone_core.tables import points_of, read_table

from .curves import CURVES, PATHS

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

_SAMPLES = 1500  # points along a path between which it counts as straight
PER_LEG = 40  # samples between two points of the spline, to measure its length
FARTHEST = 10e3  # greatest coordinate of a point [m]
MISSIONS = (".plan", ".waypoints")  # endings of files of missions
_SAME = 0.1  # way-points so near to each other are one [m]
_GROUND = frozenset(
    {mission_items.TAKEOFF, mission_items.LAND, mission_items.VTOL_TAKEOFF, mission_items.VTOL_LAND}
)
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
        minimum = 3 if closed else 2
        if len(points) < minimum:
            kind = "a closed path" if closed else "a path"
            raise XtdroneError(
                f"{kind} of {len(points)} points is not allowed: give {minimum} or more"
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
        self._curve, along = arc_length_spline(points, closed)
        self.length = float(along[-1])
        self.arc_lengths = np.linspace(0.0, self.length, _SAMPLES + 1)
        self.points = self._curve(self.arc_lengths)

    def at(self, arc_length: float) -> Nearest:
        """Returns the point at an arc length [m]; an open path is clipped to its ends."""
        s = arc_length % self.length if self.closed else min(max(arc_length, 0.0), self.length)
        return Nearest(s, self._curve(s), self._curve(s, 1), self._curve(s, 2))

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

    def largest_bend(self) -> float:
        """Returns the largest horizontal curvature [1/m]."""
        first, second = self._curve(self.arc_lengths, 1), self._curve(self.arc_lengths, 2)
        turn = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
        return float((turn / np.maximum(np.linalg.norm(first[:, :2], axis=1), 1e-6) ** 3).max())

    def speeds(self, speed: float, acceleration: float, along: float | None = None) -> np.ndarray:
        """Speeds (K,) [m/s] at `points` that bends and the ends of an open path allow.

        Args:
            speed: Largest [m/s].
            acceleration: Largest across the path, or of both together [m/s^2].
            along: Largest along the path, apart from that across it; None = of both [m/s^2].
        """
        bend = np.linalg.norm(self._curve(self.arc_lengths, 2), axis=1)
        fastest = np.minimum(speed, np.sqrt(acceleration / np.maximum(bend, 1e-9)))
        if not self.closed:
            fastest[0] = fastest[-1] = 0.0
        step = self.length / _SAMPLES
        if along is not None:
            return reachable(fastest, step, along, None, self.closed)
        return reachable(fastest, step, acceleration, bend, self.closed)

    def sharpest(self, speed: float, acceleration: float) -> float:
        """Returns the largest acceleration across the path [m/s^2]; see speeds()."""
        bend = np.linalg.norm(self._curve(self.arc_lengths, 2), axis=1)
        return float(min(acceleration, speed * speed * bend.max()))


def arc_length_spline(points: np.ndarray, closed: bool) -> tuple["CubicSpline", np.ndarray]:
    """Lays a cubic spline through points (P, 3), closed or open.

    Returns:
        The spline over its arc length [m], and the arc lengths (S,) of its samples: PER_LEG on each
        leg from one point to the next, and the end.
    """
    from scipy.interpolate import CubicSpline  # slow to import, and needed in flight alone

    points = np.vstack([points, points[:1]]) if closed else points
    ends = "periodic" if closed else "natural"
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    knots = np.concatenate([[0.0], np.cumsum(chords)])
    spline = CubicSpline(knots, points, bc_type=ends)
    u = np.concatenate(
        [np.linspace(a, b, PER_LEG, endpoint=False) for a, b in itertools.pairwise(knots)]
        + [knots[-1:]]
    )
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(spline(u), axis=0), axis=1))])
    samples = np.vstack([spline(u)[:-1], spline(u)[:1]]) if closed else spline(u)
    return CubicSpline(along, samples, bc_type=ends), along


def reachable(
    fastest: np.ndarray,
    step: float,
    acceleration: float,
    bend: np.ndarray | None = None,
    closed: bool = False,
) -> np.ndarray:
    """Returns speeds (K,) below the fastest ones that a bounded acceleration reaches [m/s].

    Args:
        fastest: (K,) [m/s].
        step: Arc length between them [m].
        acceleration: Its bound [m/s^2].
        bend: (K,) curvature, which takes its part of it [1/m]; None: the bound is along the path.
        closed: Whether the last is the first of the next lap.
    """
    bend = np.zeros(len(fastest)) if bend is None else bend
    forwards = _sped_up(fastest, step, acceleration, bend, closed)
    return _sped_up(forwards[::-1], step, acceleration, bend[::-1], closed)[::-1]


def _sped_up(
    fastest: np.ndarray, step: float, acceleration: float, bend: np.ndarray, closed: bool
) -> np.ndarray:
    """Returns speeds (K,) that are reached from the ones before them [m/s]."""
    speeds = np.tile(fastest, 2) if closed else fastest.copy()  # the first lap runs in
    for k in range(1, len(speeds)):
        before = speeds[k - 1]
        across = before**2 * bend[(k - 1) % len(fastest)]
        along = math.sqrt(max(acceleration * acceleration - across * across, 0.0))
        speeds[k] = min(speeds[k], math.sqrt(before**2 + 2.0 * along * step))
    return speeds[-len(fastest) :]


def read_path(name: str, closed: bool, height: float = 0.0) -> SplinePath:
    """Reads a path: the name of a curve, or a file as of read_points().

    Args:
        name: Name in CURVES or PATHS, or the path of a file. Its points are relative to the place
            at which the flight begins.
        closed: Whether the path of a file is closed; those of CURVES always are.
        height: See read_points() [m].

    Raises:
        XtdroneError: No such curve or file, or a file that is no path.
    """
    if name in CURVES:
        curve, _ = CURVES[name]
        phases = np.linspace(0.0, 2.0 * math.pi, 48, endpoint=False)
        return SplinePath(np.array([curve(phase).pos for phase in phases]), True)
    if name in PATHS:
        return SplinePath(PATHS[name][0], False)
    return SplinePath(read_points(name, "path", height), closed)


def read_points(name: str, what: str, height: float = 0.0) -> np.ndarray:
    """Reads points from a CSV file or a mission.

    A CSV file has x,y,z in metres in each row; a header x,y,z is skipped. Of a mission, a .plan or
    .waypoints file, the points are its way-points, as they lie from its home; take-off and
    landing are left out.

    Args:
        name: Path of the file.
        what: What it should be, for messages.
        height: Height above the start at which the flight begins, from which those of a mission
            count [m].

    Returns:
        (P, 3) [m].

    Raises:
        XtdroneError: No such file, a row that is not three numbers, or a mission without a place.
    """
    if name.lower().endswith(MISSIONS):
        return _points_of_mission(name, what, height)
    if not name.lower().endswith(".csv"):
        raise XtdroneError(
            unknown_name(what, name, [*CURVES, *PATHS])
            + "; or give a .csv with x,y,z in metres in each row, or a .plan"
        )
    rows = read_table(Path(name).expanduser(), what, XtdroneError)
    return points_of(rows, f"{what} '{shown(name)}'", FARTHEST, "", XtdroneError)


def _points_of_mission(name: str, what: str, height: float) -> np.ndarray:
    """Returns the way-points (P, 3) of a mission [m]; see read_points()."""
    plan = plan_file.load(name)
    flown = [
        item
        for item in plan.items[mission_items.MISSION]
        if item.command in mission_items.PLACED - _GROUND and item.is_somewhere()
    ]
    if not flown:
        raise XtdroneError(
            f"{what} '{shown(name)}' has no way-point: give a mission with two or more"
        )
    latitude, longitude, ground = plan.home or (flown[0].x * 1e-7, flown[0].y * 1e-7, 0.0)
    home = (math.radians(latitude), math.radians(longitude), ground)
    points = np.array([item.position(home, np.zeros(3)) for item in flown]) - [0.0, 0.0, height]
    # An item may be flown at the place of the one before it, such as a circle.
    moved = np.linalg.norm(np.diff(points, axis=0), axis=1) > _SAME
    points = points[np.concatenate([[True], moved])]
    if not (np.abs(points) <= FARTHEST).all():
        raise XtdroneError(
            f"{what} '{shown(name)}' leads farther than {FARTHEST:g} m from its home, or has a "
            "way-point without height: plan it nearer"
        )
    return points
