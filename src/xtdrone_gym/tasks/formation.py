"""Formation-v0: three followers keep their slots behind a leader that flies a smooth random curve.

The leader is a point on a curve of trajectory.py. The goal holds the slot's place and velocity,
then the curve of the slot: the leader's, moved to a place in a wedge that is turned at random.
Observed are the slot from the vehicle and its velocity from the vehicle's, the vertical, velocity
and rates, where the two others are and how they move, all in the body's frame, and the last action.

Reward of a vehicle, with its distance d from the slot [m] and body rates w [rad/s]:
1 / (1 + 16 d^2) + 1 - d / 10 - 0.02 |w|, less 2 - n / 2 where the nearest other one is n < 4 m
away, and -20 for those that end the episode: by a touch, nearer than 1 m to another one, or further
than 20 m from the slot. A success is that each root mean square of d from 6 s on is below 0.3 m.
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
    VELOCITY_ERROR,
    ObservationArrays,
    RewardArrays,
    Task,
    apart,
    last_action,
    observe_body,
    observe_moving_goal,
    observe_others,
    others,
    put_action,
    reward_of_place,
    square_apart,
    touches,
)
from .multi_hover import FURTHEST, LOSS, NEAREST, PULL, price_of_closeness
from .trajectory import add_error, follow, follows

CURVE = 6  # index at which the curve begins in a goal
BEHIND, BESIDE = 3.0, 3.5  # distances of neighbours in the wedge [m]
SETTLED, NEAR = 6.0, 0.3  # [s], [m]; slots may begin 15 m away


@njit(nogil=True)
def begin(which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray) -> None:
    """Draws the leader's curve and the wedge's direction; see Task."""
    for e in which:
        stream = streams[e]
        turn = 2.0 * math.pi * next_uniform(stream)
        for k in range(arrays.goal.shape[2]):
            arrays.goal[e, :, k] = limits[0, k] + next_uniform(stream) * (
                limits[1, k] - limits[0, k]
            )
        for i in range(arrays.goal.shape[1]):
            back, left = -BEHIND, BESIDE * (1.0 - 2.0 * i)
            if i == 2:
                back, left = -2.0 * BEHIND, 0.0
            arrays.goal[e, i, CURVE] += math.cos(turn) * back - math.sin(turn) * left
            arrays.goal[e, i, CURVE + 1] += math.sin(turn) * back + math.cos(turn) * left


@njit(nogil=True)
def advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Moves the goals; see Task."""
    for e in which:
        t = 1e-6 * t_us[e]
        for i in range(arrays.pos.shape[1]):
            goal = arrays.goal[e, i]
            c = goal[CURVE:]
            follow(c, t, goal)
            for k in range(3):
                goal[3 + k] = c[3 + k] * c[6 + k] * math.cos(c[6 + k] * t + c[9 + k])
            if t > SETTLED:
                add_error(arrays.memory[e, i], square_apart(goal, arrays.pos[e, i]))


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            out = arrays.observation[e, i]
            k = observe_body(arrays, e, i, out, observe_moving_goal(arrays, e, i, out))
            k = observe_others(arrays, e, i, arrays.quat[e, i], out, k)
            put_action(arrays, e, i, out, k)


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        arrays.success[e] = True
        for i in range(state.pos.shape[1]):
            nearest = apart(state, e, i)
            square = square_apart(arrays.goal[e, i], state.pos[e, i])
            lost = touches(state, e, i) or nearest < NEAREST or square > FURTHEST**2
            arrays.reward[e, i] = (
                LOSS
                if lost
                else (reward_of_place(square, state.ang_vel[e, i]) - price_of_closeness(nearest))
            )
            arrays.potential[e, i] = -PULL * math.sqrt(square)
            arrays.terminated[e, i] = lost
            arrays.success[e] &= follows(arrays.memory[e, i], NEAR) and not lost


TASK = Task(
    name="Formation-v0",
    text="three followers keep their slots behind a leader",
    success=f"root mean square errors below {NEAR:g} m from {SETTLED:g} s on, none ever within "
    f"{NEAREST:g} m of another",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=12.0,
    starts=((-4.0, 4.0, 30.0), (-4.0, -4.0, 30.0), (4.0, 0.0, 30.0)),
    goal=(
        (0.0,) * CURVE + (0.0, 0.0, 30.0, 1.0, 1.0, 0.3, 0.3, 0.3, 0.3, 0.0, 0.0, 0.0),
        (0.0,) * CURVE + (0.0, 0.0, 30.0, 3.0, 3.0, 1.0, 0.8, 0.8, 0.8, 6.3, 6.3, 6.3),
    ),
    randomisation=Randomisation(pos=(1.0, 1.0, 1.0), yaw=math.pi, tilt=0.3, vel=0.5, ang_vel=0.5),
    parts=(POSITION_ERROR, VELOCITY_ERROR, *BODY, *others(2), last_action(RATES_LOW, RATES_HIGH)),
    begin=begin,
    observe=observe,
    judge=judge,
    advance=advance,
    memory=2,
)
