"""Formation flights from take-off to landing, as Agents: in process, or over topics."""

import dataclasses
import sys

import numpy as np

from xtdrone_core import Mode, run_folder
from xtdrone_core.flight_agent import FlightAgent

from . import formations, schemes, settling
from .errors import FormationError
from .network import Radio
from .schemes import FollowerParameters, Formation
from .settling import SETTLED_S, in_place

DEFAULT_FORMATIONS = ("cube", "pyramid", "triangle")  # XTDrone, section V
GROUND_CLEARANCE = 2.5  # of the lowest slot above the ground [m]
_ASK_US = 1_000_000  # after which a mode that was not taken is asked for again [us]
_BACK_S = 1.0  # how long the fleet is over its start grid before it comes down [s]


class FormationFlight(FlightAgent):
    """Takes off, lets a list of formations be flown, leads back to the start grid and lands.

    Inherit and say how formations are commanded and flown. Events beside those
    of FlightAgent: `settled` (formation) and `unsettled` (formation; the
    time-out came first).
    """

    def __init__(self, n: int, names=DEFAULT_FORMATIONS, hold_s: float = 8.0,
                 formation_s: float | None = None, time_out_s: float = 30.0, on_event=None,
                 **shape):
        """All formations are worked out here, so that none fails in flight.

        Args:
            n: Number of vehicles, the leader included.
            names: Formations in order: names or CSV files.
            hold_s: How long a formation is kept after it has settled [s].
            formation_s: Time from one command to the next [s], settled or
                not; None: by settling and hold_s.
            time_out_s: How long after the end of a transition it may take to
                settle [s].
            on_event: Called as on_event(t_us, name, **values).
            **shape: Fields of formations.Shape: spacing [m], scale, rotation [deg].

        Raises:
            FormationError: A formation that does not exist or does not fit n.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if not names:
            raise FormationError("no formation is given: name one or more of "
                                 f"{', '.join(formations.names(n))}")
        if n < 2:
            raise FormationError(f"n = {n} is not allowed: a formation has a leader and followers, "
                                 "give 2 or more vehicles")
        self.names = names
        shape = formations.Shape(**shape)
        self.slots = [shape.slots(name, n) for name in names]
        lowest = min(min(slots[:, 2].min() for slots in self.slots), 0.0)
        super().__init__(n, height=GROUND_CLEARANCE - lowest, on_event=on_event,
                         time_out=60.0 - 2.0 * lowest)
        self._index = -1  # of the formation flown now; len(names) on the way back
        self._hold_us = round(hold_s * 1e6)
        self._fixed_us = None if formation_s is None else round(formation_s * 1e6)
        self._time_out = round(time_out_s * 1e6)
        self._inside_us = None  # since when all are in their slots
        self._settled = False
        self._command_us = self._arrival_us = 0

    def attach(self, simulation) -> None:
        """Says before the take-off where the receivers are too coarse for the slots."""
        sensors = simulation.sensors
        start = np.array([vehicle.pos for vehicle in simulation.scenario.vehicles])
        warning = "" if simulation.scenario.pose_source == "truth" else settling.too_coarse(
            [*self.slots, start[1:] - start[0]], sensors.gps_eph.max(), sensors.gps_epv.max())
        if warning:
            print(f"formation: {warning}", file=sys.stderr, flush=True)

    def command(self, t_us: int, name: str, slots: np.ndarray) -> None:
        """Begins the formation `name` with slots (N - 1, 3) [m]."""
        raise NotImplementedError

    def go_back(self, t_us: int) -> None:
        """Begins the way to the start grid."""
        raise NotImplementedError

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Distance of each follower from its final slot [m]; inf while slots still move."""
        raise NotImplementedError

    def steer(self, t_us: int, estimates, out) -> None:
        """Fills the set-points of one period."""

    def begin(self, t_us, estimates):
        """The first formation follows at once."""
        self._next(t_us)

    def fly(self, t_us, estimates, out):
        """One period of the formation, and the next command when it is time."""
        if self._finished(t_us, estimates.pos):
            if self._index == len(self.names):
                self.leave(t_us)
                out.pos[:], out.vel[:] = estimates.pos, 0.0
                return True
            self._next(t_us)
        self.steer(t_us, estimates, out)
        return False

    def leave(self, t_us: int) -> None:
        """The formation flight is over; descent and landing follow."""

    def _next(self, t_us):
        self._index += 1
        self._command_us = self._arrival_us = t_us
        self._inside_us, self._settled = None, False
        if self._index < len(self.names):
            self.command(t_us, self.names[self._index], self.slots[self._index])
        else:
            self.go_back(t_us)

    def _finished(self, t_us, pos):
        """Whether the time of the formation flown now is over."""
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
            return inside >= _BACK_S * 1e6 or overdue
        if not self._settled and inside >= SETTLED_S * 1e6:
            self._settled = True
            self.event(t_us, "settled", formation=self.names[self._index])
        if self._fixed_us is not None:
            return t_us - self._command_us >= self._fixed_us
        if overdue and not self._settled:
            self.event(t_us, "unsettled", formation=self.names[self._index])
        return overdue or (self._settled and inside >= SETTLED_S * 1e6 + self._hold_us)


