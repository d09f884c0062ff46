"""Body-rate control without an integral, as geometric control has it."""

import numpy as np

from xtdrone_autopilot.interfaces import Estimator
from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory

from ..indi.rate_control import control_fleet


class Se3RateControl(Memory):
    """SE(3): rate error to torque, with the gyroscopic torque and without an integral."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel) -> None:
        """Needs nothing of the fleet; its inertia is in the status records."""
        self._taken_off, self._reach = np.zeros((2, fleet.n, 3))

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps all vehicles; without a set-point, torque and thrust are zero."""
        control_fleet(status, parameters, estimator.records, self._taken_off, self._reach)


class MellingerRateControl(Se3RateControl):
    """Mellinger and Kumar: as SE(3), without the gyroscopic torque."""

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps all vehicles; without a set-point, torque and thrust are zero."""
        rates = estimator.ang_vel
        momentum = np.einsum("nij,nj->ni", status["inertia"], rates)
        self._taken_off[:] = np.cross(rates, momentum)
        super().step(status, parameters, estimator, dt)
