"""A task of one's own: Position-v0's goal and reward, less a price on body rates.

PYTHONPATH=examples xtdrone learn calm_task:TASK --target 0.95
PYTHONPATH=examples xtdrone fly policy --policy runs/learn_Calm-v0/policy.onnx
"""

import dataclasses

from xtdrone_dynamics.compiled import njit
from xtdrone_gym.tasks import position

PRICE = 0.1  # of a second power of the body rates [s^2/rad^2]


@njit(nogil=True)
def judge(which, arrays):
    """Judges the last step of the environments `which`, after Position-v0 has."""
    position.judge(which, arrays)
    for e in which:  # each environment
        for i in range(arrays.reward.shape[1]):  # each of its vehicles
            x, y, z = arrays.state.ang_vel[e, i]
            arrays.reward[e, i] -= PRICE * (x * x + y * y + z * z)


TASK = dataclasses.replace(
    position.TASK, name="Calm-v0", text="fly calmly to a goal and stay there", judge=judge
)
