"""Propellers with models of their own: the same flight in the lockstep and in a batch."""

import numpy as np
import pytest

from batches import HEIGHT, Lockstep, StackOnTruth, batch_of, row
from propelled import MODELS, iris_by
from xtdrone_batch.simulation import STEP_US


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_a_batch_flies_as_the_lockstep(tmp_path, model):
    name = str(iris_by(tmp_path, model))
    lockstep, batch = Lockstep(name), batch_of(name, environments=2, action="velocity")
    assert not batch.description.in_lanes
    stack, worst = StackOnTruth(lockstep.model), 0.0
    action = np.array((2.0, 1.0, -1.0, 0.5))
    for k in range(60 if model == "hbem" else 250):
        there = lockstep.step(stack.step(k * STEP_US, lockstep.state, "velocity", action))
        batch.step(np.broadcast_to(action, batch.action_shape))
        worst = max(worst, abs(there[:7] - row(batch, 1)[:7]).max())
    assert worst < 1e-9
    assert abs(there[2] - HEIGHT) < 3.0
    assert lockstep.plant.power[0] > 20.0
