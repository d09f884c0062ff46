"""Trajectory-v0: follow a smooth random curve, by body rates and thrust.

The curve is a Lissajous figure, along each axis c + a sin(w t + f) with numbers that are drawn for
each episode. The goal holds the places of the curve now and 0.2, 0.4, 0.6 s later, then c, a, w, f.

Observed are these four places from the vehicle, its vertical, velocity and rates, all in the body's
frame, and the last action. With the distance d from the curve [m] and the body rates w [rad/s], the
reward is 1 / (1 + 16 d^2) + 1 - d / 10 - 0.02 |w|, and -10 at the end where d grows beyond 8 m. A
success is a root mean square of d below 0.2 m from 3 s on.
"""

import math

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import (
    BODY,
    RATES_HIGH,
    RATES_LOW,
    ObservationArrays,
    Part,
    RewardArrays,
    Task,
    last_action,
    observe_body,
    put_action,
    put_in_body,
    reward_of_place,
    square_apart,
)

PLACES, AHEAD = 4, 0.2  # on the curve, [s]
CURVE = 3 * PLACES  # index at which c, a, w, f begin
FURTHEST = 8.0  # largest distance from the curve [m]
LOSS = -10.0
PULL = 5.0  # potential for each metre from the curve
SETTLED, NEAR = 3.0, 0.2  # [s], [m]
ERRORS = Part("position_errors", 3 * PLACES, 20.0, 2.0)


@njit
def follow(curve: np.ndarray, t: float, out: np.ndarray) -> None:
    """Writes the place (3,) of a curve (12,) of c, a, w, f at a time [s]."""
    for k in range(3):
        out[k] = curve[k] + curve[3 + k] * math.sin(curve[6 + k] * t + curve[9 + k])


@njit
def add_error(memory: np.ndarray, square: float) -> None:
    """Adds to the sum and number of square errors [m^2]."""
    memory[0] += square
    memory[1] += 1.0


@njit(inline="always")
def follows(memory: np.ndarray, bound: float) -> bool:
    """Whether the root mean square of the errors is below a bound [m]."""
    return memory[1] > 0.0 and memory[0] < bound * bound * memory[1]


@njit(nogil=True)
def advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Moves the goals; see Task."""
    for e in which:
        t = 1e-6 * t_us[e]
        for i in range(arrays.pos.shape[1]):
            goal = arrays.goal[e, i]
            for n in range(PLACES):
                follow(goal[CURVE:], t + AHEAD * n, goal[3 * n :])
            if t > SETTLED:
                add_error(arrays.memory[e, i], square_apart(goal, arrays.pos[e, i]))


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            pos, goal, out = arrays.pos[e, i], arrays.goal[e, i], arrays.observation[e, i]
            for k in range(0, CURVE, 3):
                put_in_body(
                    out,
                    k,
                    ERRORS.bound,
                    arrays.quat[e, i],
                    goal[k] - pos[0],
                    goal[k + 1] - pos[1],
                    goal[k + 2] - pos[2],
                )
            put_action(arrays, e, i, out, observe_body(arrays, e, i, out, CURVE))


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        for i in range(state.pos.shape[1]):
            square = square_apart(arrays.goal[e, i], state.pos[e, i])
            lost = square > FURTHEST**2
            arrays.terminated[e, i] = lost
            arrays.reward[e, i] = LOSS if lost else reward_of_place(square, state.ang_vel[e, i])
            arrays.potential[e, i] = -PULL * math.sqrt(square)
            arrays.success[e] = follows(arrays.memory[e, i], NEAR)


TASK = Task(
    name="Trajectory-v0",
    text="follow a smooth random curve",
    success=f"a root mean square error below {NEAR:g} m from {SETTLED:g} s on",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=12.0,
    starts=((0.0, 0.0, 30.0),),
    goal=(
        (0.0,) * CURVE + (0.0, 0.0, 30.0, 1.0, 1.0, 0.3, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0),
        (0.0,) * CURVE + (0.0, 0.0, 30.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 6.3, 6.3, 6.3),
    ),
    randomisation=Randomisation(pos=(1.0, 1.0, 1.0), yaw=math.pi, tilt=0.3, vel=0.5, ang_vel=0.5),
    parts=(ERRORS, *BODY, last_action(RATES_LOW, RATES_HIGH)),
    observe=observe,
    judge=judge,
    advance=advance,
    memory=2,
)
