"""Landing-v0: land on a moving platform, by body rates and thrust.

The platform is an object of the world, 3 m wide, that moves at up to 1.2 m/s along each axis and
turns back at 8 m. The goal holds the centre of its top and its velocity. Observed are the platform
from the vehicle and its velocity from the vehicle's, the vertical and body rates, all in the body's
frame, and the last action.

The first touch ends the episode. It is a success within 0.7 m of the centre, at less than 0.8 m/s
down and 0.5 m/s sideways against the platform, leaning by less than 0.25 rad. The reward of a touch
of the platform is 5, less 5 for each metre from its centre, for each m/s against it and for each
rad of lean, at least -10, and 15 for a success; -10 for the ground or further than 15 m away; and
otherwise a price of 0.1 for each metre from the platform and of 0.02 |w| for body rates w [rad/s].
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
    VELOCITY_ERROR,
    ObservationArrays,
    RewardArrays,
    Task,
    last_action,
    observe_body,
    observe_moving_goal,
    put_action,
    square_apart,
    touches,
)

PLATFORM = 1  # its object in worlds/batch/landing.yaml, after the ground
ASIDE, DOWN, SIDEWAYS, LEAN = 0.7, 0.8, 0.5, 0.25  # [m], [m/s], [m/s], [rad]
BOUND, FURTHEST = 8.0, 15.0  # the platform turns back there; a vehicle so far from it is lost [m]
LOSS, LANDED, TOUCHED, BADLY = -10.0, 15.0, 5.0, 5.0
BEFORE, NOW, KEPT = 0, 4, 4  # velocity against the platform, and lean, of the last two steps


@njit(nogil=True)
def begin(which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray) -> None:
    """Sets the platform as the goal, as it stands; see Task."""
    for e in which:
        for i in range(arrays.goal.shape[1]):
            o, goal = arrays.objects[e, PLATFORM], arrays.goal[e, i]
            for k in range(3):
                goal[k], goal[3 + k] = o.pos[k], o.vel[k]
            goal[2] += 0.5 * o.size[2]


@njit(nogil=True)
def advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Moves the platform as its world does, and keeps the approach; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            goal, memory, vel, quat = (
                arrays.goal[e, i],
                arrays.memory[e, i],
                arrays.vel[e, i],
                arrays.quat[e, i],
            )
            if t_us[e] > 0:
                for k in range(2):
                    goal[k] += goal[3 + k] * dt
                    if abs(goal[k]) > BOUND and goal[k] * goal[3 + k] > 0.0:
                        goal[3 + k] = -goal[3 + k]
            for k in range(KEPT):
                memory[BEFORE + k] = memory[NOW + k]
            for k in range(3):
                memory[NOW + k] = vel[k] - goal[3 + k]
            memory[NOW + 3] = math.acos(
                min(max(1.0 - 2.0 * (quat[0] * quat[0] + quat[1] * quat[1]), -1.0), 1.0)
            )


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            out = arrays.observation[e, i]
            k = observe_moving_goal(arrays, e, i, out)
            put_action(arrays, e, i, out, observe_body(arrays, e, i, out, k))


@njit
def value_of_touch(pos: np.ndarray, goal: np.ndarray, approach: np.ndarray) -> float:
    """Returns the reward of a touch at p (3,) after an approach (KEPT,), without a landing's."""
    if pos[2] < goal[2]:
        return LOSS
    aside = math.sqrt((pos[0] - goal[0]) ** 2 + (pos[1] - goal[1]) ** 2)
    speed = math.sqrt(approach[0] ** 2 + approach[1] ** 2 + approach[2] ** 2)
    return max(TOUCHED - BADLY * (aside + speed + approach[3]), LOSS)


@njit
def lands(pos: np.ndarray, goal: np.ndarray, approach: np.ndarray) -> bool:
    """Whether a touch at p (3,), after an approach (KEPT,), is a landing on the platform g."""
    x, y, u = pos[0] - goal[0], pos[1] - goal[1], approach
    return (
        x * x + y * y < ASIDE**2
        and pos[2] > goal[2]
        and abs(u[2]) < DOWN
        and u[0] ** 2 + u[1] ** 2 < SIDEWAYS**2
        and u[3] < LEAN
    )


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        for i in range(state.pos.shape[1]):
            pos, goal, ang_vel = state.pos[e, i], arrays.goal[e, i], state.ang_vel[e, i]
            touched = touches(state, e, i)
            far = math.sqrt(square_apart(goal, pos))
            arrays.success[e] = touched and lands(pos, goal, arrays.memory[e, i, BEFORE:])
            arrays.terminated[e, i] = touched or far > FURTHEST
            arrays.potential[e, i] = -far
            arrays.reward[e, i] = -0.1 * far - 0.02 * math.sqrt(
                ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2
            )
            if arrays.terminated[e, i]:
                arrays.reward[e, i] = (
                    value_of_touch(pos, goal, arrays.memory[e, i, BEFORE:]) if touched else LOSS
                )
                if arrays.success[e]:
                    arrays.reward[e, i] += LANDED


TASK = Task(
    name="Landing-v0",
    text="land on a moving platform",
    success=f"the first touch within {ASIDE:g} m of the platform's centre, slower against it than "
    f"{DOWN:g} m/s down and {SIDEWAYS:g} m/s sideways",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=15.0,
    starts=((0.0, 0.0, 6.0),),
    goal=((0.0,) * 6,) * 2,
    world="landing",
    randomisation=Randomisation(pos=(2.0, 2.0, 1.0), yaw=math.pi, tilt=0.2, vel=0.5, ang_vel=0.3),
    parts=(POSITION_ERROR, VELOCITY_ERROR, *BODY, last_action(RATES_LOW, RATES_HIGH)),
    begin=begin,
    observe=observe,
    judge=judge,
    advance=advance,
    memory=2 * KEPT,
)
