"""Topics of a flight log over time, positions and velocities in the world's axes."""

from dataclasses import dataclass

import numpy as np

from .reader import FlightLog

_UP = (1.0, 1.0, -1.0, 1.0, 1.0, -1.0)
_ENU = ("y", "x", "z", "vy", "vx", "vz")
_VALID = tuple(f"{name}_valid" for name in ("xy", "xy", "z", "v_xy", "v_xy", "v_z"))


@dataclass(frozen=True)
class Series:
    """Samples of something over time."""

    t_s: np.ndarray  # (K,) simulated time [s]
    values: np.ndarray  # (K,) or (K, M)


def series(log: FlightLog, name: str, *fields: str) -> Series | None:
    """Fields (K, M) of a topic, at the log's own times; None if they are not logged."""
    data = log.topic(name)
    if data is None or any(field not in data for field in fields):
        return None
    values = np.stack([data[field].astype(float) for field in fields], axis=1)
    return Series(data["timestamp"].astype(np.int64) * 1e-6, values)


def estimate(log: FlightLog) -> Series | None:
    """Position and velocity (K, 6), east, north, up [m], [m/s]; NaN while they are invalid."""
    found = of_ned(log, "vehicle_local_position")
    valid = series(log, "vehicle_local_position", *_VALID)
    if found is None or valid is None:
        return found
    return Series(found.t_s, np.where(valid.values > 0, found.values, np.nan))


def set_point(log: FlightLog) -> Series | None:
    """Set-points of position and velocity (K, 6), east, north, up; NaN where there is none."""
    return of_ned(log, "vehicle_local_position_setpoint")


def of_ned(log: FlightLog, topic: str) -> Series | None:
    """Position and velocity (K, 6) of a topic that has them in NED, as east, north, up."""
    found = series(log, topic, *_ENU)
    return None if found is None else Series(found.t_s, found.values * _UP)
