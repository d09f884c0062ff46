"""The true pose as the measurement of a vision system, where pose_source is truth."""

from xtdrone_core import FleetState, SensorBatch
from xtdrone_core.contracts import ExternalPose, Observer

PERIOD_US = 40_000  # between two poses [us]


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
