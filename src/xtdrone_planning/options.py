"""Options that the Agents of this package have in common, for their constructors."""

from typing import Annotated, TypeAlias

from xtdrone_core.scenario.options import Option

from .planners.planner import PLANNERS

PlannerName: TypeAlias = Annotated[
    str, Option("a name, module:Class or FILE.py:Class", names=PLANNERS.names)
]
Speed: TypeAlias = Annotated[float, Option("largest", unit="m/s", minimum=0.2, maximum=15.0)]
Acceleration: TypeAlias = Annotated[
    float, Option("largest", unit="m/s^2", minimum=0.5, maximum=12.0)
]
Radius: TypeAlias = Annotated[
    float, Option("of the vehicle, with what it may be off", unit="m", minimum=0.1, maximum=3.0)
]
Clearance: TypeAlias = Annotated[
    float, Option("kept where there is room", unit="m", minimum=0.2, maximum=5.0)
]
Low: TypeAlias = Annotated[float, Option("least height", unit="m", minimum=-100.0, maximum=1e4)]
High: TypeAlias = Annotated[float, Option("largest height", unit="m", minimum=0.5, maximum=1e4)]
TakeOffHeight: TypeAlias = Annotated[
    float, Option("of the take-off", unit="m", minimum=0.5, maximum=100.0)
]
Resolution: TypeAlias = Annotated[
    float, Option("side of a voxel", unit="m", minimum=0.05, maximum=1.0)
]
MapSize: TypeAlias = Annotated[
    float, Option("side of the map", unit="m", minimum=10.0, maximum=400.0)
]
Patience: TypeAlias = Annotated[
    float, Option("held for so long it gives up", unit="s", minimum=1.0, maximum=3600.0)
]