class FormationAgent(FormationFlight):
    """The whole flight in process, with a scheme of schemes.py.

    Events beside those of FormationFlight: `formation` (formation, its slots in
    the followers' order, method, min_separation, duration_s), `return` (slots).
    """

    def __init__(self, n: int, names=DEFAULT_FORMATIONS, scheme="centralised",
                 topology: str = "", speed: float = 3.0, speed_limit: float = 5.0, **options):
        """All formations are worked out here, so that none fails in flight.

        Args:
            n: Number of vehicles, the leader included.
            names: Formations in order: names or CSV files.
            scheme: A name as schemes.scheme() takes it, or a Leader and a
                Follower.
            topology: Who hears whom, as schemes.scheme() takes it.
            speed: Largest speed of a transition [m/s].
            speed_limit: Of the followers [m/s].
            **options: Fields of network.Radio (delay, loss, range,
                leader_lost), and what FormationFlight takes: hold_s,
                formation_s, time_out_s, spacing, scale, rotation, on_event.
                topology, speed_limit and radio are those of a scheme by name.

        Raises:
            FormationError: A formation or scheme that does not exist or fit.
        """
        radio = Radio(**{field.name: options.pop(field.name)
                         for field in dataclasses.fields(Radio) if field.name in options})
        super().__init__(n, names, **options)
        self._scheme = scheme if isinstance(scheme, str) else type(scheme[1]).__name__
        if isinstance(scheme, str):
            scheme = schemes.scheme(scheme, radio, FollowerParameters(speed_limit=speed_limit),
                                    topology)
        scheme[0].edges(self.slots[0])  # an unknown topology is refused here, not in flight
        self.formation = Formation(n, *scheme, speed=speed)

    def begin(self, t_us, estimates):
        """The grid in which the fleet hangs is the first formation."""
        self.formation.leader.go_to(self.pads[0] + [0.0, 0.0, self.height])
        self.formation.start(t_us, estimates.pos)
        super().begin(t_us, estimates)

    def command(self, t_us, name, slots):
        """Plans the transition, which then begins."""
        way = self.formation.command(t_us, name, slots, GROUND_CLEARANCE - self.height)
        self.event(t_us, "formation", **description(name, way))

    def go_back(self, t_us):
        """To any of the pads each, by the least distance."""
        slots = (self.pads[1:] - self.pads[0]) * [1.0, 1.0, 0.0]
        way = self.formation.command(t_us, "origin", slots, GROUND_CLEARANCE - self.height)
        self.event(t_us, "return", slots=description("origin", way)["slots"])

    def errors(self, t_us, pos):
        """By the vehicles' own estimates."""
        if t_us < self.formation.transition.end_us:
            return np.full(self.n - 1, np.inf)
        return self.formation.errors(t_us, pos)

    def steer(self, t_us, estimates, out):
        """The scheme's set-points."""
        wish = self.formation.step(t_us, estimates.pos, estimates.vel)
        out.pos[:], out.vel[:], out.acc[:] = wish.pos, wish.vel, wish.acc

    def report(self, folder) -> dict:
        """Figures and plots of the flight, for its run folder; returns the figures."""
        from . import analysis  # here, since it needs this module

        network = self.formation.network
        run_folder.update_summary(folder, scheme=self._scheme, messages_sent=network.sent,
                                  messages_lost=network.lost)
        return analysis.report(folder)


