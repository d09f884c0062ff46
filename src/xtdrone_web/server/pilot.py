"""What a page may ask of vehicles, over MAVLink as any ground station does it."""

import csv
import importlib.resources
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from xtdrone_core.mavlink.client import is_integer
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import FROM_ROS_NAME, MODES, ROS_NAME

from ..errors import WebError
from .fleet import FleetLink

HIGHEST = 500.0  # of a take-off above where it starts [m]
_FORCE = 21196.0  # param2 of an arming command that skips the checks, or disarms in flight
_MAX_AT_ONCE = 32  # vehicles that are asked side by side
UNITS = {
    "gps": mavlink.FAILURE_UNIT_SENSOR_GPS,
    "barometer": mavlink.FAILURE_UNIT_SENSOR_BARO,
    "magnetometer": mavlink.FAILURE_UNIT_SENSOR_MAG,
    "range finder": mavlink.FAILURE_UNIT_SENSOR_DISTANCE_SENSOR,
    "airspeed": mavlink.FAILURE_UNIT_SENSOR_AIRSPEED,
    "battery": mavlink.FAILURE_UNIT_SYSTEM_BATTERY,
    "motor": mavlink.FAILURE_UNIT_SYSTEM_MOTOR,
    "sticks": mavlink.FAILURE_UNIT_SYSTEM_RC_SIGNAL,
}
Request = dict[str, Any]


