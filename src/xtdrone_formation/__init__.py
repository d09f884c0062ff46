"""Formation flight: formations, assignment, schemes, agents, the simple simulator, analysis."""

from .assignment import Transition, assign, plan
from .errors import FormationError
from .formations import names, separation, slots
from .network import Heard, Network, Radio
from .schemes import Follower, FollowerParameters, Formation, Leader, Own, saturate, scheme

__all__ = [
    "Follower", "FollowerParameters", "Formation", "FormationError", "Heard", "Leader", "Network",
    "Own", "Radio", "Transition", "assign", "names", "plan", "saturate", "scheme", "separation",
    "slots",
]
