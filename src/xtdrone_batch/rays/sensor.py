"""Cameras and lidars on the vehicles of a batch.

All of them are the same: rays in a frame of their own, on a vehicle. Noise is that of
sensor_models.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import psutil

from sensor_models.cameras import CameraParameters
from sensor_models.rendered.lidar import LidarParameters, lidar_rays
from sensor_models.rendered_sensor import rendered_sensors
from sensor_models.streams import next_uniform
from xtdrone_core import FleetModel
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import njit

from ..arrays import BatchState
from ..errors import BatchError
from ..randomisation import seed_streams
from ..threads import Threads
from .caster import Caster, HostCaster, Limits
from .frames import Frames, Poses
from .noise import Noise, noise_of_camera, noise_of_lidar
from .pattern import Pattern, camera_rays, pattern_of
from .scene import RayScene

CHANNELS = ("depth", "image", "segmentation", "normals", "flow")  # channels of a camera
LIDAR_CHANNELS = ("ranges", "segmentation", "normals")
_MAX_TURN = math.pi


@dataclass(frozen=True)
class Mounting:
    """Half-widths of uniform distributions about a sensor's place, drawn at each reset.

    Examples:
        >>> import xtdrone as xd
        >>> xd.Mounting(angles=(0.05, 0.05, 0.05)).angles
        (0.05, 0.05, 0.05)
    """

    pos: tuple[float, float, float] = (0.0, 0.0, 0.0)  # body frame [m]
    angles: tuple[float, float, float] = (0.0, 0.0, 0.0)  # roll, pitch, yaw about its place [rad]

    def __post_init__(self) -> None:
        """Raises BatchError where a width is not allowed."""
        for name, maximum in (("pos", 1e3), ("angles", _MAX_TURN)):
            widths = getattr(self, name)
            if np.shape(widths) != (3,) or not all(0.0 <= width <= maximum for width in widths):
                raise BatchError(
                    f"{name} = {widths} of the mounting is not allowed: give three "
                    f"numbers from 0 to {maximum:g}"
                )


_AS_MODELLED = Mounting()


class Images(NamedTuple):
    """What the cameras of E environments, C in each, see; None where it was not asked for.

    Overwritten by the next capture.
    """

    depth: np.ndarray | None = None  # (E, C, H, W) f4 along the optical axis [m]; inf = nothing
    image: np.ndarray | None = None  # (E, C, H, W, 3) u1, or (E, C, H, W) of format mono8
    segmentation: np.ndarray | None = None  # (E, C, H, W) i4 class of what is seen, 0 = none
    normals: np.ndarray | None = None  # (E, C, H, W, 3) f4 unit vectors, world; 0 = nothing
    flow: np.ndarray | None = None  # (E, C, H, W, 2) f4 to the right and down [pixels/s]


class Scans(NamedTuple):
    """What the lidars of E environments, C in each, measure; see Images."""

    ranges: np.ndarray | None = None  # (E, C, rows, columns) f4 [m]; inf beyond the longest
    # distance, -inf within the shortest
    segmentation: np.ndarray | None = None  # (E, C, rows, columns) i4
    normals: np.ndarray | None = None  # (E, C, rows, columns, 3) f4


class Batch(Protocol):
    """The batch that carries the sensors: a BatchSimulation."""

    environments: int
    first: int  # number of the first environment, where these are a part of a larger batch
    device: str  # 'cpu' or 'cuda'
    model: FleetModel  # vehicles of one environment
    threads: Threads

    @property
    def vehicles(self) -> int:
        """Number of vehicles in one environment."""

    @property
    def rays(self) -> RayScene:
        """What the sensors see."""

    def host_state(self) -> BatchState:
        """Returns the state as NumPy arrays."""


class _RaySensor:
    """Rays on one vehicle, or on each, of every environment.

    Attributes:
        mount_pos: (E, C, 3) where the sensors are now, body frame [m].
        mount_quat: (E, C, 4) xyzw, sensor frame to body.
    """

    def __init__(
        self,
        batch: Batch,
        place: CameraParameters | LidarParameters,
        rays: np.ndarray,
        limits: tuple[float, float, float, float],
        noise: Noise | None,
        vehicle: int | None,
        mounting: Mounting,
        widths: dict[str, int],
        seed: int,
    ):
        self._batch, self._mounting = batch, mounting
        vehicles = batch.vehicles
        if vehicle is not None and not 0 <= vehicle < vehicles:
            raise BatchError(
                f"vehicle {vehicle} is not in an environment: give 0 to "
                f"{vehicles - 1}, or None for all"
            )
        self._carriers = np.arange(vehicles) if vehicle is None else np.array([vehicle])
        self._shape = rays.shape[:2]
        frames, pixels = batch.environments * len(self._carriers), rays.shape[0] * rays.shape[1]
        numbers = {
            "distance": (1, np.float32),
            "colour": (3, np.uint8),
            "segmentation": (1, np.int32),
            "normal": (3, np.float32),
            "flow": (2, np.float32),
        }
        needed = (
            frames
            * pixels
            * sum(widths[name] * np.dtype(numbers[name][1]).itemsize for name in widths)
        )
        free = psutil.virtual_memory().available
        if batch.device == "cpu" and needed > free:
            raise BatchError(
                f"{frames} sensors of {pixels} rays need {needed / 1e9:.1f} GB and "
                f"{free / 1e9:.1f} GB are free: give fewer environments, pixels or "
                "channels"
            )
        frame_arrays = Frames(
            *(
                np.zeros((frames, widths.get(name, 0) * pixels), dtype=kind)
                for name, (_, kind) in numbers.items()
            )
        )
        lead = batch.environments, len(self._carriers)
        self.mount_pos = np.broadcast_to(np.array(place.pos, dtype=float), (*lead, 3)).copy()
        self.mount_quat = np.broadcast_to(np.array(place.quat, dtype=float), (*lead, 4)).copy()
        self._place = np.array([*place.pos, *place.quat], dtype=float)
        self._streams = np.zeros((batch.environments, 4), dtype=np.uint64)
        noise_streams = np.zeros((frames, 4), dtype=np.uint64)
        seed_streams(seed, batch.first, self._streams)
        seed_streams(seed + 1, batch.first * len(self._carriers), noise_streams)
        environments = np.repeat(np.arange(batch.environments), len(self._carriers))
        self._poses = Poses(
            batch.rays.environment(environments),
            np.tile(self._carriers, batch.environments).astype(np.int32),
            *(np.zeros((frames, k), dtype=np.float32) for k in (3, 9, 3, 3)),
        )
        self._caster = _caster(batch, pattern_of(rays), limits, frame_arrays, noise, noise_streams)
        self.reset(np.arange(batch.environments))

    def reset(self, which: np.ndarray) -> None:
        """Draws where the sensors of some environments (indices) sit; the batch calls it."""
        _mount(
            which,
            np.array([*self._mounting.pos, *self._mounting.angles]),
            self._place,
            self._streams,
            self.mount_pos,
            self.mount_quat,
        )

    def _look(self, which: np.ndarray | None = None) -> None:
        """Casts the rays of some environments (indices), or of all, as the batch stands now."""
        batch = self._batch
        s = batch.host_state()
        batch.rays.update(s)
        _pose(
            self._carriers,
            s.pos,
            s.quat,
            s.vel,
            s.ang_vel,
            self.mount_pos,
            self.mount_quat,
            self._poses,
        )
        each = len(self._carriers)
        frames = None
        if which is not None:
            frames = (each * np.asarray(which)[:, None] + np.arange(each)).ravel()
        self._caster.cast(self._poses, frames)

    def _shaped(self, array: np.ndarray, last: int = 1) -> np.ndarray | None:
        """Returns frames as (E, C, ...); None where they have no pixels."""
        if array.shape[1] == 0:
            return None
        shape = self._batch.environments, len(self._carriers), *self._shape
        return self._caster.lend(array.reshape((*shape, last) if last > 1 else shape))


class Camera(_RaySensor):
    """A camera on vehicles of a batch.

    Lens, distortion, format and noise are those of CameraParameters; rate and latency are the
    caller's. Pixels are single rays: edges are hard.

    Attributes:
        images: The Images of the last capture.
    """

    def __init__(
        self,
        batch: Batch,
        camera: CameraParameters,
        *,
        vehicle: int | None = None,
        channels: Sequence[str] = ("depth",),
        mounting: Mounting = _AS_MODELLED,
        seed: int = 0,
    ):
        """Use BatchSimulation.add_camera(), whose arguments these are."""
        channels = _checked(channels, CHANNELS)
        if "flow" in channels and (any(camera.distortion) or camera.is_fisheye):
            raise BatchError(
                "optical flow needs a camera without distortion: set k1, k2, k3, p1 "
                "and p2 to 0, or leave flow out"
            )
        self.parameters = camera
        self._colours = 1 if camera.format == "mono8" else 3
        widths = {
            "depth": ("distance", 1),
            "image": ("colour", self._colours),
            "segmentation": ("segmentation", 1),
            "normals": ("normal", 3),
            "flow": ("flow", 2),
        }
        super().__init__(
            batch,
            camera,
            camera_rays(camera),
            (camera.near, camera.far, camera.fx, camera.fy),
            noise_of_camera(camera),
            vehicle,
            mounting,
            dict(widths[name] for name in channels),
            seed,
        )
        frames = self._caster.frames
        self.images = Images(
            self._shaped(frames.distance),
            self._shaped(frames.colour, self._colours),
            self._shaped(frames.segmentation),
            self._shaped(frames.normal, 3),
            self._shaped(frames.flow, 2),
        )

    def capture(self, which: np.ndarray | None = None) -> Images:
        """Takes the images of some environments (indices), or of all, as they stand now."""
        self._look(which)
        return self.images


class Lidar(_RaySensor):
    """A lidar on vehicles of a batch: rotating, or any set of beams.

    Attributes:
        scans: The Scans of the last scan.
    """

    def __init__(
        self,
        batch: Batch,
        lidar: LidarParameters,
        *,
        beams: np.ndarray | None = None,
        vehicle: int | None = None,
        channels: Sequence[str] = ("ranges",),
        mounting: Mounting = _AS_MODELLED,
        seed: int = 0,
    ):
        """Use BatchSimulation.add_lidar(), whose arguments these are."""
        channels = _checked(channels, LIDAR_CHANNELS)
        self.parameters = lidar
        rays = lidar_rays(lidar) if beams is None else _unit_beams(beams)
        widths = {
            "ranges": ("distance", 1),
            "segmentation": ("segmentation", 1),
            "normals": ("normal", 3),
        }
        super().__init__(
            batch,
            lidar,
            rays,
            (0.0, lidar.maximum, 1.0, 1.0),
            noise_of_lidar(lidar) if "ranges" in channels else None,
            vehicle,
            mounting,
            dict(widths[name] for name in channels),
            seed,
        )
        frames = self._caster.frames
        self.scans = Scans(
            self._shaped(frames.distance),
            self._shaped(frames.segmentation),
            self._shaped(frames.normal, 3),
        )

    def scan(self) -> Scans:
        """Takes the scans of all environments as they stand now."""
        self._look()
        return self.scans


def _caster(
    batch: Batch,
    pattern: Pattern,
    limits: tuple[float, float, float, float],
    frames: Frames,
    noise: Noise | None,
    streams: np.ndarray,
) -> Caster:
    """Returns what casts a sensor's rays where the batch is stepped."""
    scaled = Limits(*map(np.float32, limits))
    if batch.device == "cpu":
        return HostCaster(batch.rays, batch.threads, pattern, scaled, frames, noise, streams)
    from .on_device import DeviceCaster, check_memory  # numba.cuda is slow to import

    check_memory(frames)
    return DeviceCaster(batch.rays, pattern, scaled, frames, noise, streams)