class Pilot:
    """Commands vehicles and waits for their answers. All calls block: not in the event loop."""

    def __init__(
        self,
        link: FleetLink,
        names: Sequence[str],
        origin: Sequence[float],
        positions: Callable[[], np.ndarray],
    ):
        """A pilot of a fleet.

        Args:
            link: To the vehicles.
            names: Theirs.
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            positions: Gives where the vehicles are by their own estimates, (n, 3) [m].
        """
        self._link, self._names = link, list(names)
        self._origin, self._positions = tuple(origin), positions
        self._pool = ThreadPoolExecutor(_MAX_AT_ONCE)
        self.orders: dict[str, Callable[[Request, list[int]], Any]] = {
            "arm": self._arm,
            "disarm": self._disarm,
            "takeoff": self._takeoff,
            "land": self._by_mode("AUTO.LAND"),
            "rtl": self._by_mode("AUTO.RTL"),
            "hold": self._by_mode("AUTO.LOITER"),
            "mission": self._by_mode("AUTO.MISSION"),
            "mode": self._mode,
            "goto": self._goto,
            "failure": self._failure,
            "param_set": self._param_set,
        }

    def do(self, op: str, request: Request) -> dict[str, Any]:
        """Carries out an order for the vehicles of a request.

        Returns:
            `results`: for each vehicle its name, ok, and what it said.

        Raises:
            WebError: The request is invalid.
        """
        vehicles = self._vehicles(request)
        one = self.orders[op](request, vehicles)

        def ask(i):
            try:
                ok, text = one(i)
            except Exception as error:  # NoAnswer, or a socket that is closed
                ok, text = False, str(error)
            return {"vehicle": self._names[i], "ok": ok, "text": text}

        return {"results": list(self._pool.map(ask, vehicles))}

    def parameters(self, request: Request) -> dict[str, Any]:
        """Every parameter of one vehicle with what is known of it."""
        i = self._vehicles(request)[0]
        client = self._link.clients[i]
        values = client.parameters()
        known = known_parameters()
        return {
            "vehicle": i,
            "params": [
                {
                    "name": name,
                    "value": value,
                    "integer": is_integer(client.params[name][1]),
                    **known.get(name, {}),
                }
                for name, value in sorted(values.items())
            ],
        }

    def items(self, request: Request) -> dict[str, Any]:
        """Mission, geofence and rally points of one vehicle, in the world [m]."""
        i = self._vehicles(request)[0]
        client = self._link.clients[i]
        kinds = {
            "mission": mavlink.MAV_MISSION_TYPE_MISSION,
            "fence": mavlink.MAV_MISSION_TYPE_FENCE,
            "rally": mavlink.MAV_MISSION_TYPE_RALLY,
        }
        return {
            "vehicle": i,
            **{
                name: [found for item in client.download(kind) if (found := self._item(item))]
                for name, kind in kinds.items()
            },
        }

    def close(self) -> None:
        """Leaves what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _vehicles(self, request) -> list[int]:
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

    def _command(self, i, number, *params):
        result, said = self._link.clients[i].command(number, *params)
        return _answer(result, said)

    def _arm(self, request, vehicles):
        return lambda i: self._command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)

    def _disarm(self, request, vehicles):
        force = _FORCE if request.get("force") is True else 0.0
        return lambda i: self._command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, force)

    def _takeoff(self, request, vehicles):
        height = _number(request, "height", 0.5, HIGHEST)
        start = self._positions()

        def one(i):
            above_sea = self._origin[2] + float(start[i, 2]) + height
            ok, text = self._command(
                i, mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, math.nan, math.nan, math.nan, above_sea
            )
            return self._command(i, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1) if ok else (ok, text)

        return one

    def _by_mode(self, name):
        return lambda request, vehicles: self._to_mode(name)

    def _mode(self, request, vehicles):
        name = request.get("mode")
        if name not in FROM_ROS_NAME:
            raise WebError(
                f"mode '{str(name)[:40]}' is not known: choose one of "
                f"{', '.join(ROS_NAME.values())}"
            )
        return self._to_mode(name)

    def _to_mode(self, name):
        main, sub = MODES[FROM_ROS_NAME[name]].px4
        return lambda i: self._command(
            i, mavlink.MAV_CMD_DO_SET_MODE, mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, main, sub
        )

    def _goto(self, request, vehicles):
        """A place for the middle of the vehicles, which keep their places in the formation."""
        east, north = (_number(request, name, -20e3, 20e3) for name in ("x", "y"))
        now = self._positions()
        height = _number(request, "z", -500.0, 5000.0) if request.get("z") is not None else None
        middle = now[vehicles].mean(axis=0)

        def one(i):
            x, y = (float(now[i, k] - middle[k]) + place for k, place in enumerate((east, north)))
            z = float(now[i, 2]) if height is None else height + float(now[i, 2] - middle[2])
            lat, lon = self._to_geodetic(x, y)
            result, said = self._link.clients[i].command_int(
                mavlink.MAV_CMD_DO_REPOSITION,
                (-1.0, mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE, 0.0, math.nan),
                round(math.degrees(lat) * 1e7),
                round(math.degrees(lon) * 1e7),
                self._origin[2] + z,
            )
            return _answer(result, said)

        return one

    def _failure(self, request, vehicles):
        unit = request.get("unit")
        if unit not in UNITS:
            raise WebError(f"unit '{str(unit)[:40]}' cannot fail: choose one of {', '.join(UNITS)}")
        kind = (
            mavlink.FAILURE_TYPE_OFF if request.get("failed") is True else mavlink.FAILURE_TYPE_OK
        )
        instance = _number(request, "instance", 0, 64) if "instance" in request else 0.0

        def one(i):
            self._link.clients[i].set_parameter("SYS_FAILURE_EN", 1, mavlink.MAV_PARAM_TYPE_INT32)
            return self._command(i, mavlink.MAV_CMD_INJECT_FAILURE, UNITS[unit], kind, instance)

        return one

    def _param_set(self, request, vehicles):
        name = request.get("name")
        if not (isinstance(name, str) and 0 < len(name) <= 16 and name.isascii()):
            raise WebError("name is that of a parameter, of at most 16 characters")
        value = _number(request, "value", -3.4e38, 3.4e38)
        integer = known_parameters().get(name, {}).get("type") == "int"
        kind = mavlink.MAV_PARAM_TYPE_INT32 if integer else mavlink.MAV_PARAM_TYPE_REAL32
        if integer and value != int(value):
            raise WebError(f"{name} is a whole number, and {value:g} is none")

        def one(i):
            got, said = self._link.clients[i].set_parameter(name, value, kind)
            ok = abs(got - value) <= 1e-6 * max(abs(value), 1.0)
            return ok, f"{name} is {got:g}" if ok else said or f"{name} stays {got:g}"

        return one

    def _to_geodetic(self, x, y):
        from xtdrone_dynamics.earth.geodesy import to_geodetic

        return to_geodetic(x, y, *self._origin[:2])

    def _item(self, m):
        """An item of a plan as plain data, or None where it has no place."""
        from xtdrone_dynamics.earth.geodesy import to_local

        if not (m.x or m.y):
            return None
        x, y = to_local(math.radians(m.x * 1e-7), math.radians(m.y * 1e-7), *self._origin[:2])
        relative = m.frame in (
            mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT,
            mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
        )
        name = mavlink.enums["MAV_CMD"][m.command].name.removeprefix("MAV_CMD_")
        return {
            "seq": m.seq,
            "command": name,
            "param1": m.param1,
            "pos": [x, y, m.z if relative else m.z - self._origin[2]],
        }


@cache
def known_parameters() -> dict[str, dict[str, str]]:
    """Type, unit, range, default and description of PX4's parameters."""
    file = importlib.resources.files("xtdrone_autopilot.parameters") / "px4.csv"
    with file.open(newline="", encoding="utf-8") as lines:
        return {
            row["name"]: {
                key: row[key]
                for key in ("type", "unit", "min", "max", "default", "group", "description")
            }
            for row in csv.DictReader(lines)
        }


def _answer(result, said) -> tuple[bool, str]:
    if result == mavlink.MAV_RESULT_ACCEPTED:
        return True, said
    name = mavlink.enums["MAV_RESULT"][result].name.removeprefix("MAV_RESULT_").lower()
    return False, said or f"refused: {name.replace('_', ' ')}"


def _number(request, name, least, most) -> float:
    value = request.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise WebError(f"{name} {str(value)[:40]!r} is not allowed: give {least:g} to {most:g}")
    return float(value)
