"""Base class of flying Agents: wait until ready, arm, climb, fly, descend, land."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .agent import BaseAgent
from .errors import XtdroneError
from .modes import Mode
from .runs.snapshot import SnapshotError, put, take
from .state import ARM, KEEP, Estimates, SetPoints

_RETRY_US = 500_000  # a mode or arming request is repeated after this time if not granted [us]
_STREAM_US = 500_000  # set-points are sent for so long before OFFBOARD, which PX4 needs [us]
_WINGS_TIME_OUT = 10  # times longer may each phase of a plane take, which circles down to land
_PEAK_SPEED = 1.875  # peak speed of a minimum-jerk motion over its mean speed


def minimum_jerk(x: float) -> tuple[float, float, float]:
    """s, ds/dx, d2s/dx2 of the smooth motion from 0 to 1 that starts and ends at rest."""
    x = min(max(x, 0.0), 1.0)
    return (
        x**3 * (10 - 15 * x + 6 * x * x),
        30 * x * x * (1 - x) ** 2,
        60 * x * (1 - x) * (1 - 2 * x),
    )


class FlightAgent(BaseAgent):
    """An Agent that takes off the whole fleet in OFFBOARD, flies it and lands it.

    A fleet `on_wings` takes off by AUTO.TAKEOFF, is flown in OFFBOARD once it loiters, and lands by
    AUTO.LAND from where it is.

    Inherit and implement begin(), which is called once at the take-off height, and fly(),
    which sets the set-points every 20 ms until it returns True.

    on_event(t_us, name, **values) is called for armed, airborne, land, landed, and the
    events of the derived class.

    All vehicles share one sequence, so reset() takes all of them or none.
    """

    MEMORY: ClassVar[tuple[str, ...]] = (
        "done",
        "home",
        "_phase",
        "_phase_us",
        "_next_us",
        "_requested_us",
        "_first_us",
        "_yaw",
        "_from",
        "_out",
    )

    def __init__(
        self,
        n: int,
        height: float,
        climb_speed: float = 2.0,
        land_from: float = 2.0,
        time_out: float = 60.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """An agent on the ground.

        Args:
            n: Number of vehicles.
            height: Take-off height above each vehicle's start [m].
            climb_speed: Largest vertical speed [m/s].
            land_from: Height above the start at which AUTO.LAND takes over from OFFBOARD [m].
            time_out: Time-out of each phase: getting ready, arming, climbing and landing [s].
            on_event: Called at each event, or None.

        Raises:
            XtdroneError: A number is not positive and finite.
        """
        for what, value in (
            ("height", height),
            ("climb_speed", climb_speed),
            ("time_out", time_out),
        ):
            if not (math.isfinite(value) and value > 0):
                raise XtdroneError(
                    f"{what} {value} of a flight is not allowed: give a positive number"
                )
        self.n, self.height = n, height
        self.done = False
        self.on_wings = False  # whether planes are flown; a derived class sets it before the flight
        self.home: Any = None  # (N, 3) positions of the vehicles on the ground when ready [m]
        self._climb_speed, self._land_from = climb_speed, land_from
        self._time_out_us = round(time_out * 1e6)
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self._out = SetPoints.empty(n)
        self._phases = {
            "wait": self._wait,
            "stream": self._stream,
            "arm": self._arm,
            "climb": self._climb,
            "fly": self._fly,
            "descend": self._descend,
            "land": self._land,
        }
        self._phase = "wait"
        self._phase_us: Any = None  # when it began [us]
        self._next_us, self._requested_us = 0, -_RETRY_US
        self._first_us: Any = None  # when streaming began
        self._yaw: Any = None  # (N,) [rad]
        self._from: Any = None  # (N, 3) start of a climb or descent
        self._fresh: dict[str, Any] | None = None  # its state before the first step

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Called once at the take-off height, before fly()."""

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sets pos, vel and acc of `out` (all NaN on entry); returns True to end the flight."""
        raise NotImplementedError

    def command_actuators(self, count: int) -> None:
        """Makes the set-points have commands for so many actuators; called before the flight."""
        self._out = SetPoints.empty(self.n, count)

    def event(self, t_us: int, name: str, **values: Any) -> None:  # values of JSON
        """Reports an event through on_event()."""
        self._on_event(t_us, name, **values)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns the fleet's set-points; between two periods the last ones, without requests.

        Raises:
            XtdroneError: The fleet is not ready, armed, at its height or landed in time.
        """
        if self._fresh is None:  # all derived constructors have run
            self._fresh = take(self, self.MEMORY)
        out = self._out
        if t_us < self._next_us or self.done:
            out.mode.fill(KEEP)
            out.arm.fill(KEEP)
            return out
        self._next_us = t_us + self.period_us
        if self._phase_us is None:
            self._phase_us = t_us
        out.clear()
        if self._yaw is not None:
            out.yaw[:] = self._yaw
        self._phases[self._phase](t_us, estimates, out)
        return out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Starts again, waiting on the ground.

        Raises:
            SnapshotError: The mask does not select all vehicles.
        """
        if mask is not None and not np.all(mask):
            raise SnapshotError(
                f"{type(self).__name__} flies the fleet as a whole: reset all "
                "vehicles, or give each its own Agent (EachVehicle)"
            )
        if self._fresh is not None:
            put(self, self.MEMORY, self._fresh)

    def _enter(self, phase: str, t_us: int) -> None:
        self._phase, self._phase_us = phase, t_us
        self._requested_us = t_us - _RETRY_US

    def _late(self, t_us: int, vehicles: np.ndarray, what: str, advice: str) -> None:
        longest = self._time_out_us * (_WINGS_TIME_OUT if self.on_wings else 1)
        if vehicles.any() and t_us - self._phase_us > longest:
            which = ", ".join(map(str, np.flatnonzero(vehicles)[:5]))
            raise XtdroneError(
                f"vehicle {which} is not {what} after "
                f"{longest / 1e6:g} s of simulated time: {advice}"
            )

    def _wait(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        out.pos[:] = estimates.pos  # PX4 needs a stream of set-points before OFFBOARD
        if self._first_us is None:
            self._first_us = t_us
        if estimates.ready.all():
            self.home = estimates.pos.copy()
            x, y, z, w = estimates.quat.T
            self._yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
            self._enter("stream", t_us)
        else:
            self._late(t_us, ~estimates.ready, "ready to arm", "its arming checks fail")

    def _stream(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        out.pos[:] = self.home
        if t_us - self._first_us >= _STREAM_US:
            self._enter("arm", t_us)

    def _arm(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        out.pos[:] = self.home
        mode = Mode.TAKEOFF if self.on_wings else Mode.OFFBOARD
        granted = estimates.armed & (estimates.mode == mode)
        if granted.all():
            self.event(t_us, "armed")
            self._from = self.home.copy()
            self._enter("climb", t_us)
        elif t_us - self._requested_us >= _RETRY_US:
            out.mode[~granted] = mode
            out.arm[~granted] = ARM
            self._requested_us = t_us
        self._late(t_us, ~granted, f"armed in {mode.name}", "see its messages in console/")

    def _ramp(self, t_us: int, out: SetPoints, change: np.ndarray) -> bool:
        """Set-points of a minimum-jerk vertical motion from self._from; True at its end."""
        duration = max(_PEAK_SPEED * np.abs(change).max() / self._climb_speed, 1.0)
        x = (t_us - self._phase_us) * 1e-6 / duration
        s, ds, dds = minimum_jerk(x)
        out.pos[:] = self._from
        out.pos[:, 2] += s * change
        out.vel[:] = 0.0
        out.vel[:, 2] = ds / duration * change
        out.acc[:] = 0.0
        out.acc[:, 2] = dds / duration**2 * change
        return x >= 1.0

    def _climb(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        if self.on_wings:
            low = estimates.mode == Mode.TAKEOFF
            if not low.any():
                self._begin_flight(t_us, estimates)
            self._late(t_us, low, "at its height", "see its messages in console/")
            return
        over = self._ramp(t_us, out, np.full(self.n, self.height))
        low = np.linalg.norm(estimates.pos - out.pos, axis=1) > 0.5
        if over and not low.any():
            self._begin_flight(t_us, estimates)
        self._late(t_us, low, "at its height", "give a lower height, or a longer time_out")

    def _begin_flight(self, t_us: int, estimates: Estimates) -> None:
        self.event(t_us, "airborne", height=self.height)
        self.begin(t_us, estimates)
        self._enter("fly", t_us)

    def _fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        over = self.fly(t_us, estimates, out)
        if self.on_wings:
            other = estimates.mode != Mode.OFFBOARD
            if other.any() and t_us - self._requested_us >= _RETRY_US:
                out.mode[other] = Mode.OFFBOARD
                self._requested_us = t_us
            self._late(t_us, other, "in OFFBOARD", "see its messages in console/")
        if not over:
            return
        if self.on_wings:
            self.event(t_us, "land")
            self._enter("land", t_us)
        else:
            self._from = estimates.pos.copy()
            self._enter("descend", t_us)

    def _descend(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        change = np.minimum(self.home[:, 2] + self._land_from - self._from[:, 2], 0.0)
        if self._ramp(t_us, out, change) or not change.any():
            self.event(t_us, "land")
            self._enter("land", t_us)

    def _land(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        up = estimates.armed | ~estimates.landed
        if not up.any():
            self.done = True
            self.event(t_us, "landed")
            return
        flying = up & (estimates.mode != Mode.LAND)
        if flying.any():
            # Set-points keep OFFBOARD active until the landing mode is granted.
            out.pos[flying] = estimates.pos[flying]
            if t_us - self._requested_us >= _RETRY_US:
                out.mode[flying] = Mode.LAND
                self._requested_us = t_us
        self._late(t_us, up, "landed and disarmed", "see its messages in console/")
