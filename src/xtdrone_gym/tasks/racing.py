"""Racing-v0: fly through the gates of a random course in their order, by body rates and thrust.

The gates are objects of the world, with frames to hit. The goal holds them: each one's centre [m],
the direction in which it is to be passed, and half the width and height of its opening [m].
Observed are the next two gates, centre and direction, and the vehicle's vertical, velocity and
rates, all in the body's frame, and the last action; after the last gate but one, that one twice.

Reward: how much nearer to the next gate the last step has come [m], for each gate passed 3 in its
middle to 0 at its frame, less 0.002 |w| for body rates w [rad/s]; -20 at the end by a touch, by
passing beside a gate, or more than 15 m from it. The episode is complete, and a success, when all
gates are passed.
"""

import dataclasses
import math

import numpy as np

from xtdrone_batch.randomisation import Randomisation
from xtdrone_core.racing.track import Track
from xtdrone_dynamics.compiled import njit

from ..errors import LearningError
from ..task import (
    BODY,
    RATES_HIGH,
    RATES_LOW,
    ObservationArrays,
    Part,
    RewardArrays,
    Task,
    draw_goals,
    last_action,
    observe_body,
    put_action,
    put_in_body,
    square_apart,
    touches,
)

GATES, SIDE = 8, 2.4  # number in worlds/batch/race.yaml; side of an opening [m]
GATE = 8  # numbers of a gate: centre, direction, half width and half height
BARS = 4  # objects of a gate, those on its left and right first
FURTHEST = 15.0  # largest distance from the next gate [m]
RACE_S = 600.0  # time of all laps of a track [s]
LOSS, PASS = -20.0, 3.0
NEXT, STARTED, LAST, GAIN, PASSED, MISSED, MEMORY = 0, 1, 2, 5, 6, 7, 8  # places in the memory
CENTRES = Part("gates", 6, 30.0, 5.0)
DIRECTIONS = Part("gate_directions", 6, 1.0, 1.0)


@njit(nogil=True)
def begin(which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray) -> None:
    """Sets the gates as the goal, as they stand; see Task."""
    for e in which:
        for i in range(arrays.goal.shape[1]):
            for n in range(GATES):
                left, right = arrays.objects[e, 1 + BARS * n], arrays.objects[e, 2 + BARS * n]
                goal, q = arrays.goal[e, i, GATE * n : GATE * (n + 1)], left.quat
                for k in range(3):
                    goal[k] = 0.5 * (left.pos[k] + right.pos[k])
                goal[3] = 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
                goal[4] = 2.0 * (q[0] * q[1] + q[3] * q[2])
                goal[5], goal[6], goal[7] = 0.0, 0.5 * SIDE, 0.5 * SIDE


@njit
def in_gate(gate: np.ndarray, pos: np.ndarray) -> tuple[float, float, float]:
    """Returns where a place (3,) is from a gate (GATE,): along it, to its left, up it [m]."""
    dx, dy, dz = gate[3], gate[4], gate[5]
    x, y, z = pos[0] - gate[0], pos[1] - gate[1], pos[2] - gate[2]
    level = max(math.sqrt(dx * dx + dy * dy), 1e-6)
    left = (dx * y - dy * x) / level
    return dx * x + dy * y + dz * z, left, level * z - dz * (dx * x + dy * y) / level


@njit
def _pass_gate(gate: np.ndarray, last: np.ndarray, pos: np.ndarray) -> float:
    """Returns where a step goes through a gate: 0 in its middle, 1 at its frame; NaN if nowhere.

    Args:
        gate: (GATE,) of the goal.
        last, pos: (3,) before and after the step [m].
    """
    before, left, up = in_gate(gate, last)
    after, left_after, up_after = in_gate(gate, pos)
    if not before < 0.0 <= after:
        return math.nan
    fraction = before / (before - after)
    left += fraction * (left_after - left)
    up += fraction * (up_after - up)
    return max(abs(left) / gate[6], abs(up) / gate[7])


@njit(nogil=True)
def advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Keeps which gate is next, and what the last step has gained; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            pos, memory = arrays.pos[e, i], arrays.memory[e, i]
            last = memory[LAST : LAST + 3]
            memory[GAIN], memory[PASSED], memory[MISSED] = 0.0, 0.0, 0.0
            n = int(memory[NEXT])
            if memory[STARTED] > 0.0 and n < arrays.goal.shape[2] // GATE:
                gate = arrays.goal[e, i, GATE * n : GATE * (n + 1)]
                memory[GAIN] = math.sqrt(square_apart(gate, last)) - math.sqrt(
                    square_apart(gate, pos)
                )
                aside = _pass_gate(gate, last, pos)
                if aside < 1.0:
                    memory[PASSED] = 1.0 - aside
                    memory[NEXT] += 1.0
                elif aside >= 1.0:
                    memory[MISSED] = 1.0
            memory[STARTED] = 1.0
            for k in range(3):
                last[k] = pos[k]


