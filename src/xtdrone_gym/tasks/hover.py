"""Hover-v0: come to rest where the flight begins, whatever the attitude there."""

import dataclasses
import math

from xtdrone_batch.randomisation import Randomisation

from ..task import last_action
from .position import TASK as POSITION

LOW, HIGH = (-8.0, -8.0, -4.0, 0.0), (8.0, 8.0, 4.0, 1.0)
TASK = dataclasses.replace(
    POSITION,
    name="Hover-v0",
    text="come to rest from a throw, at the start",
    low=LOW,
    high=HIGH,
    seconds=6.0,
    goal=((0.0, 0.0, 30.0), (0.0, 0.0, 30.0)),
    randomisation=Randomisation(pos=(0.5, 0.5, 0.5), yaw=math.pi, tilt=1.2, vel=1.5, ang_vel=3.0),
    parts=(*POSITION.parts[:-1], last_action(LOW, HIGH)),
)
