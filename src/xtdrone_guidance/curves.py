"""Closed curves to fly, as functions of a phase."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from xtdrone_core.flight_agent import minimum_jerk

from .planned import Planned

_HALF_PI = 0.5 * math.pi
_RAMP_S = 3.0  # time in which the phase reaches its rate, from rest [s]


class CurvePoint(NamedTuple):
    """A point of a curve, with its derivatives with respect to the phase."""

    pos: np.ndarray  # (3,) relative to the start of the curve, world [m]
    first: np.ndarray  # (3,) [m/rad]
    second: np.ndarray  # (3,) [m/rad^2]


Curve = Callable[[float], CurvePoint]


def _sines(
    phase: float, amplitudes: np.ndarray, order: np.ndarray, shift: np.ndarray
) -> CurvePoint:
    """A Lissajous curve: amplitude (sin(order phase + shift) - sin(shift)) along each axis."""
    angle = order * phase + shift
    return CurvePoint(
        amplitudes * (np.sin(angle) - np.sin(shift)),
        amplitudes * order * np.cos(angle),
        -amplitudes * order * order * np.sin(angle),
    )


def _lissajous(amplitudes: tuple, order: tuple, shift: tuple = (0.0, 0.0, 0.0)) -> Curve:
    arrays = np.array(amplitudes), np.array(order, dtype=float), np.array(shift)
    return lambda phase: _sines(phase, *arrays)


# Name of each curve to its function and what it is. The phase goes from 0 to 2 pi in one lap.
CURVES: dict[str, tuple[Curve, str]] = {
    "circle": (
        _lissajous((2.0, 2.0, 0.0), (1, 1, 0), (0.0, -_HALF_PI, 0.0)),
        "horizontal, radius 2 m",
    ),
    "eight": (_lissajous((3.0, 1.5, 0.0), (1, 2, 0)), "horizontal figure of eight, 6 m by 3 m"),
    "lemniscate": (
        _lissajous((1.25, 0.0, 0.75), (1, 0, 2)),
        "upright figure of eight x = 1.25 sin t, z = 0.75 sin 2t, that of Neural-Fly's flights",
    ),
    "vertical_circle": (
        _lissajous((1.5, 0.0, 1.5), (1, 0, 1), (0.0, 0.0, -_HALF_PI)),
        "upright, radius 1.5 m",
    ),
}


def _loop(radius: float, entry: float, run: float) -> np.ndarray:
    """Returns the points (P, 3) of an upright loop, with straight lines before and after it [m].

    Args:
        radius: Of the loop [m].
        entry: Length in which its curvature grows, and that in which it falls again [m].
        run: Length of each line [m].
    """
    step = 0.05
    along = np.arange(0.0, 2.0 * math.pi * radius + entry, step)
    bend = np.array([minimum_jerk(x / entry)[0] for x in np.minimum(along, along[-1] - along)])
    pitch = 2.0 * math.pi * np.cumsum(bend) / bend.sum()
    forward, up = np.cumsum(np.cos(pitch)) * step, np.cumsum(np.sin(pitch)) * step
    lines = np.arange(0.0, run, 1.0)
    x = np.concatenate([lines, run + forward[::10], run + forward[-1] + 1.0 + lines])
    z = np.concatenate([np.zeros_like(lines), up[::10], np.full_like(lines, up[-1])])
    return np.column_stack([x, np.zeros_like(x), z])


# Name of each path that is open to its points (P, 3) [m] and what it is.
PATHS: dict[str, tuple[np.ndarray, str]] = {
    "loop": (
        _loop(2.5, 4.0, 20.0),
        "upright loop of radius 2.5 m, 20 m straight on before and after it; for tail-sitters",
    )
}


def descriptions() -> dict[str, str]:
    """Describes each curve and path, for `xtdrone list curves`."""
    return {name: text for name, (_, text) in {**CURVES, **PATHS}.items()}


class Laps:
    """Laps of a curve over time, from rest.

    Attributes:
        duration: [s].
        settled: Time from which the curve is flown at full rate [s].
    """

    settled = _RAMP_S

    def __init__(self, curve: Curve, lap: float, laps: int) -> None:
        """Plans some laps.

        Args:
            curve: The curve.
            lap: Time of a lap at full rate [s].
            laps: Number of laps.
        """
        self._curve, self._rate = curve, 2.0 * math.pi / lap
        self.duration = laps * lap + 0.5 * _RAMP_S

    def at(self, t: float) -> Planned:
        """Returns position, velocity and acceleration at a time from 0 to `duration` [s]."""
        phase, rate, acceleration = self._phase_at(t)
        point = self._curve(phase)
        return Planned(
            point.pos, rate * point.first, rate * rate * point.second + acceleration * point.first
        )

    def _phase_at(self, t: float) -> tuple[float, float, float]:
        """Returns phase [rad], its rate [rad/s] and acceleration [rad/s^2] at a time [s]."""
        if t >= _RAMP_S:
            return self._rate * (t - 0.5 * _RAMP_S), self._rate, 0.0
        x = t / _RAMP_S
        area = x**6 - 3.0 * x**5 + 2.5 * x**4  # integral of minimum_jerk()
        fraction, slope, _ = minimum_jerk(x)
        return self._rate * _RAMP_S * area, self._rate * fraction, self._rate * slope / _RAMP_S
