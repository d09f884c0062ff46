"""Mission, geofence and rally points of a vehicle, for the map and the view."""

import math
from collections.abc import Mapping

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink

from ..links.order import Answer, Order, Request
from .panel import Panel

_KINDS = {
    "mission": mavlink.MAV_MISSION_TYPE_MISSION,
    "fence": mavlink.MAV_MISSION_TYPE_FENCE,
    "rally": mavlink.MAV_MISSION_TYPE_RALLY,
}
_RELATIVE = (mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT)


class Map(Panel):
    """The map."""

    def orders(self) -> Mapping[str, Order]:
        """Returns the items of a vehicle's plan."""
        return {"items": Order(self._items, for_viewers=True)}

    def _items(self, request: Request) -> Answer:
        pilot = self.services.pilot
        i = pilot.vehicles(request)[0]
        client = pilot.client(i)
        plans = {
            name: [place for item in client.download(kind) if (place := self._item(item))]
            for name, kind in _KINDS.items()
        }
        return {"vehicle": i, **plans}

    def _item(self, item: MavlinkMessage) -> Answer | None:
        """Returns a MISSION_ITEM_INT with its place in the world [m]; None where it has none."""
        from xtdrone_dynamics.earth.geodesy import to_local

        if not (item.x or item.y):
            return None
        latitude, longitude, altitude = self.services.pilot.origin
        x, y = to_local(
            math.radians(item.x * 1e-7), math.radians(item.y * 1e-7), latitude, longitude
        )
        name = mavlink.enums["MAV_CMD"][item.command].name.removeprefix("MAV_CMD_")
        return {
            "seq": item.seq,
            "command": name,
            "param1": item.param1,
            "pos": [x, y, item.z if item.frame in _RELATIVE else item.z - altitude],
        }


PANEL = Map
