"""Agents that fly leader and followers in process, by a scheme."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from xtdrone_core import Estimates, Mode, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option, options_of

from . import schemes
from .declarations import FORMATION, FORMATIONS, SCHEME, SCHEMES, TOPOLOGY, TRANSITION_SPEED, Radio
from .evaluation import report
from .flight import GROUND_CLEARANCE, FormationFlight, event_values
from .formation import Formation
from .leaders import Leader, PathLeader
from .schemes import Follower

_RETRY_US = 1_000_000  # time after which a mode request is repeated [us]


class FormationAgent(FormationFlight):
    """Flies leader and followers in process, by a scheme of schemes.py.

    In addition to the events of FormationFlight: `formation` (formation, its slots in the
    followers' order, method, min_separation, duration_s), `return` (slots).
    """

    MEMORY = (*FormationFlight.MEMORY, "formation")

    def __init__(
        self,
        n: int,
        formations: Annotated[Sequence[str], FORMATIONS.option] = FORMATIONS.default,
        scheme: Annotated[str | tuple[Leader, Follower], SCHEME.option] = SCHEME.default,
        topology: Annotated[str, TOPOLOGY.option] = TOPOLOGY.default,
        transition_speed: Annotated[float, TRANSITION_SPEED.option] = TRANSITION_SPEED.default,
        **options: Annotated[Any, Radio],  # each of its own type: see below
    ) -> None:
        """Computes all formations, so that errors are found before the flight.

        n vehicles, the leader included. The scheme may also be a Leader and a Follower, to which
        topology and the options of radio and followers do not apply. **options are fields of
        Radio and of the scheme's Parameters, and arguments of FormationFlight.

        Raises:
            FormationError: A formation or scheme is unknown or does not fit.
        """
        radio = Radio(**_pop_fields(options, Radio))
        if isinstance(scheme, str):
            kind = SCHEMES.load(scheme).Parameters
            parameters = kind(**_pop_fields(options, kind))
            self._scheme = scheme
            leader, follower = schemes.scheme(scheme, radio, parameters, topology)
        else:
            leader, follower = scheme
            self._scheme = type(follower).__name__
        super().__init__(n, formations, **options)
        leader.edges(self.slots[0])  # raises an error if the topology is unknown
        self.formation = Formation(n, leader, follower, speed=transition_speed)

    @classmethod
    def more_options(cls, given: Mapping[str, str]) -> tuple[type, ...]:
        """Returns the parameters of the scheme that is given."""
        return (SCHEMES.load(given.get("scheme", SCHEME.default)).Parameters,)

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Takes the hovering start grid as the first formation."""
        self.formation.ground = float(self.home[:, 2].max())
        self.formation.leader.go_to(self.home[0] + [0.0, 0.0, self.height])
        self.formation.start(t_us, estimates.pos)
        super().begin(t_us, estimates)

    def command(self, t_us: int, name: str, slots: np.ndarray) -> None:
        """Plans and begins the transition."""
        transition = self.formation.command(t_us, name, slots, GROUND_CLEARANCE - self.height)
        self.event(t_us, "formation", **event_values(name, transition))

    def go_back(self, t_us: int) -> None:
        """Returns each follower to one of the start positions, by minimum total distance."""
        slots = (self.home[1:] - self.home[0]) * [1.0, 1.0, 0.0]
        transition = self.formation.command(t_us, "origin", slots, GROUND_CLEARANCE - self.height)
        self.event(t_us, "return", slots=event_values("origin", transition)["slots"])

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns slot errors by the estimated positions."""
        if t_us < self.formation.transition.end_us:
            return np.full(self.n - 1, np.inf)
        return self.formation.errors(t_us, pos)

    def slot_positions(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns the followers' slots now, relative to where the leader is."""
        slots = np.full((self.n, 3), np.nan)
        if self._phase == "fly":
            slots[1:] = pos[0] + self.formation.pattern(t_us)
        return slots

    def control(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Copies the set-points of the scheme."""
        desired = self.formation.step(t_us, estimates.pos, estimates.vel)
        out.pos[:], out.vel[:], out.acc[:] = desired.pos, desired.vel, desired.acc

    def report(self, folder: Path | str) -> dict[str, Any]:
        """Writes metrics and plots to the run folder; returns the metrics."""
        network = self.formation.network if self.formation.started else None
        run_folder.update_summary(
            Path(folder),
            scheme=self._scheme,
            messages_sent=network.sent if network else 0,
            messages_lost=network.lost if network else 0,
        )
        return report.report(folder)


class MissionFormation(FormationAgent):
    """The leader flies an uploaded mission and the followers keep formation.

    The fleet takes off and takes up the formation in OFFBOARD, then AUTO.MISSION is requested for
    the leader until a mission is available. At its end the fleet lands where the leader is. In
    addition to the events of FormationAgent: `mission`, `mission_end`.
    """

    MEMORY = (*FormationAgent.MEMORY, "_stage", "_mode_us")
    FIXED = (*FormationAgent.FIXED, "formations", "interval")

    def __init__(
        self,
        n: int,
        formation: Annotated[str, FORMATION] = "V",
        speed_limit: Annotated[
            float,
            Option(
                "largest speed of the followers; above the mission's, so that they can catch up",
                unit="m/s",
                minimum=0.1,
                maximum=100.0,
            ),
        ] = 12.0,
        **options: Any,  # those of FormationAgent, each of its own type
    ) -> None:
        """Prepares a flight of n vehicles, the leader included; **options as of FormationAgent.

        Raises:
            FormationError: An invalid formation, scheme or value.
        """
        super().__init__(n, (formation,), speed_limit=speed_limit, **options)
        self._stage = "formation"  # then requesting, flying, returning, finished
        self._mode_us = -_RETRY_US
        self.health: Callable[[], Sequence[Mapping[str, Any]]] = list  # none is known

    def attach(self, flight: Flight) -> None:
        """Takes from the autopilot whether the leader's mission goes on."""
        super().attach(flight)
        self.health = flight.autopilot.health

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies the formation; between formation and return the leader is in AUTO.MISSION."""
        flying = estimates.mode[0] == Mode.MISSION
        if self._stage == "requesting" and flying:
            self._stage = "flying"
            self.event(t_us, "mission")
        elif self._stage == "flying" and not (flying and self._goes_on(t_us)):
            self._stage = "returning"
            self.formation.leader.go_to(estimates.pos[0])
            self.event(t_us, "mission_end")
        elif self._stage == "returning" and estimates.mode[0] == Mode.OFFBOARD:
            self._stage = "finished"
        finished = super().fly(t_us, estimates, out)
        if self._stage == "flying":
            for values in (out.pos, out.vel, out.acc):
                values[0] = np.nan
        elif self._stage in ("requesting", "returning") and t_us - self._mode_us >= _RETRY_US:
            out.mode[0] = Mode.MISSION if self._stage == "requesting" else Mode.OFFBOARD
            self._mode_us = t_us
        return finished

    def _goes_on(self, t_us: int) -> bool:
        """Returns whether the leader's mission goes on by itself, which is asked now and then."""
        if t_us % _RETRY_US >= self.period_us:
            return True
        why = next(iter(self.health()), {}).get("ends_early", "")
        if why:
            print(f"mission of the leader ends early: {why}", file=sys.stderr, flush=True)
        return not why

    def _finished(self, t_us: int, pos: np.ndarray) -> bool:
        if self._index > 0:
            return super()._finished(t_us, pos)
        if self._stage == "formation" and super()._finished(t_us, pos):
            self._stage = "requesting"
        return self._stage == "finished"


class PathFormation(FormationAgent):
    """The leader flies along waypoints once the formation has settled; the followers keep it.

    The fleet lands at the last waypoint. In addition to the events of FormationAgent: `mission`
    (the leader starts), `mission_end`.
    """

    MEMORY = (*FormationAgent.MEMORY, "_started")
    FIXED = (*FormationAgent.FIXED, "formations", "interval")

    def __init__(
        self,
        n: int,
        waypoints: Annotated[  # anything from a command line: PathLeader checks it
            Any, Option("of the leader, world, such as [[30,0,8],[30,30,10]]", unit="m")
        ],
        formation: Annotated[str, FORMATION] = "V",
        path_speed: Annotated[
            float, Option("of the leader", unit="m/s", minimum=0.01, maximum=100.0)
        ] = 3.0,
        path_acceleration: Annotated[
            float, Option("of the leader", unit="m/s^2", minimum=0.01, maximum=100.0)
        ] = 1.0,
        speed_limit: Annotated[
            float,
            Option(
                "largest speed of the followers; above path_speed, so that they can catch up",
                unit="m/s",
                minimum=0.1,
                maximum=100.0,
            ),
        ] = 8.0,
        **options: Any,  # those of FormationAgent, each of its own type
    ) -> None:
        """Prepares a flight of n vehicles, the leader included; **options as of FormationAgent.

        The communication is that of the scheme's leader.

        Raises:
            FormationError: An invalid formation, scheme, waypoint or value.
        """
        super().__init__(n, (formation,), speed_limit=speed_limit, **options)
        leader = self.formation.leader
        self._path = PathLeader(
            waypoints, path_speed, path_acceleration, leader.radio, communication=leader
        )
        self.formation.leader = self._path
        self._started = False

    def _finished(self, t_us: int, pos: np.ndarray) -> bool:
        if self._index > 0:
            return super()._finished(t_us, pos)
        if not self._started and super()._finished(t_us, pos):
            self._started = True
            self._path.start()
            self.event(t_us, "mission")
        if not self._path.arrived(t_us):
            return False
        self.event(t_us, "mission_end")
        return True


def _pop_fields(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Removes the options of a dataclass from these, and returns them."""
    return {name: options.pop(name) for name in options_of(kind) if name in options}
