"""The Agent `pick`: finds a marked parcel, grips it, and puts it down beside another marker."""

import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from xtdrone_core import Estimates, SetPoints, registry
from xtdrone_core.contracts import CommandsGrippers, Flight, Gripping, required
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.quaternion import rotate, to_euler

from ..errors import PerceptionError
from ..landing.tracker import MarkerTracker
from ..markers import detect
from ..markers.picture import nested_of
from .arm import Arm

PARCEL, GOAL = "tag36h11:7:0.12", "tag36h11:8:0.12"  # those of models/parcel and goal_marker
_STILL = 0.2  # of the markers, see Motion.acceleration
_FRESH_US = 400_000  # a marker that was seen so long ago is in sight
_SEEN = 5  # images with a marker until it counts as found
_ARM_S = 2.0  # time in which the arm moves
_STEADY_S = 2.0  # hover before the parcel is gripped or put down
_STANDOFF_M = 0.4  # of the gripper, or of the parcel, above what it is lowered to
_DOWN_M_S = 0.12
_PRESS_M = 0.05  # how far the set-point is lowered beyond the touch
_CLOSE_M = 0.1  # above the parcel from where on the gripper is closed
_HOLD_US = 400_000  # of pressing [us]
_TOUCH_M, _DROP_M = 0.005, 0.01  # gripper above the parcel, and parcel above the marker
_STILL_M_S = 0.04  # speed at which the parcel is let go
# Just above the touch the gripper hides the marker; there it sinks fast, whatever the wind does. It
# grips behind the middle, so that the marker is seen longer.
_BLIND_M, _BLIND_M_S, _BEHIND_M = 0.16, 0.2, 0.04
# How far the gripper may be off the vertical while it sinks: at the touch, by its height above
# that, and by the time that has gone, in stronger wind.
_NEAR_M, _CONE, _PATIENCE_M_S = 0.01, 0.1, 0.001
_LIFT_M = 0.6
_SETTLE_S, _SHORTEST_S = 1.0, 2.0  # after a motion, and of the shortest one
_PEAK = 1.875  # peak speed of a minimum-jerk motion over its mean speed
_ARM_MOVES = ("unfold", "fold")
_LAG_S = 0.5  # of the tilt by which the gripper is off the vehicle
_TRIES = 3
_ROUND_M, _ROUNDS = 0.7, 12  # legs of the search, which grow by it after two

_Motion = tuple[np.ndarray, np.ndarray, bool]  # position, velocity (3,), whether a stage is over


