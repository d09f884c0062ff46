"""An Agent that flies to a place by attitude and force, or by body rates and force."""

import numpy as np

from xtdrone_core.flight_agent import FlightAgent
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import from_matrix_array, to_matrix_array

FLIGHT_US = 10_000_000  # to the place, and holding it [us]
PLACE = np.array([2.0, 1.0, 0.0])  # from above the start [m]
TURN = 0.8  # of the heading [rad]
P_POS, D_POS, P_ATTITUDE = 1.0, 1.8, 6.0  # gains [1/s^2], [1/s], [1/s]


class LowLevelAgent(FlightAgent):
    """Takes off by positions, flies one leg with a turn at a lower level, and lands."""

    def __init__(self, level: str, mass: float, n: int = 1, height: float = 3.0, on_event=None):
        """level: attitude or rates; mass of a vehicle [kg]."""
        super().__init__(n, height, on_event=on_event)
        self._level, self._mass = level, mass

    @property
    def phase(self) -> str:
        """What it is doing; "fly" on the leg."""
        return self._phase

    def begin(self, t_us, estimates):
        """The clock of the leg starts."""
        self._begin_us = t_us

    def fly(self, t_us, estimates, out):
        """Force against the error of the place; attitude, or body rates, towards its direction."""
        wanted = self.home + PLACE + (0.0, 0.0, self.height)
        acc = P_POS * (wanted - estimates.pos) - D_POS * estimates.vel + (0.0, 0.0, GRAVITY)
        attitude = _attitude(acc, self._yaw + TURN)
        is_now = to_matrix_array(estimates.quat)
        out.force[:, 2] = self._mass * np.einsum("nk,nk->n", acc, is_now[:, :, 2])
        if self._level == "attitude":
            out.quat[:] = from_matrix_array(attitude)
        else:
            error = np.swapaxes(is_now, 1, 2) @ attitude
            out.rates[:] = (
                0.5
                * P_ATTITUDE
                * np.stack(
                    [
                        error[:, 2, 1] - error[:, 1, 2],
                        error[:, 0, 2] - error[:, 2, 0],
                        error[:, 1, 0] - error[:, 0, 1],
                    ],
                    axis=1,
                )
            )
        return t_us - self._begin_us >= FLIGHT_US


def _attitude(acc, yaw):
    """(N, 3, 3) body to world: z along acc, x towards yaw."""
    z = acc / np.linalg.norm(acc, axis=1, keepdims=True)
    y = np.cross(z, np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=1))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return np.stack([np.cross(y, z), y, z], axis=2)
