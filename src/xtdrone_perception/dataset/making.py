"""Makes a data set on all cores; a command that was interrupted goes on where it was."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from xtdrone_campaign.runners import ProcessRunner

from ..errors import PerceptionError
from . import layouts, page
from .options import Options
from .shooting import Task, record_of, take

_LONGEST_S = 1800.0  # wall time for one scene


class Made(NamedTuple):
    """What was made now."""

    images: int
    processor_s: float


def make(
    folder: Path,
    options: Options,
    workers: int = 0,
    watch: Callable[[int], object] = lambda _: None,
) -> Made:
    """Makes a data set, or what is missing of it.

    Args:
        folder: Created if it is missing.
        options: What it holds.
        workers: Processes; 0 for one on each core.
        watch: Called with the number of images of each scene that is there.

    Raises:
        PerceptionError: The folder is of something else, or a scene cannot be taken.
    """
    options.claim(folder)
    todo = []
    for scene in range(options.scenes):
        if record_of(folder, scene).is_file():
            watch(options.frames_of(scene))
        else:
            todo.append(Task(folder, options, scene))
    seconds = _take_all(folder, todo, workers, watch) if todo else 0.0
    records = layouts.read_records(folder, options)
    layouts.write_all(folder, options, records)
    page.write(folder, options, records)
    return Made(sum(options.frames_of(task.scene) for task in todo), seconds)


def _take_all(
    folder: Path, todo: list[Task], workers: int, watch: Callable[[int], object]
) -> float:
    seconds = 0.0
    if len(todo) == 1 or workers == 1:
        for task in todo:
            seconds += take(task)
            watch(task.options.frames_of(task.scene))
        return seconds
    runner = ProcessRunner(take, workers or len(os.sched_getaffinity(0)), _LONGEST_S, folder)
    for done in runner.run(todo):
        if done.error:
            raise PerceptionError(f"scene {todo[done.index].scene}: {done.error}")
        seconds += done.value
        watch(todo[done.index].options.frames_of(todo[done.index].scene))
    for log in folder.glob("worker_*.log"):
        log.unlink()
    return seconds
