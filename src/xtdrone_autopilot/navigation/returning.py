"""AUTO.RTL: climb, fly back, come down, wait, land; as PX4's direct return."""

import math
from collections.abc import Sequence

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_core.snapshot import Memory

from ..interfaces import Estimator
from ..outbox import INFO, Outbox
from ..parameters.store import ParameterStore
from ..safety.flight_state import FlightState
from ..vehicle_status import TARGET_LAND, TARGET_LOITER, TARGET_POSITION
from .mission import Missions
from .navigator import Navigator

CLIMB, MOVE, DESCEND, WAIT, CENTRE, LAND, DONE = range(7)


class Return(Memory):
    """Returns of a fleet to home or the rally point nearest to the vehicle."""

    MEMORY = ("_stage", "_height", "_destination")

    def __init__(self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator,
                 navigator: Navigator, missions: Missions, flight: FlightState,
                 origin: Sequence[float], outbox: Outbox):
        """No vehicle returns; arguments as of Missions, which knows the rally points."""
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigator, self._missions = navigator, missions
        self._origin, self._outbox = origin, outbox
        flight.on_enter[Mode.RTL] = self.begin
        n = len(status)
        self._stage = np.full(n, DONE, dtype=np.int8)  # the next one
        self._height = np.zeros(n)  # of the way back, world z [m]
        self._destination = np.zeros((n, 3))  # [m]
        self.remember_start()

    def begin(self, i: int) -> None:
        """Vehicle i has changed to AUTO.RTL."""
        v, pos = self._status[i], self._estimator.pos[i]
        if not v["armed"] or v["landed"]:
            self._stage[i] = DONE
            return
        positions = np.vstack([v["home"], self._missions.rally_points(i)])
        offset = positions[:, :2] - pos[:2]
        distance = np.hypot(offset[:, 0], offset[:, 1])
        nearest = int(np.argmin(distance))
        self._destination[i] = positions[nearest]
        above = self._return_height(i, distance[nearest])
        self._height[i] = max(pos[2], self._destination[i, 2] + above)
        self._stage[i] = CLIMB if pos[2] < self._height[i] else MOVE
        self._navigator.begin(i)
        self._next(i)
        sea = self._height[i] + self._origin[2]
        above = self._height[i] - self._destination[i, 2]
        self._outbox.say(i, INFO, f"RTL: start return at {math.ceil(sea)} m ({math.ceil(above)} m "
                                  "above destination)\t")

    def reached(self, i: int) -> None:
        """The navigator has reached the target of vehicle i."""
        self._next(i)

    def _return_height(self, i, distance):
        """Height of the way back above the destination, by the cone over it [m]."""
        height, angle = self._get(i, "RTL_RETURN_ALT"), self._get(i, "RTL_CONE_ANG")
        radius = self._get(i, "NAV_ACC_RAD")
        if angle <= 0:
            return height
        if distance <= radius:
            return 2.0 * distance
        if distance <= self._get(i, "RTL_MIN_DIST"):
            height = min(height, distance / math.tan(math.radians(min(angle, 89.0))))
        return max(height, 2.0 * radius)

    def _next(self, i):
        stage, pos, navigator = int(self._stage[i]), self._estimator.pos[i], self._navigator
        place = self._destination[i].copy()
        home_yaw = float(self._status["home_yaw"][i])
        low = min(self._height[i], place[2] + self._get(i, "RTL_DESCEND_ALT"))
        # A height is changed anywhere on the loiter circle that a fixed wing would fly.
        wide = self._get(i, "NAV_ACC_RAD") + self._get(i, "RTL_LOITER_RAD")
        if stage == CLIMB:
            place[:2], place[2] = pos[:2], self._height[i]
            navigator.fly_to(i, place, TARGET_LOITER, yaw=self._estimator.yaw(i))
            navigator.watch(i, reach=wide)
        elif stage == MOVE:
            near = math.hypot(*(place - pos)[:2]) < self._get(i, "RTL_MIN_DIST")
            place[2] = self._height[i]
            navigator.fly_to(i, place, TARGET_POSITION, yaw=home_yaw if near else math.nan)
            navigator.watch(i)
        elif stage == DESCEND:
            place[2] = low
            navigator.fly_to(i, place, TARGET_LOITER, yaw=home_yaw)
            navigator.watch(i, reach=wide)
        elif stage == WAIT:
            delay = self._get(i, "RTL_LAND_DELAY")
            place[2] = low
            navigator.fly_to(i, place, TARGET_LOITER)
            if delay < 0:
                self._outbox.say(i, INFO, "RTL: completed, loitering\t")
            else:
                navigator.watch(i, hold=delay)
        elif stage == CENTRE:
            place[2] = low
            navigator.fly_to(i, place, TARGET_POSITION, yaw=home_yaw)
            navigator.watch(i)
        elif stage == LAND:
            navigator.fly_to(i, place, TARGET_LAND, yaw=home_yaw)
            self._outbox.say(i, INFO, "RTL: land at destination\t")
        self._stage[i] = min(stage + 1, DONE)

    def _get(self, i, name):
        return self._parameters.get(i, name)
