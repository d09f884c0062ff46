"""An Agent that lands multirotors on rovers and boats that drive."""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from xtdrone_core import ARM, DISARM, KEEP, Estimates, Mode, SetPoints
from xtdrone_core.agent import BaseAgent
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import XtdroneError
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, ROVER, vehicle_types
from xtdrone_mpc.deck import DeckPilot

_RETRY_US = 500_000  # time until a request that was not granted is repeated [us]
_MAX_ERROR = 0.3  # horizontal error with which a descent begins [m]
_HOLD_ERROR = 0.5  # horizontal error at which the descent waits [m]
_STEADY_US = 2_000_000  # time within _MAX_ERROR before it descends [us]
_DESCENT_SPEED = 0.5  # [m/s]
_MAX_CLIMB_SPEED = 1.0  # largest vertical speed as it approaches the carrier [m/s]
_GAIN = 0.8  # speed per distance to the carrier [1/s]
_MAX_CLOSING_SPEED = 3.0  # relative to the carrier [m/s]
_ARRIVED = 0.5  # tolerance of the take-off height [m]
_STOPPED = 0.1  # speed of a carrier that may be disarmed [m/s]
_DRIFTS_US = 10_000_000  # one that is faster so long after its stop drifts, and is disarmed [us]
_CLIMBS, _FOLLOWS, _DESCENDS, _ON_DECK = range(4)  # stages of a multirotor


