"""The tasks: TASKS has all of them by name."""

from ..task import Task
from . import hover, position, velocity

TASKS: dict[str, Task] = {task.name: task for task in (hover.TASK, position.TASK, velocity.TASK)}
