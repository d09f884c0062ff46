"""Precision landing: on a target that LANDING_TARGET reports, as PX4 v1.15's navigator does it.

    start ── seen ──► horizontal approach ── 2 s above it ──► descend ── lost near it ──► final
      │  ▲                   │ lost there                        │ lost
      │  └───────────────────┴───────────────────────────────────┘ PLD_MAX_SRCH times, then fallback
      └── not seen in 2 s ──► search ── seen ──► horizontal approach; after PLD_SRCH_TOUT fallback

Fallback lands where the vehicle is. An opportunistic landing falls back at once where it does not
see the target at its start.
"""

import math
from enum import IntEnum

import numpy as np

from xtdrone_core.runs.snapshot import Memory

from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.outbox import INFO, WARNING, Outbox
from ..state.vehicle_status import NEVER, TARGET_LAND, TARGET_POSITION
from .landing_target import PERIOD_US as TARGETS_US, LandingTargets
from .navigator import Navigator

PERIOD_US = 40_000  # of its decisions, about PX4's [us]
OPPORTUNISTIC, REQUIRED = 1, 2  # precision land mode of missions (param2) and of RTL_PLD_MD
_SETTLE_US = 2_000_000  # above the start, or the target, before it goes on [us]
_ACQUIRED_US = 1_000_000  # from seeing the target in a search to the approach [us]
_CLOSE_US = 500_000  # near the ground a target silent for so long is lost [us]
_STOP_CLIMB = 1.0  # a search stops so far above where it sees the target [m]


class Stage(IntEnum):
    """Stages of a precision landing."""

    OFF = 0
    START = 1
    APPROACH = 2
    DESCEND = 3
    FINAL = 4
    SEARCH = 5
    FALLBACK = 6


LANDING = np.dtype(
    [
        ("stage", "i1"),
        ("mode", "i1"),  # the Mode in which it began
        ("required", "?"),
        ("searches", "i4"),  # starts so far
        ("stage_t", "i8"),  # [us]
        ("reached_t", "i8"),  # above the start or the target since [us]
        ("acquired_t", "i8"),  # target seen in a search [us]
        ("height", "f8"),  # of the approach, world z [m]
        ("slewed", "?"),  # an approach has begun
        ("slew", "f8", (2, 2)),  # last two set-points of the approach [m]
    ],
    align=True,
)


