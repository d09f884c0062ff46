"""Formation flight: formations, slot assignment, schemes, Agents, a point-mass simulator."""

from .assignment import Transition, assign, plan
from .errors import FormationError
from .formations import names, separation, slots
from .network import NeighbourState, Network, Radio
from .schemes import Follower, FollowerParameters, Formation, Leader, SelfState, saturate, scheme

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
