"""Parameters of a vehicle: all of them with what PX4 says about each, and changes."""

import csv
import importlib.resources
import io
from collections.abc import Mapping
from functools import cache

from xtdrone_core.mavlink.client import is_integer
from xtdrone_core.mavlink.dialect import mavlink

from ..errors import WebError
from ..links.order import Answer, Order, Request
from ..links.pilot import Command, Result, number
from .panel import Panel

_COLUMNS = "type", "unit", "min", "max", "default", "group", "description"


class Params(Panel):
    """The parameter editor."""

    def orders(self) -> Mapping[str, Order]:
        """Returns all parameters of a vehicle, and one parameter of several."""
        return {"params": Order(self._all), "param_set": self.services.pilot.order(self._set)}

    def _all(self, request: Request) -> Answer:
        pilot = self.services.pilot
        i = pilot.vehicles(request)[0]
        client = pilot.client(i)
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

    def _set(self, request: Request, vehicles: list[int]) -> Command:
        name = request.get("name")
        if not (isinstance(name, str) and 0 < len(name) <= 16 and name.isascii()):
            raise WebError("name is that of a parameter, of at most 16 characters")
        value = number(request, "value", -3.4e38, 3.4e38)
        integer = known_parameters().get(name, {}).get("type") == "int"
        kind = mavlink.MAV_PARAM_TYPE_INT32 if integer else mavlink.MAV_PARAM_TYPE_REAL32
        if integer and value != int(value):
            raise WebError(f"{name} is a whole number, and {value:g} is none")

        def change(i: int) -> Result:
            got, text = self.services.pilot.client(i).set_parameter(name, value, kind)
            ok = abs(got - value) <= 1e-6 * max(abs(value), 1.0)
            return ok, f"{name} is {got:g}" if ok else text or f"{name} stays {got:g}"

        return change


@cache
def known_parameters() -> dict[str, dict[str, str]]:
    """Returns type, unit, range, default and description of PX4's parameters by their names."""
    file = importlib.resources.files("xtdrone_autopilot.parameters") / "px4.csv"
    rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline=""))
    return {row["name"]: {column: row[column] for column in _COLUMNS} for row in rows}


PANEL = Params
