"""Poses from outside, as a vision system measures them: the true one, or a motion capture's."""

import math

import numpy as np

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import ExternalPose, Observer
from xtdrone_dynamics.quaternion import multiply

PERIOD_US = 40_000  # between two true poses [us]
CAPTURE_PERIOD_US = 10_000  # between two poses of a motion capture [us]
POSITION_NOISE, ANGLE_NOISE = 0.002, math.radians(0.3)  # along and about each axis [m], [rad]


class TruthPose(Observer):
    """Feeds every autopilot the true pose of its vehicle."""

    period_us = PERIOD_US

    def __init__(self, autopilot: ExternalPose):
        """Feeds an autopilot that takes poses."""
        self._autopilot = autopilot

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Passes one pose of each vehicle."""
        for i in range(len(state.pos)):
            self._autopilot.take_pose(i, t_us, state.pos[i], state.quat[i])


class MotionCapture(Observer):
    """Feeds every autopilot the pose of its vehicle as cameras around a hall measure it.

    White noise of 2 mm along and 0.3 degrees about each axis, 100 times a second, without delay.
    """

    period_us = CAPTURE_PERIOD_US

    def __init__(self, autopilot: ExternalPose, seed: int):
        """Feeds an autopilot that takes poses; the seed is the scenario's."""
        self._autopilot, self._seed = autopilot, seed

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Passes one pose of each vehicle."""
        for i in range(len(state.pos)):
            # Of seed, vehicle and time alone, so that a loaded snapshot goes on alike.
            noise = np.random.default_rng([self._seed, i, t_us]).standard_normal(6)
            half = 0.5 * ANGLE_NOISE * noise[3:]
            turn = (*half.tolist(), math.sqrt(1.0 - float(half @ half)))
            x, y, z, w = state.quat[i].tolist()
            pos = state.pos[i] + POSITION_NOISE * noise[:3]
            self._autopilot.take_pose(i, t_us, pos, np.array(multiply(x, y, z, w, *turn)))