class PickAgent(FlightAgent):
    """Picks up a parcel and puts it down at a goal, both found by their markers.

    The markers are found in the images of a camera that looks down, in the world as the vehicle
    estimates it. The parcel is put down `beside` metres behind the goal's marker, as seen along
    the vehicle's heading, so that the camera sees the marker until the end. Events: those of
    FlightAgent, and `found`, `arm`, `grab`, `missed`, `release`.
    """

    FIXED: ClassVar[tuple[str, ...]] = ("climb_speed", "land_from", "time_out")
    MEMORY: ClassVar[tuple[str, ...]] = (
        *FlightAgent.MEMORY,
        "_stage",
        "_stage_us",
        "_start",
        "_angles",
        "_ahead",
        "_offset",
        "_parcel",
        "_hung",
        "_low",
        "_touched_us",
        "_tries",
        "_moves",
    )

    def __init__(
        self,
        n: int = 1,
        east: Annotated[
            float,
            Option("of the parcel from the start, about", unit="m", minimum=-1e3, maximum=1e3),
        ] = 3.0,
        north: Annotated[
            float,
            Option("of the parcel from the start, about", unit="m", minimum=-1e3, maximum=1e3),
        ] = 0.0,
        goal_east: Annotated[
            float, Option("of the goal from the start, about", unit="m", minimum=-1e3, maximum=1e3)
        ] = 3.0,
        goal_north: Annotated[
            float, Option("of the goal from the start, about", unit="m", minimum=-1e3, maximum=1e3)
        ] = 3.0,
        beside: Annotated[
            float, Option("of the goal behind its marker", unit="m", minimum=0.2, maximum=0.4)
        ] = 0.28,
        parcel: Annotated[str, Option("FAMILY:ID,...:SIZE of the parcel's marker")] = PARCEL,
        goal: Annotated[str, Option("FAMILY:ID,...:SIZE of the goal's marker")] = GOAL,
        tall: Annotated[
            float, Option("of the parcel below its marker", unit="m", minimum=0.01, maximum=1.0)
        ] = 0.1,
        arm: Annotated[str, Option("angles of the arm's joints while it grips [rad]")] = (
            "0.97,-2.54"
        ),
        height: Annotated[
            float, Option("of the flight", unit="m", minimum=1.0, maximum=20.0)
        ] = 1.5,
        speed: Annotated[
            float, Option("of the flight", unit="m/s", minimum=0.1, maximum=5.0)
        ] = 1.0,
        library: Annotated[str, Option("of the detector", choices=detect.LIBRARIES)] = (
            detect.OPENCV
        ),
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares a flight; on_event(t_us, name, **values) is called at each event.

        Raises:
            PerceptionError: There are no such markers, or angles that are no numbers.
        """
        super().__init__(n, height, climb_speed=1.0, land_from=height, on_event=on_event)
        self._markers = nested_of(parcel), nested_of(goal)
        self._library, self._beside, self._tall, self._speed = library, beside, tall, speed
        self._places = np.array([[east, north], [goal_east, goal_north]])
        try:
            self._grip_angles = np.array([float(word) for word in arm.split(",")])
        except ValueError:
            raise PerceptionError(
                f"arm '{arm}' is not allowed: give angles in rad, as in 0.97,-2.54"
            ) from None
        self._stage, self._stage_us = "to parcel", 0
        self._start: Any = None  # (3,) last set-point of the stage before [m]
        self._angles: Any = None  # (K,) of the arm's joints [rad]
        self._ahead = np.zeros(3)  # heading of the vehicle, a unit vector
        self._offset = np.zeros(3)  # from the vehicle to its gripper with the arm down, world [m]
        self._parcel = np.zeros(3)  # where the parcel's marker was when it was gripped [m]
        self._hung = np.zeros(3)  # from the gripper to the parcel's marker, world [m]
        self._low = _STANDOFF_M  # of the set-point above the touch [m]
        self._touched_us = -1  # when the gripper touched the parcel [us]
        self._tries = 0
        self._moves: list[int] = []  # when the arm began and ended to move, in turn [us]
        self._trackers: tuple[MarkerTracker, ...] = ()
        self._stages: dict[str, Callable[[int, float, Estimates], _Motion]] = {
            "to parcel": self._to_parcel,
            "near parcel": self._above_parcel,
            "unfold": self._unfold,
            "over parcel": self._above_parcel,
            "grip": self._grip,
            "lift": self._up,
            "to goal": self._to_goal,
            "over goal": self._above_goal,
            "put down": self._put_down,
            "up": self._up,
            "fold": self._fold,
            "home": self._home,
        }

    def attach(self, flight: Flight) -> None:
        """Finds arm, gripper and camera. Called once, before the flight.

        Raises:
            XtdroneError: More than one vehicle, or one without them, or an engine or autopilot
                that has no grippers.
        """
        scenario = flight.scenario
        if self.n != 1:
            raise PerceptionError(f"pick flies one vehicle, not {self.n}: leave --n out")
        self._autopilot = required(
            flight.autopilot,
            CommandsGrippers,  # type: ignore[type-abstract]  # a protocol
            f"autopilot '{scenario.autopilot}' commands no gripper here",
            "let embedded fly it",
        )
        if not issubclass(registry.ENGINES.load(scenario.engine), Gripping):
            raise PerceptionError(
                f"engine '{scenario.engine}' has no grippers: fly it with engine embedded"
            )
        self._manipulator = Arm(flight.fleet.vehicles[0])
        self._manipulator.check(self._grip_angles.tolist())
        self._angles = np.zeros(len(self._grip_angles))
        self._gripper = self._manipulator.gripper(self._grip_angles)
        self.command_actuators(flight.fleet.actuator.shape[1])
        self._trackers = tuple(
            MarkerTracker(flight, markers, vehicles=[0], library=self._library, acceleration=_STILL)
            for markers in self._markers
        )
        flight.observers += self._trackers

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins above the start."""
        yaw = to_euler(*estimates.quat[0])[2]
        self._ahead = np.array([math.cos(yaw), math.sin(yaw), 0.0])
        self._offset = self._reach(estimates)
        self._start, self._stage_us = self.home[0] + [0.0, 0.0, self.height], t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies the stage, and goes on to the next one at its end."""
        blend = 1.0 - math.exp(-self.period_us * 1e-6 / _LAG_S)
        self._offset += blend * (self._reach(estimates) - self._offset)
        pos, vel, over = self._stages[self._stage](t_us, (t_us - self._stage_us) * 1e-6, estimates)
        out.pos[0], out.vel[0] = pos, vel
        out.actuators[0, self._manipulator.columns] = self._manipulator.commands(self._angles)
        if over:
            self._finish(t_us, estimates, pos)
        return self._stage == "done"

    def _finish(self, t_us: int, estimates: Estimates, pos: np.ndarray) -> None:
        """Goes on from a stage whose last set-point is pos (3,)."""
        before, names = self._stage, list(self._stages)
        after = (*names, "done")[names.index(before) + 1]
        if before == "lift" and self._is_missed(t_us):
            self._count_miss(t_us)
            after = "over parcel"
        if before in _ARM_MOVES or after in _ARM_MOVES:
            self._moves.append(t_us)
            self.event(t_us, "arm", moves=after in _ARM_MOVES)
        if before in ("to parcel", "to goal"):
            self.event(t_us, "found", marker=before.removeprefix("to "))
        if before == "grip":
            seen_s = (self._touched_us - self._trackers[0].motions[0].seen_us) * 1e-6
            self.event(t_us, "grab", off=np.round(self._hung, 3).tolist(), seen_s=round(seen_s, 2))
        if before == "put down":
            self._autopilot.command_gripper(0, 0, False)
            self.event(t_us, "release", off=np.round(self._off(1, estimates), 3).tolist())
        self._stage, self._stage_us, self._start = after, t_us, pos
        self._low, self._touched_us = _STANDOFF_M, -1

    def _count_miss(self, t_us: int) -> None:
        self._tries += 1
        self.event(t_us, "missed", tries=self._tries)
        if self._tries == _TRIES:
            raise PerceptionError(f"the parcel was not gripped in {_TRIES} tries")
        self._autopilot.command_gripper(0, 0, False)

    @property
    def _aim(self) -> np.ndarray:
        """From where the parcel is gripped to its marker's middle (3,) [m]."""
        return _BEHIND_M * self._ahead

    def _reach(self, estimates: Estimates) -> np.ndarray:
        """From the vehicle's position to its gripper with the arm down (3,), world [m]."""
        return np.array(rotate(*estimates.quat[0], *self._gripper))

    def _search(self, which: int, t_us: int, t: float) -> _Motion:
        """Flies to where a marker should be, and then in an expanding square, until it is seen."""
        corner = np.append(self.home[0, :2] + self._places[which], self.home[0, 2] + self.height)
        far, begin = self._speed * t, self._start
        for end in itertools.chain([corner], _square(corner)):
            leg = end - begin
            length = float(np.linalg.norm(leg))
            if far < length:
                along = leg / length
                return begin + far * along, self._speed * along, self._seen(which, t_us)
            far, begin = far - length, end
        raise PerceptionError(
            f"the marker {self._markers[which][0].id} was not seen within "
            f"{0.5 * _ROUNDS * _ROUND_M:g} m of where it should be: give a better place"
        )

    def _to_parcel(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        return self._search(0, t_us, t)

    def _to_goal(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        return self._search(1, t_us, t)

    def _unfold(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        self._angles = minimum_jerk(t / _ARM_S)[0] * self._grip_angles
        return self._start, np.zeros(3), t > _ARM_S + _SETTLE_S

    def _fold(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        self._angles = (1.0 - minimum_jerk(t / _ARM_S)[0]) * self._grip_angles
        return self._start, np.zeros(3), t > _ARM_S + _SETTLE_S

    def _above(self, which: int, t: float) -> _Motion:
        """Glides to above the parcel (0) or the goal (1), and waits there."""
        pos, vel, seconds = self._glide(self._touch(which) + [0.0, 0.0, _STANDOFF_M], t)
        return pos, vel, t > seconds + _STEADY_S

    def _above_parcel(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        return self._above(0, t)

    def _above_goal(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        return self._above(1, t)

    def _down(self, which: int, low: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Set-points that lower the gripper to a height above the touch [m], at a speed [m/s]."""
        speed = speed if self._low > low else 0.0
        self._low -= speed * self.period_us * 1e-6
        vel = np.array([0.0, 0.0, -speed])
        return self._touch(which) + [0.0, 0.0, self._low], vel

    def _is_near(self, off: np.ndarray, t: float) -> bool:
        """Whether the gripper is near the vertical above the touch, the less so the higher."""
        near = _NEAR_M + _CONE * max(self._low, 0.0) + _PATIENCE_M_S * t
        return float(np.hypot(off[0], off[1])) < near

    def _grip(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        """Lowers the gripper onto the parcel, fast where the camera no longer sees the marker.

        In contact the vehicle cannot move aside, and would tip over.
        """
        off = self._off(0, estimates)
        blind = off[2] < _BLIND_M
        speed = _BLIND_M_S if blind else _DOWN_M_S if self._is_near(off, t) else 0.0
        pos, vel = self._down(0, -_PRESS_M, speed)
        self._autopilot.command_gripper(0, 0, self._low < _CLOSE_M)
        stands = self._low < 0.0 and blind and estimates.vel[0, 2] > -0.3 * _BLIND_M_S
        if self._touched_us < 0 and (stands or off[2] < _TOUCH_M or self._low <= -_PRESS_M):
            self._touched_us, self._parcel, self._hung = t_us, self._marker(0), self._aim - off
        return pos, vel, self._touched_us >= 0 and t_us - self._touched_us > _HOLD_US

    def _put_down(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        """Lowers the parcel to just above the ground, until it is where it should be."""
        off = self._off(1, estimates)
        pos, vel = self._down(1, _DROP_M, _DOWN_M_S if self._is_near(off, t) else 0.0)
        low = self._low <= _DROP_M and off[2] < 2.0 * _DROP_M
        still = float(np.hypot(*estimates.vel[0, :2])) < _STILL_M_S
        return pos, vel, low and still and self._is_near(off, t)

    def _off(self, which: int, estimates: Estimates) -> np.ndarray:
        """From where the gripper should be when it touches to where it is (3,), world [m]."""
        wanted = self._touch(which) + self._offset
        off: np.ndarray = estimates.pos[0] + self._reach(estimates) - wanted
        return off

    def _up(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        """Rises straight up."""
        pos, vel, seconds = self._glide(self._start + [0.0, 0.0, _LIFT_M], t)
        return pos, vel, t > seconds + _SETTLE_S

    def _home(self, t_us: int, t: float, estimates: Estimates) -> _Motion:
        pos, vel, seconds = self._glide(self.home[0] + [0.0, 0.0, self.height], t)
        return pos, vel, t > seconds + _SETTLE_S

    def _glide(self, end: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Set-points from the stage's start to an end, and the time that takes [s]."""
        way = end - self._start
        seconds = max(_PEAK * float(np.linalg.norm(way)) / self._speed, _SHORTEST_S)
        s, ds, _ = minimum_jerk(t / seconds)
        return self._start + s * way, ds / seconds * way, seconds

    def _touch(self, which: int) -> np.ndarray:
        """Where the vehicle has to be (3,) so that the gripper touches, or puts the parcel down."""
        if which == 0:
            return self._marker(0) - self._aim - self._offset
        top = self._marker(1) - self._beside * self._ahead + [0.0, 0.0, self._tall]
        return top - self._hung - self._offset

    def _is_missed(self, t_us: int) -> bool:
        """Whether the parcel is still seen where it was."""
        motion = self._trackers[0].motions[0]
        left = np.linalg.norm(motion.state[:3] - self._parcel) < 0.5 * _LIFT_M
        return bool(t_us - motion.seen_us < _FRESH_US and left)

    def _seen(self, which: int, t_us: int) -> bool:
        """Whether the parcel's (0) or the goal's (1) marker is in sight."""
        tracker = self._trackers[which]
        motion = tracker.motions[0]
        return motion.seen and tracker.detections >= _SEEN and t_us - motion.seen_us < _FRESH_US

    def _marker(self, which: int) -> np.ndarray:
        """Where the parcel's (0) or the goal's (1) marker was seen last (3,), world [m]."""
        return self._trackers[which].motions[0].state[:3].copy()

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns whether the parcel was put down."""
        return {"parcels": (int(self._stage in ("fold", "home", "done")), 1)}

    def report(self, folder: Path | str) -> dict[str, Any]:
        """Draws the flight, and keeps and prints its figures."""
        from .picture import draw, figures  # slow to import

        moves = [t_us * 1e-6 for t_us in self._moves]
        metrics = figures(Path(folder), moves, self._beside)
        metrics["tries"] = self._tries + 1
        run_folder.update_summary(Path(folder), **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")
        draw(Path(folder), moves, self._beside)
        return metrics


def _square(middle: np.ndarray) -> Iterator[np.ndarray]:
    """Corners (3,) of an expanding square."""
    corner = middle.copy()
    for k in range(_ROUNDS):
        corner = corner.copy()
        corner[k % 2] += (1.0 if k % 4 < 2 else -1.0) * (k // 2 + 1) * _ROUND_M
        yield corner
