"""Flights of a campaign as environments of one batch: squares on the true state.

The square is that of the Agent `square`, flown by the flight stack's position, velocity, attitude
and rate loops, without sensors, estimator, take-off and landing: it begins in the air. Flights that
differ in their seeds only are the environments of one BatchSimulation; the seed is the number of
the environment.
"""

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import XtdroneError, registry
from xtdrone_core.scenario import arguments

from .errors import CampaignError
from .flight import CRASHED, FAILED, GOOD, MISSED, UNFINISHED, Flight, Result

if TYPE_CHECKING:
    from xtdrone_batch.arrays import BatchState
    from xtdrone_batch.simulation import BatchSimulation

AGENT = "square"
MAX_BATCH = 256  # flights
_KEPT = "vehicles", "wind", "seed", "log"  # options of a scenario that a batch flies, or may ignore
_ACCEPTANCE_RADIUS = 0.3  # radius around a corner [m]


def check(flight: Flight, usual: Mapping[str, Any]) -> None:
    """Refuses what a batch does not fly.

    Args:
        flight: A flight of a plan.
        usual: The scenario's defaults.

    Raises:
        CampaignError: It is not the Agent `square`, or an option needs the flight stack.
    """
    other = [
        name
        for name, value in flight.scenario.items()
        if name not in _KEPT and value != usual[name]
    ]
    if flight.agent != AGENT:
        other = [f"agent '{flight.agent}'"]
    if other or flight.parameters:
        raise CampaignError(
            f"{min([*other, *flight.parameters])} cannot be flown in a batch, "
            f"which has no flight stack and flies the agent '{AGENT}' over flat "
            "ground: leave out --batch, or vary vehicle, n, vehicles, wind, gust, "
            "dryden, side, height, hold"
        )


def fly_batch(flights: Sequence[Flight]) -> list[Result]:
    """Flies flights that differ in their seeds only, which follow each other."""
    begin = time.monotonic()
    try:
        results = _flown(flights)
    except XtdroneError as error:
        results = [Result(FAILED, str(error))] * len(flights)
    wall_s = round((time.monotonic() - begin) / len(flights), 6)
    return [dataclasses.replace(result, wall_s=wall_s) for result in results]


def _flown(flights: Sequence[Flight]) -> list[Result]:
    from xtdrone_batch.simulation import BatchSimulation

    agent = registry.AGENTS.load(AGENT)
    given = arguments.read(f"agent '{AGENT}'", agent, flights[0].settings)
    options = {
        name: given.get(name, argument.default)
        for name, argument in arguments.arguments_of(agent).items()
    }
    batch = BatchSimulation(
        _vehicles(flights[0].scenario, options["height"]),
        len(flights),
        action="position",
        wind=flights[0].scenario["wind"],
        first=flights[0].scenario["seed"],
        threads=1,
    )
    square = _Square(batch, options)
    while not square.done.all() and square.t_s < flights[0].longest_s:
        square.step()
    return [square.result(k, flights[k].longest_s) for k in range(len(flights))]


def _vehicles(scenario: Mapping[str, Any], height: float) -> str:
    """Writes the vehicles at a height above their starts, as a batch takes them."""
    return "; ".join(
        "{}@{},{},{},{}".format(
            vehicle["type"], *vehicle["pos"][:2], vehicle["pos"][2] + height, vehicle["yaw"]
        )
        for vehicle in scenario["vehicles"]
    )


class _Square:
    """A square of each environment, and its figures.

    Attributes:
        t_s: Simulated time [s].
        done: (E,) bool, whether the square of an environment is over.
    """

    def __init__(self, batch: "BatchSimulation", options: Mapping[str, float]) -> None:
        """Begins where the vehicles are."""
        self._batch, self._hold, self._time_out = batch, options["hold"], options["time_out"]
        self._corners = options["side"] * np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0.0]])
        state, count = batch.state, batch.environments
        self._home = state.pos.copy()
        self._action = np.zeros(batch.action_shape)
        x, y, z, w = np.moveaxis(state.quat, -1, 0)
        self._action[..., 3] = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        self.t_s = 0.0
        self.done, self._fell = np.zeros((2, count), dtype=bool)
        self._index, self._reached = np.zeros((2, count), dtype=int)
        self._since = np.zeros(count)  # time at which the present goal was set [s]
        self._inside = np.full(count, np.nan)  # time since which all vehicles are there [s]
        self._squares, self._worst, self._path, self._speed, self._tilt, self._end = np.zeros(
            (6, count)
        )
        self._samples = np.zeros(count, dtype=int)

    def step(self) -> None:
        """Advances all environments by a step; goes on to the next goal where one is reached."""
        goal = self._home + self._corners[self._index][:, None]
        self._action[..., :3] = goal
        before = self._batch.state.pos.copy()
        state = self._batch.step(self._action)
        self.t_s += self._batch.step_s
        away = np.linalg.norm(state.pos - goal, axis=2)
        self._measure(state, away, np.linalg.norm(state.pos - before, axis=2).mean(axis=1))
        near = (away <= _ACCEPTANCE_RADIUS).all(axis=1)
        self._inside = np.where(
            near, np.where(np.isnan(self._inside), self.t_s, self._inside), np.nan
        )
        held = near & (self.t_s - self._inside >= self._hold)
        next_one = (held | (self.t_s - self._since >= self._time_out)) & ~self.done
        self._reached += next_one & held
        self.done |= next_one & (self._index == len(self._corners) - 1) | self._fell
        self._index += next_one & ~self.done
        self._since[next_one], self._inside[next_one] = self.t_s, np.nan

    def result(self, k: int, longest_s: float) -> Result:
        """Returns the result of environment k."""
        corners = len(self._corners)
        figures = {
            "simulated_s": self._end[k],
            "path_m": self._path[k],
            "track_rms_m": math.sqrt(self._squares[k] / max(1, self._samples[k])),
            "track_max_m": self._worst[k],
            "speed_max_m_s": self._speed[k],
            "tilt_max_deg": math.degrees(self._tilt[k]),
            "goals": self._reached[k] / corners,
        }
        status, reason = GOOD, ""
        if self._fell[k]:
            status, reason = CRASHED, f"a vehicle turned over at {self._end[k]:.2f} s"
        elif not self.done[k]:
            status, reason = UNFINISHED, f"not done after {longest_s:g} s of simulated time"
        elif self._reached[k] < corners:
            status, reason = MISSED, f"reached {self._reached[k]} of {corners} corners"
        return Result(
            status, reason, {name: round(float(value), 6) for name, value in figures.items()}
        )

    def _measure(self, state: "BatchState", away: np.ndarray, path: np.ndarray) -> None:
        """Adds a state to the figures of the environments that fly."""
        flies = ~self.done
        up = np.clip(1.0 - 2.0 * (state.quat[..., 0] ** 2 + state.quat[..., 1] ** 2), -1.0, 1.0)
        tilt = np.arccos(up).max(axis=1)
        self._fell |= flies & (tilt > math.pi / 2)
        self._end[flies] = self.t_s
        self._samples += flies * away.shape[1]
        self._squares += flies * (away**2).sum(axis=1)
        self._path += flies * path
        for largest, value in (
            (self._worst, away.max(axis=1)),
            (self._tilt, tilt),
            (self._speed, np.linalg.norm(state.vel, axis=2).max(axis=1)),
        ):
            np.maximum(largest, value, where=flies, out=largest)
