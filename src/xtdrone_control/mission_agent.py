"""An Agent: every vehicle flies the mission that it holds; it waits until all have landed."""

import numpy as np

from xtdrone_core.errors import XtdroneError
from xtdrone_core.modes import Mode
from xtdrone_core.state import ARM, SetPoints

_PERIOD_US = 100_000  # of looking [us]
_RETRY_US = 500_000  # after which a wish that was not granted is repeated [us]
_SETTLED_US = 3_000_000  # in AUTO.LOITER for so long, a mission that ends in the air is over [us]


class MissionAgent:
    """Arms, changes to AUTO.MISSION and waits; what ends in the air is landed where it is.

    The missions are in the vehicles already: from --mission, or uploaded.
    Events: armed, mission_over (index of the vehicle), landed.
    """

    def __init__(self, n: int = 1, time_out: float = 60.0, on_event=None):
        """An agent for n vehicles.

        Args:
            n: Number of vehicles.
            time_out: For getting ready and armed [s].
            on_event: Called as on_event(t_us, name, **values).
        """
        self.done = False
        self._out = SetPoints.empty(n)
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self._time_out_us = round(time_out * 1e6)
        self._next_us, self._asked_us = 0, -_RETRY_US
        self._begun = np.zeros(n, dtype=bool)  # armed in AUTO.MISSION
        self._over = np.zeros(n, dtype=bool)  # landed and disarmed again
        self._loitering_us = np.full(n, -1)  # since when in AUTO.LOITER, -1 = not
        self._start_us = None

    def step(self, t_us, estimates) -> SetPoints:
        """Wishes to arm and to change mode; no set-points.

        Raises:
            XtdroneError: A vehicle does not begin its mission in time.
        """
        out = self._out
        out.clear()
        if t_us < self._next_us or self.done:
            return out
        self._next_us = t_us + _PERIOD_US
        if self._start_us is None:
            self._start_us = t_us
        on_way = estimates.armed & (estimates.mode == Mode.MISSION)
        before = self._begun.all()
        self._begun |= on_way
        if not self._begun.all():
            self._start(t_us, estimates, out)
        elif not before:
            self._on_event(t_us, "armed")
        for i in np.flatnonzero(self._begun & ~self._over & ~estimates.armed):
            self._over[i] = True
            self._on_event(t_us, "mission_over", index=int(i))
        self._land_those_who_wait(t_us, estimates, out)
        if self._over.all():
            self.done = True
            self._on_event(t_us, "landed")
        return out

    def _start(self, t_us, estimates, out):
        waiting = ~self._begun
        if t_us - self._start_us > self._time_out_us:
            which = ", ".join(map(str, np.flatnonzero(waiting)[:5]))
            raise XtdroneError(f"vehicle {which} did not begin its mission within "
                               f"{self._time_out_us * 1e-6:g} s: its reasons are in console/; "
                               "'xtdrone mission check FILE' looks at the plan")
        if estimates.ready.all() and t_us - self._asked_us >= _RETRY_US:
            out.mode[waiting] = Mode.MISSION
            out.arm[waiting & (estimates.mode == Mode.MISSION)] = ARM
            self._asked_us = t_us

    def _land_those_who_wait(self, t_us, estimates, out):
        waits = (self._begun & ~self._over & (estimates.mode == Mode.LOITER)
                 & estimates.armed & ~estimates.landed)
        self._loitering_us = np.where(waits, np.where(self._loitering_us < 0, t_us,
                                                      self._loitering_us), -1)
        out.mode[waits & (t_us - self._loitering_us >= _SETTLED_US)] = Mode.LAND
