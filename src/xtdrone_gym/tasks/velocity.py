"""Velocity-v0: fly at a velocity, by body rates and thrust.

The goal is the velocity [m/s]. Reward: 1 less the error [m/s], at least -1, and a tenth of the
body rates as a price.
"""

import math

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import (
    BODY,
    RATES_HIGH,
    RATES_LOW,
    VELOCITY_ERROR,
    ObservationArrays,
    RewardArrays,
    Task,
    last_action,
    observe_body,
    put_action,
    put_in_body,
)

FASTEST = 25.0  # faster is out of control [m/s]
LOSS = -20.0
NEAR = 0.3  # [m/s]


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.vel.shape[1]):
            vel, goal, out = arrays.vel[e, i], arrays.goal[e, i], arrays.observation[e, i]
            put_in_body(
                out,
                0,
                VELOCITY_ERROR.bound,
                arrays.quat[e, i],
                goal[0] - vel[0],
                goal[1] - vel[1],
                goal[2] - vel[2],
            )
            put_action(arrays, e, i, out, observe_body(arrays, e, i, out, 3))


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        for i in range(state.pos.shape[1]):
            vel, goal, ang_vel = state.vel[e, i], arrays.goal[e, i], state.ang_vel[e, i]
            error = math.sqrt(
                (goal[0] - vel[0]) ** 2 + (goal[1] - vel[1]) ** 2 + (goal[2] - vel[2]) ** 2
            )
            spin = math.sqrt(ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2)
            lost = vel[0] ** 2 + vel[1] ** 2 + vel[2] ** 2 > FASTEST**2 or state.pos[e, i, 2] < 2.0
            arrays.terminated[e, i] = lost
            arrays.reward[e, i] = LOSS if lost else max(1.0 - error, -1.0) - 0.1 * spin
            arrays.potential[e, i] = -error
            arrays.success[e] = error < NEAR


TASK = Task(
    name="Velocity-v0",
    text="fly at a velocity",
    success=f"within {NEAR:g} m/s of the velocity at the end",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=5.0,
    starts=((0.0, 0.0, 60.0),),
    goal=((-4.0, -4.0, -2.0), (4.0, 4.0, 2.0)),
    randomisation=Randomisation(yaw=math.pi, tilt=0.3, vel=1.0, ang_vel=0.5),
    parts=(VELOCITY_ERROR, *BODY, last_action(RATES_LOW, RATES_HIGH)),
    observe=observe,
    judge=judge,
    goal_positions=None,
)