class DeckLandingAgent(BaseAgent):
    """Multirotors take off, follow rovers or boats that drive, land on them and are carried on.

    The k-th multirotor of the fleet lands on its k-th rover or boat: over its origin, wherever it
    drives, on whatever deck or roof it has there. Both sides fly and drive by OFFBOARD velocities.
    Events: `armed`, `follow`, `descend`, `on_deck` (index of the multirotor), `stop`.
    """

    MEMORY = (
        "done",
        "_out",
        "_requested_us",
        "_begun_us",
        "_pads",
        "_headings",
        "_stage",
        "_steady_us",
        "_boarded_us",
        "_stopped_us",
        "_pilots",
    )

    def __init__(
        self,
        n: int = 2,
        speed: Annotated[
            float, Option("of the rovers and boats", unit="m/s", minimum=0.0, maximum=1.4)
        ] = 1.0,
        height: Annotated[
            float,
            Option(
                "from which the descent begins, above the carrier's origin",
                unit="m",
                minimum=3.0,
                maximum=50.0,
            ),
        ] = 5.0,
        carry: Annotated[
            float, Option("time that they are carried on", unit="s", minimum=0.0, maximum=3600.0)
        ] = 5.0,
        approach: Annotated[
            str,
            Option(
                "by velocities above the carrier, or by sampling model predictive control",
                choices=("velocity", "mppi"),
            ),
        ] = "velocity",
        time_out: Annotated[
            float, Option("of the whole flight", unit="s", minimum=10.0, maximum=3600.0)
        ] = 120.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event."""
        self.done = False
        self._speed, self._height, self._by = speed, height, approach
        self._pilots: list[DeckPilot] = []  # of each multirotor, by sampling
        self._carry_us, self._time_out_us = round(carry * 1e6), round(time_out * 1e6)
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self._out = SetPoints.empty(n)
        self._flyers = self._carriers = np.zeros(0, dtype=np.int64)
        self._requested_us = -_RETRY_US
        self._begun_us: int | None = None  # time at which all were armed
        self._pads: np.ndarray | None = None  # (N, 3) positions at the start [m]
        # (N,) Headings at the start, counter-clockwise from east [rad].
        self._headings = np.zeros(n)
        self._stage = np.zeros(0, dtype=np.int8)  # stage of each multirotor
        self._steady_us = self._boarded_us = np.zeros(0, dtype=np.int64)
        self._stopped_us: int | None = None  # when the carriers were told to stop
        self.remember_start()

    def attach(self, flight: Flight) -> None:
        """Pairs the multirotors with the rovers and boats.

        Raises:
            XtdroneError: There are not as many multirotors as rovers and boats.
        """
        kinds = vehicle_types(flight.fleet)
        self._flyers, self._carriers = (
            np.flatnonzero(kinds == MULTICOPTER),
            np.flatnonzero(kinds == ROVER),
        )
        count = len(self._flyers)
        if not count or count != len(self._carriers) or 2 * count != len(kinds):
            raise XtdroneError(
                f"{count} multirotors and {len(self._carriers)} rovers or boats of "
                f"{len(kinds)} vehicles: give as many of each, such as 'rover; iris@-3,0'"
            )
        if self._by == "mppi":
            specs, seed = flight.scenario.vehicles, flight.scenario.seed
            self._pilots = [DeckPilot(specs[i].type, seed=seed + i) for i in self._flyers.tolist()]
        self._stage = np.zeros(count, dtype=np.int8)
        self._steady_us = np.full(count, -1, dtype=np.int64)
        self._boarded_us = np.full(count, -1, dtype=np.int64)
        self.remember_start()

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns the landings on a deck."""
        return {"deck landings": (int((self._stage == _ON_DECK).sum()), len(self._flyers))}

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns velocities of all vehicles, and requests to arm, disarm and change mode.

        Raises:
            XtdroneError: The flight has not ended in time.
        """
        out = self._out
        out.clear()
        if self.done:
            return out
        if self._pads is None:
            if estimates.ready.all():
                self._pads = estimates.pos.copy()
                x, y, z, w = estimates.quat.T
                self._headings = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
            else:
                return self._in_time(t_us, out, "ready to arm: see its messages in console/")
        out.yaw[self._flyers] = self._headings[self._flyers]
        if self._begun_us is None:
            out.vel[:] = 0.0
            if not self._arm(t_us, estimates, out):
                return self._in_time(t_us, out, "armed in OFFBOARD: see its messages in console/")
            self._begun_us = t_us
            self._on_event(t_us, "armed")
        self._drive(t_us, estimates, out)
        stages = (self._climb, self._follow, self._descend, self._ride)
        for k, (i, j) in enumerate(zip(self._flyers.tolist(), self._carriers.tolist())):
            stages[self._stage[k]](t_us, estimates, out, k, i, j)
        return self._in_time(t_us, out, "on its deck: give more --set time_out, or less speed")

    def _in_time(self, t_us: int, out: SetPoints, what: str) -> SetPoints:
        if t_us > self._time_out_us:
            raise XtdroneError(
                f"after {self._time_out_us / 1e6:g} s of simulated time not every vehicle is {what}"
            )
        return out

    def _arm(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Requests OFFBOARD and arming; returns whether all have both."""
        granted = estimates.armed & (estimates.mode == Mode.OFFBOARD)
        if t_us - self._requested_us >= _RETRY_US and not granted.all():
            out.mode[~granted], out.arm[~granted] = Mode.OFFBOARD, ARM
            self._requested_us = t_us
        return bool(granted.all())

    def _drive(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Drives the carriers straight on until all have been carried, then stops them."""
        carriers = self._carriers
        on_deck = self._stage == _ON_DECK
        if on_deck.all() and (t_us - self._boarded_us >= self._carry_us).all():
            if self._stopped_us is None:
                self._stopped_us = t_us
                self._on_event(t_us, "stop")
            out.vel[carriers] = 0.0
            at_rest = np.linalg.norm(estimates.vel[carriers], axis=1) < _STOPPED
            at_rest |= t_us - self._stopped_us > _DRIFTS_US
            out.arm[carriers[at_rest]] = DISARM
            self.done = not estimates.armed.any()
            return
        speed = self._speed if (self._stage != _CLIMBS).all() else 0.0
        out.vel[carriers, 0] = speed * np.cos(self._headings[carriers])
        out.vel[carriers, 1] = speed * np.sin(self._headings[carriers])
        out.vel[carriers, 2] = 0.0

    def _climb(
        self, t_us: int, estimates: Estimates, out: SetPoints, k: int, i: int, j: int
    ) -> None:
        assert self._pads is not None
        out.pos[i] = self._pads[i] + [0.0, 0.0, self._height]
        if abs(estimates.pos[i, 2] - out.pos[i, 2]) < _ARRIVED:
            self._stage[k] = _FOLLOWS
            self._on_event(t_us, "follow", index=i)

    def _follow(
        self, t_us: int, estimates: Estimates, out: SetPoints, k: int, i: int, j: int
    ) -> None:
        if self._pilots:
            self._sample(t_us, estimates, out, k, i, j)
            return
        error = self._approach(t_us, estimates, out, i, j, self._height)
        if error > _MAX_ERROR:
            self._steady_us[k] = -1
        elif self._steady_us[k] < 0:
            self._steady_us[k] = t_us
        elif t_us - self._steady_us[k] >= _STEADY_US:
            self._stage[k] = _DESCENDS
            self._on_event(t_us, "descend", index=i)

    def _sample(
        self, t_us: int, estimates: Estimates, out: SetPoints, k: int, i: int, j: int
    ) -> None:
        """Flies multirotor i onto carrier j by the best of its futures, until it stands there."""
        pilot = self._pilots[k]
        rates, thrust = pilot.command(
            estimates.pos[i],
            estimates.quat[i],
            estimates.vel[i],
            estimates.ang_vel[i],
            estimates.pos[j],
            estimates.vel[j],
        )
        out.yaw[i], out.rates[i], out.force[i] = math.nan, rates, (0.0, 0.0, thrust)
        if pilot.stands:
            self._stage[k] = _DESCENDS
            self._on_event(t_us, "descend", index=i)

    def _descend(
        self, t_us: int, estimates: Estimates, out: SetPoints, k: int, i: int, j: int
    ) -> None:
        error = self._approach(t_us, estimates, out, i, j, math.nan)
        out.vel[i, 2] = -_DESCENT_SPEED if error < _HOLD_ERROR else 0.0
        if estimates.landed[i]:
            out.arm[i] = DISARM
        if not estimates.armed[i]:
            self._stage[k], self._boarded_us[k] = _ON_DECK, t_us
            self._on_event(t_us, "on_deck", index=i, error=round(error, 3))

    def _ride(
        self, t_us: int, estimates: Estimates, out: SetPoints, k: int, i: int, j: int
    ) -> None:
        out.arm[i] = KEEP

    def carrier(
        self, t_us: int, estimates: Estimates, i: int, j: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where multirotor i takes its carrier j to be, by its own estimate.

        Returns:
            Position (3,) [m] and velocity (3,) [m/s], in the world as multirotor i estimates it.
        """
        return estimates.pos[j], estimates.vel[j]

    def _approach(
        self, t_us: int, estimates: Estimates, out: SetPoints, i: int, j: int, height: float
    ) -> float:
        """Flies multirotor i over carrier j, `height` above it; NaN leaves that open.

        Returns:
            The horizontal distance [m].
        """
        pos, vel = self.carrier(t_us, estimates, i, j)
        away = pos[:2] - estimates.pos[i, :2]
        distance = float(np.hypot(*away))
        limit = min(_GAIN, _MAX_CLOSING_SPEED / max(distance, 1e-6))
        out.vel[i, :2] = vel[:2] + limit * away
        if math.isfinite(height):
            climb = _GAIN * (pos[2] + height - estimates.pos[i, 2])
            out.vel[i, 2] = min(max(climb, -_MAX_CLIMB_SPEED), _MAX_CLIMB_SPEED)
        return distance
