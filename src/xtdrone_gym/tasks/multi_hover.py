"""MultiHover-v0: four vehicles fly to four goals that lie across each other's, without touching.

The vehicles begin at the corners of a square; the goals are the corners of a smaller one, turned at
random, and dealt at random. Observed are the goal from the vehicle, its vertical, velocity and
rates, where the three others are and how they move, the nearest first, all in the body's frame, and
the last action.

Reward of a vehicle, with its distance d from the goal [m] and body rates w [rad/s]:
1 / (1 + 16 d^2) + 1 - d / 10 - 0.02 |w|, less 2 - n / 2 where the nearest other one is n < 4 m
away, and -20 for those that end the episode: by a touch, nearer than 1 m to another one, or further
than 20 m from the goal. A success is that all are within 0.2 m of their goals at the end,
slower than 0.5 m/s.
"""

import math

import numpy as np

from sensor_models.streams import next_uniform
from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import (
    BODY,
    POSITION_ERROR,
    RATES_HIGH,
    RATES_LOW,
    ObservationArrays,
    RewardArrays,
    Task,
    apart,
    last_action,
    observe_body,
    observe_others,
    others,
    put_action,
    put_in_body,
    reward_of_place,
    square_apart,
    touches,
)

CLOSE, NEAREST, FURTHEST = 4.0, 1.0, 20.0  # [m]
LOSS = -20.0
PULL = 5.0  # potential for each metre from the goal
NEAR, SLOW = 0.2, 0.5  # bounds of being at a goal [m], [m/s]


@njit(nogil=True)
def begin(which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray) -> None:
    """Deals the corners of a square, whose centre's distance and height are drawn; see Task."""
    count = arrays.goal.shape[1]
    for e in which:
        stream = streams[e]
        turn = 2.0 * math.pi * next_uniform(stream)
        for i in range(count):
            goal = arrays.goal[e, i]
            angle = turn + 2.0 * math.pi * i / count
            far = limits[0, 0] + next_uniform(stream) * (limits[1, 0] - limits[0, 0])
            goal[0], goal[1] = far * math.cos(angle), far * math.sin(angle)
            goal[2] = limits[0, 2] + next_uniform(stream) * (limits[1, 2] - limits[0, 2])
        for i in range(count - 1, 0, -1):
            j = int(next_uniform(stream) * (i + 1))
            for k in range(3):
                a = arrays.goal[e, i, k]
                arrays.goal[e, i, k] = arrays.goal[e, j, k]
                arrays.goal[e, j, k] = a


@njit(inline="always")
def price_of_closeness(nearest: float) -> float:
    """Returns what it costs that another vehicle is so near [m]."""
    return max(2.0 - 2.0 * nearest / CLOSE, 0.0)


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            pos, goal, out = arrays.pos[e, i], arrays.goal[e, i], arrays.observation[e, i]
            put_in_body(
                out,
                0,
                POSITION_ERROR.bound,
                arrays.quat[e, i],
                goal[0] - pos[0],
                goal[1] - pos[1],
                goal[2] - pos[2],
            )
            k = observe_others(
                arrays, e, i, arrays.quat[e, i], out, observe_body(arrays, e, i, out, 3)
            )
            put_action(arrays, e, i, out, k)


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        arrays.success[e] = True
        for i in range(state.pos.shape[1]):
            vel, nearest = state.vel[e, i], apart(state, e, i)
            square = square_apart(arrays.goal[e, i], state.pos[e, i])
            lost = touches(state, e, i) or nearest < NEAREST or square > FURTHEST**2
            arrays.reward[e, i] = (
                LOSS
                if lost
                else (reward_of_place(square, state.ang_vel[e, i]) - price_of_closeness(nearest))
            )
            arrays.potential[e, i] = -PULL * math.sqrt(square)
            arrays.terminated[e, i] = lost
            arrays.success[e] &= (
                square < NEAR**2 and vel[0] ** 2 + vel[1] ** 2 + vel[2] ** 2 < SLOW**2 and not lost
            )


TASK = Task(
    name="MultiHover-v0",
    text="four vehicles fly to four goals without touching each other",
    success=f"each within {NEAR:g} m of its goal at the end, slower than {SLOW:g} m/s, none ever "
    f"within {NEAREST:g} m of another",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=10.0,
    starts=tuple((x, y, 30.0) for x in (-5.0, 5.0) for y in (-5.0, 5.0)),
    goal=((4.0, 4.0, 28.0), (5.0, 5.0, 32.0)),
    randomisation=Randomisation(pos=(1.0, 1.0, 1.0), yaw=math.pi, tilt=0.3, vel=0.5, ang_vel=0.5),
    parts=(POSITION_ERROR, *BODY, *others(3), last_action(RATES_LOW, RATES_HIGH)),
    begin=begin,
    observe=observe,
    judge=judge,
)