def mounted(
    batch: Batch, sensor: str, vehicle: int = 0
) -> tuple[CameraParameters | LidarParameters, ...]:
    """The cameras of a sensor of a vehicle's SDF (two of a stereo pair), or its lidar.

    Raises:
        XtdroneError: The vehicle has no such sensor, or a value of it is not allowed.
    """
    blocks = {
        block.name: block
        for block in batch.model.vehicles[vehicle].sensors
        if block.kind in rendered_sensors()
    }
    if sensor not in blocks:
        raise BatchError(
            unknown_name(
                f"camera or lidar of '{batch.model.vehicles[vehicle].type}'", sensor, blocks
            )
        )
    block = blocks[sensor]
    parts = rendered_sensors()[block.kind].parts(block)
    return tuple(part for part in parts if isinstance(part, CameraParameters | LidarParameters))


def rosette(beams: int, half_angle: float, petals: float = 7.3) -> np.ndarray:
    """Beams of a solid-state lidar with two turning prisms: a rose that never closes.

    Args:
        beams: How many, one after the other.
        half_angle: Half angle of the cone that they fill [rad].
        petals: Turns of the one prism for one of the other.

    Returns:
        (1, beams, 3) unit vectors.
    """
    turn = np.linspace(0.0, 2.0 * math.pi * max(1.0, beams / 1000.0), beams, endpoint=False)
    out = half_angle * np.cos(petals * turn)
    return np.stack([np.cos(out), np.sin(out) * np.cos(turn), np.sin(out) * np.sin(turn)], axis=1)[
        None
    ]


