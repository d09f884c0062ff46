"""Track-v0: fly through gates that turn sharply, as those of a race track, by rates and thrust.

As Racing-v0, of which it has goal, observation and reward. The gates are drawn anew in each
episode, closer, with sharper turns and openings of 1 to 3 m, and have no frames: what is beside an
opening has missed it. On a race track the same policy flies the track's gates. Learned on a track,
episodes begin before any of its gates, whose openings are drawn anew: from wide ones to those that
leave room for the vehicle between the frames. There the frames are solid, that of the next gate and
that of the last one: who is nearer to one than the vehicle's size has touched it.
"""

import dataclasses
import math

import numpy as np

from sensor_models.streams import next_uniform
from xtdrone_core.racing.track import Track
from xtdrone_dynamics.compiled import njit

from ..task import ObservationArrays, RewardArrays, Task
from . import racing
from .racing import GATE, GATES, MISSED, NEXT, gates_of, in_gate

DISTANCES = 3.0, 11.0  # from a gate to the next one [m]
BEARING, TURN = 0.7, 1.1  # largest from a gate's direction to the next one, and on to that one's
CLIMB = 0.15  # largest of the way to the next gate
HEIGHTS = 1.5, 6.0  # [m]
OPENINGS = 0.5, 1.5  # half the side of an opening, for the middle of the vehicle [m]
# On a track: how far before a gate and beside it an episode begins, mostly ahead of its middle;
# what of half an opening is left to the vehicle itself, but not more than this part of it; laps of
# an episode.
BEFORE, BESIDE, ROOM, MOST_ROOM, LAPS = (1.0, 6.0), 6.0, 0.4, 0.6, 2  # [m]
BAR = 0.2  # width of the bars of a frame [m]
TRACK_LOSS = -5.0  # at the end by a touch and the like: with more it is learned to hover
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
            aside = BESIDE * _between(stream, -1.0, 1.0) ** 3
            x = pos[0] + way * gate[3] - aside * gate[4] - gate[0]
            y = pos[1] + way * gate[4] + aside * gate[3] - gate[1]
            z = pos[2] + way * gate[5] - gate[2]
            for n in range(count):
                one = GATE * ((first + n) % count)
                goal = arrays.goal[e, i, GATE * n : GATE * (n + 1)]
                for k in range(GATE):
                    goal[k] = limits[0, one + k]
                goal[0], goal[1], goal[2] = goal[0] + x, goal[1] + y, goal[2] + z
                narrow = min(goal[6], goal[7])
                goal[6] = goal[7] = _between(stream, narrow, max(narrow, OPENINGS[1]))


@njit
def _touches_frame(gate: np.ndarray, pos: np.ndarray) -> bool:
    """Tells whether a place (3,) is nearer to the frame of a gate (GATE,) than ROOM."""
    along, left, up = in_gate(gate, pos)
    beyond = max(abs(left) - gate[6], abs(up) - gate[7])
    return abs(along) < ROOM and 0.0 < beyond < 2.0 * ROOM + BAR


@njit(nogil=True)
def advance_on_track(
    which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float
) -> None:
    """Keeps which gate is next, and whether a frame is touched; see Task."""
    racing.advance(which, arrays, t_us, dt)
    count = arrays.goal.shape[2] // GATE
    for e in which:
        for i in range(arrays.pos.shape[1]):
            memory = arrays.memory[e, i]
            following = int(memory[NEXT])
            for n in range(max(following - 1, 0), min(following + 1, count)):
                gate = arrays.goal[e, i, GATE * n : GATE * (n + 1)]
                if _touches_frame(gate, arrays.pos[e, i]):
                    memory[MISSED] = 1.0


@njit(nogil=True)
def judge_on_track(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    racing.judge_by(which, arrays, TRACK_LOSS)


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
        advance=advance_on_track,
        judge=judge_on_track,
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
