"""AUTO.RTL: climb, fly back, come down, wait, land; as PX4's direct return."""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, NOT_VTOL, ROVER

from ..navigation.precision_landing import OPPORTUNISTIC, REQUIRED
from ..state.flight_state import ModeTask
from ..state.outbox import INFO
from ..state.vehicle_status import (
    HOVERS,
    ON_WINGS,
    TARGET_LAND,
    TARGET_LOITER,
    TARGET_POSITION,
    WATCH_STOP,
)
from .flight_mode import FlightMode, ModeParts

CLIMB, MOVE, DESCEND, WAIT, CENTRE, LAND, DONE, STOP = range(8)
RETURNS_BY_LANDING = (1, 3)  # values of RTL_TYPE: a fixed wing lands as its mission does


class Return(Memory, ModeTask):
    """Returns of a fleet to home or the rally point nearest to the vehicle.

    A fixed wing lands by the landing of its mission if it has one, from RTL_TYPE 1. A VTOL on its
    wings changes to hover on the way from the loiter to the landing.
    """

    MEMORY = ("_stage", "_height", "_destination", "_entrance")

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle returns."""
        self._status, self._parameters = parts.status, parts.parameters
        self._estimator, self._navigator = parts.estimator, parts.navigator
        self._missions, self._request_transition = parts.missions, parts.request_transition
        self._origin, self._outbox, self._landings = parts.origin, parts.outbox, parts.landings
        n = len(parts.status)
        self._stage = np.full(n, DONE, dtype=np.int8)  # next stage
        self._height = np.zeros(n)  # height of the way back, world z [m]
        self._destination = np.zeros((n, 3))  # [m]
        self._entrance = np.full((n, 3), np.nan)  # start of its landing [m], NaN = not used
        self.remember_start()

    def begin(self, i: int) -> None:
        """Chooses the destination of vehicle i, and climbs."""
        status, pos = self._status[i], self._estimator.pos[i]
        if not status["armed"] or status["landed"]:
            self._stage[i] = DONE
            return
        positions = np.vstack([status["home"], self._missions.rally_points(i)])
        landing = self._missions.landing(i)
        self._entrance[i] = np.nan
        if (
            landing is not None
            and status["vehicle_type"] == FIXED_WING
            and status["vtol_type"] == NOT_VTOL
            and self._get(i, "RTL_TYPE") in RETURNS_BY_LANDING
        ):
            self._entrance[i], positions = landing[0], landing[1][None]
        offset = positions[:, :2] - pos[:2]
        distance = np.hypot(offset[:, 0], offset[:, 1])
        nearest = int(np.argmin(distance))
        self._destination[i] = positions[nearest]
        climb = self._return_height(i, distance[nearest])
        self._height[i] = max(pos[2], self._destination[i, 2] + climb)
        self._stage[i] = CLIMB if pos[2] < self._height[i] else MOVE
        self._navigator.begin(i)
        if status["vehicle_type"] == ROVER:
            self._stage[i] = DONE
            self._navigator.fly_to(i, self._destination[i], TARGET_LOITER)
            self._outbox.say(i, INFO, "RTL: drives back\t")
            return
        self._next(i)
        altitude = math.ceil(self._height[i] + self._origin[2])
        above = math.ceil(self._height[i] - self._destination[i, 2])
        self._outbox.say(
            i, INFO, f"RTL: start return at {altitude} m ({above} m above destination)\t"
        )

    def reached(self, i: int) -> None:
        """The navigator has reached the target of vehicle i."""
        if self._stage[i] == STOP:
            self._request_transition(i, HOVERS)
        else:
            self._next(i)

    def transition_over(self, i: int) -> None:
        """Vehicle i hovers: it flies to the centre and lands."""
        if self._stage[i] == STOP:
            self._stage[i] = CENTRE
            self._next(i)

    def _return_height(self, i: int, distance: float) -> float:
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

    def _next(self, i: int) -> None:
        stage, pos, navigator = int(self._stage[i]), self._estimator.pos[i], self._navigator
        target, entrance = self._destination[i].copy(), self._entrance[i]
        if np.isfinite(entrance[0]):
            self._land_as_mission(i, stage, entrance)
            return
        home_yaw = float(self._status["home_yaw"][i])
        loiter_height = min(self._height[i], target[2] + self._get(i, "RTL_DESCEND_ALT"))
        # A height is changed anywhere on the loiter circle that a fixed wing would fly.
        loiter_reach = self._get(i, "NAV_ACC_RAD") + self._get(i, "RTL_LOITER_RAD")
        if stage == CLIMB:
            target[:2], target[2] = pos[:2], self._height[i]
            navigator.fly_to(i, target, TARGET_LOITER, yaw=self._estimator.yaw(i))
            navigator.watch(i, reach=loiter_reach)
        elif stage == MOVE:
            near = math.hypot(*(target - pos)[:2]) < self._get(i, "RTL_MIN_DIST")
            target[2] = self._height[i]
            navigator.fly_to(i, target, TARGET_POSITION, yaw=home_yaw if near else math.nan)
            navigator.watch(i)
        elif stage == DESCEND:
            target[2] = loiter_height
            navigator.fly_to(i, target, TARGET_LOITER, yaw=home_yaw)
            navigator.watch(i, reach=loiter_reach)
        elif stage == WAIT:
            delay = self._get(i, "RTL_LAND_DELAY")
            target[2] = loiter_height
            navigator.fly_to(i, target, TARGET_LOITER)
            if delay < 0:
                self._outbox.say(i, INFO, "RTL: completed, loitering\t")
            else:
                navigator.watch(i, hold=delay)
        elif stage == CENTRE:
            target[2] = loiter_height
            navigator.fly_to(i, target, TARGET_POSITION, yaw=home_yaw)
            if self._status["vtol_state"][i] == ON_WINGS:
                navigator.watch(i, WATCH_STOP)
                self._stage[i] = STOP
                return
            navigator.watch(i)
        elif stage == LAND:
            navigator.fly_to(i, target, TARGET_LAND, yaw=home_yaw)
            precise = int(self._get(i, "RTL_PLD_MD"))
            if precise in (OPPORTUNISTIC, REQUIRED):
                self._landings.begin(i, precise)
            self._outbox.say(i, INFO, "RTL: land at destination\t")
        self._stage[i] = min(stage + 1, DONE)

    def _land_as_mission(self, i: int, stage: int, entrance: np.ndarray) -> None:
        """Climbs where it is, loiters down to where the landing begins, and lands."""
        navigator, following = self._navigator, DESCEND
        if stage == CLIMB:
            navigator.fly_to(i, [*self._estimator.pos[i, :2], self._height[i]], TARGET_LOITER)
            following = MOVE
        elif stage == MOVE:
            navigator.fly_to(i, entrance, TARGET_LOITER)
        else:
            navigator.fly_to(i, self._destination[i], TARGET_LAND, previous=entrance)
            self._outbox.say(i, INFO, "RTL: land at destination\t")
            following = DONE
        if following != DONE:
            navigator.watch(i)
        self._stage[i] = following

    def _get(self, i: int, name: str) -> float:
        return self._parameters.get(i, name)


MODE = FlightMode(Mode.RTL, Return)
