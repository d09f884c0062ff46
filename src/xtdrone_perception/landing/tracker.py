"""Looks for markers in the images of a fleet's cameras, and says where they are in the world."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters
from xtdrone_core import FleetState, Reading, SensorBatch
from xtdrone_core.contracts import Flight, LandingTargetTaker, Observer, required
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorDescription
from xtdrone_dynamics.quaternion import to_matrix

from ..errors import PerceptionError
from ..markers import detect, pose
from ..markers.families import Marker
from .motion import Motion

_ATTITUDE_STDDEV = 0.01  # of the estimated attitude, for the covariance in the world [rad]
_PLACE_STDDEV = 0.01  # of what the pose of the vehicle changes from image to image [m]
_KEPT_US = 1_000_000  # for how long poses of the vehicles are kept [us]


class MarkerTracker(Memory, Observer):
    """Finds one landing target for each vehicle that has a camera, the one that looks down most.

    A snapshot of the simulation holds the motions of the targets, and a reset forgets them.

    Attributes:
        motions: Index of a vehicle -> motion of its target, in the world as the vehicle estimates
            it.
        images, detections: How many images were looked at, and in how many of them was a target.
    """

    MEMORY = ("motions", "_poses", "images", "detections")

    def __init__(
        self,
        flight: Flight,
        markers: Sequence[Marker],
        *,
        vehicles: Sequence[int] | None = None,
        library: str = detect.OPENCV,
        acceleration: float = 0.5,
        on_seen: Callable[[int, int], None] | None = None,
    ) -> None:
        """Looks at the cameras of a flight.

        Args:
            flight: The flight.
            markers: Those of a target, nested.
            vehicles: Those meant; None for all that have a camera.
            library: Of the detector, see detect.make_detector().
            acceleration: Of the targets, see Motion.
            on_seen: Called as on_seen(vehicle, t_us) when its target has been seen.

        Raises:
            PerceptionError: No vehicle, or one that is meant, has no camera.
        """
        self._flight, self._markers = flight, list(markers)
        self._detector = detect.make_detector(markers[0].family, library, len(markers))
        self._stddev = pose.CORNER_STDDEV[library]
        self._on_seen = on_seen or (lambda vehicle, t_us: None)
        names = [spec.name for spec in flight.scenario.vehicles]
        found = _cameras(flight.rendered_sensors())
        wanted = range(len(names)) if vehicles is None else vehicles
        cameras = {i: found[names[i]] for i in wanted if names[i] in found}
        self._cameras = {camera.key: (i, camera.parameters) for i, camera in cameras.items()}
        missing = [] if vehicles is None else [names[i] for i in vehicles if names[i] not in found]
        if missing or not self._cameras:
            raise PerceptionError(
                f"{', '.join(missing) or 'no vehicle'} has "
                f"{'no' if missing else 'a'} camera that sees markers: take a vehicle such as "
                "iris_downward"
            )
        self.motions = {i: Motion(acceleration) for i in cameras}
        self._poses: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # estimates by time
        self.period_us = math.gcd(*(camera.period_us for camera in cameras.values()))
        self.images = self.detections = 0

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the estimated poses at the times of images."""
        estimates = self._flight.autopilot.estimates()
        self._poses[t_us] = estimates.pos.copy(), estimates.quat.copy()
        for old in [time for time in self._poses if time < t_us - _KEPT_US]:
            del self._poses[old]
        flying = estimates.armed & ~estimates.landed
        self.wants_readings = bool(flying[list(self.motions)].any())

    def on_reading(self, reading: Reading) -> None:
        """Looks for the target in an image."""
        key = reading.vehicle, reading.sensor
        if key not in self._cameras:
            return
        i, camera = self._cameras[key]
        self.images += 1
        image = next(iter(reading.data.values()))
        found = pose.estimate(self._markers, self._detector.detect(image), camera, self._stddev)
        if found is None:
            return
        self.detections += 1
        estimates = self._flight.autopilot.estimates()
        here, quat = self._poses.get(reading.t_us, (estimates.pos, estimates.quat))
        pos, covariance = in_world(found, camera, here[i], quat[i])
        if self.motions[i].measure(reading.t_us, pos, covariance):
            self._on_seen(i, self._flight.t_us)

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Forgets the targets of these vehicles (mask (N,) bool); see Stateful."""
        for i, motion in self.motions.items():
            if mask is None or mask[i]:
                motion.forget()

    def write_counts(self, folder: Path) -> None:
        """Writes into a run's summary in how many images a target was seen."""
        run_folder.update_summary(
            Path(folder), marker_images=self.images, marker_detections=self.detections
        )


def landing_tracker(
    flight: Flight, markers: Sequence[Marker], library: str, vehicles: Sequence[int] | None = None
) -> MarkerTracker:
    """Returns a tracker whose targets go to the flight stack, as landing targets.

    Args:
        flight, markers, library, vehicles: As of MarkerTracker.

    Raises:
        PerceptionError: No vehicle, or one that is meant, has no camera.
        ScenarioError: The autopilot takes no landing target.
    """
    required(
        flight.autopilot,
        LandingTargetTaker,  # type: ignore[type-abstract]  # a protocol
        f"autopilot '{flight.scenario.autopilot}' takes no landing target here",
        "let embedded or px4 fly it",
    )

    def give_target(i: int, t_us: int) -> None:
        autopilot = flight.autopilot  # another one when the fleet has changed
        assert isinstance(autopilot, LandingTargetTaker)
        autopilot.take_landing_target(i, t_us, tracker.motions[i].at(t_us)[0])

    tracker = MarkerTracker(
        flight, markers, vehicles=vehicles, library=library, on_seen=give_target
    )
    return tracker


class _Camera(NamedTuple):
    """A vehicle's camera."""

    key: tuple[str, str]  # names of vehicle and sensor in its readings
    parameters: CameraParameters
    period_us: int  # between two images [us]
    up: float  # vertical part of the axis along which it looks


def _cameras(sensors: Sequence[SensorDescription]) -> dict[str, _Camera]:
    """Returns the camera of each vehicle's name that looks down most."""
    found: dict[str, _Camera] = {}
    for sensor in sensors:
        if sensor["kind"] != "camera":
            continue
        parameters = CameraParameters(**sensor["parameters"][0])
        key = sensor["vehicle"], sensor["sensor"]
        camera = _Camera(key, parameters, sensor["period_us"], to_matrix(*parameters.quat)[6])
        if key[0] not in found or camera.up < found[key[0]].up:
            found[key[0]] = camera
    return found


def in_world(
    found: pose.MarkerPose, camera: CameraParameters, pos: np.ndarray, quat: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns where a marker is in the world.

    Args:
        found: Its pose in the frame of a camera.
        camera: The camera, on its vehicle.
        pos: (3,) of the vehicle's centre of gravity, world [m].
        quat: (4,) xyzw, body to world.

    Returns:
        Its position (3,) [m] and covariance (3, 3), also by the attitude's uncertainty.
    """
    body = np.array(to_matrix(*quat)).reshape(3, 3)
    turn = body @ np.array(to_matrix(*camera.quat)).reshape(3, 3)
    away = turn @ found.pos
    distance = float(np.linalg.norm(away))
    along = away / distance
    aside = (_ATTITUDE_STDDEV * distance) ** 2 * (np.eye(3) - np.outer(along, along))
    covariance = turn @ found.covariance[:3, :3] @ turn.T + aside + _PLACE_STDDEV**2 * np.eye(3)
    return pos + body @ np.array(camera.pos) + away, covariance
