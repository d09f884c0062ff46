"""The options of formation flight: of Agents, of `xtdrone formation`, of the nodes and tools.

Commands and completions read them here, before NumPy and the formations are loaded.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xtdrone_core import registry
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.arguments import Argument
from xtdrone_core.scenario.options import Option, option

from .errors import FormationError

SCHEMES = registry.Group("scheme", "xtdrone.schemes", "xtdrone_formation.schemes:Follower")
TOPOLOGIES = {
    "star": "all hear the leader",
    "complete": "all hear all",
    "chain": "each hears the one before it",
    "ring": "a chain whose ends are connected too",
    "nearest": "each hears the nearest of those closer to the leader",
}
DEFAULT_FORMATIONS = ("cube", "pyramid", "triangle")  # XTDrone, section V
# Sources of the motion in a run: what they are called, and their files.
SOURCES = {"truth": run_folder.TRUTH, "rosbag": "bags/*.bag", "ulog": "ulog/*/*.ulg"}
TOPIC_PERIOD_US = 40_000  # set-points over topics [us]; XTDrone's communication sends at 30 Hz
MAX_SCALE = 1e4  # largest scale; also the largest spacing [m]


def topologies() -> dict[str, str]:
    """Returns a line on each topology, for `xtdrone list`."""
    return TOPOLOGIES


formation_names = registry.completion("formations")
FORMATION = Option(
    "a name, or a CSV file with a row x,y,z for each follower", names=formation_names
)
FORMATIONS = Argument(
    "formations",
    Sequence[str],
    DEFAULT_FORMATIONS,
    Option(
        "in order: names, or CSV files with a row x,y,z for each follower", names=formation_names
    ),
)
SCHEME = Argument(
    "scheme",
    str,
    "centralised",
    Option("of communication and control, module:Class or FILE.py:Class", names=SCHEMES.names),
)
TOPOLOGY = Argument(
    "topology",
    str,
    "",
    Option("communication graph", choices=("", *TOPOLOGIES), unset="the scheme's"),
)
TRANSITION_SPEED = Argument(
    "transition_speed",
    float,
    3.0,
    Option("largest speed of a transition", unit="m/s", minimum=0.01, maximum=100.0),
)
SURVEY_TIME = Argument(
    "survey_time",
    float,
    60.0,
    Option(
        "time constant with which the errors of the receivers change: those on the start grid, "
        "whose places are measured, are taken off for so long; 0: never",
        unit="s",
        minimum=0.0,
        maximum=36e3,
    ),
)
PLACES = Argument(
    "places",
    str,
    "",
    Option(
        "CSV file with x,y,z in metres, where each vehicle stands before the flight",
        unset="those of the simulation",
    ),
)


@dataclass(frozen=True)
class Shape:
    """Size, rotation and height of formations; fields as the arguments of formations.slots()."""

    spacing: float | None = option(
        None,
        "minimum distance between two vehicles",
        unit="m",
        minimum=0.0,
        maximum=MAX_SCALE,
        unset="the formation's; 0 as well",
    )
    scale: float = option(1.0, "factor on all offsets", minimum=0.0, maximum=MAX_SCALE)
    rotation: float = option(0.0, "about the up axis", unit="deg", minimum=-3600.0, maximum=3600.0)
    rise: float = option(
        0.0,
        "of all slots above the leader, for one on the ground",
        unit="m",
        minimum=0.0,
        maximum=MAX_SCALE,
    )


@dataclass(frozen=True)
class Radio:
    """Properties of the links between vehicles."""

    delay: float = option(0.0, "of packets between vehicles", unit="s", minimum=0.0, maximum=60.0)
    loss: float = option(0.0, "fraction of the packets that is lost", minimum=0.0, maximum=1.0)
    range: float = option(math.inf, "of the radio; inf = no limit", unit="m", minimum=0.0)
    leader_lost: tuple[float, ...] = option(
        (),
        "begin and end of an outage of the leader's packets, simulated time",
        unit="s",
        minimum=0.0,
        metavar="FROM,TO",
    )
    seed: int = 1  # seed of the losses

    def __post_init__(self) -> None:
        if not (math.isfinite(self.delay) and self.delay >= 0):
            raise FormationError(f"delay {self.delay} is not allowed: give 0 or more seconds")
        if not 0 <= self.loss <= 1:
            raise FormationError(f"loss {self.loss} is not allowed: give a probability, 0 to 1")
        if not self.range > 0:
            raise FormationError(
                f"range {self.range} is not allowed: give a positive number of metres"
            )
        lost = list(self.leader_lost) if isinstance(self.leader_lost, Iterable) else [0.0]
        if len(lost) not in (0, 2) or (lost and not 0 <= lost[0] < lost[1]):
            raise FormationError(
                f"leader_lost {self.leader_lost} is not allowed: give two times in seconds, "
                "start and end of the outage of the leader"
            )
