"""What a planner is given, and what it returns."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from xtdrone_core.registry import Group
from xtdrone_guidance.planned import Planned

from ..errors import PlanningError
from ..maps.distance_field import DistanceField
from ..maps.voxel_map import VoxelMap

STEP_S = 0.02  # between the samples of a trajectory [s]


class Limits(NamedTuple):
    """What a trajectory keeps within."""

    speed: float  # [m/s]
    acceleration: float  # [m/s^2]; by tilt and thrust
    radius: float  # least distance of the vehicle's centre from what is occupied [m]
    clearance: float  # distance that is kept where there is room [m]
    low: float  # heights [m]
    high: float

    def check(self) -> None:
        """Checks that there is room between the heights.

        Raises:
            PlanningError: There is none.
        """
        if self.high <= self.low:
            raise PlanningError(
                f"high {self.high:g} m is not allowed: give more than low, {self.low:g} m"
            )


@dataclass(frozen=True)
class Situation:
    """What is known when a trajectory is asked for."""

    t_us: int  # simulated time [us]
    pos: np.ndarray  # (3,) where the trajectory begins, world [m]
    vel: np.ndarray  # (3,) [m/s]
    acc: np.ndarray  # (3,) [m/s^2]
    goal: np.ndarray  # (3,) [m]
    voxels: VoxelMap  # what was seen
    field: DistanceField  # of it, around the vehicle
    limits: Limits
    others: tuple["Trajectory", ...] = ()  # of other vehicles, as they were announced
    # x, y [m] now and velocities [m/s] of people and cars, (P, 4)
    moving: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 4)))
    waited: float = 0.0  # for so long the vehicle has not left the place where it is [s]


@dataclass(frozen=True)
class Trajectory:
    """Samples of a motion, every STEP_S from a time on; it rests before and after."""

    begun_us: int  # time of the first sample [us]
    pos: np.ndarray  # (K, 3) world [m]
    vel: np.ndarray  # (K, 3) [m/s]
    acc: np.ndarray  # (K, 3) [m/s^2]

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return (len(self.pos) - 1) * STEP_S

    def at(self, t: float) -> Planned:
        """Where it is at a time [s] from its first sample."""
        k, last = max(t / STEP_S, 0.0), len(self.pos) - 1
        if k >= last:
            return Planned(self.pos[last], np.zeros(3), np.zeros(3))
        i = int(k)
        part = k - i
        return Planned(
            *(rows[i] + part * (rows[i + 1] - rows[i]) for rows in (self.pos, self.vel, self.acc))
        )

    def since(self, t_us: int) -> Planned:
        """Where it is at a simulated time [us]."""
        return self.at((t_us - self.begun_us) * 1e-6)

    def after(self, t_us: int) -> "Trajectory":
        """What is left of it from the sample nearest to a simulated time [us] on."""
        first = round((t_us - self.begun_us) * 1e-6 / STEP_S)
        first = min(max(first, 0), len(self.pos) - 1)
        return Trajectory(t_us, self.pos[first:], self.vel[first:], self.acc[first:])

    def places(self, times: np.ndarray) -> np.ndarray:
        """Where it is (T, 3) [m] at simulated times (T,) [us]."""
        k = np.clip((times - self.begun_us) * (1e-6 / STEP_S), 0.0, len(self.pos) - 1)
        first = k.astype(int)
        second = np.minimum(first + 1, len(self.pos) - 1)
        part = (k - first)[:, None]
        return np.asarray((1.0 - part) * self.pos[first] + part * self.pos[second])


@dataclass(frozen=True)
class Plan:
    """What a planner returns: a trajectory, or None and the reason why there is none."""

    trajectory: Trajectory | None
    path: np.ndarray = dataclasses.field(
        default_factory=lambda: np.zeros((0, 3))
    )  # (M, 3) way that it takes
    reason: str = ""


class Planner(Protocol):
    """Plans trajectories. One object serves one vehicle; it may keep what it has planned.

    An error that plan() raises counts as 'no trajectory': the vehicle brakes.
    """

    def plan(self, situation: Situation) -> Plan:
        """Returns a trajectory towards the goal that begins in the given state."""


PLANNERS = Group("planner", "xtdrone.planners", "xtdrone_planning.planners.planner:Planner")


def descriptions() -> dict[str, str]:
    """A line on each planner."""
    return PLANNERS.descriptions()
