"""Hover-v0: come to rest where the flight begins, whatever the attitude there."""

import math

from xtdrone_batch.randomisation import Randomisation

from ..task import Task
from .position import evaluate

TASK = Task(
    name="Hover-v0", text="come to rest from a throw, at the start", action="rates",
    low=(-8.0, -8.0, -4.0, 0.0), high=(8.0, 8.0, 4.0, 1.0), sub_steps=5, seconds=6.0,
    start=(0.0, 0.0, 30.0), goal=((0.0, 0.0, 30.0), (0.0, 0.0, 30.0)),
    randomisation=Randomisation(pos=(0.5, 0.5, 0.5), yaw=math.pi, tilt=1.2, vel=1.5, ang_vel=3.0),
    evaluate=evaluate)
