"""Position-v0: fly to a goal and stay there, by body rates and thrust.

The reward is that of Aerial Gym's position task, so that figures compare: with the distance d, the
tilt and the body rates w, p = 3 exp(-8 d^2) + 2 exp(-4 d^2) and

    p + (20 - d) / 40 + p (0.2 / (0.1 + tilt^2) + 3 / (1 + |w|^2)),

and -20 at the end where d grows beyond 8 m.
"""

import math
from typing import Any

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import Task, observe

FURTHEST = 8.0  # from the goal [m]
LOSS = -20.0


@njit(nogil=True)
def evaluate(which: np.ndarray, s: Any, goal: np.ndarray, action: np.ndarray, t_us: np.ndarray,
             limit_us: int, observation: np.ndarray, reward: np.ndarray, terminated: np.ndarray,
             truncated: np.ndarray) -> None:
    """Observation, reward and end of some environments.

    Args:
        which: Their indices.
        s: BatchState.
        goal: (E, 3) world [m].
        action: (E, 1, K) the last one.
        t_us: (E,) since the start of the episode [us].
        limit_us: When it is truncated [us].
        observation: (E, N), the output.
        reward: (E,), the output.
        terminated, truncated: (E,) bool, the output.
    """
    for e in which:
        observe(e, s, goal, action, observation)
        dx, dy, dz = observation[e, 0], observation[e, 1], observation[e, 2]
        square = dx * dx + dy * dy + dz * dz
        d = math.sqrt(square)
        tilt = math.acos(observation[e, 11])
        w = observation[e, 15]**2 + observation[e, 16]**2 + observation[e, 17]**2
        sharp = math.exp(np.float32(-4.0) * square)
        near = 3.0 * sharp * sharp + 2.0 * sharp
        lost = d > FURTHEST
        reward[e] = LOSS if lost else (near + (20.0 - d) / 40.0
                                       + near * (0.2 / (0.1 + tilt * tilt) + 3.0 / (1.0 + w)))
        terminated[e] = lost
        truncated[e] = not lost and t_us[e] >= limit_us


TASK = Task(
    name="Position-v0", text="fly to a goal and stay there", action="rates",
    low=(-6.0, -6.0, -3.0, 0.0), high=(6.0, 6.0, 3.0, 1.0), sub_steps=5, seconds=10.0,
    start=(0.0, 0.0, 30.0), goal=((-2.0, -2.0, 28.0), (2.0, 2.0, 32.0)),
    randomisation=Randomisation(pos=(1.0, 1.0, 1.0), yaw=math.pi, tilt=0.3, vel=0.5, ang_vel=0.5),
    evaluate=evaluate)
