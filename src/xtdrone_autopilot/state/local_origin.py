"""Origins of local positions: what a client sees as (0, 0, 0) of each vehicle.

All positions inside the flight stack are in the world frame. Where a vehicle's local origin is
another one (SET_GPS_GLOBAL_ORIGIN, or the option origin:=own), positions become local as they
leave, and are the world's again once they have come in. As in PX4, local axes point east and north
at the local origin.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.earth.geodesy import to_geodetic, to_geodetic_array, to_local

Origin = tuple[float, float, float]  # latitude, longitude [rad] and height [m]
Place = np.ndarray | Origin
_LOWEST, _HIGHEST = -12e3, 100e3  # heights that PX4 takes for an origin [m]


class LocalOrigins(Memory):
    """The local origin of each vehicle.

    Attributes:
        world: Latitude, longitude [rad] and height [m] of the world's origin.
        places: (N, 3) latitude, longitude [rad] and height [m] of the local ones.
        moved: (N,) bool, those that are not the world's.
        resets: (N,) how often each was moved.
    """

    MEMORY = ("places", "moved", "resets")

    def __init__(self, n: int, world: Sequence[float]) -> None:
        """The world's origin for each of n vehicles; world as in the attributes."""
        self.world: Origin = (float(world[0]), float(world[1]), float(world[2]))
        self.places = np.tile(np.array(self.world), (n, 1))
        self.moved = np.zeros(n, dtype=np.bool_)
        self.resets = np.zeros(n, dtype=np.int64)
        self.remember_start()

    def begin_at(self, positions: npt.ArrayLike) -> None:
        """Each vehicle's origin is its own position; (N, 3) in the world frame [m]."""
        self.places[:] = to_geodetic_array(positions, *self.world)
        self.moved[:] = True
        self.remember_start()

    def move(self, i: int, latitude: float, longitude: float, height: float) -> bool:
        """Moves the origin of vehicle i.

        Args:
            i: The vehicle.
            latitude, longitude: Its new place [deg].
            height: Height above the sea [m].

        Returns:
            Whether there is such a place; if not, the origin stays.
        """
        if not (abs(latitude) <= 90.0 and abs(longitude) <= 180.0 and _LOWEST < height < _HIGHEST):
            return False
        self.places[i] = math.radians(latitude), math.radians(longitude), height
        self.moved[i] = True
        self.resets[i] += 1
        return True

    def to_world(self, i: int, pos: npt.ArrayLike) -> np.ndarray:
        """A local position (3,) ENU of vehicle i in the world frame [m]; NaN stays NaN."""
        pos = np.array(pos, dtype=np.float64)
        if not self.moved[i]:
            return pos
        place = self.places[i]
        unset, known = np.isnan(pos), np.nan_to_num(pos)
        north, east, down = shifted(known[1], known[0], -known[2], place, np.array(self.world))
        return np.where(unset, math.nan, (east, north, -down))

    def make_local(self, ned: np.ndarray) -> None:
        """Makes positions (N, 3) NED in the world frame local, in place; NaN stays NaN [m]."""
        if self.moved.any():
            make_local(ned, np.array(self.world), self.places, self.moved)


@njit
def shifted(
    north: float, east: float, down: float, origin: Place, new: Place
) -> tuple[float, float, float]:
    """A position about one origin as one about another.

    Args:
        north, east, down: The position [m]; horizontally it stays where that is not finite.
        origin, new: (3,) latitude, longitude [rad] and height [m].

    Returns:
        North, east and down of the new origin [m].
    """
    if math.isfinite(north) and math.isfinite(east):
        lat, lon = to_geodetic(east, north, origin[0], origin[1])
        east, north = to_local(lat, lon, new[0], new[1])
    return north, east, down + (new[2] - origin[2])


@fleet_kernel
def make_local(ned: np.ndarray, world: np.ndarray, places: np.ndarray, moved: np.ndarray) -> None:
    """Makes positions local, see LocalOrigins.make_local()."""
    for i in range(ned.shape[0]):
        if moved[i]:
            ned[i, 0], ned[i, 1], ned[i, 2] = shifted(
                ned[i, 0], ned[i, 1], ned[i, 2], world, places[i]
            )
