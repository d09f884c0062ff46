"""VTOLs that give fixed-wing flight up."""

import numpy as np

from ...state.reasons import QUADCHUTES
from .condition import Action, Condition


class Quadchute(Condition):
    """A VTOL has given fixed-wing flight up, and hovers."""

    text, advice = "it has given fixed-wing flight up", "see VT_QC_* and VT_TRANS_TIMEOUT"
    name, parameter = "quadchute", "COM_QC_ACT"
    actions = {-1: Action.WARN, 0: Action.RETURN, 1: Action.LAND, 2: Action.HOLD}

    def check(self, flying: np.ndarray, params: np.ndarray) -> np.ndarray:
        return flying & (self.watched.status["quadchute"] != 0)

    def why(self, i: int) -> str:
        reason, _ = QUADCHUTES.get(
            int(self.watched.status["quadchute"][i]), ("of no known cause", "")
        )
        return f"quad-chute: {reason}"
