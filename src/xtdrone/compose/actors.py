"""People and cars that move along routes in a world, written as SDF's actors."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from xtdrone_core.errors import ScenarioError, shown, unknown_name

from .part import OWN, Colour, Element, Part, add, check_name, check_positive

WAYS = {
    "round": "from the last point back to the first, on and on",
    "to_and_fro": "back the same way, with a turn at both ends",
    "once": "it stops at the last point",
}
_TURN_S = 1.0  # duration of a turn at the end of a way to and fro [s]
_FINE = 0.05  # distance between points of a route before it is cut into waypoints [m]
_PARTS = 16  # points of a rounded corner


@dataclass(frozen=True, kw_only=True)
class Actor(Part):
    """Something that moves along a route by itself: cameras and lidars see it, vehicles touch it.

    Example:
        >>> dog = Actor(name="dog", figure="person", route=((0, 0), (4, 0)), way="to_and_fro",
        ...             speed=2.0)
        >>> len(dog.waypoints()[0]) > 4
        True
    """

    name: str
    route: tuple[tuple[float, ...], ...]  # points (x, y) on the ground, or (x, y, z) [m]
    speed: float  # [m/s]
    way: str = "round"  # a key of WAYS
    figure: str | Path = ""  # a model in models/, or the path of an SDF file: what it looks like
    colour: Colour | None = None  # colour of the model's visuals named paint..., RGB 0..1
    delay: float = 0.0  # simulated time at which it starts [s]

    step_s: ClassVar[float] = 0.5  # time between two waypoints [s]
    corner: ClassVar[float] = 0.5  # before and after a point of the route it leaves the line [m]

    def __post_init__(self) -> None:
        check_name("name of an actor", self.name)
        what = f"actor '{self.name}'"
        check_positive(what, speed=self.speed)
        if self.way not in WAYS:
            raise ScenarioError(unknown_name(f"way of {what}", str(self.way), WAYS))
        if not (math.isfinite(self.delay) and self.delay >= 0.0):
            raise ScenarioError(f"delay {self.delay} of {what} is not allowed: give seconds from 0")
        minimum = 3 if self.way == "round" else 2
        if len(self.route) < minimum:
            raise ScenarioError(
                f"the route of {what} has {len(self.route)} points: give {minimum} "
                f"or more for the way '{self.way}'"
            )
        points = self._points()
        ends = np.roll(points, -1, axis=0) if self.way == "round" else points[1:]
        if not np.linalg.norm(ends - points[: len(ends)], axis=1).all():
            raise ScenarioError(
                f"the route of {what} has the same point twice in a row: leave one out"
            )

    def _points(self) -> np.ndarray:
        """Returns the route (M, 3) [m]."""
        rows = []
        for point in self.route:
            try:
                row = [*map(float, point)]
            except (TypeError, ValueError):
                row = []
            if len(row) not in (2, 3) or not all(map(math.isfinite, row)):
                raise ScenarioError(
                    f"point {shown(str(point))} of the route of actor "
                    f"'{self.name}' is not allowed: give two or three finite "
                    "numbers"
                )
            rows.append((*row, 0.0)[:3])
        return np.array(rows)

    def waypoints(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns times (K,) [s], and positions [m] and yaws [rad] (K, 4) at them."""
        line = self._line()
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        count = max(2, math.ceil(length[-1] / (self.speed * self.step_s)) + 1)
        distances = np.linspace(0.0, length[-1], count)

        def at(arc_length: np.ndarray) -> np.ndarray:
            return np.stack([np.interp(arc_length, length, line[:, k]) for k in range(3)], axis=1)

        pos = at(distances)
        if self.way == "round":
            pos[-1] = pos[0]
        ahead = at(np.minimum(distances + _FINE, length[-1])) - at(
            np.maximum(distances - _FINE, 0.0)
        )
        table = np.concatenate([pos, np.arctan2(ahead[:, 1], ahead[:, 0])[:, None]], axis=1)
        if self.way == "round":
            table[-1, 3] = table[0, 3]
        times = distances / self.speed
        return (times, table) if self.way != "to_and_fro" else _and_back(times, table)

    def _line(self) -> np.ndarray:
        """Returns the route with round corners, as points (M, 3) a few centimetres apart."""
        points = self._points()
        last = len(points) - 1
        closed = self.way == "round"
        pieces = [] if closed else [points[:1]]
        for k in range(last + 1) if closed else range(1, last):
            pieces.append(
                _rounded(points[k - 1], points[k], points[(k + 1) % len(points)], self.corner)
            )
        pieces.append(points[last:])
        line = np.concatenate(pieces)
        if closed:  # it begins behind the corner at the first point, and ends there
            line = np.concatenate([line[_PARTS - 1 : -1], line[:_PARTS]])
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        distances = np.union1d(length, np.arange(0.0, length[-1], _FINE))
        return np.stack([np.interp(distances, length, line[:, k]) for k in range(3)], axis=1)

    def write(self, model: Element) -> None:
        """Adds <actor> to a <world>."""
        actor = add(model, "actor", name=self.name)
        figure = str(self.figure)
        if Path(figure).suffix:
            figure = str(Path(figure).expanduser().resolve())
        if figure:
            add(actor, OWN + "figure", figure)
        if self.colour is not None:
            add(actor, OWN + "colour", self.colour)
        script = add(actor, "script")
        add(script, "loop", self.way != "once")
        add(script, "delay_start", float(self.delay))
        add(script, "auto_start", True)
        path = add(script, "trajectory", id="0", type="walking")
        for time, (x, y, z, yaw) in zip(*(part.tolist() for part in self.waypoints())):
            point = add(path, "waypoint")
            add(point, "time", round(time, 6))
            add(point, "pose", [round(value, 5) for value in (x, y, z, 0.0, 0.0, yaw)])


