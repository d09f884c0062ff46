"""Formation flight: formations, slot assignment, schemes, Agents, a point-mass simulator."""

from typing import TYPE_CHECKING

from xtdrone_core.lazy import lazy_exports

if TYPE_CHECKING:
    from .assignment import Transition as Transition, assign as assign, plan as plan
    from .declarations import Radio as Radio
    from .errors import FormationError as FormationError
    from .formation import Formation as Formation
    from .formations import names as names, separation as separation, slots as slots
    from .leaders import Leader as Leader
    from .network import NeighbourState as NeighbourState, Network as Network
    from .schemes import (
        Follower as Follower,
        FollowerParameters as FollowerParameters,
        SelfState as SelfState,
        saturate as saturate,
        scheme as scheme,
    )

_EXPORTS = {
    "Transition": ".assignment:Transition",
    "assign": ".assignment:assign",
    "plan": ".assignment:plan",
    "FormationError": ".errors:FormationError",
    "Formation": ".formation:Formation",
    "names": ".formations:names",
    "separation": ".formations:separation",
    "slots": ".formations:slots",
    "Leader": ".leaders:Leader",
    "NeighbourState": ".network:NeighbourState",
    "Network": ".network:Network",
    "Radio": ".declarations:Radio",
    "Follower": ".schemes:Follower",
    "FollowerParameters": ".schemes:FollowerParameters",
    "SelfState": ".schemes:SelfState",
    "saturate": ".schemes:saturate",
    "scheme": ".schemes:scheme",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
