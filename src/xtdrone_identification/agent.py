"""The Agent `excite`: a flight in which every parameter of a vehicle shows."""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.scenario.options import Option

_RAMP_S = 2.0  # in which the motion grows from rest and dies away [s]
# Sines of the acceleration along east, north and up: (amplitude [m/s^2], frequency [Hz], phase).
_SINES = (
    ((1.3, 0.083, 0.0), (1.6, 0.17, 1.0), (1.6, 0.37, 2.0)),
    ((1.3, 0.067, 1.5), (1.6, 0.21, 0.3), (1.6, 0.43, 4.0)),
    ((0.5, 0.11, 0.7), (1.6, 0.29, 2.6), (1.2, 0.61, 0.0)),
)
# Sines of the yaw rate: (amplitude [rad/s], frequency [Hz], phase).
_TURNS = ((1.2, 0.19, 0.5), (0.8, 0.47, 2.0))
_STEPS = (1.6, 1.6, 1.8)  # acceleration of the steps along each axis [m/s^2]
_HELD_S = (0.32, 0.40, 0.52)  # for which each of them is held [s]


class Excitation(NamedTuple):
    """Wanted motion at one time, relative to the start."""

    pos: np.ndarray  # (3,) [m]
    vel: np.ndarray  # (3,) [m/s]
    acc: np.ndarray  # (3,) with the steps [m/s^2]
    yaw: float  # [rad]
    yaw_rate: float  # [rad/s]


def excitation(t: float, duration: float, strength: float = 1.0) -> Excitation:
    """Returns the motion at a time: sines of three octaves, and steps on top of them.

    Args:
        t: Since the start [s].
        duration: Of the whole motion [s].
        strength: Factor on all amplitudes.
    """
    sines = np.array([_oscillation(axis, t) for axis in _SINES])  # (3, 3): axis; pos, vel, acc
    grown = _envelope(t, duration)
    # The product rule, so that position, velocity and acceleration belong together.
    pos = grown[0] * sines[:, 0]
    vel = grown[1] * sines[:, 0] + grown[0] * sines[:, 1]
    acc = grown[2] * sines[:, 0] + 2.0 * grown[1] * sines[:, 1] + grown[0] * sines[:, 2]
    steps = [step * _sign(t, held, k) for k, (step, held) in enumerate(zip(_STEPS, _HELD_S))]
    acc = acc + grown[0] * np.array(steps)
    yaw, yaw_rate = _turn(t)
    return Excitation(
        strength * pos,
        strength * vel,
        strength * acc,
        strength * grown[0] * yaw,
        strength * (grown[0] * yaw_rate + grown[1] * yaw),
    )


def _oscillation(sines: tuple[tuple[float, float, float], ...], t: float) -> list[float]:
    """Returns position, velocity and acceleration of sines of the acceleration."""
    pos = vel = acc = 0.0
    for amplitude, frequency, phase in sines:
        omega = 2.0 * math.pi * frequency
        angle = omega * t + phase
        pos -= amplitude / omega**2 * math.sin(angle)
        vel -= amplitude / omega * math.cos(angle)
        acc += amplitude * math.sin(angle)
    return [pos, vel, acc]


def _turn(t: float) -> tuple[float, float]:
    """Returns yaw [rad] and its rate [rad/s] before they are scaled."""
    yaw = rate = 0.0
    for amplitude, frequency, phase in _TURNS:
        omega = 2.0 * math.pi * frequency
        yaw -= amplitude / omega * math.cos(omega * t + phase)
        rate += amplitude * math.sin(omega * t + phase)
    return yaw, rate


def _envelope(t: float, duration: float) -> tuple[float, float, float]:
    """Returns what the motion is scaled by, 0 at both ends, and its two derivatives."""
    rise, fall = t / _RAMP_S, (duration - t) / _RAMP_S
    side = 1.0 if rise < fall else -1.0
    value, first, second = minimum_jerk(min(rise, fall))
    return value, side * first / _RAMP_S, second / _RAMP_S**2


def _sign(t: float, held: float, axis: int) -> float:
    """Returns +1 or -1, held for some time, in an order without a pattern but the same always."""
    place = int(t / held) * 2654435761 + axis * 40503
    return 1.0 if (place ^ (place >> 13)) & 64 else -1.0


class ExciteAgent(FlightAgent):
    """Take-off, a motion that excites every axis of each vehicle, landing.

    In addition to the events of FlightAgent: `excited` (duration_s) when it begins.
    """

    MEMORY = (*FlightAgent.MEMORY, "_begun_us")
    period_us = 8_000

    def __init__(
        self,
        n: int = 1,
        duration: Annotated[
            float, Option("of the motion", unit="s", minimum=10.0, maximum=3600.0)
        ] = 60.0,
        strength: Annotated[
            float, Option("factor on all amplitudes", minimum=0.1, maximum=3.0)
        ] = 1.0,
        height: Annotated[
            float, Option("above the start", unit="m", minimum=3.0, maximum=1000.0)
        ] = 8.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event."""
        super().__init__(n, height, on_event=on_event)
        self._duration, self._strength = duration, strength
        self._begun_us: int | None = None

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts the clock of the motion."""
        self._begun_us = t_us
        self.event(t_us, "excited", duration_s=self._duration)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sends the motion for this time; returns True at its end."""
        assert self._begun_us is not None
        t = (t_us - self._begun_us) * 1e-6
        wanted = excitation(min(t, self._duration), self._duration, self._strength)
        out.pos[:] = self.home + [0.0, 0.0, self.height] + wanted.pos
        out.vel[:], out.acc[:] = wanted.vel, wanted.acc
        out.yaw[:] = out.yaw + wanted.yaw
        out.yaw_rate[:] = wanted.yaw_rate
        return t >= self._duration
