"""The Agent `chase`: a vehicle follows another one that its camera sees."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters
from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option

from ..dataset.options import VEHICLE
from ..detection.detector import Detector
from ..detection.found import Detections, nothing
from ..errors import PerceptionError
from ..landing.motion import Motion
from ..tracking.sight import Eye, box_of, camera_of, mount_of, vehicle_corners
from ..tracking.watching import Clock, ImageWatcher

IDEAL = "ideal"  # the detector that knows where the leader is
_LEADER, _CHASER = 0, 1
_SWEEP = 0.6  # yaw rate of the search [rad/s]
_GAIN = 0.8  # speed per distance from where it should be [1/s]
_MOST_SPEED = 8.0  # of set-points [m/s]
_LOST_US = 2_000_000  # not seen for so long, the leader is lost [us]
_WIDTH = 0.12  # share of a vehicle's width by which it seems wider or narrower as it turns
_PIXEL = 1.5  # standard deviation of a box's edges [pixels]
_ATTITUDE = 0.012  # of the camera's attitude [rad]
_PLACE = 0.1  # of its place [m]
_LEAST = 5.0  # width of a box that gives a distance [pixels]


class _Seen(NamedTuple):
    """What an image showed, until it is delivered."""

    due_us: int
    t_us: int
    found: Detections
    eye: Eye


class ChaseAgent(FlightAgent):
    """Vehicle 0 flies a circle, vehicle 1 follows it by its camera and keeps its distance.

    A box in an image gives the direction, its width and that of the leader the distance, and a
    Kalman filter position and velocity; nothing else is told. What is not seen for two seconds is
    lost: the vehicle hovers and looks around. Events: `target`, `lost`, `reacquired`, `gave_up`.
    """

    def __init__(
        self,
        n: int = 2,
        height: Annotated[
            float, Option("of both, above their start", unit="m", minimum=2.0, maximum=60.0)
        ] = 6.0,
        distance: Annotated[
            float, Option("from the leader", unit="m", minimum=2.0, maximum=30.0)
        ] = 6.0,
        radius: Annotated[
            float, Option("of the leader's circle", unit="m", minimum=2.0, maximum=500.0)
        ] = 12.0,
        flight_speed: Annotated[
            float, Option("of the leader", unit="m/s", minimum=0.2, maximum=8.0)
        ] = 2.0,
        duration: Annotated[
            float, Option("of the chase", unit="s", minimum=1.0, maximum=36_000.0)
        ] = 40.0,
        wide: Annotated[
            float,
            Option("width of the leader, mean over headings", unit="m", minimum=0.05, maximum=20.0),
        ] = 0.73,
        detector: Annotated[
            str, Option("ideal, or a file NAME.onnx that knows the class vehicle")
        ] = IDEAL,
        rate: Annotated[float, Option("images", unit="Hz", minimum=0.5, maximum=25.0)] = 10.0,
        latency: Annotated[
            float, Option("from an image to its boxes", unit="s", minimum=0.0, maximum=1.0)
        ] = 0.1,
        search: Annotated[
            float, Option("time after which it gives up", unit="s", minimum=1.0, maximum=600.0)
        ] = 20.0,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares two vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            PerceptionError: Not two vehicles, or the detector knows no vehicles.
        """
        super().__init__(n, height, on_event=on_event)
        if n != 2:
            raise PerceptionError(
                f"{n} vehicle{'s' * (n != 1)}: 'chase' flies two, as in --vehicles "
                "'iris@6,0; typhoon_h480'"
            )
        self._distance, self._radius, self._speed = distance, radius, flight_speed
        self._duration_us, self._search_us = round(1e6 * duration), round(1e6 * search)
        self._latency_us, self._wide, self._rate = round(1e6 * latency), wide, rate
        self.detector = None if detector == IDEAL else Detector(detector)
        if self.detector is not None and VEHICLE not in self.detector.names:
            raise PerceptionError(
                f"detector '{detector}' knows {', '.join(self.detector.names)}, and no '{VEHICLE}'"
            )
        self._motion = Motion(acceleration=1.0)
        self._pending: list[_Seen] = []
        self._begun_us, self._lost_us, self._image_us = -1, 0, 0
        self._following = self._was_found = False
        self._losses = 0
        self._record: list[tuple[float, float]] = []  # errors of distance and place

    def attach(self, flight: Flight) -> None:
        """Finds the camera of the vehicle that follows.

        Raises:
            PerceptionError: It has none.
        """
        self._flight = flight
        self._camera = camera_of(flight.fleet.vehicles[_CHASER])
        self._image_us = self._camera.image_us(self._rate)
        self._mount = mount_of(flight, _CHASER)
        flight.observers.append(
            Clock(self) if self.detector is None else ImageWatcher(self, flight, self._camera)
        )

    def wants_image(self, t_us: int) -> bool:
        """Whether it looks at an image of this time: at none before the height."""
        return self._begun_us >= 0 and t_us % self._image_us == 0

    def look(self, t_us: int, image: np.ndarray) -> None:
        """Takes an image; an ideal detector sees without."""
        state, estimates = self._flight.state, self._flight.autopilot.estimates()
        if self.detector is None:
            points = vehicle_corners(self._flight.fleet.vehicles[_LEADER], state, _LEADER)
            box = box_of(points, self._camera.eye(state, _CHASER), self._camera.camera)
            found = nothing() if box is None else Detections(box[None], np.ones(1), np.zeros(1))
        else:
            found = self.detector(image).of_class(self.detector.names.index(VEHICLE))
        eye = self._camera.believed(state, _CHASER, estimates.pos[_CHASER], estimates.quat[_CHASER])
        self._pending.append(_Seen(t_us + self._latency_us, t_us, found, eye))

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to search."""
        self._begun_us = self._lost_us = t_us
        self._centre = estimates.pos[_LEADER] + [0.0, self._radius, 0.0]

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Leads and follows; ends after the duration, or when the search was in vain."""
        self._lead(t_us, out)
        while self._pending and self._pending[0].due_us <= t_us:
            self._take(self._pending.pop(0))
        seen = self._motion.seen and t_us - self._motion.seen_us < _LOST_US
        if seen != self._following:
            self._tell(t_us, seen)
        pos = estimates.pos[_CHASER]
        if seen:
            self._chase(t_us, pos, out)
        else:
            angle = _SWEEP * (t_us - self._lost_us) * 1e-6
            ahead = np.array([math.cos(angle), math.sin(angle), 0.0])
            out.vel[_CHASER] = 0.0
            self._aim(pos, pos + self._distance * ahead, out)
            if t_us - self._lost_us > self._search_us:
                self.event(t_us, "gave_up")
                return True
        return t_us - self._begun_us >= self._duration_us

    def _lead(self, t_us: int, out: SetPoints) -> None:
        """The leader's circle, whose speed grows over three seconds."""
        t = (t_us - self._begun_us) * 1e-6
        way = self._speed * (t - 1.5 if t > 3.0 else t * t / 6.0)
        speed = self._speed * min(1.0, t / 3.0)
        angle = way / self._radius
        out.pos[_LEADER] = self._centre + self._radius * np.array(
            [math.sin(angle), -math.cos(angle), 0.0]
        )
        out.vel[_LEADER] = speed * np.array([math.cos(angle), math.sin(angle), 0.0])

    def _take(self, seen: _Seen) -> None:
        """Gives the surest box that is wide enough to the filter."""
        for box in seen.found.boxes:
            measured = place_of(box, seen.eye, self._camera.camera, self._wide)
            if measured is not None and self._motion.measure(seen.t_us, *measured):
                return

    def _tell(self, t_us: int, seen: bool) -> None:
        self._following = seen
        if not seen:
            self._losses += 1
            self._lost_us = t_us
            self.event(t_us, "lost")
            return
        east, north, up = (round(float(x), 2) for x in self._motion.at(t_us)[0])
        self.event(
            t_us, "reacquired" if self._was_found else "target", east=east, north=north, up=up
        )
        self._was_found = True

    def _chase(self, t_us: int, pos: np.ndarray, out: SetPoints) -> None:
        place, vel = self._motion.at(t_us)
        away = pos - place
        away[2] = 0.0
        side = away / max(float(np.linalg.norm(away)), 0.1)
        wish = vel + _GAIN * (place + self._distance * side - pos)
        out.vel[_CHASER] = wish * min(1.0, _MOST_SPEED / max(float(np.linalg.norm(wish)), 1e-6))
        self._aim(pos, place, out)
        true = self._flight.state.pos
        apart = float(np.linalg.norm(true[_CHASER] - true[_LEADER]))
        error = float(np.linalg.norm(place - true[_LEADER]))
        self._record.append((abs(apart - self._distance), error))

    def _aim(self, pos: np.ndarray, point: np.ndarray, out: SetPoints) -> None:
        ahead = point - pos
        out.yaw[_CHASER] = math.atan2(ahead[1], ahead[0])
        if self._mount is not None:
            self._mount.aim_camera(_CHASER, point)

    def report(self, folder: Path) -> None:
        """Adds errors and losses to the summary, and prints them."""
        metrics = self.errors()
        run_folder.update_summary(folder, **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")

    def errors(self) -> dict[str, Any]:
        """Mean errors of distance and place, losses and duration, as plain data."""
        metrics: dict[str, Any] = {"chase_losses": self._losses}
        if self._record:
            distance, place = np.mean(self._record, axis=0)
            metrics |= {
                "chase_s": round(len(self._record) * self.period_us * 1e-6, 1),
                "chase_distance_error_m": round(float(distance), 3),
                "chase_place_error_m": round(float(place), 3),
            }
        return metrics


def place_of(
    box: np.ndarray, eye: Eye, camera: CameraParameters, wide: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Where something of a known width is: place (3,) [m] and covariance (3, 3) [m^2].

    Args:
        box: (4,) left, top, right, bottom [pixels].
        eye: Where the camera is thought to be.
        camera: Its parameters; its distortion is not taken into account.
        wide: The width [m].

    Returns:
        None for a box that is too small, or cut off by the edge of the image.
    """
    left, top, right, bottom = map(float, box)
    if right - left < _LEAST or left < 1.0 or right > camera.width - 1.0:
        return None
    y = -(0.5 * (left + right) - 0.5 - camera.cx) / camera.fx
    z = -(0.5 * (top + bottom) - 0.5 - camera.cy) / camera.fy
    # A width across the line of sight looks wider beside the axis of a pinhole.
    depth = wide * math.sqrt(1.0 + y * y) * camera.fx / (right - left)
    away = eye.axes @ (depth * np.array([1.0, y, z]))
    distance = float(np.linalg.norm(away))
    ray = away / distance
    along = distance * math.hypot(_WIDTH, _PIXEL / (right - left))
    aside = distance * math.hypot(_PIXEL / camera.fx, _ATTITUDE)
    outer = np.outer(ray, ray)
    spread = along**2 * outer + aside**2 * (np.eye(3) - outer) + _PLACE**2 * np.eye(3)
    return eye.pos + away, spread
