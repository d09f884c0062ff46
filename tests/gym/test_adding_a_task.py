"""A task is one module: found, registered with its description, and flown."""

import numpy as np
import pytest

from xtdrone_gym import commands, tasks
from xtdrone_gym.task_batch import TaskBatch

MODULE = '''"""Low-v0: as Hover-v0, nearer to the ground."""

import dataclasses

from .hover import TASK as HOVER

TASK = dataclasses.replace(
    HOVER, name="Low-v0", text="hover low", starts=((0.0, 0.0, 3.0),),
    goal=((0.0, 0.0, 3.0), (0.0, 0.0, 3.0)),
)
'''


@pytest.mark.slow
def test_a_task_of_one_file(tmp_path, monkeypatch):
    (tmp_path / "low.py").write_text(MODULE)
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(tmp_path)])
    found = tasks.discover()
    assert set(found) == {*tasks.TASKS, "Low-v0"}
    monkeypatch.setitem(tasks.TASKS, "Low-v0", found["Low-v0"])
    assert commands.tasks()["Low-v0"].startswith("hover low; success: ")
    batch = TaskBatch("Low-v0", 2, threads=1)
    batch.step(np.zeros(batch.action.shape))
    assert batch.goal[:, 0, 2].tolist() == [3.0, 3.0] and np.isfinite(batch.reward).all()
