"""Orders to vehicles, over MAVLink as any ground station sends them."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from xtdrone_core.mavlink.client import MavlinkClient
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import FROM_ROS_NAME, MODES, ROS_NAME

from ..errors import WebError
from .fleet import FleetLink
from .order import Answer, Order, Request

MAX_HEIGHT = 500.0  # largest height of a take-off above where it starts [m]
_FORCE = 21196.0  # param2 of an arming command that skips the checks, or disarms in flight
_MAX_AT_ONCE = 32  # vehicles that are asked side by side
Result = tuple[bool, str]  # whether a vehicle has done it, and its text
Command = Callable[[int], Result]  # asks one vehicle, by its index
# Checks a request to vehicles, and returns what each of them is asked.
Prepare = Callable[[Request, list[int]], Command]


class Pilot:
    """Commands vehicles and waits for their answers. All calls block: not in the event loop.

    Attributes:
        origin: Latitude, longitude [rad] and height [m] of the world's origin.
    """

    def __init__(
        self,
        link: FleetLink,
        names: Sequence[str],
        origin: Sequence[float],
        positions: Callable[[], np.ndarray],
    ):
        """Makes a pilot of a fleet.

        Args:
            link: Link to the vehicles.
            names: Names of the vehicles.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            positions: Returns where the vehicles are by their own estimates, (n, 3) [m].
        """
        self.origin = tuple(origin)
        self._link, self._names, self._positions = link, list(names), positions
        self._pool = ThreadPoolExecutor(_MAX_AT_ONCE)

    def orders(self) -> dict[str, Order]:
        """Returns the orders that every page has, by their ops."""
        return {
            op: self.order(prepare)
            for op, prepare in {
                "arm": self._arm,
                "disarm": self._disarm,
                "takeoff": self._takeoff,
                "land": self._by_mode("AUTO.LAND"),
                "rtl": self._by_mode("AUTO.RTL"),
                "hold": self._by_mode("AUTO.LOITER"),
                "mission": self._by_mode("AUTO.MISSION"),
                "mode": self._mode,
                "goto": self._goto,
            }.items()
        }

    def order(self, prepare: Prepare) -> Order:
        """Makes an order to vehicles of the function that prepares it.

        Its answer has `results`: for each vehicle its name, ok, and its text.
        """

        def run(request: Request) -> Answer:
            vehicles = self.vehicles(request)
            command = prepare(request, vehicles)

            def ask(i: int) -> Answer:
                try:
                    ok, text = command(i)
                except Exception as error:  # NoAnswer, or a socket that is closed
                    ok, text = False, str(error)
                return {"vehicle": self._names[i], "ok": ok, "text": text}

            return {"results": list(self._pool.map(ask, vehicles))}

        return Order(run)

    def hold(self, vehicles: list[int]) -> None:
        """Has vehicles hold their positions."""
        self.orders()["hold"].run({"vehicles": vehicles})

    def vehicles(self, request: Request) -> list[int]:
        """Returns the indices of a request's vehicles.

        Raises:
            WebError: They are no list of vehicles.
        """
        given = request.get("vehicles")
        n = len(self._names)
        if not (
            isinstance(given, list)
            and given
            and len(given) <= n
            and all(type(i) is int and 0 <= i < n for i in given)
        ):
            raise WebError(f"vehicles is a list of numbers from 0 to {n - 1}")
        return list(dict.fromkeys(given))

    def client(self, i: int) -> MavlinkClient:
        """Returns the MAVLink client of a vehicle."""
        return self._link.clients[i]

    def command(self, i: int, number: int, *params: float) -> Result:
        """Sends a MAVLink command to a vehicle, and waits for its answer."""
        return _result(*self.client(i).command(number, *params))

    def close(self) -> None:
        """Leaves what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _arm(self, request: Request, vehicles: list[int]) -> Command:
        return lambda i: self.command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)

    def _disarm(self, request: Request, vehicles: list[int]) -> Command:
        force = _FORCE if request.get("force") is True else 0.0
        return lambda i: self.command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, force)

    def _takeoff(self, request: Request, vehicles: list[int]) -> Command:
        height = number(request, "height", 0.5, MAX_HEIGHT)
        start = self._positions()

        def take_off(i: int) -> Result:
            above_sea = self.origin[2] + float(start[i, 2]) + height
            ok, text = self.command(
                i, mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, math.nan, math.nan, math.nan, above_sea
            )
            return self.command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1) if ok else (ok, text)

        return take_off

    def _by_mode(self, name: str) -> Prepare:
        return lambda request, vehicles: self._to_mode(name)

    def _mode(self, request: Request, vehicles: list[int]) -> Command:
        name = request.get("mode")
        if not isinstance(name, str) or name not in FROM_ROS_NAME:
            raise WebError(
                f"mode '{str(name)[:40]}' is not known: choose one of "
                f"{', '.join(ROS_NAME.values())}"
            )
        return self._to_mode(name)

    def _to_mode(self, name: str) -> Command:
        main, sub = MODES[FROM_ROS_NAME[name]].px4
        return lambda i: self.command(
            i, mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, main, sub
        )

    def _goto(self, request: Request, vehicles: list[int]) -> Command:
        """Sends the middle of the vehicles to a place; they keep their places around it."""
        from xtdrone_dynamics.earth.geodesy import to_geodetic

        east, north = (number(request, name, -20e3, 20e3) for name in ("x", "y"))
        now = self._positions()
        height = number(request, "z", -500.0, 5000.0) if request.get("z") is not None else None
        middle = now[vehicles].mean(axis=0)

        def go(i: int) -> Result:
            x, y = (float(now[i, k] - middle[k]) + place for k, place in enumerate((east, north)))
            z = float(now[i, 2]) if height is None else height + float(now[i, 2] - middle[2])
            lat, lon = to_geodetic(x, y, *self.origin[:2])
            return _result(
                *self.client(i).command_int(
                    mavlink.MAV_CMD_DO_REPOSITION,
                    (-1.0, mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0.0, math.nan),
                    round(math.degrees(lat) * 1e7),
                    round(math.degrees(lon) * 1e7),
                    self.origin[2] + z,
                )
            )

        return go


def _result(result: int, text: str) -> Result:
    """Returns whether a command was accepted, and the vehicle's text or the result's name."""
    if result == mavlink.MAV_RESULT_ACCEPTED:
        return True, text
    name = mavlink.enums["MAV_RESULT"][result].name.removeprefix("MAV_RESULT_").lower()
    return False, text or f"refused: {name.replace('_', ' ')}"


def number(request: Request, name: str, low: float, high: float) -> float:
    """Returns a number of a request.

    Raises:
        WebError: It is none, or beyond its limits.
    """
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise WebError(f"{name} {str(value)[:40]!r} is not allowed: give {low:g} to {high:g}")
    return float(value)
