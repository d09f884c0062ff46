"""Topics of a flight log as time series; positions and velocities in ENU."""

from dataclasses import dataclass

import numpy as np

from .reader import FlightLog

_SIGNS = (1.0, 1.0, -1.0, 1.0, 1.0, -1.0)
_ENU = ("y", "x", "z", "vy", "vx", "vz")
_VALID = tuple(f"{name}_valid" for name in ("xy", "xy", "z", "v_xy", "v_xy", "v_z"))


@dataclass(frozen=True)
class Series:
    """Samples of a quantity over time."""

    t_s: np.ndarray  # (K,) simulated time [s]
    values: np.ndarray  # (K,) or (K, M)


def series(log: FlightLog, name: str, *fields: str) -> Series | None:
    """Returns fields (K, M) of a topic at their own times; None if they are not logged."""
    data = log.topic(name)
    if data is None or any(field not in data for field in fields):
        return None
    values = np.stack([data[field].astype(float) for field in fields], axis=1)
    return Series(data["timestamp"].astype(np.int64) * 1e-6, values)


def estimate(log: FlightLog) -> Series | None:
    """Returns estimated position [m] and velocity [m/s] (K, 6), ENU; NaN while they are invalid."""
    motion = of_ned(log, "vehicle_local_position")
    valid = series(log, "vehicle_local_position", *_VALID)
    if motion is None or valid is None:
        return motion
    return Series(motion.t_s, np.where(valid.values > 0, motion.values, np.nan))


def set_point(log: FlightLog) -> Series | None:
    """Returns set-points of position [m] and velocity [m/s] (K, 6), ENU; NaN = none."""
    return of_ned(log, "vehicle_local_position_setpoint")


def of_ned(log: FlightLog, topic: str) -> Series | None:
    """Converts position and velocity of a topic from NED to ENU, (K, 6); None if not logged."""
    ned = series(log, topic, *_ENU)
    return None if ned is None else Series(ned.t_s, ned.values * _SIGNS)
