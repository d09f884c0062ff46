"""Velocity-v0: fly at a velocity, by body rates and thrust.

The goal is the velocity [m/s]; the observation's position_error is then its error. Reward: 1 less
the error [m/s], at least -1, and a tenth of the body rates as a price.
"""

import math
from typing import Any

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import FAR, Task, observe

FASTEST = 25.0  # faster is out of control [m/s]
LOSS = -20.0


@njit(nogil=True)
def evaluate(which: np.ndarray, s: Any, goal: np.ndarray, action: np.ndarray, t_us: np.ndarray,
             limit_us: int, observation: np.ndarray, reward: np.ndarray, terminated: np.ndarray,
             truncated: np.ndarray) -> None:
    """See tasks/position.py; goal: (E, 3) velocity, world [m/s]."""
    for e in which:
        observe(e, s, goal, action, observation)
        square = 0.0
        speed = 0.0
        for k in range(3):
            error = min(max(goal[e, k] - s.vel[e, 0, k], -FAR), FAR)
            observation[e, k] = error
            square += error * error
            speed += s.vel[e, 0, k]**2
        w = observation[e, 15]**2 + observation[e, 16]**2 + observation[e, 17]**2
        lost = speed > FASTEST**2 or s.pos[e, 0, 2] < 2.0
        reward[e] = LOSS if lost else max(1.0 - math.sqrt(square), -1.0) - 0.1 * math.sqrt(w)
        terminated[e] = lost
        truncated[e] = not lost and t_us[e] >= limit_us


TASK = Task(
    name="Velocity-v0", text="fly at a velocity", action="rates",
    low=(-6.0, -6.0, -3.0, 0.0), high=(6.0, 6.0, 3.0, 1.0), sub_steps=5, seconds=5.0,
    start=(0.0, 0.0, 60.0), goal=((-4.0, -4.0, -2.0), (4.0, 4.0, 2.0)),
    randomisation=Randomisation(yaw=math.pi, tilt=0.3, vel=1.0, ang_vel=0.5),
    evaluate=evaluate)
