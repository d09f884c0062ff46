"""DO_VTOL_TRANSITION: hover, or fixed-wing flight."""

import math
from collections.abc import Sequence

from xtdrone_core.mavlink.dialect import mavlink

from ..state.answer import ACCEPTED, NO_ANSWER, REJECTED, Answer
from ..state.handlers import handles
from ..vtol.stack import Vtol
from .links import Link


class Transitions:
    """Handles the command of VTOLs; other vehicles do not answer it, as in PX4."""

    def __init__(self, vtol: Vtol) -> None:
        """vtol: Makes the transitions."""
        self._vtol = vtol

    @handles(mavlink.MAV_CMD_DO_VTOL_TRANSITION)
    def _do_vtol_transition(self, link: Link, params: Sequence[float]) -> Answer:
        if not self._vtol.is_vtol(link.vehicle):
            return Answer(
                NO_ANSWER, "command MAV_CMD_DO_VTOL_TRANSITION is not supported: it is no VTOL"
            )
        state = round(params[0]) if math.isfinite(params[0]) else 0
        reason = self._vtol.refusal(link.vehicle, state)
        if reason:
            return Answer(REJECTED, f"no transition: {reason}")
        self._vtol.request(link.vehicle, state, math.isfinite(params[1]) and round(params[1]) != 0)
        return Answer(ACCEPTED)
