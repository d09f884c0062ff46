"""AUTO.TAKEOFF: up to a height, then AUTO.LOITER; a VTOL may go on to fixed-wing flight."""

import math

from xtdrone_core.modes import VTOL_TAKEOFF, Mode
from xtdrone_dynamics.abilities.vehicle_type import HALF_WINGED

from ..state.flight_state import ModeTask
from ..state.outbox import INFO
from ..state.vehicle_status import HOVERS, ON_WINGS, TARGET_LOITER, TARGET_POSITION, TARGET_TAKEOFF
from .flight_mode import FlightMode, ModeParts


class Takeoff(ModeTask):
    """Take-offs of a fleet."""

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle takes off."""
        self._status, self._estimator, self._parameters = (
            parts.status,
            parts.estimator,
            parts.parameters,
        )
        self._navigator, self._flight, self._outbox = parts.navigator, parts.flight, parts.outbox
        self._request_transition = parts.request_transition

    def begin(self, i: int) -> None:
        """Climbs to the requested height, or to MIS_TAKEOFF_ALT above vehicle i."""
        status = self._status[i]
        if not status["armed"]:
            return
        height, place = float(status["takeoff_height"]), status["centre"][:2].tolist()
        status["takeoff_height"] = math.nan
        given = math.isfinite(height)
        if not given or self._goes_on_to_wings(i):  # a VTOL flies to its place on its wings
            place = [math.nan, math.nan]
        if not given:
            above = self._parameters.get(i, "MIS_TAKEOFF_ALT")
            height = self._estimator.pos[i, 2] + above
            self._outbox.say(i, INFO, f"Using default takeoff altitude: {above:.1f} m\t")
        self._navigator.take_off(i, height, place)

    def reached(self, i: int) -> None:
        """Vehicle i is at its height: it loiters, or begins its transition."""
        if self._goes_on_to_wings(i):
            self._align_or_change_over(i)
            return
        target = self._status["target"][i].copy()
        self._status["target_type"][i] = TARGET_LOITER
        self._flight.enter(i, Mode.LOITER)
        if self._status["vtol_state"][i] == ON_WINGS:  # it may still be far from the circle
            self._navigator.fly_to(i, target, TARGET_LOITER)

    def transition_over(self, i: int) -> None:
        """Vehicle i flies on its wings: it climbs to VTO_LOITER_ALT above home."""
        status = self._status[i]
        if status["nav_state"] == VTOL_TAKEOFF and status["vtol_state"] == ON_WINGS:
            above = status["home"][2] + self._parameters.get(i, "VTO_LOITER_ALT")
            self._navigator.fly_to(i, [*status["centre"][:2], above], TARGET_LOITER)
            self._navigator.watch(i)

    def _goes_on_to_wings(self, i: int) -> bool:
        """Returns whether it takes off by NAV_VTOL_TAKEOFF, and does not fly on its wings yet."""
        status = self._status[i]
        return bool(status["nav_state"] == VTOL_TAKEOFF and status["vtol_state"] == HOVERS)

    def _align_or_change_over(self, i: int) -> None:
        """Turns the nose to the place of the loiter; then the transition begins."""
        status = self._status[i]
        east, north = (status["centre"] - self._estimator.pos[i])[:2]
        away = math.hypot(east, north) > self._parameters.get(i, "NAV_ACC_RAD")
        if away and status["target_type"] == TARGET_TAKEOFF:
            self._navigator.fly_to(
                i, status["target"].copy(), TARGET_POSITION, yaw=math.atan2(north, east)
            )
            self._navigator.watch(i, faced=bool(status["vtol_type"] == HALF_WINGED))
        else:
            self._request_transition(i, ON_WINGS)


MODE = FlightMode(Mode.TAKEOFF, Takeoff)
