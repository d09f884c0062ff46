"""A race track as the cost `race` sees it: a smooth path with a tunnel that narrows at gates."""

import numpy as np

from xtdrone_core.racing.track import Track
from xtdrone_core.runs.snapshot import Memory
from xtdrone_guidance.lap_path import LapPath

from .mppi import PERIOD_S

_SPACING_M = 0.3  # between two points of the path that a cost sees [m]
_BEHIND_M = 0.6  # path that it sees behind the vehicle [m]
_SPEED = 12.0  # at which a future goes to the end of what it sees [m/s]
_NARROW_M = 0.6  # part of the path before and behind a gate that goes through its opening [m]
_OPENS = 0.8  # how much wider the tunnel gets per metre from there
_FLOOR_M = 0.7  # least height [m]
_BEND_M = 3.0  # from a gate that moves to where the path does not move with it [m]
_SEARCH_M = np.arange(-1.0, 3.0, 0.1)  # around the last place on the path, for the nearest [m]


class RacePath(Memory):
    """The path of a lap, and where a vehicle is on it.

    Gates that move take the path beside them along: each action of a future is compared with the
    path of its own time.

    Attributes:
        place: Where the vehicle is, arc length from the first gate on, over all laps [m].
        lap: The LapPath.
    """

    MEMORY = ("place",)

    def __init__(self, track: Track, part: float, width: float) -> None:
        """Lays the path.

        Args:
            track: The track.
            part: Part of openings and balls that the tunnel fills, up to 1.
            width: Largest radius of the tunnel [m].
        """
        self.lap = LapPath(track)
        self.place = 0.0
        self._width = width
        self._radii = np.array([0.5 * part * min(gate.width, gate.height) for gate in track.gates])
        self._moving = [(track.gates[k], self.lap.gates[k]) for k in track.moving]

    def find(self, pos: np.ndarray) -> None:
        """Moves `place` to the nearest point of the path to a position (3,) [m]."""
        near = self.place + _SEARCH_M
        apart = self.lap.at(near)[0] - pos
        self.place = float(near[np.argmin((apart * apart).sum(axis=1))])

    def references(self, t_s: float, horizon: int, speeds: np.ndarray) -> np.ndarray:
        """Returns what the cost `race` compares with after each action, (H, 3 + 4 P).

        Args:
            t_s: Simulated time [s].
            horizon: Number of actions.
            speeds: (H,) largest after each of them [m/s].
        """
        length = _BEHIND_M + _SPEED * PERIOD_S * horizon
        s = self.place - _BEHIND_M + np.arange(0.0, length, _SPACING_M)
        points = np.repeat(self.lap.at(s)[0][None], horizon, axis=0)
        times = t_s + PERIOD_S * np.arange(1, horizon + 1)
        for gate, at in self._moving:
            near = np.clip(1.0 - np.abs(self._from(s, at)) / _BEND_M, 0.0, 1.0)
            near *= near * (3.0 - 2.0 * near)
            points += near[:, None] * gate.displacement(times)[:, None]
        out = np.empty((horizon, 3 + 4 * len(s)))
        out[:, 0], out[:, 1], out[:, 2] = _SPACING_M, _FLOOR_M, speeds
        tunnel = out[:, 3:].reshape(horizon, len(s), 4)
        tunnel[..., :3], tunnel[..., 3] = points, self._tunnel(s)
        return out

    def _tunnel(self, s: np.ndarray) -> np.ndarray:
        """Returns the radius of the tunnel (K,) at arc lengths (K,) [m]."""
        apart = np.abs(self._from(s[:, None], self.lap.gates))
        opened = self._radii + _OPENS * np.maximum(apart - _NARROW_M, 0.0)
        radii: np.ndarray = np.minimum(opened.min(axis=1), self._width)
        return radii

    def _from(self, s: np.ndarray, gate: np.ndarray | float) -> np.ndarray:
        """Returns how far arc lengths are behind a gate, within half a lap [m]."""
        half = 0.5 * self.lap.length
        ahead: np.ndarray = (s - gate + half) % self.lap.length - half
        return ahead
