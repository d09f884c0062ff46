"""A smooth closed path through the gates of a track.

It is a cubic spline (twice differentiable) through a point before, in, and behind each gate, so
that gates are passed along their directions.
"""

import numpy as np

from xtdrone_core.racing.track import Track

from .paths import PER_LEG, arc_length_spline

_MAX_STRAIGHT = 0.8  # flown along a gate's direction before and behind it [m]


class LapPath:
    """One lap as a closed curve over its length.

    Attributes:
        length: Length of a lap [m].
        gates: (G,) arc lengths of the gates [m]; the first is at 0.
    """

    def __init__(self, track: Track):
        """Lays the path through the gates of a track."""
        self._curve, s = arc_length_spline(lap_points(track), closed=True)
        self.length = float(s[-1])
        self.gates = s[: -1 : 3 * PER_LEG]

    def at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns positions (K, 3) [m], tangents and curvatures [1/m] at arc lengths (K,) [m]."""
        s = np.mod(s, self.length)
        return self._curve(s), self._curve(s, 1), self._curve(s, 2)


def lap_points(track: Track) -> np.ndarray:
    """Returns the points (3 G, 3) of the spline [m]: each gate, behind it, before the next."""
    centres = np.array([gate.pos for gate in track.gates])
    apart = np.linalg.norm(np.roll(centres, -1, axis=0) - centres, axis=1)
    straight = np.minimum(_MAX_STRAIGHT, 0.25 * np.minimum(apart, np.roll(apart, 1)))
    ahead = straight[:, None] * _directions(track, centres)
    points = [centres, centres + ahead, np.roll(centres - ahead, -1, axis=0)]
    return np.stack(points, axis=1).reshape(-1, 3)


def _directions(track: Track, centres: np.ndarray) -> np.ndarray:
    """Returns unit vectors (G, 3) along which gates are passed, way-points towards the next."""
    ahead = np.roll(centres, -1, axis=0)
    across = ahead - np.roll(centres, 1, axis=0)
    across = np.where(np.linalg.norm(across, axis=1, keepdims=True) > 1e-6, across, ahead - centres)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    axes = np.array([gate.axes()[0] for gate in track.gates])
    return np.where([[gate.radius is not None] for gate in track.gates], across, axes)
