"""PolicyPlanner: the learned policy of DepthNavigation-v0 as a planner of xtdrone_planning."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sensor_models.cameras import CameraParameters
from xtdrone_dynamics.compiled import njit
from xtdrone_planning.maps.distance_field import OCCUPIED, state_at
from xtdrone_planning.planners import guard
from xtdrone_planning.planners.planner import STEP_S, Limits, Plan, Situation, Trajectory

from ..camera import pool
from ..errors import LearningError
from ..task import ObservationArrays
from ..tasks import TASKS
from .policy_file import Policy

SHIPPED = Path(__file__).with_name("depth_navigation.onnx")
_TASK = TASKS["DepthNavigation-v0"]
_FARTHEST = 28.0  # a goal is shown no farther than those of the training [m]
_SECONDS = 1.5  # a commanded velocity is flown for so long; then it is asked again [s]
_SETTLES_S = 0.3  # a velocity is reached with this time constant, or a longer one [s]
_ARRIVES = 1.5  # so near to the goal it flies straight there [m]
_TURNS = (0.0, 0.3, -0.3, 0.6, -0.6, 1.0, -1.0, 1.5, -1.5)  # of a velocity, that are tried [rad]
_PARTS = (1.0, 0.5)  # of it, likewise
_KEEP_S, _BRAKE = 0.3, 0.7  # it is flown so long before its stop, which uses so much acceleration
_SAME = 0.1  # a goal that has moved less is the same [m]


class PolicyPlanner:
    """Asks a learned policy for a velocity, as often as it is asked itself.

    The policy sees what its camera would see of the map: the nearest distance in each of its
    fields. Its frame begins where a goal was first given, and looks towards it. Where what it
    commands could not be stopped in time, the nearest direction is flown in which it could. A class
    that inherits may name another `path`.
    """

    path: Path = SHIPPED

    def __init__(self) -> None:
        """Reads the policy.

        Raises:
            LearningError: It is missing or damaged, or is none of DepthNavigation-v0.
        """
        self._policy = Policy(self.path)
        description = self._policy.description
        parts = tuple((part.name, part.width) for part in _TASK.parts)
        if description.observation != parts or description.action != _TASK.action:
            raise LearningError(
                f"policy '{self.path}' is of {description.task}: give one of {_TASK.name}"
            )
        if description.history:
            raise LearningError(f"policy '{self.path}' has a history: give one without")
        self._half = np.array(description.half, np.float32)
        self._centre = np.array(description.centre, np.float32)
        self._memory = self._policy.first_memory(1)
        self._view = View(_camera())
        self._action = np.zeros((1, 1, len(_TASK.low)), np.float32)
        self._goal = np.full(3, np.nan)
        self._start, self._turn = np.zeros(3), np.eye(3)

    def plan(self, situation: Situation) -> Plan:
        """Returns a motion towards the velocity that the policy commands."""
        if not np.linalg.norm(situation.goal - self._goal) < _SAME:
            self._set_out(situation)
        output, self._memory = self._policy.act(self._observation(situation), self._memory)
        action = np.clip(self._centre + self._half * output[0], _TASK.low, _TASK.high)
        self._action[0, 0] = action
        wanted = self._turn @ action[:3]
        to_goal = situation.goal - situation.pos
        if np.linalg.norm(to_goal) < _ARRIVES:
            wanted = to_goal / _ARRIVES  # the task ends near the goal, and does not stop there
        trajectory = _safest(situation, wanted)
        return Plan(trajectory, np.array([situation.pos, trajectory.pos[-1]]))

    def _set_out(self, situation: Situation) -> None:
        """Puts the frame of the task where a new goal was given."""
        self._goal, self._start = situation.goal.copy(), situation.pos.copy()
        way = situation.goal - situation.pos
        yaw = math.atan2(way[1], way[0])
        c, s = math.cos(yaw), math.sin(yaw)
        self._turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        self._memory[:], self._action[:] = 0.0, 0.0

    def _observation(self, situation: Situation) -> np.ndarray:
        """Returns what the policy observes (1, N)."""
        to_goal = situation.goal - situation.pos
        length = float(np.linalg.norm(to_goal))
        to_goal = to_goal * min(1.0, _FARTHEST / max(length, 1e-9))
        pos = self._turn.T @ (situation.pos - self._start)
        pos[2] = situation.pos[2]
        vel = self._turn.T @ situation.vel
        # The camera looks along the task's x axis; the body is level, as the map is not tilted.
        image = self._view.of(situation, self._turn[:, 0])
        observation = np.zeros((1, 1, _TASK.size), np.float32)
        arrays = ObservationArrays(
            pos=_one(pos),
            quat=_one([0.0, 0.0, 0.0, 1.0]),
            vel=_one(vel),
            ang_vel=_one([0.0, 0.0, 0.0]),
            goal=_one(pos + self._turn.T @ to_goal),
            memory=_one([0.0] * _TASK.memory),
            action=self._action,
            image=image.reshape(1, 1, -1),
            observation=observation,
        )
        _TASK.observe(np.zeros(1, np.int64), arrays)
        return observation[0]


class View:
    """What a level depth camera would see of a map, as the policy's few numbers."""

    def __init__(self, camera: CameraParameters) -> None:
        """Prepares the rays of the camera."""
        u = (np.arange(camera.width) - camera.cx) / camera.fx
        v = (np.arange(camera.height) - camera.cy) / camera.fy
        self._aside, self._down = np.meshgrid(u, v)
        self._far = float(camera.far)
        self._depth = np.zeros((1, 1, camera.height, camera.width), np.float32)
        self._out = np.zeros((1, 1, *_TASK.pooled), np.float32)

    def of(self, situation: Situation, ahead: np.ndarray) -> np.ndarray:
        """Returns the nearest distances (R, C) as fractions of the farthest.

        Args:
            situation: Where it is, and what is known.
            ahead: (3,) level direction in which it looks.
        """
        field = situation.field
        right = np.array([ahead[1], -ahead[0], 0.0])
        rays = ahead + self._aside[..., None] * right - self._down[..., None] * [0.0, 0.0, 1.0]
        _look(
            field.state, field.low, field.resolution, situation.pos, rays, self._far, self._depth[0]
        )
        pool(np.zeros(1, np.int64), self._depth, self._far, self._out)
        return self._out[0, 0]


