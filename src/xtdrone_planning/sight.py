"""What a vehicle sees with its depth cameras and lidars, put into a voxel map."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from sensor_models.rendered.lidar import LidarParameters, lidar_rays
from xtdrone_core import Reading
from xtdrone_core.contracts import Flight, Observer
from xtdrone_core.state import Estimates, SensorDescription

from .errors import PlanningError
from .maps.moving import Tracks
from .maps.voxel_kernels import UNKNOWN
from .maps.voxel_map import VoxelMap

KINDS = ("depth", "lidar", "cloud")  # of readings that become a map
OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])  # to x forward, y left
_OTHER = 0.9  # what is so near to where another vehicle should be is that vehicle [m]
_KEPT_US = 1_000_000  # poses are kept for so long [us]
_FREE = -1  # log-odds of what is known to be free, even if it was just hit once
_COLUMNS = 160  # so many columns of a depth image are looked at for what moves


class Sight(Observer):
    """Takes a vehicle's depth images and scans, and puts them into a map by its estimates.

    A reading counts from where the vehicle was, by its own estimate, when it was taken.

    Attributes:
        newest_us: When the newest reading was taken [us]; -1 before the first.
        count: Readings so far.
        covered: Whether no reading arrives, as of a lens that is covered.
        tracks: What is told of points between two heights [m], to find what moves; None for nobody.
        others: Returns where other vehicles are (M, 3) [m] at a time [us]; what is seen of them is
            left out of the map, in which they would stay behind.
    """

    wants_readings = True

    @classmethod
    def of_flight(cls, flight: Flight, vehicle: int, voxels: VoxelMap) -> "Sight":
        """Sees by the sensors of a vehicle of a simulation; errors as of the constructor."""
        name = flight.scenario.vehicles[vehicle].name
        return cls(name, flight.rendered_sensors(), voxels, vehicle)

    def __init__(
        self, name: str, sensors: Sequence[SensorDescription], voxels: VoxelMap, vehicle: int = 0
    ) -> None:
        """Finds the sensors of a vehicle.

        Args:
            name: Of the vehicle.
            sensors: Descriptions of sensors, of others too.
            voxels: The map to fill.
            vehicle: Index of the vehicle in the fleet.

        Raises:
            PlanningError: It has neither a depth camera nor a lidar.
        """
        own = [
            sensor for sensor in sensors if sensor["vehicle"] == name and sensor["kind"] in KINDS
        ]
        if not own:
            raise PlanningError(
                f"'{name}' has neither a depth camera nor a lidar to see obstacles with: give "
                "--vehicle iris_depth"
            )
        self._vehicle, self._name, self._voxels = vehicle, name, voxels
        self._sensors = {sensor["sensor"]: sensor for sensor in own}
        self._rays: dict[str, np.ndarray] = {}
        self._poses: deque[tuple[int, np.ndarray, np.ndarray]] = deque()
        self._waiting: list[Reading] = []
        self._seen: list[np.ndarray] = []  # (M, 4) points of these, and whether they are new there
        self.newest_us, self.count, self.covered = -1, 0, False
        self.tracks: tuple[Tracks, float, float] | None = None
        self.others: Callable[[int], np.ndarray] = lambda t_us: np.zeros((0, 3))

    @property
    def widest(self) -> tuple[float, float]:
        """Reach [m] and half of the horizontal angle [rad] of the sensor that sees most widely."""
        views = []
        for sensor in self._sensors.values():
            own = sensor["parameters"][0]
            if sensor["kind"] == "depth":
                views.append((own["far"], math.atan(0.5 * own["width"] / own["fx"])))
            else:
                views.append((own["maximum"], math.pi))
        return max(views, key=lambda view: view[1])

    def on_reading(self, reading: Reading) -> None:
        """Keeps a reading until take()."""
        mine = reading.vehicle == self._name and reading.sensor in self._sensors
        if mine and not self.covered:
            self._waiting.append(reading)

    def take(self, t_us: int, estimates: Estimates) -> int:
        """Puts what has arrived into the map; returns the number of readings.

        Args:
            t_us: Simulated time [us].
            estimates: Where the fleet is by its own estimate now.
        """
        i = self._vehicle
        self._poses.append((t_us, estimates.pos[i].copy(), estimates.quat[i].copy()))
        while self._poses[0][0] < t_us - _KEPT_US:
            self._poses.popleft()
        taken, self._waiting = self._waiting, []
        self._seen = []
        for reading in taken:
            pos, quat = self._pose(reading.t_us)
            matrix = Rotation.from_quat(quat).as_matrix()
            sensor = self._sensors[reading.sensor]
            insert = {
                "depth": self._insert_depth,
                "lidar": self._insert_scan,
                "cloud": self._insert_cloud,
            }[reading.kind]
            insert(reading, sensor, pos, matrix)
            self.newest_us = max(self.newest_us, reading.t_us)
        if self.tracks is not None and self._seen:
            seen = np.concatenate(self._seen)
            self.tracks[0].see(self.newest_us, seen[:, :3], estimates.pos[i], seen[:, 3])
        self.count += len(taken)
        return len(taken)

    def _note(self, points: np.ndarray) -> None:
        """Notes which points (M, 3) something that moves may have, and whether it was free there.

        Before they are put into the map.
        """
        if self.tracks is None:
            return
        _, low, high = self.tracks
        points = points[(points[:, 2] > low) & (points[:, 2] < high)]
        values = self._voxels.at(points)
        fresh = (values <= _FREE) & (values != UNKNOWN)
        self._seen.append(np.column_stack([points, fresh]))

    def _pose(self, t_us: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the estimated pose nearest to a time."""
        _, pos, quat = min(self._poses, key=lambda pose: abs(pose[0] - t_us))
        return pos, quat

    def _insert_depth(
        self, reading: Reading, sensor: SensorDescription, pos: np.ndarray, matrix: np.ndarray
    ) -> None:
        """Puts a depth image into the map."""
        camera = sensor["parameters"][0]
        place, turn = _mounted(camera, pos, matrix)
        lens = [camera[key] for key in ("fx", "fy", "cx", "cy", "near", "far")]
        axes = turn @ OPTICAL
        others = (self.others(reading.t_us) - place) @ axes
        depth = without(reading.data["depth"], lens, others)
        self._note(place + _points(depth, lens) @ axes.T)
        self._voxels.insert_depth(depth, lens, place, axes)

    def _insert_scan(
        self, reading: Reading, sensor: SensorDescription, pos: np.ndarray, matrix: np.ndarray
    ) -> None:
        """Puts a scan into the map."""
        lidar = sensor["parameters"][0]
        place, turn = _mounted(lidar, pos, matrix)
        if reading.sensor not in self._rays:
            self._rays[reading.sensor] = lidar_rays(LidarParameters(**lidar)).reshape(-1, 3)
        rays = self._rays[reading.sensor] @ turn.T
        ranges = np.asarray(reading.data["ranges"], dtype=float).ravel()
        returned = np.isfinite(ranges) & (ranges < lidar["maximum"])
        for other in self.others(reading.t_us) - place:
            with np.errstate(invalid="ignore"):
                near = ((rays * ranges[:, None] - other) ** 2).sum(axis=1) < _OTHER**2
            ranges, returned = np.where(near, np.nan, ranges), returned & ~near
        length = np.where(returned, ranges, np.where(np.isnan(ranges), 0.0, lidar["maximum"]))
        ends = place + rays * length[:, None]
        self._note(ends[returned])
        self._voxels.insert_rays(place[None], ends, returned)

    def _insert_cloud(
        self, reading: Reading, sensor: SensorDescription, pos: np.ndarray, matrix: np.ndarray
    ) -> None:
        """Puts points of a lidar into the map, those beyond its range as free ways."""
        lidar = sensor["parameters"][0]
        place, turn = _mounted(lidar, pos, matrix)
        rays = np.asarray(reading.data["points"], dtype=float) @ turn.T
        length = np.sqrt((rays**2).sum(axis=1))
        counts = length >= lidar["minimum"]
        for other in self.others(reading.t_us) - place:
            counts &= ((rays - other) ** 2).sum(axis=1) > _OTHER**2
        rays, length = rays[counts], length[counts]
        returned = length < lidar["maximum"]
        part = np.minimum(1.0, lidar["maximum"] / np.maximum(length, 1e-9))
        ends = place + rays * part[:, None]
        self._note(ends[returned])
        self._voxels.insert_rays(place[None], ends, returned)


