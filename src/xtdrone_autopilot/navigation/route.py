"""The route of a mission before it is flown: its legs in space, and how long they take."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .mission_items import (
    DELAY,
    DO_CHANGE_SPEED,
    DO_JUMP,
    LAND,
    LOITER_TIME,
    LOITER_TURNS,
    LOITER_UNLIM,
    PLACED,
    RTL,
    TAKEOFF,
    VTOL_LAND,
    WAYPOINT,
    Item,
)

_WAITS = frozenset({WAYPOINT, LOITER_TIME, DELAY})  # waits of param1 [s]
_MAX_LEGS = 10_000  # most legs of a mission with jumps


@dataclass(frozen=True)
class Leg:
    """A straight line of a mission.

    Attributes:
        seq: The item that it leads to.
        start, end: (3,) world [m].
        seconds: For the leg and the wait at its end.
    """

    seq: int
    start: np.ndarray
    end: np.ndarray
    seconds: float


def route(
    items: Sequence[Item],
    origin: Sequence[float],
    home: np.ndarray,
    parameter: Callable[[str], float],
    fixed_wing: bool = False,
) -> list[Leg]:
    """The legs of a mission that starts at home, in the order in which they are flown.

    Speeds are those of the parameters, without the time to accelerate. A landing ends at the
    height of home; a return flies at its height to home, not to a rally point. A fixed wing climbs
    and lands along its legs, a multicopter straight up and down.

    Args:
        items: Of the mission.
        origin: Latitude, longitude [rad] and height [m] of the world's origin.
        home: (3,) where the vehicle starts, world [m].
        parameter: PX4's parameters by name.
        fixed_wing: Whether a fixed wing flies it.
    """
    return _Route(items, origin, home, parameter, fixed_wing).legs()


class _Route:
    """The state of a mission while its legs are collected."""

    def __init__(
        self,
        items: Sequence[Item],
        origin: Sequence[float],
        home: np.ndarray,
        parameter: Callable[[str], float],
        fixed_wing: bool,
    ) -> None:
        self._items, self._origin = items, origin
        self._home = np.array(home, dtype=float)
        self._parameter = parameter
        self._fixed_wing = fixed_wing
        self._speed = parameter("FW_AIRSPD_TRIM" if fixed_wing else "MPC_XY_CRUISE")
        self._climb_rate = parameter("FW_T_CLMB_R_SP" if fixed_wing else "MPC_Z_V_AUTO_UP")
        self._sink_rate = parameter("FW_T_SINK_R_SP" if fixed_wing else "MPC_Z_V_AUTO_DN")
        self._legs: list[Leg] = []
        self._at = self._home

    def legs(self) -> list[Leg]:
        jumps: dict[int, int] = {}
        seq = 0
        if not self._fixed_wing:
            self._climb()
        while seq < len(self._items) and len(self._legs) < _MAX_LEGS:
            item = self._items[seq]
            if item.command == DO_JUMP and jumps.get(seq, 0) < item.params[1]:
                jumps[seq] = jumps.get(seq, 0) + 1
                seq = int(item.params[0])
                continue
            self._fly(seq, item)
            if item.command in (RTL, LOITER_UNLIM):
                break
            seq += 1
        return self._legs

    def _climb(self) -> None:
        """A mission begins with a vertical climb to the height of its first position."""
        for seq, item in enumerate(self._items):
            if item.command in PLACED and item.command not in (LAND, VTOL_LAND):
                top = self._position(item)[2]
                if top > self._at[2]:
                    self._go(seq, (self._at[0], self._at[1], top))
                return

    def _fly(self, seq: int, item: Item) -> None:
        wait = item.params[0] if item.command in _WAITS and item.params[0] > 0.0 else 0.0
        if item.command == DO_CHANGE_SPEED and item.params[1] > 0.0:
            self._speed = item.params[1]
        elif item.command == LOITER_TURNS:
            self._go(seq, self._position(item))
            circle = abs(item.params[0] * math.tau * item.params[2])
            self._go(seq, self._at, circle / self._speed if math.isfinite(circle) else 0.0)
        elif item.command in (LAND, VTOL_LAND):
            place = self._position(item)
            if not self._fixed_wing:
                self._go(seq, (place[0], place[1], max(self._at[2], place[2])))
            self._go(seq, (place[0], place[1], self._home[2]))
        elif item.command == RTL:
            height = self._home[2] + self._parameter("RTL_RETURN_ALT")
            self._go(seq, (self._at[0], self._at[1], max(self._at[2], height)))
            self._go(seq, (self._home[0], self._home[1], self._at[2]))
            self._go(seq, self._home)
        elif item.command in PLACED or wait:
            self._go(seq, self._position(item) if item.command in PLACED else self._at, wait)

    def _position(self, item: Item) -> np.ndarray:
        """Returns the position of an item; an axis that it leaves open keeps its value."""
        place = item.position(self._origin, self._home)
        if item.command == TAKEOFF and not item.has_place:
            place[:2] = self._at[:2]
        return np.where(np.isfinite(place), place, self._at)

    def _go(self, seq: int, end: Sequence[float] | np.ndarray, wait: float = 0.0) -> None:
        end = np.array(end, dtype=float)
        far, up = math.hypot(*(end - self._at)[:2]), end[2] - self._at[2]
        rate = self._climb_rate if up > 0.0 else self._sink_rate
        self._legs.append(Leg(seq, self._at, end, max(far / self._speed, abs(up) / rate) + wait))
        self._at = end
