"""The formation flight as an Agent: inside the lockstep, without ROS."""

import numpy as np

from xtdrone_core.flight_agent import FlightAgent

from . import formations, schemes
from .errors import FormationError
from .network import Radio
from .schemes import Formation

DEFAULT_FORMATIONS = ("cube", "pyramid", "triangle")  # XTDrone, section V
TOLERANCE = 0.35  # a follower nearer than this is in its slot [m]
SETTLED_S = 3.0  # for so long without interruption [s]
_GROUND_CLEARANCE = 2.5  # of the lowest slot above the ground [m]


class FormationAgent(FlightAgent):
    """Takes off, flies a list of formations, returns to the start grid and lands.

    Events beside those of FlightAgent: `formation` (formation, its slots of the
    followers in their order, method, min_separation, duration_s), `settled`
    (formation), `unsettled` (formation; the time-out came first), `return` (slots).
    """

    def __init__(self, n: int, names=DEFAULT_FORMATIONS, scheme="centralised",
                 delay: float = 0.0, loss: float = 0.0, hold_s: float = 8.0,
                 formation_s: float = None, time_out_s: float = 30.0, spacing: float = None,
                 speed: float = 3.0, on_event=None):
        """All formations are worked out here, so that none fails in flight.

        Args:
            n: Number of vehicles, the leader included.
            names: Formations in order: names or CSV files.
            scheme: A name as schemes.scheme() takes it, or a Leader and a
                Follower.
            delay: Of the communication, for a scheme by name [s].
            loss: Part of the packets that is lost, for a scheme by name.
            hold_s: How long a formation is kept after it has settled [s].
            formation_s: Time from one command to the next [s], settled or
                not; None: by settling and hold_s.
            time_out_s: How long after the end of a transition it may take to
                settle [s].
            spacing: As formations.slots() takes it.
            speed: Largest speed of a transition [m/s].
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            FormationError: A formation that does not exist or does not fit n.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        if not names:
            raise FormationError("no formation is given: name one or more of "
                                 f"{', '.join(formations.names(n))}")
        self._slots = [formations.slots(name, n, spacing=spacing) for name in names]
        lowest = min(min(slots[:, 2].min(initial=0.0) for slots in self._slots), 0.0)
        super().__init__(n, height=_GROUND_CLEARANCE - lowest, on_event=on_event,
                         time_out=60.0 - 2.0 * lowest)
        if isinstance(scheme, str):
            scheme = schemes.scheme(scheme, Radio(delay, loss))
        self.formation = Formation(n, *scheme, speed=speed)
        self._names = names
        self._index = -1  # of the formation flown now; len(names) on the way back
        self._hold_us = round(hold_s * 1e6)
        self._fixed_us = None if formation_s is None else round(formation_s * 1e6)
        self._time_out = round(time_out_s * 1e6)
        self._inside_us = None  # since when all are in their slots
        self._settled = False
        self._command_us = 0

    def begin(self, t_us, estimates):
        """The grid in which the fleet hangs is the first formation."""
        place = self.pads[0] + [0.0, 0.0, self.height]
        self.formation.leader.go_to(place)
        self.formation.start(t_us, estimates.pos)
        self._next(t_us)

    def fly(self, t_us, estimates, out):
        """One period of the formation, and the next command when it is time."""
        if self._finished(t_us, estimates.pos):
            if self._index == len(self._names):
                self._hang(estimates.pos, out)
                return True
            self._next(t_us)
        wish = self.formation.step(t_us, estimates.pos, estimates.vel)
        out.pos[:], out.vel[:], out.acc[:] = wish.pos, wish.vel, wish.acc
        return False

    def report(self, folder) -> dict:
        """Figures and plots of the flight, for its run folder; returns the figures."""
        from . import analysis  # here, since it needs this module

        return analysis.report(folder)

    @staticmethod
    def _hang(pos, out):
        out.pos[:] = pos
        out.vel[:] = 0.0

    def _next(self, t_us):
        self._index += 1
        self._command_us, self._inside_us, self._settled = t_us, None, False
        floor = _GROUND_CLEARANCE - self.height
        if self._index < len(self._names):
            name, slots = self._names[self._index], self._slots[self._index]
            way = self.formation.command(t_us, name, slots, floor)
            self.event(t_us, "formation", formation=name, slots=_rows(way.goal), method=way.method,
                       min_separation=round(way.min_separation, 3),
                       duration_s=round(sum(way.durations), 3))
        else:
            slots = (self.pads[1:] - self.pads[0]) * [1.0, 1.0, 0.0]
            way = self.formation.command(t_us, "origin", slots, floor)
            self.event(t_us, "return", slots=_rows(way.goal))

    def _finished(self, t_us, pos):
        """Whether the time of the formation flown now is over."""
        if self.formation.errors(t_us, pos).max() > TOLERANCE:
            self._inside_us = None
        elif self._inside_us is None:
            self._inside_us = t_us
        inside = 0 if self._inside_us is None else t_us - self._inside_us
        returning = self._index == len(self._names)
        if not self._settled and inside >= SETTLED_S * 1e6:
            self._settled = True
            if not returning:
                self.event(t_us, "settled", formation=self._names[self._index])
        if returning:
            return inside >= 1e6 or self._overdue(t_us)
        if self._fixed_us is not None:
            return t_us - self._command_us >= self._fixed_us
        if self._settled and inside >= SETTLED_S * 1e6 + self._hold_us:
            return True
        return self._overdue(t_us)

    def _overdue(self, t_us):
        late = t_us - self.formation.transition.end_us > self._time_out + self._hold_us
        if late and not self._settled:
            self.event(t_us, "unsettled", formation=self.formation.name)
        return late


def _rows(offsets):
    """A table as plain lists, in millimetres' precision."""
    return np.round(offsets, 3).tolist()
