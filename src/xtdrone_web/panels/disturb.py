"""Wind, disturbances of vehicles, and failures of their sensors and motors."""

from collections.abc import Mapping
from typing import Any

from xtdrone_core.mavlink.dialect import mavlink

from ..errors import WebError
from ..links.order import Answer, Order, Request
from ..links.pilot import Command, Result, number
from .panel import Panel, Services

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


class Disturb(Panel):
    """Disturbances."""

    def __init__(self, services: Services):
        """Makes the panel of a running simulation."""
        super().__init__(services)
        self._failed: set[tuple[int, str]] = set()  # vehicle and unit

    def orders(self) -> Mapping[str, Order]:
        """Returns wind and disturbances of the simulation, and PX4's failure injection."""
        world = self.services.world
        return {
            "wind": world.order("wind", "wind"),
            "disturb": world.order("disturb", "disturbance"),
            "disturbed": Order(lambda request: self._in_force(), for_viewers=True),
            "failure": self.services.pilot.order(self._fail),
        }

    def scene(self) -> dict[str, Any]:
        """Returns the units that can fail."""
        return {"failures": list(UNITS)}

    def _in_force(self) -> Answer:
        """Returns disturbances and wind of now, and the failures that were ordered here."""
        failures = [{"vehicle": i, "unit": unit} for i, unit in sorted(self._failed)]
        return {**self.services.world.ask("disturbed"), "failures": failures}

    def _fail(self, request: Request, vehicles: list[int]) -> Command:
        unit = request.get("unit")
        if not isinstance(unit, str) or unit not in UNITS:
            raise WebError(f"unit '{str(unit)[:40]}' cannot fail: choose one of {', '.join(UNITS)}")
        kind = (
            mavlink.FAILURE_TYPE_OFF if request.get("failed") is True else mavlink.FAILURE_TYPE_OK
        )
        instance = number(request, "instance", 0, 64) if "instance" in request else 0.0
        pilot = self.services.pilot

        def fail(i: int) -> Result:
            pilot.client(i).set_parameter("SYS_FAILURE_EN", 1, mavlink.MAV_PARAM_TYPE_INT32)
            ok, text = pilot.command(i, mavlink.MAV_CMD_INJECT_FAILURE, UNITS[unit], kind, instance)
            if ok:
                (self._failed.discard if kind == mavlink.FAILURE_TYPE_OK else self._failed.add)(
                    (i, unit)
                )
            return ok, text

        return fail


PANEL = Disturb