def _checked(channels: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    names = (channels,) if isinstance(channels, str) else tuple(channels)
    for name in names:
        if name not in known:
            raise BatchError(unknown_name("channel", str(name), known))
    if not names:
        raise BatchError(f"no channel is asked for: give some of {', '.join(known)}")
    return names


def _unit_beams(beams: np.ndarray) -> np.ndarray:
    directions = np.asarray(beams, dtype=float)
    if directions.ndim != 3 or directions.shape[2] != 3 or not directions.size:
        raise BatchError(
            f"beams of shape {directions.shape} are not allowed: give (rows, columns, 3)"
        )
    length = np.linalg.norm(directions, axis=2, keepdims=True)
    if not (np.isfinite(length).all() and length.min() > 0.0):
        raise BatchError("a beam without a direction is not allowed: give finite vectors, none 0")
    return directions / length


@njit
def _mount(
    which: np.ndarray,
    widths: np.ndarray,
    place: np.ndarray,
    streams: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
) -> None:
    """Draws the places of the sensors of some environments; the draws of each are its own."""
    drawn = np.empty(6)
    for e in which:
        for c in range(pos.shape[1]):
            for k in range(6):
                drawn[k] = widths[k] * (2.0 * next_uniform(streams[e]) - 1.0)
            x, y, z, w = quaternion.from_euler(drawn[3], drawn[4], drawn[5])
            turned = quaternion.multiply(place[3], place[4], place[5], place[6], x, y, z, w)
            for k in range(3):
                pos[e, c, k] = place[k] + drawn[k]
            for k in range(4):
                quat[e, c, k] = turned[k]


@njit
def _pose(
    carriers: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    mount_pos: np.ndarray,
    mount_quat: np.ndarray,
    poses: Poses,
) -> None:
    """Poses and motion of all sensors, from those of their vehicles."""
    for e in range(mount_pos.shape[0]):
        for c in range(mount_pos.shape[1]):
            v, f = carriers[c], e * mount_pos.shape[1] + c
            vehicle_quat, vehicle_rate, arm, mount = (
                quat[e, v],
                ang_vel[e, v],
                mount_pos[e, c],
                mount_quat[e, c],
            )
            offset = quaternion.rotate(
                vehicle_quat[0],
                vehicle_quat[1],
                vehicle_quat[2],
                vehicle_quat[3],
                arm[0],
                arm[1],
                arm[2],
            )
            speed = quaternion.rotate(
                vehicle_quat[0],
                vehicle_quat[1],
                vehicle_quat[2],
                vehicle_quat[3],
                vehicle_rate[1] * arm[2] - vehicle_rate[2] * arm[1],
                vehicle_rate[2] * arm[0] - vehicle_rate[0] * arm[2],
                vehicle_rate[0] * arm[1] - vehicle_rate[1] * arm[0],
            )
            a, b, c_, d = quaternion.multiply(
                vehicle_quat[0],
                vehicle_quat[1],
                vehicle_quat[2],
                vehicle_quat[3],
                mount[0],
                mount[1],
                mount[2],
                mount[3],
            )
            matrix = quaternion.to_matrix(a, b, c_, d)
            spin = quaternion.rotate_inverse(
                mount[0],
                mount[1],
                mount[2],
                mount[3],
                vehicle_rate[0],
                vehicle_rate[1],
                vehicle_rate[2],
            )
            for k in range(3):
                poses.pos[f, k] = pos[e, v, k] + offset[k]
                poses.vel[f, k] = vel[e, v, k] + speed[k]
                poses.spin[f, k] = spin[k]
            for k in range(9):
                poses.matrix[f, k] = matrix[k]
