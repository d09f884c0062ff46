"""Formation flight: formations, slot assignment, schemes, Agents, a point-mass simulator."""

from .assignment import Transition, assign, plan
from .errors import FormationError
from .formation import Formation
from .formations import names, separation, slots
from .leaders import Leader
from .network import NeighbourState, Network, Radio
from .schemes import Follower, FollowerParameters, SelfState, saturate, scheme

__all__ = [
    "Follower",
    "FollowerParameters",
    "Formation",
    "FormationError",
    "Leader",
    "NeighbourState",
    "Network",
    "Radio",
    "SelfState",
    "Transition",
    "assign",
    "names",
    "plan",
    "saturate",
    "scheme",
    "separation",
    "slots",
]
