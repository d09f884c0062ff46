"""A task: vehicles, an action level, observations and rewards.

A task is one file in tasks/, with kernels that go over the environments once after each step.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters
from sensor_models.streams import next_uniform
from xtdrone_batch.arrays import BatchState
from xtdrone_batch.levels import LEVELS
from xtdrone_batch.randomisation import Randomisation
from xtdrone_core.racing.track import Track
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit


class Part(NamedTuple):
    """A part of an observation."""

    name: str
    width: int  # how many numbers
    bound: float  # values are cut to -bound..bound, in their unit
    scale: float  # a usual value, by which a policy divides


class ObservationArrays(NamedTuple):
    """Inputs and output of observe(): E environments of V vehicles; of an Agent E = N, V = 1."""

    pos: np.ndarray  # (E, V, 3) as measured, world [m]
    quat: np.ndarray  # (E, V, 4) xyzw, body to world
    vel: np.ndarray  # (E, V, 3) world [m/s]
    ang_vel: np.ndarray  # (E, V, 3) body [rad/s]
    goal: np.ndarray  # (E, V, G) of the task
    memory: np.ndarray  # (E, V, M) what the task keeps from step to step
    action: np.ndarray  # (E, V, K) the last one
    image: np.ndarray  # (E, V, P) of the task's camera, see camera.py; P = 0 without
    observation: np.ndarray  # (E, V, N), the output


class RewardArrays(NamedTuple):
    """Inputs of judge(), the true state, and its outputs."""

    state: BatchState
    objects: np.ndarray  # (E, O) or (1, O) of scenes.object_dtype()
    goal: np.ndarray  # as in ObservationArrays
    memory: np.ndarray
    action: np.ndarray
    reward: np.ndarray  # (E, V), the output
    potential: np.ndarray  # (E, V), the output: how near the goal is, for learners that shape the
    # reward by its change (Ng, Harada and Russell, 1999), which leaves the best policy as it is
    terminated: np.ndarray  # (E, V) bool, the output: a vehicle has failed, or is done; that ends
    # the episode for all
    success: np.ndarray  # (E,) bool, the output: whether it counts as a success if it ends now


def no_advance(which: np.ndarray, arrays: ObservationArrays, t_us: np.ndarray, dt: float) -> None:
    """Does nothing, for tasks whose goals stay."""


def first_of_goals(goal: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Returns the places (V, 3) with which goals begin."""
    return goal[:, :3]


@njit(nogil=True)
def draw_goals(
    which: np.ndarray, arrays: RewardArrays, limits: np.ndarray, streams: np.ndarray
) -> None:
    """Draws the goals of new episodes, evenly between limits (2, G); see Task.begin."""
    for e in which:
        for i in range(arrays.goal.shape[1]):
            for k in range(arrays.goal.shape[2]):
                fraction = next_uniform(streams[e])
                arrays.goal[e, i, k] = limits[0, k] + fraction * (limits[1, k] - limits[0, k])


