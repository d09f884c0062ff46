"""A recorded flight, in the same records as a frame of the page, over time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_core.runs import interpolation
from xtdrone_sim.world import World

from ..errors import WebError
from ..frame import VEHICLE, blank

STEP_S = 0.02  # time between two rows of a table, unless it would grow too large [s]
_MAX_TABLE = 400 << 20  # largest size of a table [bytes]
_BETWEEN = ("pos", "vel", "rates", "est_pos", "est_vel", "actuator")  # interpolated; others held
_TURNS = ("quat", "est_quat")
_FLYING = 0.5  # height above its start from which a vehicle has taken off [m]
NO_MODE = 255  # no flight log says the mode


@dataclass
class Recording:
    """A flight of n vehicles.

    Attributes:
        name: Name on the page.
        kind: Kind of source, for the page: "run", "ULog", "rosbag", "MCAP".
        world: The World.
        specs, models: VehicleSpecs and Vehicles.
        t_s: (K,) times of the rows, ascending [s].
        table: (K, n) of frame.VEHICLE.
        events: As events.page_event() gives them, by time.
        truth: Whether positions are true ones; else they are estimates.
    """

    name: str
    kind: str
    world: World
    specs: Sequence[VehicleSpec]
    models: Sequence[Vehicle]
    t_s: np.ndarray
    table: np.ndarray
    events: list[dict[str, Any]] = field(default_factory=list)
    truth: bool = True

    @property
    def names(self) -> list[str]:
        """Names of the vehicles."""
        return [spec.name for spec in self.specs]

    @property
    def start_s(self) -> float:
        """First time [s]."""
        return float(self.t_s[0])

    @property
    def end_s(self) -> float:
        """Last time [s]."""
        return float(self.t_s[-1])

    @cached_property
    def takeoff_s(self) -> float:
        """When the first vehicle took off; the start where none did [s]."""
        height = self.table["pos"][:, :, 2]
        flying = np.flatnonzero((height > height[0] + _FLYING).any(axis=1))
        return float(self.t_s[flying[0]]) if len(flying) else self.start_s

    def at(self, t_s: float) -> np.ndarray:
        """Returns records (n,) at a time [s], between two rows interpolated; a copy."""
        k, after, fraction, step_s = interpolation.locate(self.t_s, t_s)
        here, there = self.table[k].copy(), self.table[after]
        fractions = interpolation.fractions(
            fraction, step_s, here["pos"], there["pos"], here["vel"]
        )
        for name in _BETWEEN:
            here[name] += fractions * (there[name] - here[name])
        for name in _TURNS:
            here[name] = interpolation.attitude(here[name], there[name], fractions)
        here["height"] = here["pos"][:, 2] - self.table["pos"][0, :, 2]
        here["crashed"] = self._crash_s <= t_s
        return here

    @cached_property
    def _crash_s(self) -> np.ndarray:
        """(n,) time of the first crash of each vehicle, infinite without one [s]."""
        first = np.full(len(self.names), np.inf)
        for event in self.events:
            if event["text"].startswith("crash ") and event["who"] in self.names:
                i = self.names.index(event["who"])
                first[i] = min(first[i], event["t"])
        return first


def grid(begin_s: float, end_s: float, n: int) -> np.ndarray:
    """Returns times of a table's rows [s]: as dense as its size allows.

    Raises:
        WebError: The times are none of a flight.
    """
    maximum = max(2, _MAX_TABLE // (n * VEHICLE.itemsize))
    length = end_s - begin_s
    if not (np.isfinite(begin_s) and 0.0 <= length < 1e7):
        raise WebError(
            f"it has times from {begin_s:g} s to {end_s:g} s, which are none of a "
            "flight: give another recording"
        )
    count = min(int(length / STEP_S) + 1, maximum)
    return begin_s + np.linspace(0.0, length, max(count, 1))


def thinned(t_s: np.ndarray, n: int) -> slice:
    """Returns the rows of a log that are kept, so that the table does not grow too large."""
    maximum = max(2, _MAX_TABLE // (n * VEHICLE.itemsize))
    return slice(None, None, -(-len(t_s) // maximum))


def empty(rows: int, n: int) -> np.ndarray:
    """Returns a table (rows, n) without any value."""
    table = np.tile(blank(n), (rows, 1))
    table["mode"], table["armed"] = NO_MODE, 1
    return table


def interpolate(t_s: np.ndarray, at_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolates known values (K, M) of samples at at_s linearly at t_s."""
    out = np.empty((len(t_s), values.shape[1]))
    for k in range(values.shape[1]):
        known = np.isfinite(values[:, k])
        out[:, k] = np.interp(t_s, at_s[known], values[known, k]) if known.any() else np.nan
    return out


def hold(t_s: np.ndarray, at_s: np.ndarray, values: np.ndarray) -> tuple[slice, np.ndarray]:
    """Returns the rows from the first sample on, and the last samples before them."""
    begin = int(np.searchsorted(t_s, at_s[0])) if len(at_s) else len(t_s)
    return slice(begin, None), values[np.searchsorted(at_s, t_s[begin:], "right") - 1]


def interpolate_attitude(t_s: np.ndarray, at_s: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Returns attitudes (K, 4) xyzw of samples at at_s, interpolated at t_s and of unit length."""
    same = np.cumprod(np.append(1.0, np.where(np.sum(quat[1:] * quat[:-1], axis=1) < 0.0, -1, 1)))
    attitude = interpolate(t_s, at_s, quat * same[:, None])
    length = np.linalg.norm(attitude, axis=1, keepdims=True)
    return np.where(length > 1e-3, attitude / np.maximum(length, 1e-9), (0.0, 0.0, 0.0, 1.0))
