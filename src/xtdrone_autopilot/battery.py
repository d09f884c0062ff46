"""Simulated battery, as PX4's own simulation drains it: linearly while armed."""

import numpy as np


class Battery:
    """Voltage [V], current [A] and level 0..1 of a fleet's batteries, (N,) each."""

    def __init__(self, n: int, parameters):
        self._parameters = parameters
        self._armed_s = np.zeros(n)
        self.level = np.ones(n)
        self.voltage = np.zeros(n)
        self.current = np.zeros(n)
        self.step(np.zeros(n, dtype=bool), 0.0)

    def step(self, armed: np.ndarray, dt: float) -> None:
        """dt [s] later; empty to SIM_BAT_MIN_PCT after SIM_BAT_DRAIN armed."""
        p = self._parameters.values
        self._armed_s += dt * armed
        self.level = np.maximum(1.0 - self._armed_s / p["SIM_BAT_DRAIN"],
                                p["SIM_BAT_MIN_PCT"] / 100.0)
        cell = p["BAT1_V_EMPTY"] + self.level * (p["BAT1_V_CHARGED"] - p["BAT1_V_EMPTY"])
        self.voltage = cell * p["BAT1_N_CELLS"]
        self.current = np.where(armed, 10.0, 0.5)