@dataclass(frozen=True, eq=False)
class Task:
    """One task.

    Its kernels get the indices of environments, `which`, and the arrays. All are compiled with
    nogil=True, and called by several threads for different environments.
    """

    name: str  # name with its version: Position-v0
    text: str  # the aim, in a line
    success: str  # condition of a success, in a line
    action: str  # a level of xtdrone_batch.levels.LEVELS
    low: tuple[float, ...]  # bounds of an action, in its units
    high: tuple[float, ...]
    sub_steps: int  # number of sub-steps of 4 ms in a step
    seconds: float  # time until an episode is truncated [s]
    starts: tuple[tuple[float, float, float], ...]  # one for each vehicle [m]
    randomisation: Randomisation
    goal: tuple[tuple[float, ...], tuple[float, ...]]  # lowest and highest that is drawn
    parts: tuple[Part, ...]  # what an observation consists of
    observe: Callable[..., None]  # observe(which, ObservationArrays)
    judge: Callable[..., None]  # judge(which, RewardArrays)
    # begin(which, RewardArrays, limits (2, G), streams (E, 4)): goal and memory of new episodes
    begin: Callable[..., None] = draw_goals
    # advance(which, ObservationArrays, t_us (E,), dt): moves goals, after a step and before
    # judge(); by true poses in a batch, by estimates in a flight
    advance: Callable[..., None] = no_advance
    memory: int = 0  # numbers that the task keeps for each vehicle
    world: str | None = None  # name of a world in worlds/batch; None for a ground
    camera: CameraParameters | None = None
    pooled: tuple[int, int] = (0, 0)  # rows and columns of its image in an observation
    # goal_positions(goal (V, G), memory (V, M)) returns the places (V, 3) that pictures mark;
    # None where a goal is no place
    goal_positions: Callable[..., np.ndarray] | None = first_of_goals
    # on_track(task, track) returns the task with the gates of a race track, for its laps
    on_track: Callable[["Task", Track], "Task"] | None = None
    # learn_on(task, track) returns the task whose episodes begin anywhere on a race track
    learn_on: Callable[["Task", Track], "Task"] | None = None
    # settings of learning.settings that it needs, and environments
    learner: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vehicles(self) -> int:
        """Number of vehicles in one environment."""
        return len(self.starts)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the numbers of an action."""
        return LEVELS[self.action].fields

    @property
    def step_s(self) -> float:
        """Simulated time of a step [s]."""
        return self.sub_steps * 0.004

    @property
    def size(self) -> int:
        """Number of numbers in an observation."""
        return sum(part.width for part in self.parts)

    def per_number(self, name: str) -> np.ndarray:
        """Returns the bound or scale of each number of an observation (N,)."""
        return np.concatenate(
            [np.full(part.width, getattr(part, name), dtype=np.float32) for part in self.parts]
        )


def last_action(low: tuple[float, ...], high: tuple[float, ...]) -> Part:
    """Returns the part of an observation that holds the last action."""
    bound = max(map(abs, (*low, *high)))
    return Part("last_action", len(low), bound, bound)


# The parts that observe_body() writes: everything in the body's frame, so that no heading differs.
POSITION_ERROR = Part("position_error", 3, 20.0, 2.0)  # goal less position [m]
BODY = (
    Part("up", 3, 1.0, 1.0),  # the vertical
    Part("velocity", 3, 30.0, 3.0),  # [m/s]
    Part("body_rates", 3, 40.0, 4.0),  # [rad/s]
)
BODY_SIZE = sum(part.width for part in BODY)
VELOCITY_ERROR = Part("velocity_error", 3, 30.0, 3.0)  # velocity: goal less vehicle [m/s]
# Bounds of body rates [rad/s] and thrust 0..1, as most tasks have them.
RATES_LOW, RATES_HIGH = (-6.0, -6.0, -3.0, 0.0), (6.0, 6.0, 3.0, 1.0)


@njit(inline="always")
def put(out: np.ndarray, k: int, bound: float, x: float, y: float, z: float) -> None:
    """Writes three numbers of an observation from place k on, within their bound."""
    out[k] = min(max(x, -bound), bound)
    out[k + 1] = min(max(y, -bound), bound)
    out[k + 2] = min(max(z, -bound), bound)


@njit(inline="always")
def put_in_body(
    out: np.ndarray, k: int, bound: float, q: np.ndarray, x: float, y: float, z: float
) -> None:
    """Writes a vector of the world as put() does, in the frame of a body of attitude q (4,)."""
    a, b, c = quaternion.rotate_inverse(q[0], q[1], q[2], q[3], x, y, z)
    put(out, k, bound, a, b, c)


@njit(inline="always")
def observe_body(arrays: ObservationArrays, e: int, i: int, out: np.ndarray, k: int) -> int:
    """Writes BODY of a vehicle from place k on; returns the next place."""
    quat, vel, ang_vel = arrays.quat[e, i], arrays.vel[e, i], arrays.ang_vel[e, i]
    put_in_body(out, k, BODY[0].bound, quat, 0.0, 0.0, 1.0)
    put_in_body(out, k + 3, BODY[1].bound, quat, vel[0], vel[1], vel[2])
    put(out, k + 6, BODY[2].bound, ang_vel[0], ang_vel[1], ang_vel[2])
    return k + BODY_SIZE


@njit(inline="always")
def put_action(arrays: ObservationArrays, e: int, i: int, out: np.ndarray, k: int) -> None:
    """Writes the last action from place k on."""
    for j in range(arrays.action.shape[2]):
        out[k + j] = arrays.action[e, i, j]


@njit(inline="always")
def touches(state: BatchState, e: int, i: int) -> bool:
    """Tells whether anything touched a vehicle in the last step."""
    f = state.contact[e, i]
    return f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0


@njit(inline="always")
def apart(state: BatchState, e: int, i: int) -> float:
    """Returns the distance of a vehicle from the nearest other one of its environment [m]."""
    nearest = math.inf
    for j in range(state.pos.shape[1]):
        if j != i:
            nearest = min(nearest, square_apart(state.pos[e, i], state.pos[e, j]))
    return math.sqrt(nearest)


@njit(inline="always")
def square_apart(a: np.ndarray, b: np.ndarray) -> float:
    """Returns the square of the distance of two places (3,) [m^2]."""
    return (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2


def others(count: int) -> tuple[Part, ...]:
    """Returns the parts that observe_others() writes, of so many other vehicles."""
    return (
        Part("others_position", 3 * count, 20.0, 2.0),
        Part("others_velocity", 3 * count, 30.0, 3.0),
    )


@njit(inline="always")
def reward_of_place(square: float, w: np.ndarray) -> float:
    """Returns 1 / (1 + 16 d^2) + 1 - d / 10 - 0.02 |w|, of d^2 [m^2] and body rates w (3,).

    It draws from afar, is sharp at the goal, and is worth staying alive for.
    """
    return (
        1.0 / (1.0 + 16.0 * square)
        + 1.0
        - 0.1 * math.sqrt(square)
        - 0.02 * math.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2)
    )


@njit
def observe_others(
    arrays: ObservationArrays, e: int, i: int, q: np.ndarray, out: np.ndarray, k: int
) -> int:
    """Writes where the others are and how they move [m], [m/s], both seen from a vehicle.

    In a frame of attitude q (4,), the nearest first; from place k on. Returns the next place.
    """
    count = arrays.pos.shape[1] - 1
    pos, vel, after = arrays.pos[e, i], arrays.vel[e, i], -1.0
    for n in range(count):
        best, nearest = -1, math.inf
        for j in range(count + 1):  # the nearest of those that are further than the last one
            square = square_apart(pos, arrays.pos[e, j])
            if j != i and after < square < nearest:
                best, nearest = j, square
        after = nearest
        a, b = arrays.pos[e, best], arrays.vel[e, best]
        put_in_body(out, k + 3 * n, 20.0, q, a[0] - pos[0], a[1] - pos[1], a[2] - pos[2])
        put_in_body(out, k + 3 * (count + n), 30.0, q, b[0] - vel[0], b[1] - vel[1], b[2] - vel[2])
    return k + 6 * count


@njit(inline="always")
def observe_moving_goal(arrays: ObservationArrays, e: int, i: int, out: np.ndarray) -> int:
    """Writes POSITION_ERROR and VELOCITY_ERROR of a goal that begins with its place and velocity.

    Returns the next place.
    """
    pos, vel, goal, quat = arrays.pos[e, i], arrays.vel[e, i], arrays.goal[e, i], arrays.quat[e, i]
    put_in_body(
        out, 0, POSITION_ERROR.bound, quat, goal[0] - pos[0], goal[1] - pos[1], goal[2] - pos[2]
    )
    put_in_body(
        out, 3, VELOCITY_ERROR.bound, quat, goal[3] - vel[0], goal[4] - vel[1], goal[5] - vel[2]
    )
    return 6


@njit(nogil=True)
def observe_goal(which: np.ndarray, arrays: ObservationArrays) -> None:
    """Writes an observation of POSITION_ERROR, BODY and the last action."""
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
            put_action(arrays, e, i, out, observe_body(arrays, e, i, out, 3))
