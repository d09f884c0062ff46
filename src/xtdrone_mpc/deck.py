"""Lands a multirotor on a deck that moves, by sampling model predictive control."""

import numpy as np

from xtdrone_core.runs.snapshot import Memory

from .costs import Cost, check_finite, land
from .mppi import PERIOD_S, Mppi, MppiSettings

_SETTINGS = MppiSettings(rollouts=512, horizon=40, max_rates=(3.0, 3.0, 1.0))
_CLEAR_M = 30.0  # above the ground of the futures, which have no deck to stop them [m]
_STOPPED = 0.15  # speed against the deck at which a descent has been stopped by it [m/s]
_TOUCH_S = 0.3  # for so long


class DeckPilot(Memory):
    """Flies one multirotor from anywhere near a deck down onto it.

    Attributes:
        mppi: The controller.
    """

    MEMORY = ("mppi", "_stood_s")

    def __init__(self, vehicle: str, cost: Cost = land, name: str = "land", seed: int = 0) -> None:
        """Builds the futures.

        Args:
            vehicle: Type of the multirotor.
            cost: Its reference is position and velocity of the deck, (6,).
            name: What the cost is called.
            seed: Seed of the noise.

        Raises:
            XtdroneError: The cost is not finite, or the vehicle does not fly body rates.
        """
        check_finite(cost, name, np.zeros(6), np.array([0.0, 0.0, 1.0]))
        self.mppi = Mppi(cost, vehicle, _SETTINGS, seed)
        self._stood_s = 0.0

    def command(
        self,
        pos: np.ndarray,
        quat: np.ndarray,
        vel: np.ndarray,
        ang_vel: np.ndarray,
        deck_pos: np.ndarray,
        deck_vel: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        """Returns body rates (3,) [rad/s] and thrust [N] for the next 20 ms.

        Args:
            pos, quat, vel, ang_vel: Of the multirotor, as in Estimates.
            deck_pos, deck_vel: (3,) of the deck, which is expected to go on like this.
        """
        times = PERIOD_S * np.arange(1, _SETTINGS.horizon + 1)
        up = np.array([0.0, 0.0, _CLEAR_M - deck_pos[2]])
        references = np.empty((len(times), 6))
        references[:, :3] = deck_pos + up + times[:, None] * deck_vel
        references[:, 3:] = deck_vel
        action = self.mppi.decide(pos + up, quat, vel, ang_vel, references)
        away = float(np.hypot(*(pos - deck_pos)[:2]))
        slow = abs(vel[2] - deck_vel[2]) < _STOPPED and away < 0.5 and pos[2] < deck_pos[2] + 2.0
        self._stood_s = self._stood_s + PERIOD_S if slow else 0.0
        return action[:3], self.mppi.thrust(action[3])

    @property
    def stands(self) -> bool:
        """Whether the deck has stopped its descent."""
        return self._stood_s >= _TOUCH_S
