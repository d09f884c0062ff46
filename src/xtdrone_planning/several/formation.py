"""The Agent that flies a formation through what nobody has seen."""

import math
from typing import Annotated, Any

import numpy as np

from xtdrone_core import Estimates
from xtdrone_core.scenario.options import Option
from xtdrone_formation.declarations import FORMATION
from xtdrone_formation.formations import slots

from ..agent import read_goals
from ..errors import PlanningError
from ..options import Patience
from .agent import SharingAgent
from .pilot import SharingPilot

KEPT, LOST = 0.8, 1.2  # a vehicle is back in its slot, or out of it, at this distance [m]
_LOST_US = 500_000  # out of it for so long, the shape is not kept [us]
_AHEAD_S = 1.3  # followers make for where the slot will be after this time [s]
_WAITS = 0.7, 0.7  # the leader slows down from this distance from a slot on [m], by [1/m]
_SLOWEST = 0.25  # part of the speed at which the leader waits for others
_ASIDE = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.4, 3.0)  # places tried around a slot that is taken [m]
_ANGLES = 12
_NEAR = 0.6  # of the leader to its goal [m]


class SwarmFormationAgent(SharingAgent):
    """Take-off, a formation that flies to a goal between obstacles, landing.

    The leader, vehicle 0, flies to the goal; the others make for their slots beside what they have
    heard that it flies, or for the nearest free place. In addition to the events of FlightAgent:
    `shape` (kept, leader, off: the vehicles out of their slots), `held` (vehicle, reason), `goal`
    (reached).
    """

    MEMORY = (*SharingAgent.MEMORY, "_shape_kept", "_off_us", "_rows", "_arrived", "_broken")

    def __init__(
        self,
        n: int = 4,
        goal: Annotated[str, Option("x,y,z of the leader", unit="m")] = "56,0,2",
        formation: Annotated[str, FORMATION] = "V",
        spacing: Annotated[
            float, Option("least, between two slots", unit="m", minimum=1.8, maximum=50.0)
        ] = 2.5,
        patience: Patience = 20.0,
        **options: Any,  # those of SharingAgent, each of its own type
    ) -> None:
        """Prepares n vehicles, the leader included; **options as of SharingAgent.

        Raises:
            XtdroneError: Fewer than two vehicles, no such formation, more than one goal, or as of
                SharingAgent.
        """
        if n < 2:
            raise PlanningError(f"n = {n} is not allowed: give two or more vehicles")
        super().__init__(n, **options)
        goals = read_goals(goal)
        if len(goals) != 1:
            raise PlanningError(f"{len(goals)} goals are not allowed: give that of the leader")
        self._goal, self._name, self._spacing = goals[0], formation, spacing
        flat = slots(formation, n, spacing=spacing)
        self._slots = np.vstack([np.zeros(3), flat - [0.0, 0.0, 1.0] * flat])
        self._patience_us = round(patience * 1e6)
        self._shape_kept = False
        self._off_us = -1  # since when one is out of its slot [us]
        self._rows: list[list[float]] = []  # time [s], worst distance from a slot [m], kept
        self._broken: list[list[float]] = []  # where the leader was when the shape was lost [m]
        self._arrived = False

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns whether the leader's goal was reached, as a count."""
        return {"goals": (int(self._arrived), 1)}

    def marks(self) -> np.ndarray:
        """Returns the leader's goal (1, 3) [m]."""
        return self._goal[None]

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Turns the slots towards the goal, and gives each vehicle the nearest one."""
        way = self._goal[:2] - self.home[0, :2]
        turned = _turned(self._slots, math.atan2(way[1], way[0]))
        self._slots = turned[_assigned(turned, self.home - self.home[0])]
        self.pilots[0].goal = self._goal.copy()

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Sends each vehicle to its slot; returns True at the goal, or when the leader gives up."""
        leader = self.pilots[0]
        for i, pilot in enumerate(self.pilots[1:], 1):
            heard = pilot.agreement.flown_by(0)
            if heard is not None:
                # What was heard ends with a stop, which the leader's next plan puts off.
                now = heard.since(t_us)
                place = now.pos + _AHEAD_S * now.vel + self._slots[i]
                pilot.goal = _free_place(pilot, place, heard.pos[-1])
        away = np.linalg.norm(estimates.pos - estimates.pos[0] - self._slots, axis=1)
        worst = float(away.max())
        part = min(max(1.0 - _WAITS[1] * (worst - _WAITS[0]), _SLOWEST), 1.0)
        leader.limits = self.limits._replace(speed=0.8 * part * self.limits.speed)
        self._judge(t_us, estimates, away)
        if leader.held_us >= 0 and t_us - leader.held_us > self._patience_us:
            self.event(t_us, "goal", reached=False)
            return True
        near = np.linalg.norm(estimates.pos[0] - self._goal) < _NEAR
        if near and not self._arrived and leader.is_at_rest(t_us):
            self._arrived = True
            self.event(t_us, "goal", reached=True)
        return self._arrived and all(pilot.is_at_rest(t_us) for pilot in self.pilots)

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        rows = np.array(self._rows or [[0.0, 0.0, 0.0]])
        kept = rows[:, 2] > 0.5
        rms = float(np.sqrt((rows[kept, 1] ** 2).mean())) if kept.any() else math.nan
        return {
            "goals_reached": int(self._arrived),
            "formation": self._name,
            "shape_kept_percent": round(100.0 * float(kept.mean()), 1),
            "worst_slot_error_kept_rms_m": round(rms, 2),
            "shape_lost": len(self._broken),
            "shape_lost_at_m": [[round(x, 1) for x in place[:2]] for place in self._broken],
            **super().metrics(),
        }

    def _judge(self, t_us: int, estimates: Estimates, away: np.ndarray) -> None:
        """Notes whether the shape is kept, and says so when that changes."""
        off = np.flatnonzero(away > (LOST if self._shape_kept else KEPT))
        if not len(off):
            self._off_us = -1
        elif self._off_us < 0:
            self._off_us = t_us
        kept = not len(off) or (self._shape_kept and t_us - self._off_us < _LOST_US)
        if kept != self._shape_kept:
            self._shape_kept = kept
            leader = np.round(estimates.pos[0], 1).tolist()
            self.event(t_us, "shape", kept=kept, leader=leader, off=off.tolist())
            if not kept:
                self._broken.append(leader)
        self._rows.append([t_us * 1e-6, float(away.max()), float(kept)])


def _turned(places: np.ndarray, yaw: float) -> np.ndarray:
    """Returns slots (N, 3), which look along x, towards a heading [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    return places @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def _assigned(places: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Returns the slot of each vehicle, so that ways are short; the leader keeps the first."""
    from scipy.optimize import linear_sum_assignment

    cost = np.linalg.norm(starts[1:, None] - places[None, 1:], axis=2) ** 2
    return np.concatenate([[0], 1 + linear_sum_assignment(cost)[1]])


def _free_place(pilot: SharingPilot, place: np.ndarray, leader: np.ndarray) -> np.ndarray:
    """Returns the free place nearest to a slot, or one beside the leader's way."""
    needed = pilot.limits.radius + 0.2
    for aside in _ASIDE:
        for k in range(_ANGLES if aside else 1):
            angle = 2.0 * math.pi * k / _ANGLES
            tried = place + aside * np.array([math.cos(angle), math.sin(angle), 0.0])
            if pilot.field.distance(tried) > needed:
                return np.asarray(tried)
    return np.asarray(leader)