class MissionFormation(FormationAgent):
    """The leader flies the mission that a ground station gave it; its followers keep formation.

    Takes off and flies to the formation in OFFBOARD, then asks for the leader's AUTO.MISSION,
    again and again until a mission is there. At its end the fleet lands where the leader is.
    Events beside those of FormationAgent: `mission`, `mission_end`.
    """

    def __init__(self, n: int, name: str = "V", speed_limit: float = 12.0, **options):
        """A flight with one formation.

        Args:
            n: Number of vehicles, the leader included.
            name: Of the formation.
            speed_limit: Of the followers; above the mission's speed, to catch up [m/s].
            **options: As FormationAgent takes them.

        Raises:
            FormationError: A formation, scheme or number that makes no sense.
        """
        super().__init__(n, (name,), speed_limit=speed_limit, **options)
        self._stage = "before"  # asking, flying, back, over
        self._mode_us = -_ASK_US

    def fly(self, t_us, estimates, out):
        """The mission between formation and return."""
        flying = estimates.mode[0] == Mode.MISSION
        if self._stage == "asking" and flying:
            self._stage = "flying"
            self.event(t_us, "mission")
        elif self._stage == "flying" and not flying:
            self._stage = "back"
            self.formation.leader.go_to(estimates.pos[0])
            self.event(t_us, "mission_end")
        elif self._stage == "back" and estimates.mode[0] == Mode.OFFBOARD:
            self._stage = "over"
        over = super().fly(t_us, estimates, out)
        if self._stage == "flying":
            for values in (out.pos, out.vel, out.acc):
                values[0] = np.nan
        elif self._stage in ("asking", "back") and t_us - self._mode_us >= _ASK_US:
            out.mode[0] = Mode.MISSION if self._stage == "asking" else Mode.OFFBOARD
            self._mode_us = t_us
        return over

    def _finished(self, t_us, pos):
        if self._index > 0:
            return super()._finished(t_us, pos)
        if self._stage == "before" and super()._finished(t_us, pos):
            self._stage = "asking"
        return self._stage == "over"


class PathFormation(FormationAgent):
    """The leader flies along places once the formation stands; its followers keep formation.

    At the last place the fleet lands. Events beside those of FormationAgent:
    `mission` (the leader sets off), `mission_end`.
    """

    def __init__(self, n: int, places, name: str = "V", path_speed: float = 3.0,
                 path_acceleration: float = 1.0, speed_limit: float = 8.0, **options):
        """A flight with one formation.

        Args:
            n: Number of vehicles, the leader included.
            places: (K, 3) of the leader, world [m].
            name: Of the formation.
            path_speed: Of the leader [m/s].
            path_acceleration: Of the leader [m/s^2].
            speed_limit: Of the followers; above path_speed, to catch up [m/s].
            **options: As FormationAgent takes them; the communication of the scheme's leader is
                kept.

        Raises:
            FormationError: A formation, scheme, place or number that makes no sense.
        """
        super().__init__(n, (name,), speed_limit=speed_limit, **options)
        leader = self.formation.leader
        self._path = schemes.PathLeader(places, path_speed, path_acceleration, leader.radio)
        self._path.edges, self._path.packet = leader.edges, leader.packet
        self.formation.leader = self._path
        self._under_way = False

    def _finished(self, t_us, pos):
        if self._index > 0:
            return super()._finished(t_us, pos)
        if not self._under_way and super()._finished(t_us, pos):
            self._under_way = True
            self._path.set_off()
            self.event(t_us, "mission")
        if not self._path.arrived(t_us):
            return False
        self.event(t_us, "mission_end")
        return True


class Director(FormationFlight):
    """Commands formations to a leader and followers that run elsewhere, and lands the fleet.

    It steers the vehicles on the way up and down only; between, whoever hears
    its words does. Event beside those of FormationFlight: `return`.
    """

    def __init__(self, n: int, names=DEFAULT_FORMATIONS, say=None, **options):
        """A director without a pattern yet; see heard().

        Args:
            n: Number of vehicles, the leader included.
            names: Formations in order.
            say: Called with each word for the leader.
            **options: As FormationFlight takes them.

        Raises:
            FormationError: A formation that does not exist or does not fit n.
        """
        super().__init__(n, names, **options)
        self._say = say
        self._pattern = None
        self._moved_us = None  # when the pattern last changed

    def heard(self, t_us: int, pattern: np.ndarray) -> None:
        """The pattern (N - 1, 3) that the leader says now [m]."""
        if self._pattern is None or not np.array_equal(pattern, self._pattern):
            self._pattern, self._moved_us = pattern.copy(), t_us

    def command(self, t_us, name, slots):
        """Says the formation's name."""
        self._say(name)
        self._moved_us = t_us

    def go_back(self, t_us):
        """The leader remembers where everybody was at first."""
        self._say("waiting")
        self._moved_us = t_us
        self.event(t_us, "return")

    def leave(self, t_us):
        """From here on the director steers."""
        self._say("stop controlling")

    def errors(self, t_us, pos):
        """By the vehicles' own estimates, as soon as the pattern has come to rest."""
        if self._pattern is None or t_us - self._moved_us < 500_000:
            return np.full(self.n - 1, np.inf)
        return np.linalg.norm(pos[1:] - pos[0] - self._pattern, axis=1)


def description(name, way) -> dict:
    """The values of the event `formation`: what its transition (a Transition) is."""
    return {"formation": name, "slots": np.round(way.goal, 3).tolist(), "method": way.method,
            "min_separation": round(way.min_separation, 3),
            "duration_s": round(sum(way.durations), 3)}
