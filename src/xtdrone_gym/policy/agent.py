"""PolicyAgent: flies a policy inside the lockstep, under any flight stack."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from xtdrone_autopilot.control.vector import thrust_newtons
from xtdrone_autopilot.state.vehicle_status import describe_bodies, new_status
from xtdrone_core import Estimates, FleetModel, SetPoints
from xtdrone_core.agent import PERIOD_US
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.racing.track import MAX_LAPS, Track, read_track
from xtdrone_core.scenario.options import Option

from ..errors import LearningError
from . import raptor
from .pilot import Pilot
from .policy_file import Policy

_MIN_HEIGHT = 1.0  # at which a race begins, above the start [m]
_BEFORE, _NEAR = 3.0, 0.3  # where it begins, ahead of gate 1, and how near to that [m]
_ACTUATOR_PERIOD_US = 4_000  # between two looks at what a policy of actuators is due [us]


class PolicyAgent(FlightAgent):
    """Take-off, episodes of a learned policy's task, landing.

    On a race track the only episode is its laps, by a policy of gates, Track-v0 or Racing-v0, from
    a hover ahead of gate 1. In addition to the events of FlightAgent: `episode` (index, success of
    each vehicle, judged by the estimate). Between episodes the vehicles hover where they are.
    """

    def __init__(
        self,
        n: int = 1,
        policy: Annotated[str, Option("the policy, NAME.onnx beside NAME.json, or raptor")] = "",
        height: Annotated[
            float,
            Option(
                "at which episodes begin, above the start", unit="m", minimum=1.0, maximum=1000.0
            ),
        ] = 12.0,
        episodes: Annotated[int, Option("how many", minimum=1, maximum=100_000)] = 5,
        pause: Annotated[
            float, Option("hovering before each episode", unit="s", minimum=0.0, maximum=60.0)
        ] = 2.0,
        task: Annotated[
            str, Option("a name or module:TASK, in place of that in the policy's file")
        ] = "",
        laps: Annotated[
            int | None,
            Option(
                "of a track, flown as one episode", minimum=1, maximum=MAX_LAPS, unset="its own"
            ),
        ] = None,
        seed: Annotated[int, Option("of the goals", minimum=0, maximum=2**31)] = 0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares a flight of n vehicles.

        Raises:
            XtdroneError: There is no such policy, or a file of it is damaged.
        """
        super().__init__(n, height, on_event=on_event)
        if not policy:
            raise LearningError(
                "no policy is given: give --policy FILE, for example one that "
                "'xtdrone learn Position-v0' has written"
            )
        self._policy = None if policy == raptor.NAME else Policy(policy)
        if self._policy is None:
            self.period_us = _ACTUATOR_PERIOD_US
        elif self._policy.description.period_us % PERIOD_US:
            raise LearningError(
                f"a period of {self._policy.description.period_us} us is not "
                f"allowed in a flight: it has to be a multiple of {PERIOD_US}"
            )
        self._episodes, self._pause_us, self._seed = episodes, round(pause * 1e6), seed
        self._task, self._asked = task, laps
        self._track: Track | None = None
        self._pilot: Pilot | raptor.RaptorPilot | None = None
        self._hover = np.zeros((n, 3))  # places where the vehicles wait [m]
        self._offset = np.zeros((n, 3))  # from the world to the task's frame [m]
        self._began_us = self._due_us = 0  # the wait or the episode; the next action
        self._flown, self._waits = 0, True
        self._won = np.zeros(n, dtype=np.int64)
        self._last = np.zeros((n, 0), dtype=np.float32)  # actions of the last step

    def attach(self, flight: Flight) -> None:
        """Loads the task.

        Raises:
            LearningError: The policy does not fit the fleet, or the autopilot does not take its
                commands.
        """
        kinds = {each.autopilot or flight.scenario.autopilot for each in flight.scenario.vehicles}
        if self._policy is None and kinds != {"embedded"}:
            raise LearningError(
                f"raptor commands rotors, which autopilot {min(kinds - {'embedded'})} does not "
                "take: fly it with --autopilot embedded"
            )
        if flight.scenario.track and self._policy is not None:
            track = read_track(flight.scenario.track)
            self._track = replace(track, laps=self._asked or track.laps)
            self._episodes = 1
            above = track.gates[0].pos[2] - flight.scenario.vehicles[0].pos[2]
            self.height = max(above, _MIN_HEIGHT)
        self.fit(flight.fleet)

    def fit(self, fleet: FleetModel) -> None:
        """Loads the task for a fleet; attach() does so in a simulation.

        Raises:
            LearningError: The policy does not fit the fleet.
        """
        if self._policy is None:
            self._pilot = raptor.RaptorPilot(fleet.vehicles, self._seed, self._task)
            self._out = SetPoints.empty(self.n, fleet.actuator.shape[1])
        else:
            self._pilot = Pilot(self._policy, fleet.vehicles, self._seed, self._task, self._track)
        self._status = new_status(self.n)
        describe_bodies(self._status, fleet)

    def episode_goals(self) -> np.ndarray | None:
        """Returns where the vehicles are to fly in this episode (N, 3), world [m].

        None while they wait for an episode.
        """
        if self._waits:
            return None
        goals: np.ndarray = self._flown_pilot.tasks.goal.reshape(self.n, -1)[:, :3] - self._offset
        return goals

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns the episodes that have succeeded, of all vehicles."""
        return {"episodes": (int(self._won.sum()), self._episodes * self.n)}

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Waits before the first episode."""
        if self._pilot is None:
            raise LearningError("a policy needs its flight: use xd.Simulation or xtdrone fly")
        place = self.home + [0.0, 0.0, self.height]
        if self._track is not None:
            gate = self._track.gates[0]  # vehicles stay beside each other, as they started
            place[:, :2] += (gate.pos - _BEFORE * gate.axes()[0] - self.home[0])[:2]
        self._wait_here(t_us, place)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies one period of waiting or of an episode."""
        if self._waits:
            out.pos[:] = self._hover
            if self._track is not None and not self._has_arrived(estimates):
                self._began_us = t_us
            if t_us - self._began_us < self._pause_us:
                return False
            self._begin_episode(t_us, estimates)
        pilot = self._flown_pilot
        since = t_us - self._began_us
        if t_us >= self._due_us:
            self._due_us += pilot.period_us
            self._last = pilot.act(
                since,
                estimates.pos + self._offset,
                estimates.quat,
                estimates.vel,
                estimates.ang_vel,
            )
            if pilot.tasks.done.all():
                return self._end_episode(t_us, estimates, out)
        self._command(out)
        return False

    @property
    def _flown_pilot(self) -> Pilot | raptor.RaptorPilot:
        assert self._pilot is not None  # begin() has refused to fly without
        return self._pilot

    def _wait_here(self, t_us: int, place: np.ndarray) -> None:
        self._hover, self._began_us, self._waits = place, t_us, True

    def _has_arrived(self, estimates: Estimates) -> bool:
        return bool((np.linalg.norm(estimates.pos - self._hover, axis=1) < _NEAR).all())

    def _begin_episode(self, t_us: int, estimates: Estimates) -> None:
        self._began_us = self._due_us = t_us
        self._waits = False
        pilot = self._flown_pilot
        pilot.begin()
        if self._track is None:
            self._offset = pilot.starts - estimates.pos

    def _end_episode(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Counts successes; returns whether it was the last one."""
        tasks = self._flown_pilot.tasks
        won = np.repeat(tasks.success, tasks.task.vehicles)
        self._won += won
        self._flown += 1
        self.event(t_us, "episode", index=self._flown, success=won.tolist())
        self._wait_here(t_us, estimates.pos.copy())
        out.pos[:] = self._hover
        return self._flown == self._episodes

    def _command(self, out: SetPoints) -> None:
        """Writes the last actions as set-points."""
        action, level = self._last, self._flown_pilot.level
        out.clear()
        if level == "actuators":
            out.actuators[:] = action
        elif level == "velocity":
            out.vel[:], out.yaw_rate[:] = action[:, :3], action[:, 3]
        elif level == "position":
            out.pos[:], out.yaw[:] = action[:, :3] - self._offset, action[:, 3]
        else:
            if level == "rates":
                out.rates[:] = action[:, :3]
            else:
                out.quat[:] = action[:, :4] / np.linalg.norm(action[:, :4], axis=1, keepdims=True)
            out.force[:, :2] = 0.0
            out.force[:, 2] = [
                thrust_newtons(v, command) for v, command in zip(self._status, action[:, -1])
            ]