def within(velocity: np.ndarray, situation: Situation) -> np.ndarray:
    """Returns a velocity (3,) that keeps the speed and the heights of the limits [m/s]."""
    limits: Limits = situation.limits
    speed = float(np.linalg.norm(velocity))
    out = velocity * min(1.0, limits.speed / max(speed, 1e-9))
    low, high = limits.low - situation.pos[2], limits.high - situation.pos[2]
    out[2] = min(max(out[2], low / _SECONDS), high / _SECONDS)
    return np.asarray(out)


def _safest(situation: Situation, wanted: np.ndarray) -> Trajectory:
    """Returns a motion towards a velocity (3,), or the nearest one that can be stopped in time."""
    limits = situation.limits
    for turn in _TURNS:
        c, s = math.cos(turn), math.sin(turn)
        turned = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ wanted
        for part in _PARTS:
            trajectory = _towards(situation, within(part * turned, situation))
            stop = guard.stopping(trajectory, _KEEP_S, _BRAKE * limits.acceleration)
            if guard.check(situation.field, stop, limits.radius) == guard.CLEAR:
                return trajectory
    return _towards(situation, within(wanted, situation))


def _one(values: npt.ArrayLike) -> np.ndarray:
    """Returns numbers as those of one vehicle in one environment (1, 1, K)."""
    return np.asarray(values, np.float32).reshape(1, 1, -1)


def _towards(situation: Situation, wanted: np.ndarray) -> Trajectory:
    """Returns a motion whose velocity settles at the wanted one (3,)."""
    change = situation.vel - wanted
    settles = max(_SETTLES_S, float(np.linalg.norm(change)) / situation.limits.acceleration)
    t = np.arange(round(_SECONDS / STEP_S) + 1)[:, None] * STEP_S
    left = np.exp(-t / settles)
    return Trajectory(
        situation.t_us,
        situation.pos + wanted * t + change * settles * (1.0 - left),
        wanted + change * left,
        -change / settles * left,
    )


def _camera() -> CameraParameters:
    assert _TASK.camera is not None  # it is the task of a camera
    return _TASK.camera


@njit(nogil=True)
def _look(
    state: np.ndarray,
    low: np.ndarray,
    resolution: float,
    pos: np.ndarray,
    rays: np.ndarray,
    far: float,
    out: np.ndarray,
) -> None:
    """Writes the depth (1, H, W) [m] of what is occupied along rays (H, W, 3) of depth 1."""
    for y in range(rays.shape[0]):
        for x in range(rays.shape[1]):
            out[0, y, x] = np.inf
            a, b, c = rays[y, x, 0], rays[y, x, 1], rays[y, x, 2]
            step = 0.5 * resolution / math.sqrt(a * a + b * b + c * c)
            depth = step
            while depth < far:
                if (
                    state_at(
                        state,
                        low,
                        resolution,
                        pos[0] + depth * a,
                        pos[1] + depth * b,
                        pos[2] + depth * c,
                    )
                    == OCCUPIED
                ):
                    out[0, y, x] = depth
                    break
                depth += step
