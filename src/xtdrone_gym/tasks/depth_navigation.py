"""DepthNavigation-v0: fly through a forest by a depth camera, to a goal on its far side.

The action is a velocity in the world, which the flight stack's loops fly. Observed are the goal
from the vehicle and the velocity, in the world's frame, height and place across the forest, the
heading's cosine and sine, the vertical in the body's frame, the camera's image as the nearest
distance in each of 3 x 16 fields (as a fraction of 10 m), and the last action.

Reward: how much nearer to the goal the last step has come [m], 10 at the goal, -10 at the end by a
touch or outside of the forest. The episode is complete, and a success, within 1 m of the goal.
"""

import math

import numpy as np

from sensor_models.cameras import CameraParameters
from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import (
    BODY,
    ObservationArrays,
    Part,
    RewardArrays,
    Task,
    last_action,
    put,
    put_action,
    put_in_body,
    square_apart,
    touches,
)

NEAR = 1.0  # a vehicle so near is at the goal [m]
LOSS, REACHED = -10.0, 10.0
SIDE, LOWEST, HIGHEST, BACK = 8.0, 0.5, 4.5, -3.0  # bounds of where it may fly [m]
ROWS, COLUMNS = 3, 16
CAMERA = CameraParameters.pinhole(48, 12, 1.9, far=10.0, rate=10.0)
TO_GOAL = Part("to_goal", 3, 50.0, 10.0)
VELOCITY = Part("velocity", 3, 30.0, 3.0)
PLACE = Part("place", 2, 20.0, 4.0)  # across the forest, height [m]
HEADING = Part("heading", 2, 1.0, 1.0)
IMAGE = Part("image", ROWS * COLUMNS, 1.0, 1.0)


@njit(nogil=True)
def advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Keeps the distance from the goal, and what the last step has gained; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            memory, d = (
                arrays.memory[e, i],
                math.sqrt(square_apart(arrays.goal[e, i], arrays.pos[e, i])),
            )
            memory[1] = memory[0] - d if memory[0] > 0.0 else 0.0
            memory[0] = d


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            pos, goal, vel, quat, out = (
                arrays.pos[e, i],
                arrays.goal[e, i],
                arrays.vel[e, i],
                arrays.quat[e, i],
                arrays.observation[e, i],
            )
            put(out, 0, TO_GOAL.bound, goal[0] - pos[0], goal[1] - pos[1], goal[2] - pos[2])
            put(out, 3, VELOCITY.bound, vel[0], vel[1], vel[2])
            cos = 1.0 - 2.0 * (quat[1] * quat[1] + quat[2] * quat[2])
            sin = 2.0 * (quat[0] * quat[1] + quat[3] * quat[2])
            length = math.sqrt(cos * cos + sin * sin) + 1e-6
            put(out, 6, PLACE.bound, pos[1], pos[2], 0.0)
            put(out, 8, HEADING.bound, cos / length, sin / length, 0.0)
            put_in_body(out, 10, 1.0, quat, 0.0, 0.0, 1.0)
            for k in range(arrays.image.shape[2]):
                out[13 + k] = arrays.image[e, i, k]
            put_action(arrays, e, i, out, 13 + arrays.image.shape[2])


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        for i in range(state.pos.shape[1]):
            pos, memory = state.pos[e, i], arrays.memory[e, i]
            lost = (
                touches(state, e, i)
                or abs(pos[1]) > SIDE
                or pos[2] < LOWEST
                or pos[2] > HIGHEST
                or pos[0] < BACK
            )
            arrays.success[e] = memory[0] < NEAR and not lost
            arrays.terminated[e, i] = lost or arrays.success[e]
            arrays.reward[e, i] = (
                LOSS if lost else memory[1] + (REACHED if arrays.success[e] else 0.0)
            )


LOW, HIGH = (-1.0, -2.0, -1.0, -1.0), (3.0, 2.0, 1.0, 1.0)
TASK = Task(
    name="DepthNavigation-v0",
    text="fly through a forest by a depth camera",
    success=f"within {NEAR:g} m of the goal, nothing touched",
    action="velocity",
    low=LOW,
    high=HIGH,
    sub_steps=25,
    seconds=25.0,
    starts=((0.0, 0.0, 2.5),),
    world="navigation_forest",
    goal=((28.0, -5.0, 2.0), (28.0, 5.0, 3.0)),
    randomisation=Randomisation(pos=(0.5, 1.0, 0.5), yaw=0.5, vel=0.3),
    parts=(TO_GOAL, VELOCITY, PLACE, HEADING, BODY[0], IMAGE, last_action(LOW, HIGH)),
    observe=observe,
    judge=judge,
    advance=advance,
    memory=2,
    camera=CAMERA,
    pooled=(ROWS, COLUMNS),
)
