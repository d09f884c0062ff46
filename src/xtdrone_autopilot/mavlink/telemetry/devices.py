"""Messages about devices: ESC_INFO, ESC_STATUS, VIBRATION."""

import math
from typing import Any

import numpy as np

from xtdrone_dynamics.compiled import njit

from ...state.handlers import streams

BATCH = 4  # ESCs in one message
# What PX4's simulated ESCs make of a command 0..1.
_RPM, _AMPERE, _IDLE_AMPERE = 6000.0, 15.0, 1.0
_KELVIN, _AMBIENT = 40.0, 20.0  # heating at full command, and the temperature when off [C]
_SMOOTHING = 0.01  # weight of the newest difference in a vibration metric, as PX4's


@njit
def _smooth_changes(
    gyro: np.ndarray, accel: np.ndarray, before: np.ndarray, smooth: np.ndarray
) -> None:
    """Low-passes the size of the change of readings (N, 3) since the last call."""
    for i in range(len(smooth)):
        for kind in range(2):
            square = 0.0
            for k in range(3):
                now = gyro[i, k] if kind == 0 else accel[i, k]
                square += (now - before[i, kind, k]) ** 2
                before[i, kind, k] = now
            if square >= 0.0:  # not so for NaN, before the first reading
                smooth[i, kind] += _SMOOTHING * (math.sqrt(square) - smooth[i, kind])


def _has_batch(part: "DeviceStreams", batch: int) -> np.ndarray:
    return part.rotors > BATCH * batch


class DeviceStreams:
    """Fills the messages about ESCs and the IMU's vibration.

    Attributes:
        rotors: (N,) their number.
    """

    def __init__(self, reported: Any) -> None:  # a Reported, whose module imports this one
        """reported: a Reported of streams.py."""
        self._status, self._battery = reported.status, reported.battery
        self.readings = reported.readings
        self._commands = reported.commands
        mask = np.pad(reported.rotor_mask, ((0, 0), (0, -reported.rotor_mask.shape[1] % BATCH)))
        self.rotors = mask.sum(axis=1)
        self._columns = np.argsort(~mask, axis=1, kind="stable")  # rotors first
        self._before = np.full((len(mask), 2, 3), np.nan)  # the IMU's reading at the last tick
        self._vibration = np.zeros((len(mask), 2))  # gyroscope's, accelerometer's

    def _rotor_commands(self, batch: int) -> np.ndarray:
        """(N, 4) commands 0..1 of a batch of ESCs, 0 where there is none."""
        columns = self._columns[:, BATCH * batch : BATCH * batch + BATCH]
        last = self._commands.shape[1] - 1
        commands = np.take_along_axis(self._commands, np.minimum(columns, last), axis=1)
        there = BATCH * batch + np.arange(BATCH) < self.rotors[:, None]
        return np.where(there & self._status["armed"][:, None], np.clip(commands, 0.0, 1.0), 0.0)

    @streams("ESC_INFO", ground_station=1, offboard=10, where=_has_batch, batches=3)
    def _esc_info(self, message: np.ndarray, t_us: int, batch: int) -> None:
        message["index"], message["time_usec"] = BATCH * batch, t_us
        message["count"] = self.rotors
        message["info"] = (1 << np.minimum(self.rotors, 8)) - 1  # all are online
        message["temperature"] = 100 * (_AMBIENT + _KELVIN * self._rotor_commands(batch))

    @streams("ESC_STATUS", ground_station=1, offboard=10, where=_has_batch, batches=3)
    def _esc_status(self, message: np.ndarray, t_us: int, batch: int) -> None:
        commands = self._rotor_commands(batch)
        message["index"], message["time_usec"] = BATCH * batch, t_us
        message["rpm"] = _RPM * commands
        message["voltage"] = self._battery.voltage[:, None]
        armed = self._status["armed"][:, None]
        message["current"] = np.where(armed, _IDLE_AMPERE + _AMPERE * commands, 0.0)

    def watch(self) -> None:
        """Follows the IMU; call it at each tick of the streams."""
        _smooth_changes(
            self.readings.sensors.gyro, self.readings.sensors.accel, self._before, self._vibration
        )

    @streams("VIBRATION", ground_station=0.1, offboard=0.5, bridge=False)
    def _vibration_metrics(self, message: np.ndarray, t_us: int) -> None:
        message["time_usec"] = t_us
        message["vibration_y"], message["vibration_z"] = (
            self._vibration.T
        )  # x is coning, which is none here