@njit(nogil=True)
def observe(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes the observation; see Task."""
    for e in which:
        for i in range(arrays.pos.shape[1]):
            pos, quat, out = arrays.pos[e, i], arrays.quat[e, i], arrays.observation[e, i]
            for k in range(2):
                n = GATE * min(int(arrays.memory[e, i, NEXT]) + k, arrays.goal.shape[2] // GATE - 1)
                goal = arrays.goal[e, i, n : n + GATE]
                put_in_body(
                    out,
                    3 * k,
                    CENTRES.bound,
                    quat,
                    goal[0] - pos[0],
                    goal[1] - pos[1],
                    goal[2] - pos[2],
                )
                put_in_body(out, 6 + 3 * k, DIRECTIONS.bound, quat, goal[3], goal[4], goal[5])
            put_action(arrays, e, i, out, observe_body(arrays, e, i, out, 12))


@njit(nogil=True)
def judge(which: np.ndarray, arrays: RewardArrays) -> None:
    """Judges the last step; see Task."""
    judge_by(which, arrays, LOSS)


@njit
def judge_by(which: np.ndarray, arrays: RewardArrays, loss: float) -> None:
    """Judges the last step, with a reward at the end by a touch and the like; see Task."""
    state = arrays.state
    for e in which:
        for i in range(state.pos.shape[1]):
            ang_vel, memory = state.ang_vel[e, i], arrays.memory[e, i]
            gates = arrays.goal.shape[2] // GATE
            n = GATE * min(int(memory[NEXT]), gates - 1)
            lost = (
                touches(state, e, i)
                or memory[MISSED] > 0.0
                or square_apart(arrays.goal[e, i, n:], state.pos[e, i]) > FURTHEST**2
            )
            arrays.success[e] = memory[NEXT] == gates and not lost
            arrays.terminated[e, i] = lost or arrays.success[e]
            arrays.reward[e, i] = (
                loss
                if lost
                else memory[GAIN]
                + PASS * memory[PASSED]
                - 0.002 * math.sqrt(ang_vel[0] ** 2 + ang_vel[1] ** 2 + ang_vel[2] ** 2)
            )


def next_gates(goal: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Returns the centre (V, 3) of each vehicle's next gate."""
    gates = goal.reshape(len(goal), -1, GATE)
    n = np.minimum(memory[:, NEXT].astype(int), gates.shape[1] - 1)
    return gates[np.arange(len(goal)), n, :3]


def gates_of(task: Task, track: Track) -> list[float]:
    """Returns the numbers of a track's gates as a goal of a task of gates.

    Raises:
        LearningError: A gate of the track moves, or is a way-point.
    """
    goal: list[float] = []
    for k, gate in enumerate(track.gates):
        if gate.radius is not None or gate.moves:
            what = "moves" if gate.moves else "is a way-point, a ball"
            raise LearningError(
                f"gate {k + 1} of track '{track.name}' {what}, and a policy of {task.name} knows "
                "gates alone that stand: fly it by agent mppi or race"
            )
        goal += [*gate.pos, *gate.axes()[0], 0.5 * gate.width, 0.5 * gate.height]
    return goal


def on_track(task: Task, track: Track) -> Task:
    """Returns a task of gates as laps of a race track, up to gate 1 after the last lap.

    Raises:
        LearningError: See gates_of().
    """
    goal = gates_of(task, track)
    goal = goal * track.laps + goal[:GATE]
    return dataclasses.replace(
        task, goal=(tuple(goal), tuple(goal)), begin=draw_goals, world=None, seconds=RACE_S
    )


TASK = Task(
    name="Racing-v0",
    text="fly through the gates of a random course in their order",
    success="all gates passed without a touch",
    action="rates",
    low=RATES_LOW,
    high=RATES_HIGH,
    sub_steps=5,
    seconds=20.0,
    starts=((0.0, 0.0, 3.0),),
    goal=((0.0,) * GATE * GATES,) * 2,
    world="race",
    randomisation=Randomisation(pos=(0.5, 0.5, 0.5), yaw=math.pi, tilt=0.2, vel=0.5, ang_vel=0.3),
    parts=(CENTRES, DIRECTIONS, *BODY, last_action(RATES_LOW, RATES_HIGH)),
    begin=begin,
    observe=observe,
    judge=judge,
    advance=advance,
    memory=MEMORY,
    goal_positions=next_gates,
    on_track=on_track,
)