class PrecisionLandings(Memory):
    """Precision landings of a fleet, in AUTO.PRECLAND, missions and returns."""

    MEMORY = ("_landings", "targets")

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        navigator: Navigator,
        clock: StepClock,
        outbox: Outbox,
    ) -> None:
        """No vehicle lands so; status: (N,) of VEHICLE_STATUS."""
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigator, self._clock, self._outbox = navigator, clock, outbox
        self.targets = LandingTargets(status, parameters, estimator, clock)
        self._landings = np.zeros(len(status), dtype=LANDING)
        self._runs = {
            Stage.START: self._start,
            Stage.APPROACH: self._approach,
            Stage.DESCEND: self._descend,
            Stage.SEARCH: self._search,
        }
        self.remember_start()

    def stage(self, i: int) -> Stage:
        """The stage of the landing of vehicle i."""
        return Stage(int(self._landings["stage"][i]))

    def begin(self, i: int, kind: int) -> None:
        """Vehicle i begins a landing at its present target.

        Args:
            i: The vehicle; its target has been set by Navigator.fly_to().
            kind: OPPORTUNISTIC or REQUIRED.
        """
        landing = self._landings[i]
        landing["mode"], landing["required"] = self._status["mode"][i], kind == REQUIRED
        landing["searches"], landing["slewed"] = 0, False
        self.targets.records["new"][i] = False
        if not self._restart(i):
            self._fall_back(i)

    def step(self) -> None:
        """Goes on with all landings; call it each step."""
        if self._clock.any_due(TARGETS_US):
            self.targets.step()
        if self._clock.any_due(PERIOD_US) and np.count_nonzero(self._landings["stage"]):
            lands = self._landings["stage"] != Stage.OFF
            for i in np.flatnonzero(lands & self._clock.due(PERIOD_US)):
                self._step(int(i))

    def _step(self, i: int) -> None:
        status, landing = self._status[i], self._landings[i]
        if not status["armed"] or status["landed"] or status["mode"] != landing["mode"]:
            landing["stage"] = Stage.OFF
            return
        run = self._runs.get(self.stage(i))
        if run is not None:
            run(i)
        self.targets.records["new"][i] = False

    # What the stages do.

    def _start(self, i: int) -> None:
        if self._begin_approach(i):
            return
        landing, status = self._landings[i], self._status[i]
        if not landing["required"]:
            self._fall_back(i)
            return
        if math.hypot(*self._offset(i, status["target"])) >= self._get(i, "NAV_ACC_RAD"):
            return
        landing["reached_t"] = min(landing["reached_t"], self._clock.t_us)
        if self._get(i, "PLD_SRCH_TOUT") <= 0:
            self._fall_back(i)
        elif self._clock.t_us - landing["reached_t"] > _SETTLE_US:
            self._begin_search(i)

    def _approach(self, i: int) -> None:
        landing, target = self._landings[i], self.targets.records[i]
        if self._within(i) and not self._valid(i):
            self._lost(i)
            return
        if target["new"] and self._within(i):
            landing["reached_t"] = min(landing["reached_t"], self._clock.t_us)
            if self._clock.t_us - landing["reached_t"] > _SETTLE_US:
                self._enter(i, Stage.DESCEND, "descend")
                return
        self._status["target"][i, :2] = self._slew(i, target["pos"][:2])
        self._status["target"][i, 2] = landing["height"]
        self._status["target_type"][i] = TARGET_POSITION

    def _descend(self, i: int) -> None:
        target, close = self.targets.records[i], self._close(i)
        seen = self._age_us(i) < _CLOSE_US if close else self._valid(i)
        if seen:
            self._status["target"][i, :2] = target["pos"][:2]
            self._status["target_type"][i] = TARGET_LAND
        elif close:
            self._enter(i, Stage.FINAL, "final approach")
        else:
            self._lost(i)

    def _search(self, i: int) -> None:
        landing, status, now = self._landings[i], self._status[i], self._clock.t_us
        if self._visible(i) and landing["acquired_t"] == NEVER:
            landing["acquired_t"] = now
            height = self._estimator.pos[i, 2] + _STOP_CLIMB
            status["target"][2] = min(status["target"][2], height)
        if now - landing["acquired_t"] > _ACQUIRED_US and self._begin_approach(i):
            return
        if now - landing["stage_t"] > self._get(i, "PLD_SRCH_TOUT") * 1e6:
            self._outbox.say(i, WARNING, "Precision landing: search timed out")
            self._fall_back(i)

    # How one stage follows another.

    def _restart(self, i: int) -> bool:
        """Begins at the start, at the present target; False where that was often enough."""
        landing = self._landings[i]
        if landing["searches"] > self._get(i, "PLD_MAX_SRCH"):
            return False
        landing["searches"] += 1
        self._status["target_type"][i] = TARGET_POSITION
        self._enter(i, Stage.START)
        return True

    def _begin_approach(self, i: int) -> bool:
        if not self._visible(i):
            return False
        self._landings["height"][i] = self._estimator.pos[i, 2]
        self._enter(i, Stage.APPROACH, "horizontal approach")
        return True

    def _begin_search(self, i: int) -> None:
        status = self._status[i]
        height = status["home"][2] + self._get(i, "PLD_SRCH_ALT")
        self._navigator.fly_to(i, [*status["target"][:2], height], TARGET_POSITION)
        self._enter(i, Stage.SEARCH, "search")
        self._landings["acquired_t"][i] = NEVER

    def _lost(self, i: int) -> None:
        self._outbox.say(i, WARNING, "Lost landing target while landing")
        self._navigator.fly_to(i, self._estimator.pos[i], TARGET_POSITION)
        if not self._restart(i):
            self._fall_back(i)

    def _fall_back(self, i: int) -> None:
        self._navigator.fly_to(i, self._estimator.pos[i], TARGET_LAND)
        self._enter(i, Stage.FALLBACK, "fallback: it lands where it is")

    def _enter(self, i: int, stage: Stage, text: str = "") -> None:
        landing = self._landings[i]
        landing["stage"], landing["stage_t"] = stage, self._clock.t_us
        landing["reached_t"] = NEVER
        if text:
            self._outbox.say(i, INFO, f"Precision landing: {text}")

    # What the stages ask.

    def _age_us(self, i: int) -> int:
        return int(self._clock.t_us - self.targets.records["t"][i])

    def _valid(self, i: int) -> bool:
        return self._age_us(i) <= self._get(i, "PLD_BTOUT") * 1e6

    def _visible(self, i: int) -> bool:
        return bool(self.targets.records["new"][i]) and self._valid(i)

    def _offset(self, i: int, place: np.ndarray) -> np.ndarray:
        return np.asarray(place[:2] - self._estimator.pos[i, :2])

    def _within(self, i: int) -> bool:
        """Whether vehicle i is above its target, each axis within PLD_HACC_RAD."""
        offset = self._offset(i, self.targets.records["pos"][i])
        return bool(np.abs(offset).max() < self._get(i, "PLD_HACC_RAD"))

    def _close(self, i: int) -> bool:
        """Whether vehicle i is less than PLD_FAPPR_ALT above its target."""
        above = self._estimator.pos[i, 2] - self.targets.records["pos"][i, 2]
        return self._valid(i) and bool(above < self._get(i, "PLD_FAPPR_ALT"))

    def _slew(self, i: int, target: np.ndarray) -> np.ndarray:
        """Limits speed and acceleration of the set-points (2,) of an approach, as PX4 does."""
        landing, dt = self._landings[i], PERIOD_US * 1e-6
        speed, acc = self._get(i, "MPC_XY_CRUISE"), self._get(i, "MPC_ACC_HOR")
        if not landing["slewed"]:
            landing["slewed"] = True
            landing["slew"][0] = self._status["target"][i, :2]
            landing["slew"][1] = landing["slew"][0] - self._estimator.vel[i, :2] * dt
        last, before = landing["slew"].copy()
        point = last + _shortened(target - last, speed * dt)
        point = 2 * last - before + _shortened(point - 2 * last + before, acc * dt * dt)
        stop = math.sqrt(acc * math.hypot(*(last - target)))
        point = last + _shortened(point - last, stop * dt)
        landing["slew"][0], landing["slew"][1] = point, last
        return np.asarray(point)

    def _get(self, i: int, name: str) -> float:
        return self._parameters.get(i, name)


def _shortened(vector: np.ndarray, length: float) -> np.ndarray:
    """A vector (2,) that is not longer than a length."""
    size = math.hypot(*vector)
    return vector if size <= length else vector * (length / size)
