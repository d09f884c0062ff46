"""Failures that a user injects: MAV_CMD_INJECT_FAILURE, as PX4's own simulation offers it."""

import math

import numpy as np

from xtdrone_core import SensorBatch
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.snapshot import Memory

OFF, OK = mavlink.FAILURE_TYPE_OFF, mavlink.FAILURE_TYPE_OK
GPS, BARO, MAG = (
    mavlink.FAILURE_UNIT_SENSOR_GPS,
    mavlink.FAILURE_UNIT_SENSOR_BARO,
    mavlink.FAILURE_UNIT_SENSOR_MAG,
)
RANGE, AIRSPEED, VISION = (
    mavlink.FAILURE_UNIT_SENSOR_DISTANCE_SENSOR,
    mavlink.FAILURE_UNIT_SENSOR_AIRSPEED,
    mavlink.FAILURE_UNIT_SENSOR_VIO,
)
BATTERY, MOTOR = mavlink.FAILURE_UNIT_SYSTEM_BATTERY, mavlink.FAILURE_UNIT_SYSTEM_MOTOR
STICKS, DATA_LINK = (
    mavlink.FAILURE_UNIT_SYSTEM_RC_SIGNAL,
    mavlink.FAILURE_UNIT_SYSTEM_MAVLINK_SIGNAL,
)
UNITS = {
    GPS: "GPS",
    BARO: "barometer",
    MAG: "magnetometer",
    RANGE: "range finder",
    AIRSPEED: "airspeed",
    VISION: "external vision",
    BATTERY: "battery",
    MOTOR: "motor",
    STICKS: "manual control",
    DATA_LINK: "data link",
}


class Failures(Memory):
    """Injected failures of a fleet."""

    MEMORY = ("_motor", "_off", "_any")

    def __init__(self, rotor_mask: np.ndarray) -> None:
        """Nothing has; rotor_mask is (N, R) bool."""
        self._rotors = rotor_mask
        self._motor = np.zeros_like(rotor_mask, dtype=bool)
        units = [unit for unit in UNITS if unit != MOTOR]
        self._off = np.zeros((len(rotor_mask), len(units)), dtype=bool)
        self._unit = {unit: self._off[:, k] for k, unit in enumerate(units)}  # views
        self._any = False
        self.remember_start()

    def inject(self, i: int, unit: float, kind: float, instance: float) -> str:
        """Turns a unit of vehicle i off, or on again.

        Args:
            i: The vehicle.
            unit: A key of UNITS.
            kind: OFF or OK.
            instance: Number of the motor from 1, 0 = all of them.

        Returns:
            The reason of a rejection, or an empty string.
        """
        if unit not in UNITS:
            return f"failure unit {unit:g} cannot fail here: " + ", ".join(
                f"{number} {name}" for number, name in UNITS.items()
            )
        if kind not in (OFF, OK):
            return f"failure type {kind:g} is not supported: 1 turns the unit off, 0 on again"
        if unit != MOTOR:
            self._unit[unit][i] = kind == OFF
        else:
            count = int(self._rotors[i].sum())
            if not (math.isfinite(instance) and 0 <= instance <= count):
                return f"motor {instance:g} does not exist: give 1 to {count}, or 0 for all"
            which = slice(None) if instance == 0 else int(instance) - 1
            self._motor[i, which] = kind == OFF
        self._any = bool(self._motor.any() or self._off.any())
        return ""

    def failed(self, i: int, unit: int) -> bool:
        """Returns whether a unit of vehicle i is off."""
        return bool(self._unit[unit][i])

    def drop_failed_readings(self, sensors: SensorBatch) -> None:
        """Takes the readings of failed sensors out of a batch."""
        if not self._any:
            return
        sensors.gps_new[self._unit[GPS]] = False
        sensors.gps_fix[self._unit[GPS]] = 0
        sensors.baro_new[self._unit[BARO]] = False
        sensors.mag_new[self._unit[MAG]] = False
        sensors.range_new[self._unit[RANGE]] = False
        sensors.airspeed_new[self._unit[AIRSPEED]] = False

    def empty_batteries(self, level: np.ndarray) -> None:
        """Sets the level (N,) of failed batteries to zero."""
        if self._any:
            level[self._unit[BATTERY]] = 0.0

    def stop_motors(self, commands: np.ndarray) -> None:
        """Sets the commands (N, R) of failed motors to zero."""
        if self._any:
            commands[self._motor] = 0.0
