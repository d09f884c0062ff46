"""The tasks: each module of this folder has one, called TASK. TASKS has them by their names."""

import importlib
import pkgutil

from ..task import Task


def discover() -> dict[str, Task]:
    """Returns the tasks of all modules of this folder by their names."""
    modules = [
        importlib.import_module(f"{__name__}.{info.name}")
        for info in pkgutil.iter_modules(__path__)
    ]
    return {module.TASK.name: module.TASK for module in modules}


TASKS = discover()
