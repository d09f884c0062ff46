"""Orbits by DO_ORBIT, of vehicles that hover as PX4's FlightTaskOrbit flies them."""

import math
from enum import IntEnum
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER

from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.outbox import CRITICAL, Outbox
from ..state.vehicle_status import TARGET_ORBIT, TARGET_POSITION
from .auto import ALONG_ORBIT
from .navigator import Navigator

_LEAST_RADIUS, _LARGEST_SPEED, _LARGEST_ACCELERATION = 1.0, 10.0, 2.0  # [m, m/s, m/s^2]
_FIRST_RADIUS, _FIRST_SPEED = 1.0, 1.0  # where none was given [m, m/s]
_ON_CIRCLE = 2.0  # distance from the circle within which it goes round [m]
_LEAST_SPEED = 1e-3  # a target speed of 0 is MPC_XY_CRUISE [m/s]


class Heading(IntEnum):
    """MAVLink's ORBIT_YAW_BEHAVIOUR; PX4 takes any other number for TO_CENTRE."""

    TO_CENTRE = 0
    AS_ORDERED = 1
    FREE = 2
    ALONG = 3
    BY_STICKS = 4


class Orbits(Memory):
    """Radius, speed and heading with which each vehicle of a fleet goes round."""

    MEMORY: ClassVar = ("_radius", "_speed", "_heading", "_ordered_yaw")

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        navigator: Navigator,
        outbox: Outbox,
    ) -> None:
        """A fleet of which no vehicle goes round; status is (N,) of VEHICLE_STATUS."""
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigator, self._outbox = navigator, outbox
        n = len(status)
        self._radius = np.full(n, _FIRST_RADIUS)  # positive = clockwise seen from above [m]
        self._speed = np.full(n, _FIRST_SPEED)  # [m/s]
        self._heading = np.full(n, Heading.TO_CENTRE)
        self._ordered_yaw = np.zeros(n)  # heading when the orbit was ordered [rad]
        self.remember_start()

    def begin(
        self,
        i: int,
        centre: npt.ArrayLike,
        radius: float,
        speed: float,
        heading: float,
        goes_round: bool,
    ) -> None:
        """Flies to the nearest point of the circle; a radius that is not allowed only holds.

        Args:
            i: The vehicle.
            centre: (3,) [m]; NaN = that of the present orbit, else where the vehicle is.
            radius: Positive = clockwise seen from above [m].
            speed: [m/s]; a negative one goes round the other way.
            heading: A Heading. NaN of these three = as in the present orbit, else 1 m, 1 m/s and
                nose to the centre.
            goes_round: Whether there is a present orbit.
        """
        v, here = self._status[i], self._estimator.pos[i]
        if v["vehicle_type"] != MULTICOPTER:
            self._circle(i, centre, radius)
            return
        if not goes_round:
            self._radius[i], self._speed[i] = _FIRST_RADIUS, _FIRST_SPEED
            self._heading[i] = Heading.TO_CENTRE
            v["centre"] = here
        largest = self._parameters.get(i, "MC_ORBIT_RAD_MAX")
        if math.isfinite(radius) and not _LEAST_RADIUS <= abs(radius) <= largest:
            self._outbox.say(i, CRITICAL, "Orbit radius limit exceeded\t")
            self._navigator.hold(i)
            return
        self._keep(i, radius, speed, heading)
        place = np.where(np.isfinite(centre), centre, v["centre"])
        out = here[:2] - place[:2]
        distance = float(np.hypot(*out))
        start = place.copy()
        if distance > 0.0:
            start[:2] += abs(self._radius[i]) / distance * out
        yaw = math.atan2(-out[1], -out[0]) if distance > 0.0 else math.nan
        self._navigator.begin(i)
        self._navigator.fly_to(i, start, TARGET_POSITION, yaw=yaw)
        self._navigator.watch(i, reach=_ON_CIRCLE, faced=True)
        v["centre"] = place

    def arrive(self, i: int) -> None:
        """Vehicle i is on the circle: it goes round, at the height at which it comes to rest."""
        v = self._status[i]
        centre, climb = v["centre"].copy(), float(v["smooth_vel"][2])
        slowing = self._parameters.get(i, f"MPC_ACC_{'DOWN' if climb > 0.0 else 'UP'}_MAX")
        height = float(v["smooth_pos"][2]) + 0.5 * climb * abs(climb) / slowing
        self._navigator.fly_to(
            i,
            [*centre[:2], height],
            TARGET_ORBIT,
            yaw=self._yaw(i),
            speed=max(float(self._speed[i]), _LEAST_SPEED),
            radius=float(self._radius[i]),
        )
        v["orbit_left"] = math.inf

    def _keep(self, i: int, radius: float, speed: float, heading: float) -> None:
        """Remembers what was given, and the heading when it was."""
        if math.isfinite(radius):
            self._radius[i] = radius
        if math.isfinite(speed):
            self._speed[i] = abs(speed)
            self._radius[i] *= -1.0 if speed < 0.0 else 1.0
        if math.isfinite(heading):
            self._heading[i] = int(heading)
        at_radius = math.sqrt(_LARGEST_ACCELERATION * abs(self._radius[i]))
        self._speed[i] = min(self._speed[i], _LARGEST_SPEED, at_radius)
        self._ordered_yaw[i] = self._estimator.yaw(i)

    def _yaw(self, i: int) -> float:
        """The target_yaw on the circle; see navigation.auto."""
        heading = self._heading[i]
        if heading == Heading.ALONG:
            return ALONG_ORBIT
        if heading == Heading.AS_ORDERED:
            return float(self._ordered_yaw[i])
        if heading in (Heading.FREE, Heading.BY_STICKS):
            return self._estimator.yaw(i)
        return math.nan

    def _circle(self, i: int, centre: npt.ArrayLike, radius: float) -> None:
        """Flies on the circle at once; of the wings' speed PX4 takes nothing."""
        v = self._status[i]
        if not math.isfinite(radius):
            radius = self._parameters.get(i, "NAV_LOITER_RAD")
        place = np.where(np.isfinite(centre), centre, v["target"])
        self._navigator.begin(i)
        v["centre"], v["orbit_radius"], v["orbit_left"] = place, radius, math.inf
        v["target"][2] = place[2]
        v["target_speed"], v["target_type"] = math.nan, TARGET_ORBIT
