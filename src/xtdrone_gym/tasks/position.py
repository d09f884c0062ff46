"""Position-v0: fly to a goal and stay there, by body rates and thrust.

The reward is that of Aerial Gym's position task, so that figures compare: with the distance d, the
tilt and the body rates w, p = 3 exp(-8 d^2) + 2 exp(-4 d^2) and

    p + (20 - d) / 40 + p (0.2 / (0.1 + tilt^2) + 3 / (1 + |w|^2)),

and -20 at the end where d grows beyond 8 m.
"""

import math

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import (
    BODY,
    POSITION_ERROR,
    RATES_HIGH,
    RATES_LOW,
    RewardArrays,
    Task,
    last_action,
    observe_goal,
)

FURTHEST = 8.0  # largest distance from the goal [m]
LOSS = -20.0
PULL = 10.0  # potential for each metre from the goal
NEAR, SLOW = 0.2, 0.5  # bounds of being at a goal [m], [m/s]


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        for i in range(state.pos.shape[1]):
            pos, goal, quat, vel, ang_vel = (
                state.pos[e, i],
                arrays.goal[e, i],
                state.quat[e, i],
                state.vel[e, i],
                state.ang_vel[e, i],
            )
            square = (goal[0] - pos[0]) ** 2 + (goal[1] - pos[1]) ** 2 + (goal[2] - pos[2]) ** 2
            d = math.sqrt(square)
            tilt = math.acos(
                min(max(1.0 - 2.0 * (quat[0] * quat[0] + quat[1] * quat[1]), -1.0), 1.0)
            )
            spin = ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2
            sharp = math.exp(-4.0 * square)
            near = 3.0 * sharp * sharp + 2.0 * sharp
            lost = d > FURTHEST
            arrays.terminated[e, i] = lost
            arrays.reward[e, i] = (
                LOSS
                if lost
                else near
                + (20.0 - d) / 40.0
                + near * (0.2 / (0.1 + tilt * tilt) + 3.0 / (1.0 + spin))
            )
            arrays.potential[e, i] = -PULL * d
            arrays.success[e] = d < NEAR and vel[0] ** 2 + vel[1] ** 2 + vel[2] ** 2 < SLOW**2


TASK = Task(
    name="Position-v0",
    text="fly to a goal and stay there",
    success=f"within {NEAR:g} m of the goal at the end, slower than {SLOW:g} m/s",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=10.0,
    starts=((0.0, 0.0, 30.0),),
    goal=((-2.0, -2.0, 28.0), (2.0, 2.0, 32.0)),
    randomisation=Randomisation(pos=(1.0, 1.0, 1.0), yaw=math.pi, tilt=0.3, vel=0.5, ang_vel=0.5),
    parts=(POSITION_ERROR, *BODY, last_action(RATES_LOW, RATES_HIGH)),
    observe=observe_goal,
    judge=judge,
)
