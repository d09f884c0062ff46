"""The offline simulator of Mora-Soto and others (2021): algorithm and vehicle at 1 ms by Euler."""

from dataclasses import dataclass

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.euler_zxy import Body, EulerState, euler_step

from .control import HEIGHT, PITCH, ROLL, STEP_S, YAW, control, reference

# Table 1, in the order of euler_zxy.Body: mass, inertia, friction, friction of the angles, g.
TABLE_1: Body = (0.225, 5e-3, 5e-3, 5e-3, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 9.81)
PLACES = (2, 5, 4, 3)  # indices of height, yaw, pitch and roll in a state


@dataclass(frozen=True)
class Flown:
    """A simulated flight of K steps of 1 ms.

    Attributes:
        t_s: (K,) [s].
        states: (K, 12) as euler_zxy.EulerState.
        references: (K, 4) of height [m], yaw, pitch, roll [rad].
        commands: (K, 4) thrust [N], torques of yaw, pitch, roll [N m].
    """

    t_s: np.ndarray
    states: np.ndarray
    references: np.ndarray
    commands: np.ndarray

    @property
    def axes(self) -> np.ndarray:
        """(K, 4) height [m], yaw, pitch, roll [rad]."""
        return self.states[:, PLACES]


def simulate(
    sticks: np.ndarray,
    gains: np.ndarray,
    body: Body = TABLE_1,
    start: EulerState = (0.0,) * 12,
    lean: np.ndarray | None = None,
) -> Flown:
    """Flies recorded or scripted sticks.

    Args:
        sticks: (K, 4) at 1 ms, -1..1: up, counter-clockwise, forward, right.
        gains: (4, 4) of height, yaw, pitch, roll, columns k, p, i, d.
        body: The vehicle.
        start: State at the first step; height and yaw are the first references.
        lean: (K, 2) added to the references of pitch and roll, as against wind [rad]; None: none.
    """
    sticks = np.ascontiguousarray(sticks, dtype=float)
    count = len(sticks)
    states, references, commands = np.empty((count, 12)), np.empty((count, 4)), np.empty((count, 4))
    added = np.zeros((count, 2)) if lean is None else np.ascontiguousarray(lean, dtype=float)
    _fly(
        sticks,
        np.ascontiguousarray(gains, dtype=float),
        tuple(map(float, body)),
        tuple(map(float, start)),
        added,
        states,
        references,
        commands,
    )
    return Flown(np.arange(count) * STEP_S, states, references, commands)


@njit
def _fly(
    sticks: np.ndarray,
    gains: np.ndarray,
    body: Body,
    start: EulerState,
    lean: np.ndarray,
    states: np.ndarray,
    references: np.ndarray,
    commands: np.ndarray,
) -> None:
    s = start
    held, errors, integrals = np.zeros(4), np.zeros(4), np.zeros(4)
    held[HEIGHT], held[YAW] = s[2], s[5]
    wanted = np.empty(4)
    for k in range(sticks.shape[0]):
        for axis in range(4):
            held[axis] = reference(axis, held[axis], sticks[k, axis], gains[axis, 0])
            wanted[axis] = held[axis]
        wanted[PITCH] += lean[k, 0]
        wanted[ROLL] += lean[k, 1]
        place = (s[2], s[5], s[4], s[3])
        c = control(place, wanted, errors, integrals, gains, body[0] * body[10], STEP_S, k == 0)
        for n in range(12):
            states[k, n] = s[n]
        for axis in range(4):
            references[k, axis], commands[k, axis] = wanted[axis], c[axis]
        s = euler_step(s, c[0], c[3], c[2], c[1], body, STEP_S)
