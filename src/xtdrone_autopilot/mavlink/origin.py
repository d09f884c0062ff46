"""The origin of local positions: SET_GPS_GLOBAL_ORIGIN."""

from xtdrone_core.mavlink.dialect import MavlinkMessage

from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.handlers import receives
from ..state.local_origin import LocalOrigins
from ..state.outbox import INFO, WARNING, Outbox
from .links import Link, Links

_MESSAGE = "GPS_GLOBAL_ORIGIN"


class OriginMessages:
    """Moves local origins as PX4's EKF2 does."""

    def __init__(
        self,
        origins: LocalOrigins,
        parameters: ParameterStore,
        clock: StepClock,
        outbox: Outbox,
        links: Links,
    ) -> None:
        """origins: those of a fleet with these parameters."""
        self._origins, self._parameters, self._clock = origins, parameters, clock
        self._outbox, self._links = outbox, links

    @receives("SET_GPS_GLOBAL_ORIGIN")
    def _set_origin(self, link: Link, message: MavlinkMessage) -> None:
        """Answers with the origin; one for all vehicles is only answered, as by PX4."""
        i = link.vehicle
        if message.target_system == link.system and self._move(i, message):
            self._outbox.stream_now(i, _MESSAGE)
        else:
            self._links.request(link, _MESSAGE, self._clock.t_us)

    def _move(self, i: int, message: MavlinkMessage) -> bool:
        place = message.latitude / 1e7, message.longitude / 1e7, message.altitude / 1e3
        words = f"{place[0]:.7f}, {place[1]:.7f}, {place[2]:.3f} m"
        if not int(self._parameters.get(i, "EKF2_GPS_CTRL")):
            self._outbox.say(
                i,
                WARNING,
                "SET_GPS_GLOBAL_ORIGIN ignored: EKF2_GPS_CTRL is 0, and positions of vision are "
                "those of the world, whose origin is known",
            )
            return False
        if not self._origins.move(i, *place):
            self._outbox.say(i, WARNING, f"SET_GPS_GLOBAL_ORIGIN ignored: no place at {words}")
            return False
        self._outbox.say(i, INFO, f"New NED origin (LLA): {words}")
        return True
