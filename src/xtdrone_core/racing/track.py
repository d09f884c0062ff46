"""A race track: a YAML file with gates in the order in which they are flown.

    about: what it is, a line
    laps: 3
    gates:                                        # the first is start and finish
      - {pos: [6, 3, 2.5], yaw: 1.57, size: 1.8}  # centre of the opening [m], world
      - {pos: [9, 6, 3.0], yaw: 0.0, pitch: 0.3, size: [2.4, 1.8]}

A gate is passed in its direction, which is east where yaw and pitch are 0; yaw turns it
counter-clockwise and pitch upwards [rad]. Its size is the side of a square opening, or width and
height [m]. The opening has a solid frame. A gate with a radius in place of size, yaw and pitch is a
way-point, a ball that is passed in any direction and has no frame.

A gate that moves swings about its place, by `move` [m] and back, once in a period [s]:

    - {pos: [9, 6, 3.0], move: [0, 1.0, 0], period: 5}

A track for flights against the clock may say where they rest before and after, and how many gates
they pass after the last lap, the first one included:

    start: [-5, 4.5, 1.2]
    end: [4.75, -0.9, 1.2]
    beyond: 5
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import files, resources
from ..errors import ScenarioError, shown
from ..scenario.options import number

BAR = 0.1  # thickness of a frame [m]
MAX_GATES, MAX_LAPS = 100, 1000
FARTHEST = 10e3  # greatest distance of a gate from the origin [m]
SIZES = 0.3, 50.0  # least and greatest width and height of an opening [m]
_KEYS = {"about", "laps", "gates", "start", "end", "beyond"}
_MOVE_KEYS = {"move", "period"}
_GATE_KEYS = {"pos", "yaw", "pitch", "size"} | _MOVE_KEYS
_WAY_POINT_KEYS = {"pos", "radius"} | _MOVE_KEYS
_PERIODS = 0.5, 1000.0  # least and greatest of a gate that moves [s]
_FARTHEST_MOVE = 50.0  # along each axis [m]
_RADII = 0.05, 50.0  # least and greatest of a way-point [m]


@dataclass(frozen=True)
class Gate:
    """An opening with a frame."""

    pos: tuple[float, float, float]  # centre of the opening, world [m]
    yaw: float  # direction of flight, counter-clockwise from east [rad]
    pitch: float  # direction of flight, upwards [rad]
    width: float  # width of the opening [m]
    height: float  # height of the opening [m]
    radius: float | None = None  # of a way-point, which has no frame [m]
    move: tuple[float, float, float] = (0.0, 0.0, 0.0)  # largest displacement from `pos` [m]
    period: float = 4.0  # of that motion, which is harmonic [s]

    @property
    def moves(self) -> bool:
        """Whether it is ever somewhere else."""
        return any(self.move)

    def displacement(self, t_s: float | np.ndarray) -> np.ndarray:
        """Returns where it is from `pos` (..., 3) at simulated times (...) [s]."""
        swing = np.sin(2.0 * math.pi / self.period * np.asarray(t_s))
        return np.multiply.outer(swing, np.array(self.move))

    def axes(self) -> np.ndarray:
        """Its direction, its left and its up as the rows of (3, 3), world."""
        c, s, up, level = (
            math.cos(self.yaw),
            math.sin(self.yaw),
            math.sin(self.pitch),
            math.cos(self.pitch),
        )
        return np.array([[level * c, level * s, up], [-s, c, 0.0], [-up * c, -up * s, level]])

    def bars(self) -> list[tuple[tuple[float, float, float], tuple[float, float, float]]]:
        """Centre and size of each bar of the frame, along direction, left and up [m]."""
        if self.radius is not None:
            return []
        aside, above = 0.5 * (self.width + BAR), 0.5 * (self.height + BAR)
        upright, level = (BAR, BAR, self.height), (BAR, self.width + 2 * BAR, BAR)
        return [
            ((0.0, aside, 0.0), upright),
            ((0.0, -aside, 0.0), upright),
            ((0.0, 0.0, above), level),
            ((0.0, 0.0, -above), level),
        ]


@dataclass(frozen=True)
class Track:
    """Gates in their order; the first is start and finish."""

    name: str
    about: str
    laps: int
    gates: tuple[Gate, ...]
    start: tuple[float, float, float] | None = None  # where a flight against the clock begins [m]
    end: tuple[float, float, float] | None = None  # where it ends [m]
    beyond: int = 1  # gates that it passes after the last lap

    @property
    def moving(self) -> tuple[int, ...]:
        """Indices of the gates that move."""
        return tuple(k for k, gate in enumerate(self.gates) if gate.moves)


def read_track(name: Path | str) -> Track:
    """Reads a track.

    Args:
        name: From worlds/tracks, or the path of a YAML file.

    Raises:
        ScenarioError: No such file, or no track; the message names file and key.
    """
    path = resources.track_file(name)
    what = f"track '{shown(path)}'"
    data = files.check_keys(
        files.read_yaml(path, "track", error=ScenarioError), what, ("gates",), ScenarioError
    )
    _refuse_others(what, data, _KEYS)
    gates = data["gates"]
    if not isinstance(gates, list) or not 2 <= len(gates) <= MAX_GATES:
        raise ScenarioError(f"{what} has gates {shown(gates)}: give a list of 2 to {MAX_GATES}")
    about = data.get("about", "")
    if not isinstance(about, str):
        raise ScenarioError(f"{what} has about {shown(about)}: give a line of text")
    return Track(
        path.stem,
        about,
        number(f"laps of {what}", data.get("laps", 3), 1, MAX_LAPS, whole=True),
        tuple(_gate(f"{what}, gate {k + 1}", gate) for k, gate in enumerate(gates)),
        _place(f"start of {what}", data["start"]) if "start" in data else None,
        _place(f"end of {what}", data["end"]) if "end" in data else None,
        number(f"beyond of {what}", data.get("beyond", 1), 1, len(gates), whole=True),
    )


def descriptions() -> dict[str, str]:
    """A line on each track of the workspace, for `xtdrone list`."""
    return {name: read_track(name).about for name in resources.track_names()}


def _gate(what: str, given: object) -> Gate:
    data = files.check_keys(given, what, ("pos",), ScenarioError)
    _refuse_others(what, data, _WAY_POINT_KEYS if "radius" in data else _GATE_KEYS)
    x, y, z = _place(f"pos of {what}", data["pos"])
    motion = _motion(what, data)
    if "radius" in data:
        radius = number(f"radius of {what}", data["radius"], *_RADII)
        return Gate((x, y, z), 0.0, 0.0, 2.0 * radius, 2.0 * radius, radius, *motion)
    sizes = [
        number(f"size of {what}", value, *SIZES)
        for value in _numbers(f"size of {what}", data.get("size", 1.8), (1, 2))
    ]
    gate = Gate(
        (x, y, z),
        number(f"yaw of {what}", data.get("yaw", 0.0), -10.0, 10.0),
        number(f"pitch of {what}", data.get("pitch", 0.0), -1.6, 1.6),
        sizes[0],
        sizes[-1],
        None,
        *motion,
    )
    # The lowest corner of its frame: a bar in the ground would be no frame.
    low = z - abs(gate.move[2]) - abs(gate.axes()[2, 2]) * (0.5 * gate.height + BAR)
    if low < 0.0:
        raise ScenarioError(
            f"pos of {what} is {shown(data['pos'])}: its frame reaches {-low:.2f} "
            "m into the ground, put it higher"
        )
    return gate


def _motion(what: str, data: dict[str, Any]) -> tuple[tuple[float, float, float], float]:
    """Returns displacement and period of a gate."""
    x, y, z = (
        number(f"move of {what}", value, -_FARTHEST_MOVE, _FARTHEST_MOVE)
        for value in _numbers(f"move of {what}", data.get("move", [0.0, 0.0, 0.0]), (3,))
    )
    return (x, y, z), number(f"period of {what}", data.get("period", 4.0), *_PERIODS)


def _place(what: str, given: object) -> tuple[float, float, float]:
    x, y, z = (number(what, value, -FARTHEST, FARTHEST) for value in _numbers(what, given, (3,)))
    return x, y, z


def _numbers(what: str, given: object, counts: Sequence[int]) -> list[Any]:  # unchecked
    values = given if isinstance(given, list) else [given]
    if len(values) not in counts:
        raise ScenarioError(
            f"{what} is {shown(given)}: give "
            f"{' or '.join(map(str, counts))} number{'s' * (counts[-1] > 1)}"
        )
    return values


def _refuse_others(what: str, data: dict[str, Any], known: set[str]) -> None:
    if others := sorted(map(str, data.keys() - known)):
        raise ScenarioError(
            f"{what} has '{shown(others[0])}', which is not known: choose from "
            f"{', '.join(sorted(known))}"
        )
