"""A user-defined Agent that counts its goals: gates in a row, each within a time.

    PYTHONPATH=examples xtdrone fly own_agent_gates:Gates --set "gates=[[4,0,3],[4,4,5],[0,0,3]]"

A gate that was missed ends the command with status 4, and the table says how many were reached.
"""

from typing import Annotated, Any

import numpy as np

from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option

GATES = ((5.0, 0.0, 3.0), (5.0, 5.0, 4.0), (0.0, 0.0, 3.0))


class Gates(FlightAgent):
    """Every vehicle flies through gates that are given relative to its start."""

    MEMORY = (*FlightAgent.MEMORY, "_index", "_reached", "_asked_us")

    def __init__(
        self,
        n=1,
        gates: Annotated[
            Any, Option("east, north and up from the start", unit="m", unset="three")
        ] = GATES,
        within: Annotated[
            float,
            Option("of a gate's centre that counts as through", unit="m", minimum=0.1, maximum=5.0),
        ] = 0.4,
        time_out: Annotated[
            float, Option("after which a gate was missed", unit="s", minimum=1.0, maximum=600.0)
        ] = 15.0,
        on_event=None,
    ):
        super().__init__(n, height=3.0, on_event=on_event)
        self.gates = np.array(gates, dtype=float).reshape(-1, 3)
        self.within, self.time_out_us = within, round(time_out * 1e6)
        self._index = self._reached = self._asked_us = 0

    def begin(self, t_us, estimates):
        """The clock of the first gate starts."""
        self._asked_us = t_us

    def goals_reached(self):
        """For summary.json, the closing table and the exit status."""
        return {"gates": (self._reached, len(self.gates))}

    def fly(self, t_us, estimates, out):
        """The centre of the current gate as the set-point of all vehicles."""
        out.pos[:] = self.home + self.gates[self._index]
        through = np.linalg.norm(estimates.pos - out.pos, axis=1).max() < self.within
        if through or t_us - self._asked_us > self.time_out_us:
            self.event(t_us, "gate", index=self._index, reached=bool(through))
            self._reached += int(through)
            self._index, self._asked_us = self._index + 1, t_us
        return self._index == len(self.gates)
