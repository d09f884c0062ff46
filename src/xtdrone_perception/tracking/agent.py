"""An Agent that follows a person or a car by camera."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import Option
from xtdrone_sim.world import world_of

from ..dataset.options import FIGURES
from ..dataset.places import Places
from ..detection.detector import Detector
from ..errors import PerceptionError
from .ground_tracks import KINDS, Track
from .identities import ByteTrack
from .pursuit import Pursuit, Sighting, Station
from .sight import camera_of, mount_of, standing
from .watching import Clock, ImageWatcher

IDEAL = "ideal"  # the detector that knows where actors are
TRAINED = "own"  # that of this project
_APART = 1.0  # a person is the nearest if the next one is so much farther [m]


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
            str, Option("ideal, which knows where actors are, own, or a file NAME.onnx")
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
        self._rate, self._image_us = rate, 0
        self.detector = None if detector == IDEAL else _detector(detector, target)
        self._tracker = ByteTrack(rate) if tracker == "bytetrack" else None
        self._begun_us = -1  # when it was at its height
        self._record: list[tuple[float, ...]] = []  # time, errors of distance and of the place

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
        kind = KINDS[self._target]
        self._pursuit = Pursuit(self._camera.camera, self._places, self.event, self._tracker, kind)
        self._mount = mount_of(flight, 0)
        self._image_us = self._camera.image_us(self._rate)
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
            eye = self._camera.eye(state, 0)
            found, _ = standing(self._actors, t_us * 1e-6, eye, self._camera.camera, self._places)
        else:
            found = self.detector(image).of_class(self.detector.names.index(self._target))
        believed = self._camera.believed(state, 0, estimates.pos[0], estimates.quat[0])
        self._pursuit.put(Sighting(t_us + self._latency_us, t_us, found, believed))

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to search."""
        self._begun_us = self._pursuit.lost_us = t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Follows; ends after the duration, or when the search was in vain."""
        pursuit, ground = self._pursuit, float(self.home[0, 2])
        pursuit.update(t_us)
        if pursuit.target is not None:
            self._note(t_us, pursuit.target)
        elif t_us - pursuit.lost_us > self._search_us:
            self.event(t_us, "gave_up")
            return True
        station = Station(self._distance, ground + self.height, ground)
        order = pursuit.order(t_us, estimates.pos[0], station)
        out.vel[0], out.yaw[0] = order.vel, order.yaw
        if self._mount is not None:
            self._mount.aim_camera(0, order.look)
        return t_us - self._begun_us >= self._duration_us

    def _note(self, t_us: int, known: Track) -> None:
        """Notes errors against the nearest actor, for the summary."""
        true = np.array([actor.pose(t_us * 1e-6).pos[:2] for actor in self._actors])
        apart = np.linalg.norm(true - known.motion.predicted(t_us)[:2], axis=1)
        nearest = int(apart.argmin())
        away = float(np.linalg.norm(self._flight.state.pos[0, :2] - true[nearest]))
        others = np.delete(apart, nearest)
        who = nearest if others.size == 0 or others.min() > apart[nearest] + _APART else -1
        self._record.append((t_us * 1e-6, away - self._distance, apart[nearest], who))

    def report(self, folder: Path | str) -> None:
        """Adds errors, losses and changes of identity to the summary, and prints them."""
        metrics = self.errors()
        run_folder.update_summary(Path(folder), **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")

    @property
    def record(self) -> np.ndarray:
        """(M, 4) time [s], errors of distance and place [m], number of the nearest actor or -1."""
        return np.array(self._record).reshape(-1, 4)

    def errors(self) -> dict[str, Any]:
        """Errors, losses and changes of identity, as plain data."""
        record = self.record
        pursuit = self._pursuit
        metrics: dict[str, Any] = {
            "follow_losses": pursuit.losses,
            "follow_found": pursuit.found_again,
        }
        who = record[:, 3]
        if len(record):
            metrics |= {
                "follow_hidden_s": round(pursuit.hidden_us * 1e-6, 2),
                "follow_s": round(len(record) * self.period_us * 1e-6, 1),
                "follow_distance_error_m": round(float(np.abs(record[:, 1]).mean()), 3),
                "follow_place_error_m": round(float(record[:, 2].mean()), 3),
                "follow_switches": int((np.diff(who[who >= 0]) != 0).sum()),
            }
        return metrics


def _detector(name: str, target: str) -> Detector:
    """The detector of a name.

    Raises:
        PerceptionError: There is none, or it does not know what is followed.
    """
    detector = Detector() if name == TRAINED else Detector(name)
    if target not in detector.names:
        raise PerceptionError(
            f"detector '{name}' knows {', '.join(detector.names)}, and no '{target}'"
        )
    return detector
