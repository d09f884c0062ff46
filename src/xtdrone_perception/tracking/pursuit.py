"""Follows a target that boxes in images show: from boxes to set-points of a vehicle.

Knows neither simulator nor ROS; an Agent and a node use it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters

from ..detection.found import Detections
from .ground_tracks import PERSON, GroundTracks, Kind, Sight, Track
from .identities import ByteTrack
from .sight import Eye, Ground, place_of

_CONFIRMED = 3  # sightings after which a target is followed
_SWEEP = 0.6  # yaw rate of the search [rad/s]
_CHEST = 0.9  # height of what the camera looks at [m]
_MOST_SPEED = 8.0  # of the vehicle's set-points [m/s]
_GAIN = 0.8  # speed per distance from where it should be [1/s]

Tell = Callable[..., object]  # (t_us, event, **values), as FlightAgent.event


class Sighting(NamedTuple):
    """What an image showed, until it is delivered."""

    due_us: int
    t_us: int
    found: Detections  # of the class that is followed
    eye: Eye  # where the camera was thought to be


@dataclass(frozen=True)
class Station:
    """From where a vehicle looks at its target."""

    distance: float  # level, from the target [m]
    height: float  # of the vehicle, world [m]
    ground: float  # where it took off [m]


class Order(NamedTuple):
    """What the vehicle shall do."""

    vel: np.ndarray  # (3,) world [m/s]
    yaw: float  # counter-clockwise from east [rad]
    look: np.ndarray  # (3,) what the camera looks at, world [m]


class Pursuit:
    """Chooses a target among several, follows it, and searches for it when it is lost.

    Attributes:
        target: The one that is followed, or None while it searches.
        losses, found_again: How often the target was lost, and found again.
        lost_us: Since when it searches.
        hidden_us: Longest time between two sightings of a target that was not lost.
    """

    def __init__(
        self,
        camera: CameraParameters,
        ground: Ground,
        tell: Tell,
        tracker: ByteTrack | None = None,
        kind: Kind = PERSON,
    ) -> None:
        """Waits for sightings.

        Args:
            camera: That of the boxes.
            ground: On which targets stand.
            tell: Called at `target`, `lost` and `reacquired`.
            tracker: Identities of boxes, which are preferred to the likeliest place.
            kind: How targets move, and how large they are.
        """
        self._camera, self._ground, self._tell, self._tracker = camera, ground, tell, tracker
        self._tracks, self._kind = GroundTracks(kind), kind
        self._pending: list[Sighting] = []
        self.target: Track | None = None
        self.losses = self.found_again = self.lost_us = self.hidden_us = 0
        self._was_found = False

    def put(self, sighting: Sighting) -> None:
        """Takes what an image showed; it counts from its due time on."""
        self._pending.append(sighting)

    def update(self, t_us: int) -> None:
        """Takes the sightings that are due, and says whether the target is found or lost."""
        while self._pending and self._pending[0].due_us <= t_us:
            self._take(self._pending.pop(0))
        if self.target is not None and self.target.is_lost(t_us):
            self.losses += 1
            self.target, self.lost_us = None, t_us
            self._tell(t_us, "lost")
        self._tracks.forget(t_us)

    def order(self, t_us: int, pos: np.ndarray, station: Station) -> Order:
        """What the vehicle at a place (3,) shall do: keep its station, or hover and look around."""
        climb = _GAIN * (station.height - pos[2])
        chest = station.ground + _CHEST
        if self.target is None:
            angle = _SWEEP * (t_us - self.lost_us) * 1e-6
            ahead = pos[:2] + station.distance * np.array([math.cos(angle), math.sin(angle)])
            return _order(np.array([0.0, 0.0, climb]), pos, np.array([*ahead, chest]))
        east, north, *vel = self.target.motion.predicted(t_us)
        place = np.array([east, north])
        apart = pos[:2] - place
        away = float(np.linalg.norm(apart))
        side = apart / away if away > 0.1 else np.array([-1.0, 0.0])
        wish = np.array(vel) + _GAIN * (place + station.distance * side - pos[:2])
        wish *= min(1.0, _MOST_SPEED / max(float(np.linalg.norm(wish)), 1e-6))
        return _order(np.array([*wish, climb]), pos, np.array([east, north, chest]))

    def _take(self, sighting: Sighting) -> None:
        """Puts boxes on the ground, and chooses a target."""
        boxes = sighting.found.boxes
        identities = np.full(len(boxes), -1)
        if self._tracker is not None:
            tracked = self._tracker.update(sighting.found)
            boxes, identities = tracked.boxes, tracked.identities
        sights = []
        for box, identity in zip(boxes, identities):
            if box[3] > self._camera.height - 2:  # its foot is outside the image
                continue
            measured = place_of(box, sighting.eye, self._camera, self._ground)
            if measured is not None:
                place, spread = measured
                spread = spread + self._kind.uneven**2 * np.eye(2)
                sights.append(Sight(self._middle(place, sighting.eye), spread, int(identity)))
        self._tracks.update(sighting.t_us, sights)
        if self.target is not None:
            self._go_on(sighting.t_us, self.target)
        if self.target is None:
            self._choose(sighting)
        else:
            self.hidden_us = max(self.hidden_us, self.target.hidden_us)

    def _middle(self, foot: np.ndarray, eye: Eye) -> np.ndarray:
        """Where the middle of a target is of which the nearest point on the ground is known."""
        view = foot - eye.pos[:2]
        middle: np.ndarray = foot + self._kind.radius * view / max(float(np.hypot(*view)), 1e-6)
        return middle

    def _go_on(self, t_us: int, target: Track) -> None:
        """Follows the track that goes on where that of the target ended."""
        heir = self._tracks.heir(t_us, target, _CONFIRMED)
        if heir is not None:
            heir.hidden_us = max(target.hidden_us, heir.begun_us - target.seen_us)
            self._tracks.remove(target)
            self.target = heir

    def _choose(self, sighting: Sighting) -> None:
        """Follows the nearest of the targets that were seen a few times."""
        sure = [track for track in self._tracks.tracks if track.sightings >= _CONFIRMED]
        if not sure:
            return
        eye = sighting.eye.pos[:2]
        self.target = min(sure, key=lambda track: float(np.linalg.norm(track.motion.x[:2] - eye)))
        east, north = map(float, self.target.motion.x[:2])
        self.found_again += self._was_found
        name = "reacquired" if self._was_found else "target"
        self._was_found = True
        self._tell(sighting.due_us, name, east=east, north=north)


def _order(vel: np.ndarray, pos: np.ndarray, look: np.ndarray) -> Order:
    ahead = look - pos
    return Order(vel, math.atan2(ahead[1], ahead[0]), look)
