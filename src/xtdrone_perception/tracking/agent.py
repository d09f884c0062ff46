"""An Agent that follows a person or a car by camera."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from xtdrone_core import Estimates, Reading, SetPoints
from xtdrone_core.contracts import AimsCameras, Flight, Observer
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option
from xtdrone_sim.world import world_of

from ..dataset.options import FIGURES
from ..dataset.places import Places
from ..detection.detector import Detector
from ..detection.found import Detections
from ..errors import PerceptionError
from .ground_filter import GroundFilter
from .identities import ByteTrack
from .sight import Eye, MountedCamera, camera_of, place_of, standing

IDEAL = "ideal"  # the detector that knows where actors are
_LOST_SPREAD = 4.0  # deviation of the place from which it counts as lost [m]
_SWEEP = 0.6  # yaw rate of the search [rad/s]
_CHEST = 0.9  # height of what the camera looks at [m]
_MOST_SPEED = 8.0  # of the vehicle's set-points [m/s]
_GAIN = 0.8  # speed per distance from where it should be [1/s]
_CONFIRMED = 3  # sightings after which a target is followed


class _Sighting(NamedTuple):
    """What an image showed, until it is delivered."""

    due_us: int
    t_us: int
    found: Detections
    eye: Eye  # where the camera was thought to be


class FollowAgent(FlightAgent):
    """Follows a person or a car that its camera sees, and keeps its distance.

    A detector finds boxes in the camera's images; the foot of a box, the vehicle's estimated pose
    and the terrain give a place, and a Kalman filter position and velocity. The gimbal, or the
    heading of a vehicle without one, keeps the target in view. A target that is hidden is expected
    where it was going; when that has become vague, it is lost, and the vehicle hovers and searches
    all around. Events: `target` (where it was found), `lost`, `reacquired`, `gave_up`.
    """

    def __init__(
        self,
        n: int = 1,
        target: Annotated[str, Option("what is followed", choices=FIGURES)] = "person",
        height: Annotated[
            float, Option("above the start", unit="m", minimum=2.0, maximum=60.0)
        ] = 8.0,
        distance: Annotated[
            float, Option("from the target, level", unit="m", minimum=2.0, maximum=60.0)
        ] = 9.0,
        duration: Annotated[
            float, Option("of following", unit="s", minimum=1.0, maximum=36_000.0)
        ] = 60.0,
        detector: Annotated[
            str, Option("ideal, which knows where actors are, or a file NAME.onnx")
        ] = IDEAL,
        rate: Annotated[float, Option("images", unit="Hz", minimum=0.5, maximum=25.0)] = 5.0,
        latency: Annotated[
            float, Option("from an image to its boxes", unit="s", minimum=0.0, maximum=1.0)
        ] = 0.1,
        search: Annotated[
            float, Option("time after which it gives up", unit="s", minimum=1.0, maximum=600.0)
        ] = 20.0,
        tracker: Annotated[
            str, Option("gives identities beside the filter's gate", choices=("none", "bytetrack"))
        ] = "none",
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            PerceptionError: Several vehicles, or the detector cannot be loaded.
        """
        super().__init__(n, height, on_event=on_event)
        if n != 1:
            raise PerceptionError(f"{n} vehicles: 'follow' flies one")
        self._target, self._distance = target, distance
        self._duration_us, self._search_us = round(1e6 * duration), round(1e6 * search)
        self._latency_us = round(1e6 * latency)
        self.image_us = 4000 * max(1, round(250.0 / rate))
        self.detector = None if detector == IDEAL else Detector(detector)
        if self.detector is not None and target not in self.detector.names:
            raise PerceptionError(
                f"detector '{detector}' knows {', '.join(self.detector.names)}, and no '{target}'"
            )
        self._tracker = ByteTrack(rate) if tracker == "bytetrack" else None
        self._identity = -1
        self._pending: list[_Sighting] = []
        self._filter: GroundFilter | None = None
        self._sightings = 0
        self._seen_us = self._lost_us = 0
        self._begun_us = -1  # when it was at its height
        self._was_found = False
        self._record: list[tuple[float, ...]] = []  # time, errors of distance and of the place
        self._losses = self._reacquired = 0
        self._hidden_us = 0  # longest time between two sightings of a target that was not lost

    def attach(self, flight: Flight) -> None:
        """Finds the camera and, for the ideal detector, the actors.

        Raises:
            PerceptionError: The vehicle has no camera, or the world none of what is followed.
        """
        self._flight = flight
        self._camera = camera_of(flight.fleet.vehicles[0])
        world = world_of(flight.scenario)
        self._places = Places(world)
        self._actors = [actor for actor in world.actors if actor.figure == self._target]
        if not self._actors:
            raise PerceptionError(
                f"world '{world.name}' has no {self._target} to follow: give --world street, or "
                "another with actors"
            )
        self._turns = isinstance(flight.autopilot, AimsCameras) and any(
            getattr(actuator, "name", "") == "gimbal_yaw"
            for actuator in flight.fleet.vehicles[0].actuators
        )
        flight.observers.append(_Watcher(self, flight, self._camera))

    def look(self, t_us: int, image: np.ndarray | None) -> None:
        """Takes an image, or what an ideal detector sees without one; none before the height."""
        if self._begun_us < 0:
            return
        state, estimates = self._flight.state, self._flight.autopilot.estimates()
        if image is None:
            eye = self._camera.eye(state, 0)
            found, _ = standing(self._actors, t_us * 1e-6, eye, self._camera.camera, self._places)
        else:
            assert self.detector is not None
            found = self.detector(image).of_class(self.detector.names.index(self._target))
        believed = self._camera.believed(state, 0, estimates.pos[0], estimates.quat[0])
        self._pending.append(_Sighting(t_us + self._latency_us, t_us, found, believed))

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to search."""
        self._begun_us = self._lost_us = t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Follows; ends after the duration, or when the search was in vain."""
        while self._pending and self._pending[0].due_us <= t_us:
            self._take(self._pending.pop(0))
        known = self._filter
        if known is not None and self._is_lost(t_us, known):
            self._lose(t_us)
            known = None
        if known is None or self._sightings < _CONFIRMED:
            self._sweep(t_us, estimates, out)
            if t_us - self._lost_us > self._search_us:
                self.event(t_us, "gave_up")
                return True
        else:
            self._chase(t_us, estimates, known, out)
            self._note(t_us, known)
        return t_us - self._begun_us >= self._duration_us

    def _take(self, sighting: _Sighting) -> None:
        """Puts boxes on the ground, and the target's into the filter."""
        camera, places = self._camera.camera, self._places
        boxes = sighting.found.boxes
        identities = np.full(len(boxes), -1)
        if self._tracker is not None:
            tracked = self._tracker.update(sighting.found)
            boxes, identities = tracked.boxes, tracked.identities
        if self._filter is not None:
            self._filter.predict(sighting.t_us)
        best, least = None, math.inf
        for box, identity in zip(boxes, identities):
            if box[3] > camera.height - 2:  # its foot is outside the image
                continue
            measured = place_of(box, sighting.eye, camera, places)
            if measured is None:
                continue
            if self._filter is None:
                cost = float(np.linalg.norm(measured[0] - sighting.eye.pos[:2]))
            elif self._filter.accepts(*measured):
                cost = self._filter.surprise(*measured)
                if identity >= 0 and identity == self._identity:
                    cost *= 0.1
            else:
                continue
            if cost < least:
                best, least = (measured, int(identity)), cost
        if best is None:
            return
        (place, spread), self._identity = best
        if self._filter is None:
            self._filter, self._sightings = GroundFilter(sighting.t_us, place, spread), 1
        else:
            self._filter.update(place, spread)
            self._sightings += 1
        if self._sightings > 1:
            self._hidden_us = max(self._hidden_us, sighting.t_us - self._seen_us)
        self._seen_us = sighting.t_us
        if self._sightings == _CONFIRMED:
            name = "reacquired" if self._was_found else "target"
            self._reacquired += self._was_found
            self._was_found = True
            self.event(sighting.due_us, name, east=float(place[0]), north=float(place[1]))

    def _is_lost(self, t_us: int, known: GroundFilter) -> bool:
        ahead = GroundFilter(known.t_us, known.x[:2], known.covariance[:2, :2])
        ahead.x, ahead.covariance = known.x.copy(), known.covariance.copy()
        ahead.predict(t_us)
        return ahead.deviation > _LOST_SPREAD and t_us - self._seen_us > 1_000_000

    def _lose(self, t_us: int) -> None:
        if self._sightings >= _CONFIRMED:
            self._losses += 1
            self._lost_us = t_us
            self.event(t_us, "lost")
        self._filter, self._sightings, self._identity = None, 0, -1

    def _sweep(self, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        """Hovers and looks all around."""
        out.vel[0] = 0.0
        out.vel[0, 2] = _GAIN * (self.home[0, 2] + self.height - estimates.pos[0, 2])
        angle = _SWEEP * (t_us - self._lost_us) * 1e-6
        heading = np.array([math.cos(angle), math.sin(angle), 0.0])
        ahead = estimates.pos[0] + self._distance * heading
        self._aim(estimates, np.array([ahead[0], ahead[1], self.home[0, 2] + _CHEST]), out)

    def _chase(self, t_us: int, estimates: Estimates, known: GroundFilter, out: SetPoints) -> None:
        east, north, *vel = known.predicted(t_us)
        place = np.array([east, north])
        apart = estimates.pos[0, :2] - place
        away = float(np.linalg.norm(apart))
        side = apart / away if away > 0.1 else np.array([-1.0, 0.0])
        wish = np.array(vel) + _GAIN * (place + self._distance * side - estimates.pos[0, :2])
        speed = float(np.linalg.norm(wish))
        out.vel[0, :2] = wish * min(1.0, _MOST_SPEED / max(speed, 1e-6))
        out.vel[0, 2] = _GAIN * (self.home[0, 2] + self.height - estimates.pos[0, 2])
        self._aim(estimates, np.array([east, north, self.home[0, 2] + _CHEST]), out)

    def _aim(self, estimates: Estimates, point: np.ndarray, out: SetPoints) -> None:
        """Points the camera: by its gimbal, and a vehicle without one by its heading."""
        ahead = point - estimates.pos[0]
        out.yaw[0] = math.atan2(ahead[1], ahead[0])
        if self._turns:
            cast(AimsCameras, self._flight.autopilot).aim_camera(0, point)

    def _note(self, t_us: int, known: GroundFilter) -> None:
        """Notes errors against the nearest actor, for the summary."""
        true = np.array([actor.pose(t_us * 1e-6).pos[:2] for actor in self._actors])
        apart = np.linalg.norm(true - known.predicted(t_us)[:2], axis=1)
        nearest = int(apart.argmin())
        away = float(np.linalg.norm(self._flight.state.pos[0, :2] - true[nearest]))
        self._record.append((t_us * 1e-6, away - self._distance, apart[nearest], nearest))

    def report(self, folder: Path | str) -> None:
        """Adds errors, losses and changes of identity to the summary, and prints them."""
        metrics = self.errors()
        run_folder.update_summary(Path(folder), **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")

    def errors(self) -> dict[str, Any]:
        """Errors, losses and changes of identity, as plain data."""
        record = np.array(self._record).reshape(-1, 4)
        metrics: dict[str, Any] = {"follow_losses": self._losses, "follow_found": self._reacquired}
        if len(record):
            metrics |= {
                "follow_hidden_s": round(self._hidden_us * 1e-6, 2),
                "follow_s": round(len(record) * self.period_us * 1e-6, 1),
                "follow_distance_error_m": round(float(np.abs(record[:, 1]).mean()), 3),
                "follow_place_error_m": round(float(record[:, 2].mean()), 3),
                "follow_switches": int((np.diff(record[:, 3]) != 0).sum()),
            }
        return metrics


class _Watcher(Observer):
    """Gives the Agent images at its rate; the camera works at no other time."""

    def __init__(self, agent: FollowAgent, flight: Flight, camera: MountedCamera) -> None:
        self._agent, self._flight, self._camera = agent, flight, camera

    @property
    def wants_readings(self) -> bool:  # type: ignore[override]
        """Whether an image is due now."""
        return self._agent.detector is not None and self._due(self._flight.t_us)

    def _due(self, t_us: int) -> bool:
        return t_us % self._agent.image_us == 0

    def on_step(self, t_us: int, state: Any, sensors: Any) -> None:  # as Observer's
        """Lets the ideal detector look."""
        if self._agent.detector is None and self._due(t_us):
            self._agent.look(t_us, None)

    def on_reading(self, reading: Reading) -> None:
        """Passes an image on."""
        if reading.sensor == self._camera.sensor and self._agent.detector is not None:
            image = next(iter(reading.data.values()))
            self._agent.look(reading.t_us, image)
