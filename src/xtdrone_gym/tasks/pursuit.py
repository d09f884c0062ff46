"""Pursuit-v0: three pursuers catch an evader that flees from them, by velocities.

The evader is a point in a disc of radius 12 m between 8 and 16 m above the ground. It flees from
each pursuer, and from an edge nearer than 3 m, by the inverse of their distances, at 3.5 m/s along
the level and 1 m/s up or down; pursuers fly 5 m/s along each axis. The goal holds its place and
velocity. Observed are the evader from the vehicle, its velocity, the vehicle's own velocity and
place in the disc, and where the two others are and how they move, the nearest first, all in the
world's frame.

The episode is complete, and a success, when a pursuer is within 1 m of the evader. The reward of
each is 20 then, -10 if it touched something or left the disc by 5 m, which ends the episode, and
otherwise a price of 0.02 for each metre of its distance from the evader.
"""

import math

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_dynamics.compiled import njit

from ..task import (
    ObservationArrays,
    Part,
    RewardArrays,
    Task,
    draw_goals,
    observe_others,
    others,
    put,
    square_apart,
    touches,
)

RADIUS, LOWEST, HIGHEST, OUTSIDE = 12.0, 8.0, 16.0, 5.0  # [m]
EDGE = 3.0  # nearer to an edge the evader flees from it, too [m]
SPEED, CLIMB, LAG = 3.5, 1.0, 0.4  # how the evader flies [m/s], [m/s], [s]
CAUGHT = 1.0  # [m]
LOSS, REWARD, PRICE = -10.0, 20.0, 0.02
EVADER = Part("evader", 3, 40.0, 5.0)
EVADER_VELOCITY = Part("evader_velocity", 3, 10.0, 3.0)
VELOCITY = Part("velocity", 3, 30.0, 3.0)
PLACE = Part("place", 3, 40.0, 5.0)  # position from the disc's middle [m]
WORLD = np.array([0.0, 0.0, 0.0, 1.0], dtype=np.float32)


@njit
def _push(room: float) -> float:
    """Returns the weight of an edge at a distance [m] beside that of pursuers."""
    return max(1.0 / max(room, 0.1) - 1.0 / EDGE, 0.0)


@njit
def flee(goal: np.ndarray, pos: np.ndarray, dt: float) -> None:
    """Moves an evader (place and velocity) that flees from pursuers (V, 3) by a time [s]."""
    x, y, z = goal[0], goal[1], goal[2]
    ax = ay = az = 0.0
    for j in range(pos.shape[0]):
        square = square_apart(pos[j], goal) + 1e-6
        ax += (x - pos[j, 0]) / square
        ay += (y - pos[j, 1]) / square
        az += (z - pos[j, 2]) / square
    far = math.sqrt(x * x + y * y) + 1e-6
    edge = _push(RADIUS - far) / far
    ax, ay = ax - edge * x, ay - edge * y
    az += _push(z - LOWEST) - _push(HIGHEST - z)
    level = math.sqrt(ax * ax + ay * ay) + 1e-6
    gain = min(dt / LAG, 1.0)
    goal[3] += gain * (SPEED * ax / level - goal[3])
    goal[4] += gain * (SPEED * ay / level - goal[4])
    goal[5] += gain * (min(max(az, -CLIMB), CLIMB) - goal[5])
    for k in range(3):
        goal[k] += goal[3 + k] * dt
    inside = min(RADIUS / (math.sqrt(goal[0] ** 2 + goal[1] ** 2) + 1e-6), 1.0)
    goal[0], goal[1] = goal[0] * inside, goal[1] * inside
    goal[2] = min(max(goal[2], LOWEST), HIGHEST)


@njit(nogil=True)
def begin(which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray) -> None:
    """Draws one evader for all; see Task."""
    draw_goals(which, arrays, limits, streams)
    for e in which:
        arrays.goal[e, 1:] = arrays.goal[e, 0]


@njit(nogil=True)
def advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Moves the goals; see Task."""
    for e in which:
        if t_us[e] > 0:
            flee(arrays.goal[e, 0], arrays.pos[e], dt)
            arrays.goal[e, 1:] = arrays.goal[e, 0]


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            pos, vel, goal, out = (
                arrays.pos[e, i],
                arrays.vel[e, i],
                arrays.goal[e, i],
                arrays.observation[e, i],
            )
            put(out, 0, EVADER.bound, goal[0] - pos[0], goal[1] - pos[1], goal[2] - pos[2])
            put(out, 3, EVADER_VELOCITY.bound, goal[3], goal[4], goal[5])
            put(out, 6, VELOCITY.bound, vel[0], vel[1], vel[2])
            put(out, 9, PLACE.bound, pos[0], pos[1], pos[2] - 0.5 * (LOWEST + HIGHEST))
            observe_others(arrays, e, i, WORLD, out, 12)


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    state = arrays.state
    for e in which:
        arrays.success[e], fair = False, True
        for i in range(state.pos.shape[1]):
            pos = state.pos[e, i]
            d = math.sqrt(square_apart(arrays.goal[e, i], pos))
            lost = (
                touches(state, e, i)
                or pos[0] ** 2 + pos[1] ** 2 > (RADIUS + OUTSIDE) ** 2
                or abs(2.0 * pos[2] - LOWEST - HIGHEST) > HIGHEST - LOWEST + 2.0 * OUTSIDE
            )
            arrays.terminated[e, i] = lost
            fair &= not lost
            arrays.success[e] |= d < CAUGHT
            arrays.potential[e, i] = -d
            arrays.reward[e, i] = LOSS if lost else -PRICE * d
        arrays.success[e] &= fair
        if arrays.success[e]:
            arrays.terminated[e], arrays.reward[e] = True, REWARD


LOW, HIGH = (-5.0, -5.0, -1.5, -0.5), (5.0, 5.0, 1.5, 0.5)
TASK = Task(
    name="Pursuit-v0",
    text="three pursuers catch an evader",
    success=f"a pursuer within {CAUGHT:g} m of the evader, nothing touched",
    action="velocity",
    low=LOW,
    high=HIGH,
    sub_steps=25,
    seconds=20.0,
    starts=((-8.0, -5.0, 12.0), (-8.0, 0.0, 12.0), (-8.0, 5.0, 12.0)),
    goal=((0.0, -8.0, 10.0, 0.0, 0.0, 0.0), (8.0, 8.0, 14.0, 0.0, 0.0, 0.0)),
    randomisation=Randomisation(pos=(1.0, 1.0, 2.0), yaw=math.pi, vel=0.5),
    parts=(EVADER, EVADER_VELOCITY, VELOCITY, PLACE, *others(2)),
    begin=begin,
    observe=observe,
    judge=judge,
    advance=advance,
)
