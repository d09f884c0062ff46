"""The tasks: TASKS has all of them by name."""

from ..task import Task
from . import (
    depth_navigation,
    formation,
    hover,
    landing,
    multi_hover,
    position,
    pursuit,
    racing,
    trajectory,
    velocity,
)

TASKS: dict[str, Task] = {
    module.TASK.name: module.TASK
    for module in (
        hover,
        position,
        velocity,
        trajectory,
        racing,
        depth_navigation,
        landing,
        multi_hover,
        formation,
        pursuit,
    )
}
