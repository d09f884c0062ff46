"""Track-v0: fly through gates that turn sharply, as those of a race track, by rates and thrust.

As Racing-v0, of which it has goal, observation and reward. The gates are drawn anew in each
episode, closer, with sharper turns and openings of 1 to 3 m, and have no frames: what is beside an
opening has missed it. On a race track the same policy flies the track's gates. Learned on a track,
episodes begin before any of its gates, whose openings are drawn anew: from wide ones to those that
leave room for the vehicle between the frames.
"""

import dataclasses
import math

import numpy as np

from sensor_models.streams import next_uniform
from xtdrone_core.racing.track import Track
from xtdrone_dynamics.compiled import njit

from ..task import RewardArrays, Task
from . import racing
from .racing import GATE, GATES, gates_of

DISTANCES = 3.0, 11.0  # from a gate to the next one [m]
BEARING, TURN = 0.7, 1.1  # largest from a gate's direction to the next one, and on to that one's
CLIMB = 0.15  # largest of the way to the next gate
HEIGHTS = 1.5, 6.0  # [m]
OPENINGS = 0.5, 1.5  # half the side of an opening, for the middle of the vehicle [m]
# On a track: how far before a gate and beside it an episode begins, what of half an opening is left
# to the vehicle itself, but not more than this part of it, and laps of an episode.
BEFORE, BESIDE, ROOM, MOST_ROOM, LAPS = (1.0, 6.0), 1.0, 0.4, 0.6, 2  # [m]
ON_TRACK_SPEED = 1.5  # largest along each axis at the start [m/s]


@njit
def _between(stream: np.ndarray, low: float, high: float) -> float:
    """Draws a number."""
    fraction = next_uniform(stream)
    return low + fraction * (high - low)


@njit(nogil=True)
def begin(which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray) -> None:
    """Draws the gates of new episodes, from the vehicle on; see Task."""
    for e in which:
        for i in range(arrays.goal.shape[1]):
            pos, stream = arrays.state.pos[e, i], streams[e]
            x, y, z = pos[0], pos[1], pos[2]
            yaw = _between(stream, -math.pi, math.pi)
            for n in range(GATES):
                goal = arrays.goal[e, i, GATE * n : GATE * (n + 1)]
                way = _between(stream, DISTANCES[0], DISTANCES[1])
                bearing = yaw + _between(stream, -BEARING, BEARING)
                yaw = bearing + _between(stream, -TURN, TURN)
                x, y = x + way * math.cos(bearing), y + way * math.sin(bearing)
                climb = way * _between(stream, -CLIMB, CLIMB)
                z = min(max(z + climb, HEIGHTS[0]), HEIGHTS[1])
                goal[0], goal[1], goal[2] = x, y, z
                goal[3], goal[4], goal[5] = math.cos(yaw), math.sin(yaw), 0.0
                goal[6] = goal[7] = _between(stream, OPENINGS[0], OPENINGS[1])


@njit(nogil=True)
def begin_on_track(
    which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray
) -> None:
    """Places the gates of a track, limits[0], so that the vehicle is before one of them."""
    count = arrays.goal.shape[2] // GATE
    for e in which:
        for i in range(arrays.goal.shape[1]):
            pos, stream = arrays.state.pos[e, i], streams[e]
            first = int(next_uniform(stream) * count)
            gate = limits[0, GATE * first : GATE * (first + 1)]
            way = _between(stream, BEFORE[0], BEFORE[1])
            aside = _between(stream, -BESIDE, BESIDE)
            x = pos[0] + way * gate[3] - aside * gate[4] - gate[0]
            y = pos[1] + way * gate[4] + aside * gate[3] - gate[1]
            z = pos[2] + way * gate[5] - gate[2]
            for n in range(count):
                one = GATE * ((first + n) % count)
                goal = arrays.goal[e, i, GATE * n : GATE * (n + 1)]
                for k in range(GATE):
                    goal[k] = limits[0, one + k]
                goal[0], goal[1], goal[2] = goal[0] + x, goal[1] + y, goal[2] + z
                goal[6] = goal[7] = _between(stream, min(goal[6], goal[7]), OPENINGS[1])


def learn_on(task: Task, track: Track) -> Task:
    """Returns the task with laps of a race track, from any of its gates on.

    Raises:
        LearningError: See racing.gates_of().
    """
    gates = np.array(gates_of(task, track)).reshape(-1, GATE)
    gates[:, 6:] = np.maximum(gates[:, 6:] - ROOM, (1.0 - MOST_ROOM) * gates[:, 6:])
    goal = tuple(np.tile(gates, (LAPS, 1)).ravel().tolist())
    return dataclasses.replace(
        task,
        goal=(goal, goal),
        begin=begin_on_track,
        randomisation=dataclasses.replace(task.randomisation, vel=ON_TRACK_SPEED),
    )


TASK = dataclasses.replace(
    racing.TASK,
    name="Track-v0",
    text="fly through gates with sharp turns in their order, as on a race track",
    success="all gates passed",
    world=None,
    begin=begin,
    learn_on=learn_on,
)
