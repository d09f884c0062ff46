"""AUTO.FOLLOW_TARGET: keeps a position relative to a target that sends FOLLOW_TARGET."""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory

from ..state.flight_state import ModeTask
from ..state.outbox import WARNING
from ..state.vehicle_status import TARGET_POSITION
from .flight_mode import FlightMode, ModeParts

LOST_US = 3_000_000  # a target silent for so long is lost [us]
_SLOW = 0.5  # below this speed the course of the target stays what it was [m/s]
_STOP_S = 1.0  # a vehicle that waits stops where it would be after this time [s]
_NEVER = -(1 << 62)


TARGET = np.dtype(
    [
        ("pos", "f8", (3,)),  # [m]
        ("vel", "f8", (3,)),  # [m/s]
        ("t", "i8"),  # when it was last received [us]
        ("waits", "?"),  # the vehicle waits for it
        ("course", "f8"),  # counter-clockwise from east [rad]
    ],
    align=True,
)


class FollowTarget(Memory, ModeTask):
    """Targets of a fleet, one for each vehicle."""

    MEMORY = ("_targets",)

    def __init__(self, parts: ModeParts) -> None:
        """No vehicle has a target."""
        self._status, self._parameters = parts.status, parts.parameters
        self._estimator, self._navigator = parts.estimator, parts.navigator
        self._clock, self._outbox = parts.clock, parts.outbox
        self._targets = np.zeros(len(parts.status), dtype=TARGET)
        self._targets["t"], self._targets["course"] = _NEVER, math.nan
        self.remember_start()

    def why_not(self, i: int) -> str:
        """Why vehicle i cannot follow, or an empty string; in flight it may wait for its target."""
        if self._status["landed"][i] and self._lost(i):
            return "there is no target: send FOLLOW_TARGET once a second or more"
        return ""

    def _lost(self, i: int) -> bool:
        return self._clock.t_us - self._targets["t"][i] > LOST_US

    def heard(self, i: int, pos: np.ndarray, vel: np.ndarray | None) -> None:
        """The target of vehicle i is at pos (3,) [m] with vel (3,) [m/s], None = not known."""
        target, now = self._targets[i], self._clock.t_us
        age = (now - target["t"]) * 1e-6
        fresh = now - target["t"] <= LOST_US
        if vel is None:
            vel = (pos - target["pos"]) / age if fresh and age > 0.02 else target["vel"] * fresh
        smooth = self._parameters.get(i, "FLW_TGT_RS") if fresh else 0.0
        gain = age / (age + smooth) if age + smooth > 0 else 1.0
        before = target["vel"].copy()
        target["vel"] = before + gain * (vel - before) if fresh else vel
        target["pos"], target["t"] = pos, now
        if np.hypot(*target["vel"][:2]) > _SLOW:
            target["course"] = math.atan2(target["vel"][1], target["vel"][0])
        if self._follows(i):
            self._aim(i)

    def begin(self, i: int) -> None:
        """Vehicle i has changed to AUTO.FOLLOW_TARGET, or is armed in it."""
        if not self._status["armed"][i]:
            return
        self._navigator.begin(i)
        self._navigator.fly_to(i, self._estimator.pos[i], TARGET_POSITION)
        if self._lost(i):
            self._wait(i, "Waiting for the target: send FOLLOW_TARGET")
        else:
            self._aim(i)

    def step(self, due: np.ndarray | bool = True) -> None:
        """Stops those whose target is lost until it is received again; call it periodically.

        Args:
            due: (N,) bool, the vehicles meant.
        """
        for i in np.flatnonzero((self._status["mode"] == Mode.FOLLOW_TARGET) & due):
            if self._follows(i) and self._lost(i) and not self._targets["waits"][i]:
                self._wait(i, f"Target not heard for {LOST_US * 1e-6:g} s: waiting for it")

    def _wait(self, i: int, text: str) -> None:
        status = self._status[i]
        status["target"] = self._estimator.pos[i] + _STOP_S * status["smooth_vel"]
        status["centre"] = status["target"] + 1e3 * np.array(
            [math.cos(status["sp_yaw"]), math.sin(status["sp_yaw"]), 0.0]
        )
        status["target_vel"] = 0.0
        self._targets["waits"][i] = True
        self._outbox.say(i, WARNING, text)

    def _follows(self, i: int) -> bool:
        status = self._status[i]
        return (
            status["mode"] == Mode.FOLLOW_TARGET and status["armed"] and status["mode_stage"] == 0
        )

    def _aim(self, i: int) -> None:
        status, target, get = self._status[i], self._targets[i], self._parameters.get
        target["waits"] = False
        course = target["course"]
        if not math.isfinite(course):  # it has not moved yet: as if it went away from us
            away = target["pos"] - self._estimator.pos[i]
            course = math.atan2(away[1], away[0])
        side = course - math.radians(get(i, "FLW_TGT_FA"))
        base = target["pos"][2] if get(i, "FLW_TGT_ALT_M") == 2 else status["home"][2]
        distance = get(i, "FLW_TGT_DST")
        status["centre"] = target["pos"]
        status["target"] = (
            target["pos"][0] + distance * math.cos(side),
            target["pos"][1] + distance * math.sin(side),
            base + get(i, "FLW_TGT_HT"),
        )
        status["target_vel"] = target["vel"]
        if get(i, "FLW_TGT_ALT_M") != 2:
            status["target_vel"][2] = 0.0
        status["target_speed"] = get(i, "FLW_TGT_MAX_VEL")


MODE = FlightMode(Mode.FOLLOW_TARGET, FollowTarget)
