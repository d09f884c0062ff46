"""Agents that fly formations from take-off to landing, in process or over topics."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import Estimates, Mode, SetPoints
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.arguments import Configured
from xtdrone_core.scenario.options import Option, options_of

from . import schemes, settling
from .errors import FormationError
from .formations import Shape, names as all_formations
from .network import TOPOLOGIES, Radio
from .schemes import Formation
from .settling import SETTLED_S, in_place

DEFAULT_FORMATIONS = ("cube", "pyramid", "triangle")  # XTDrone, section V
GROUND_CLEARANCE = 2.5  # of the lowest slot above the ground [m]
# Options of Agents, `xtdrone formation` and its viewer.
FORMATION = Option("a name, or a CSV file with a row x,y,z for each follower", names=all_formations)
SCHEME = Option("of communication and control, or module:Class", names=schemes.SCHEMES.names)
TOPOLOGY = Option("communication graph", choices=("", *TOPOLOGIES), unset="the scheme's")
TRANSITION_SPEED = Option("largest speed of a transition", unit="m/s", least=0.01, most=100.0)
_RETRY_US = 1_000_000  # after which a mode request that was not granted is repeated [us]
_RETURN_HOLD_S = 1.0  # hover above the start grid before the descent [s]


class FormationFlight(FlightAgent, Configured):
    """Base class: takes off, flies a list of formations, returns to the start grid and lands.

    Subclasses define how formations are commanded and flown. In addition to the events of
    FlightAgent: `settled` (formation) and `unsettled` (formation; it timed out).
    """

    MEMORY = (
        *FlightAgent.MEMORY,
        "_index",
        "_inside_us",
        "_settled",
        "_settled_count",
        "_command_us",
        "_arrival_us",
    )
    FIXED = ("height", "climb_speed", "land_from")

    def __init__(
        self,
        n: int,
        formations: Annotated[
            Sequence[str],
            Option(
                "in order: names, or CSV files with a row x,y,z for each follower",
                names=all_formations,
            ),
        ] = DEFAULT_FORMATIONS,
        hold: Annotated[
            float,
            Option(
                "time to hold a formation after it has settled", unit="s", least=0.0, most=3600.0
            ),
        ] = 8.0,
        interval: Annotated[
            float | None,
            Option(
                "fixed time from one formation to the next",
                unit="s",
                least=0.1,
                most=36e3,
                unset="until it has settled and was held",
            ),
        ] = None,
        time_out: Annotated[
            float,
            Option(
                "time to settle after the end of a transition", unit="s", least=0.1, most=3600.0
            ),
        ] = 30.0,
        on_event: Callable[..., None] | None = None,
        **shape: Annotated[Any, Shape],
    ):
        """Computes all formations, so that errors are found before the flight.

        n vehicles, the leader included; on_event(t_us, name, **values) is called at each event;
        **shape are fields of formations.Shape.

        Raises:
            FormationError: A formation is unknown or does not fit n vehicles.
        """
        names = (formations,) if isinstance(formations, str) else tuple(formations)
        if not names:
            raise FormationError(
                f"no formation is given: name one or more of {', '.join(all_formations(n))}"
            )
        if n < 2:
            raise FormationError(
                f"n = {n} is not allowed: a formation has a leader and followers, "
                "give 2 or more vehicles"
            )
        self.names = names
        size = Shape(**shape)
        self.slots = [size.slots(name, n) for name in names]
        lowest = min(min(slots[:, 2].min() for slots in self.slots), 0.0)
        super().__init__(
            n, height=GROUND_CLEARANCE - lowest, on_event=on_event, time_out=60.0 - 2.0 * lowest
        )
        self._index = -1  # of the current formation; len(names) during the return
        self._hold_us = round(hold * 1e6)
        self._fixed_us = None if interval is None else round(interval * 1e6)
        self._time_out = round(time_out * 1e6)
        self._inside_us = None  # since when all vehicles are in their slots
        self._settled = False
        self._settled_count = 0
        self._command_us = self._arrival_us = 0

    def attach(self, simulation: Any) -> None:
        """Warns if the GNSS receivers are too inaccurate for the slots."""
        sensors = simulation.sensors
        start = np.array([vehicle.pos for vehicle in simulation.scenario.vehicles])
        warning = (
            ""
            if simulation.scenario.pose_source == "truth"
            else settling.accuracy_warning(
                [*self.slots, start[1:] - start[0]], sensors.gps_eph.max(), sensors.gps_epv.max()
            )
        )
        if warning:
            print(f"formation: {warning}", file=sys.stderr, flush=True)

    def command(self, t_us: int, name: str, slots: np.ndarray) -> None:
        """Begins the formation `name` with slots (N - 1, 3) [m]."""
        raise NotImplementedError

    def go_back(self, t_us: int) -> None:
        """Begins the return to the start grid."""
        raise NotImplementedError

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Distance of each follower from its final slot [m]; inf during a transition."""
        raise NotImplementedError

    def control(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Writes the set-points of one period to `out`."""

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Commands the first formation."""
        self._next(t_us)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies one period, and commands the next formation when it is due."""
        if self._finished(t_us, estimates.pos):
            if self._index == len(self.names):
                self.leave(t_us)
                out.pos[:], out.vel[:] = estimates.pos, 0.0
                return True
            self._next(t_us)
        self.control(t_us, estimates, out)
        return False

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """The formations that have settled."""
        return {"formations": (self._settled_count, len(self.names))}

    def leave(self, t_us: int) -> None:
        """Called at the end of the formation flight, before descent and landing."""

    def _next(self, t_us):
        self._index += 1
        self._command_us = self._arrival_us = t_us
        self._inside_us, self._settled = None, False
        if self._index < len(self.names):
            self.command(t_us, self.names[self._index], self.slots[self._index])
        else:
            self.go_back(t_us)

    def _finished(self, t_us, pos):
        """Whether the current formation is finished."""
        errors = self.errors(t_us, pos)
        if not np.isfinite(errors).all():
            self._arrival_us = t_us
        if not in_place(errors):
            self._inside_us = None
        elif self._inside_us is None:
            self._inside_us = t_us
        inside = 0 if self._inside_us is None else t_us - self._inside_us
        overdue = t_us - self._arrival_us > self._time_out + self._hold_us
        if self._index == len(self.names):
            return inside >= _RETURN_HOLD_S * 1e6 or overdue
        if not self._settled and inside >= SETTLED_S * 1e6:
            self._settled = True
            self._settled_count += 1
            self.event(t_us, "settled", formation=self.names[self._index])
        if self._fixed_us is not None:
            return t_us - self._command_us >= self._fixed_us
        if overdue and not self._settled:
            self.event(t_us, "unsettled", formation=self.names[self._index])
        return overdue or (self._settled and inside >= SETTLED_S * 1e6 + self._hold_us)


class FormationAgent(FormationFlight):
    """Flies leader and followers in process, by a scheme of schemes.py.

    In addition to the events of FormationFlight: `formation` (formation, its slots in the
    followers' order, method, min_separation, duration_s), `return` (slots).
    """

    MEMORY = (*FormationFlight.MEMORY, "formation")

    def __init__(
        self,
        n: int,
        formations: Annotated[
            Sequence[str],
            Option(
                "in order: names, or CSV files with a row x,y,z for each follower",
                names=all_formations,
            ),
        ] = DEFAULT_FORMATIONS,
        scheme: Annotated[str | tuple, SCHEME] = "centralised",
        topology: Annotated[str, TOPOLOGY] = "",
        transition_speed: Annotated[float, TRANSITION_SPEED] = 3.0,
        **options: Annotated[Any, Radio],
    ):
        """Computes all formations, so that errors are found before the flight.

        n vehicles, the leader included. The scheme may also be a Leader and a Follower, to which
        topology and the options of radio and followers do not apply. **options are fields of
        Radio and of the scheme's Parameters, and arguments of FormationFlight.

        Raises:
            FormationError: A formation or scheme is unknown or does not fit.
        """
        radio = Radio(**_taken(options, Radio))
        law: dict[str, Any] = {}
        if isinstance(scheme, str):
            parameters = schemes.SCHEMES.load(scheme).Parameters
            law = _taken(options, parameters)
        super().__init__(n, formations, **options)
        self._scheme = scheme if isinstance(scheme, str) else type(scheme[1]).__name__
        if isinstance(scheme, str):
            scheme = schemes.scheme(scheme, radio, parameters(**law), topology)
        scheme[0].edges(self.slots[0])  # raises an error if the topology is unknown
        self.formation = Formation(n, *scheme, speed=transition_speed)

    @classmethod
    def more_options(cls, given: Mapping[str, str]) -> tuple[type, ...]:
        """The parameters of the scheme that is given."""
        return (schemes.SCHEMES.load(given.get("scheme", "centralised")).Parameters,)

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Takes the hovering start grid as the first formation."""
        self.formation.ground = float(self.home[:, 2].max())
        self.formation.leader.go_to(self.home[0] + [0.0, 0.0, self.height])
        self.formation.start(t_us, estimates.pos)
        super().begin(t_us, estimates)

    def command(self, t_us: int, name: str, slots: npt.ArrayLike) -> None:
        """Plans and begins the transition."""
        transition = self.formation.command(t_us, name, slots, GROUND_CLEARANCE - self.height)
        self.event(t_us, "formation", **description(name, transition))

    def go_back(self, t_us: int) -> None:
        """Returns each follower to one of the start positions, by least total distance."""
        slots = (self.home[1:] - self.home[0]) * [1.0, 1.0, 0.0]
        transition = self.formation.command(t_us, "origin", slots, GROUND_CLEARANCE - self.height)
        self.event(t_us, "return", slots=description("origin", transition)["slots"])

    def errors(self, t_us: int, pos: npt.ArrayLike) -> Any:
        """Slot errors by the estimated positions."""
        if t_us < self.formation.transition.end_us:
            return np.full(self.n - 1, np.inf)
        return self.formation.errors(t_us, pos)

    def slot_positions(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """The followers' slots beside the leader's position, those of a transition on their way."""
        found = np.full((self.n, 3), np.nan)
        if self._phase == "fly":
            found[1:] = pos[0] + self.formation.pattern(t_us)
        return found

    def control(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Copies the set-points of the scheme."""
        desired = self.formation.step(t_us, estimates.pos, estimates.vel)
        out.pos[:], out.vel[:], out.acc[:] = desired.pos, desired.vel, desired.acc

    def report(self, folder: Path | str) -> dict:
        """Writes metrics and plots to the run folder; returns the metrics."""
        from . import analysis  # here: circular import

        network = self.formation.network
        run_folder.update_summary(
            folder, scheme=self._scheme, messages_sent=network.sent, messages_lost=network.lost
        )
        return analysis.report(folder)


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
                least=0.1,
                most=100.0,
            ),
        ] = 12.0,
        **options: Any,
    ):
        """A flight of n vehicles, the leader included; **options as of FormationAgent.

        Raises:
            FormationError: An invalid formation, scheme or value.
        """
        super().__init__(n, (formation,), speed_limit=speed_limit, **options)
        self._stage = "formation"  # then requesting, flying, returning, finished
        self._mode_us = -_RETRY_US

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> Any:
        """Flies the formation; between formation and return the leader is in AUTO.MISSION."""
        flying = estimates.mode[0] == Mode.MISSION
        if self._stage == "requesting" and flying:
            self._stage = "flying"
            self.event(t_us, "mission")
        elif self._stage == "flying" and not flying:
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

    def _finished(self, t_us, pos):
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
        waypoints: Annotated[
            Any, Option("of the leader, world, such as [[30,0,8],[30,30,10]]", unit="m")
        ],
        formation: Annotated[str, FORMATION] = "V",
        path_speed: Annotated[
            float, Option("of the leader", unit="m/s", least=0.01, most=100.0)
        ] = 3.0,
        path_acceleration: Annotated[
            float, Option("of the leader", unit="m/s^2", least=0.01, most=100.0)
        ] = 1.0,
        speed_limit: Annotated[
            float,
            Option(
                "largest speed of the followers; above path_speed, so that they can catch up",
                unit="m/s",
                least=0.1,
                most=100.0,
            ),
        ] = 8.0,
        **options: Any,
    ):
        """A flight of n vehicles, the leader included; **options as of FormationAgent.

        The communication is that of the scheme's leader.

        Raises:
            FormationError: An invalid formation, scheme, waypoint or value.
        """
        super().__init__(n, (formation,), speed_limit=speed_limit, **options)
        leader = self.formation.leader
        self._path = schemes.PathLeader(waypoints, path_speed, path_acceleration, leader.radio)
        self._path.edges, self._path.packet = leader.edges, leader.packet
        self.formation.leader = self._path
        self._started = False

    def _finished(self, t_us, pos):
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


class Director(FormationFlight):
    """Commands formations to leader and followers in other processes, takes off and lands.

    It controls the vehicles only during climb and descent; between, the receivers of its commands
    do. In addition to the events of FormationFlight: `return`.
    """

    def __init__(
        self,
        n: int,
        formations: Sequence[str] = DEFAULT_FORMATIONS,
        send_command: Callable[..., None] | None = None,
        **options: Any,
    ):
        """A director without a pattern; see on_pattern().

        Args:
            n: Number of vehicles, the leader included.
            formations: In order.
            send_command: Called with each command (a string) for the leader.
            **options: Arguments of FormationFlight.

        Raises:
            FormationError: A formation is unknown or does not fit n vehicles.
        """
        super().__init__(n, formations, **options)
        self._send_command = send_command
        self._pattern = None
        self._moved_us = None  # when the pattern last changed

    def on_pattern(self, t_us: int, pattern: np.ndarray) -> None:
        """Takes the pattern (N - 1, 3) that the leader publishes [m]."""
        if self._pattern is None or not np.array_equal(pattern, self._pattern):
            self._pattern, self._moved_us = pattern.copy(), t_us

    def command(self, t_us: int, name: str, slots: npt.ArrayLike) -> None:
        """Sends the name of the formation."""
        self._send_command(name)
        self._moved_us = t_us

    def go_back(self, t_us: int) -> None:
        """Commands the initial formation, which the leader has stored."""
        self._send_command("waiting")
        self._moved_us = t_us
        self.event(t_us, "return")

    def leave(self, t_us: int) -> None:
        """Releases the followers; from here on the director controls all vehicles."""
        self._send_command("stop controlling")

    def errors(self, t_us: int, pos: npt.ArrayLike) -> np.ndarray:
        """Slot errors by the estimated positions, once the pattern is at rest."""
        if self._pattern is None or t_us - self._moved_us < 500_000:
            return np.full(self.n - 1, np.inf)
        return np.linalg.norm(pos[1:] - pos[0] - self._pattern, axis=1)


def _taken(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Takes the options of a dataclass out of these."""
    return {name: options.pop(name) for name in options_of(kind) if name in options}


def description(name: str, transition: Any) -> dict:
    """The values of the event `formation` for a Transition."""
    return {
        "formation": name,
        "slots": np.round(transition.goal, 3).tolist(),
        "method": transition.method,
        "min_separation": round(transition.min_separation, 3),
        "duration_s": round(sum(transition.durations), 3),
    }
