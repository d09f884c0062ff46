"""A batch flies each vehicle along the same path as the lockstep fleet."""

import numpy as np
import pytest

from batches import HEIGHT, HOVERING, TYPES, Lockstep, StackOnTruth, batch_of, commands_of, row
from xtdrone_batch.errors import BatchError
from xtdrone_batch.simulation import STEP_US
from xtdrone_sim.vehicles.sdf import load_vehicle

STEPS = 500  # 2 s
# Joints of the embedded engine follow their targets by a constraint with a softness of 1e-4, those
# of a batch exactly; measured 8e-6 at most.
BODY, JOINTED = 1e-9, 3e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_open_loop(name):
    lockstep, batch = Lockstep(name), batch_of(name, action="actuator")
    worst = 0.0
    for commands in commands_of(name, STEPS):
        there = lockstep.step(commands)
        batch.step(commands[None, None])
        worst = max(worst, abs(there[:7] - row(batch)[:7]).max())
    moved = there[:3] - lockstep.model.vehicles[0].cog - (0, 0, 200.0)
    assert np.linalg.norm(moved) > (1.5 if name == "tello" else 5.0)  # its drag is large
    assert worst < (JOINTED if load_vehicle(name).joints else BODY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "level, action",
    [("position", (3.0, -2.0, HEIGHT + 2.0, 1.0)), ("velocity", (2.0, 1.0, -1.0, 0.5))],
)
@pytest.mark.parametrize("controller", ["px4", "indi"])
@pytest.mark.parametrize("name", HOVERING)
def test_closed_loop(name, controller, level, action):
    if controller == "indi" and load_vehicle(name).half_wings:
        with pytest.raises(BatchError, match="half wings"):
            batch_of(name, action=level, controller=controller)
        return
    lockstep, batch = Lockstep(name), batch_of(name, action=level, controller=controller)
    stack, worst = StackOnTruth(lockstep.model, controller), 0.0
    for k in range(STEPS):
        there = lockstep.step(stack.step(k * STEP_US, lockstep.state, level, np.array(action)))
        batch.step(np.array(action)[None, None])
        worst = max(worst, abs(there[:7] - row(batch)[:7]).max())
    assert np.linalg.norm(there[:3] - Lockstep(name).state.pos[0]) > 1.0
    assert worst < (JOINTED if load_vehicle(name).joints else BODY)


def test_indi_flies_in_lanes_where_its_vehicle_has_one_body():
    """As the cascade does, since it is as quick there; others keep the loops of the lockstep."""
    assert batch_of("iris", action="velocity", controller="indi").description.in_lanes
    assert not batch_of("bicopter", action="velocity", controller="indi").description.in_lanes