@dataclass(frozen=True, kw_only=True)
class Person(Actor):
    """A person who walks, with swinging legs and arms.

    Example:
        >>> Person(name="ann", route=((-3, 0), (5, 0)), way="to_and_fro").speed
        1.3
    """

    speed: float = 1.3  # [m/s]
    figure: str | Path = "person"


@dataclass(frozen=True, kw_only=True)
class Car(Actor):
    """A car that drives, with rolling wheels.

    Example:
        >>> cab = Car(name="cab", route=((0, 0), (40, 0), (40, 20), (0, 20)), colour=(1, 0.8, 0))
        >>> cab.speed
        8.0
    """

    speed: float = 8.0  # [m/s]
    figure: str | Path = "car"

    step_s = 0.4
    corner = 6.0


def _rounded(
    before: np.ndarray, corner: np.ndarray, after: np.ndarray, radius: float
) -> np.ndarray:
    """Returns points (M, 3) of a curve at a corner, from so far before it to so far after it."""
    into, out = before - corner, after - corner
    reach = min(radius, 0.5 * float(np.linalg.norm(into)), 0.5 * float(np.linalg.norm(out)))
    start = corner + reach * into / np.linalg.norm(into)
    end = corner + reach * out / np.linalg.norm(out)
    s = np.linspace(0.0, 1.0, _PARTS)[:, None]
    return (1.0 - s) ** 2 * start + 2.0 * s * (1.0 - s) * corner + s**2 * end


def _and_back(times: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns a path, the turn at its end, the path back, and the turn at its beginning."""
    back = table[::-1].copy()
    back[:, 3] += math.pi

    def turning(row: np.ndarray) -> np.ndarray:
        return row + [0.0, 0.0, 0.0, 0.5 * math.pi]

    end = times[-1]
    rows = [table, turning(table[-1])[None], back, turning(back[-1])[None], table[:1]]
    when = [
        times,
        [end + 0.5 * _TURN_S],
        end + _TURN_S + times,
        [2.0 * end + 1.5 * _TURN_S],
        [2.0 * (end + _TURN_S)],
    ]
    return np.concatenate(when), np.concatenate(rows)