def _points(depth: np.ndarray, lens: list[float]) -> np.ndarray:
    """Returns the points (M, 3) of some pixels of a depth image, in the optical frame [m]."""
    every = max(depth.shape[1] // _COLUMNS, 1)
    z = np.asarray(depth[::every, ::every], dtype=float)
    v, u = np.mgrid[0 : z.shape[0], 0 : z.shape[1]] * every
    rays = np.stack([(u - lens[2]) / lens[0], (v - lens[3]) / lens[1], np.ones(z.shape)], axis=-1)
    seen = z < lens[5]
    return np.asarray(rays[seen] * z[seen][:, None])


def without(depth: np.ndarray, lens: Sequence[float], others: np.ndarray) -> np.ndarray:
    """Returns a depth image (H, W) in which what is close to some places is NaN, not known.

    Args:
        depth: (H, W) along the optical axis [m].
        lens: fx, fy, cx, cy [pixels], near, far [m].
        others: (M, 3) places in the optical frame [m].
    """
    fx, fy, cx, cy, _, far = lens
    out = depth
    for x, y, z in others:
        if not -_OTHER < z < far + _OTHER:
            continue
        columns = _seen(x, z, fx, cx, depth.shape[1])
        rows = _seen(y, z, fy, cy, depth.shape[0])
        part = out[rows, columns]
        u = (np.arange(depth.shape[1])[columns] + 0.5 - cx) / fx
        v = (np.arange(depth.shape[0])[rows] + 0.5 - cy)[:, None] / fy
        with np.errstate(invalid="ignore"):  # of what is infinitely far on an axis
            gap = (u * part - x) ** 2 + (v * part - y) ** 2 + (part - z) ** 2
        if (gap < _OTHER**2).any():
            out = out.copy() if out is depth else out
            out[rows, columns][gap < _OTHER**2] = np.nan
    return out


def _seen(x: float, z: float, f: float, c: float, count: int) -> slice:
    """Returns the pixels of a row in which a ball around a place may be."""
    ends = [c + f * (x + a) / max(z + b, 0.1) for a in (-_OTHER, _OTHER) for b in (-_OTHER, _OTHER)]
    return slice(int(min(max(min(ends), 0), count)), int(min(max(max(ends) + 1, 0), count)))


def _mounted(
    part: dict[str, Any], pos: np.ndarray, matrix: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns place (3,) and axes (3, 3) in the world of a camera or scanner on a vehicle."""
    return (
        pos + matrix @ np.array(part["pos"]),
        matrix @ Rotation.from_quat(part["quat"]).as_matrix(),
    )
