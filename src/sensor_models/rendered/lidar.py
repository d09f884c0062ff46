"""Lidar: a scanner in a plane or in space."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_core import SensorBlock
from xtdrone_core.state import ReadingArray, SensorDescription

from ..blocks import (
    MAX_LATENCY,
    field_names,
    number,
    preset_values,
    refuse_misspelt,
    sample_rate,
    scalar_tags,
    values_at,
    whole_number,
)
from ..errors import SensorError
from ..lens import normal_table, ranges_with_noise
from ..rendered_sensor import Header, RenderedSensor, RosTopic, View
from ..ros_messages import sweep_cloud
from ..streams import new_stream

_MAX_RAYS = 1 << 20
_GROUP_US = 1000.0  # columns of a sweep within this time are cast from one pose [us]

_LIDAR_PATHS = {
    "columns": ("scan", "horizontal", "samples"),
    "min_angle": ("scan", "horizontal", "min_angle"),
    "max_angle": ("scan", "horizontal", "max_angle"),
    "rows": ("scan", "vertical", "samples"),
    "min_elevation": ("scan", "vertical", "min_angle"),
    "max_elevation": ("scan", "vertical", "max_angle"),
    "minimum": ("range", "min"),
    "maximum": ("range", "max"),
    "resolution": ("range", "resolution"),
    "noise_mean": ("noise", "mean"),
    "noise_stddev": ("noise", "stddev"),
}


@dataclass(frozen=True)
class LidarParameters:
    """A scanner. Its columns are measured one after the other, or with `sweep` 0 at one instant.

    Examples:
        >>> import xtdrone as xd
        >>> from sensor_models.rendered.lidar import lidar_of
        >>> vehicle = xd.load_vehicle("iris_2d_lidar")
        >>> lidar_of(next(block for block in vehicle.sensors if block.kind == "lidar")).columns
        1081
    """

    pos: tuple[float, float, float]  # from the centre of gravity, body FLU [m]
    quat: tuple[float, float, float, float]  # xyzw, lidar frame to body
    rate: float  # [Hz]
    latency: float  # [s]
    sweep: float  # time from the first column to the reading, or 0 for one instant [s]
    columns: int  # rays side by side
    min_angle: float  # angle of the first ray, counter-clockwise from the x axis [rad]
    max_angle: float  # angle of the last ray [rad]
    rows: int  # rays above each other; 1 makes a plane scanner
    min_elevation: float  # elevation of the lowest row [rad]
    max_elevation: float  # elevation of the highest row [rad]
    minimum: float  # shortest distance [m]
    maximum: float  # longest distance [m]
    resolution: float  # one bit [m], or 0
    noise_mean: float  # [m]
    noise_stddev: float  # [m]

    def __post_init__(self) -> None:
        def check(fine: bool, what: str, allowed: str) -> None:
            if not fine:
                raise SensorError(f"{what} of a lidar is not allowed: {allowed}")

        check(
            self.columns >= 1 and self.rows >= 1 and self.columns * self.rows <= _MAX_RAYS,
            f"{self.rows} x {self.columns} rays",
            f"give 1 to {_MAX_RAYS}",
        )
        check(
            self.min_angle <= self.max_angle and self.min_elevation <= self.max_elevation,
            "min_angle above max_angle",
            "give them in order",
        )
        check(
            self.max_angle - self.min_angle <= 2.0 * math.pi + 1e-6
            and max(-self.min_elevation, self.max_elevation) <= 0.5 * math.pi + 1e-6,
            "a scan",
            "give at most a whole turn, and elevations of -pi/2 to pi/2",
        )
        check(
            0 <= self.minimum < self.maximum,
            f"range {self.minimum:g} to {self.maximum:g} m",
            "give 0 <= min < max",
        )
        check(
            self.noise_stddev >= 0 and self.resolution >= 0,
            "a negative noise or resolution",
            "give numbers from 0",
        )
        check(
            0 <= self.sweep <= 1.0 / self.rate + 1e-9,
            f"sweep {self.sweep:g}",
            f"give 0, or seconds up to the time between two scans, {1.0 / self.rate:g}",
        )
        check(
            0 <= self.latency <= MAX_LATENCY,
            f"latency {self.latency:g}",
            f"give seconds from 0 to {MAX_LATENCY:g}",
        )


def lidar_of(block: SensorBlock) -> LidarParameters:
    """The scanner of a block of kind lidar: SDF's <ray> or <lidar>, or a preset.

    Raises:
        SensorError: An invalid value.
    """
    ray = block.parameters.get("ray", block.parameters.get("lidar", {}))
    fields = field_names(LidarParameters)
    refuse_misspelt(block, ray, _LIDAR_PATHS.values())
    refuse_misspelt(block, scalar_tags(block), [], (*fields, "update_rate", "preset"))
    values = {**preset_values(block, "velodyne_vlp16"), **values_at(ray, _LIDAR_PATHS)}
    if ray and "scan" in ray and "vertical" not in ray["scan"]:
        values.update(rows=1, min_elevation=0.0, max_elevation=0.0)
    values.update({name: value for name, value in scalar_tags(block).items() if name in fields})
    numbers: dict[str, Any] = {
        name: number(block, name, value)
        for name, value in {"sweep": 0.0, **values}.items()
        if name in fields and name not in ("pos", "quat", "rate")
    }
    for name in ("columns", "rows"):
        numbers[name] = whole_number(block, name, numbers[name])
    return LidarParameters(pos=block.pos, quat=block.quat, rate=sample_rate(block), **numbers)


def lidar_rays(lidar: LidarParameters) -> np.ndarray:
    """(rows, columns, 3) unit vectors of a lidar's beams in its frame, the lowest row first."""
    azimuth = np.linspace(lidar.min_angle, lidar.max_angle, lidar.columns)
    elevation = np.linspace(lidar.min_elevation, lidar.max_elevation, lidar.rows)[:, None]
    return np.stack(
        np.broadcast_arrays(
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ),
        axis=-1,
    )


def column_ages(lidar: LidarParameters) -> np.ndarray:
    """Returns how long before its reading each column (columns,) of a lidar was measured [s]."""
    return lidar.sweep * (1.0 - np.arange(lidar.columns) / lidar.columns)


def noisy_ranges(true: np.ndarray, lidar: LidarParameters, stream: np.ndarray) -> np.ndarray:
    """Returns a lidar's readings of true distances; inf beyond its range, -inf too near [m]."""
    out = np.empty(true.shape, dtype=np.float32)
    ranges_with_noise(
        true.reshape(-1),
        lidar.noise_mean,
        lidar.noise_stddev,
        lidar.resolution,
        lidar.minimum,
        lidar.maximum,
        normal_table(),
        stream,
        out.reshape(-1),
    )
    return out


class LidarInstrument:
    """One scanner."""

    kind = "lidar"
    lenses = ()

    def __init__(self, block: SensorBlock, seed: int, vehicle: int, stream: int):
        """Computes the rays; see RenderedSensor.instrument."""
        self.lidar = lidar_of(block)
        self.parts = [self.lidar]
        self.streams = [new_stream(seed, vehicle, stream)]
        self.arrays: list[ReadingArray] = [("ranges", "<f4", [self.lidar.rows, self.lidar.columns])]
        self._rays = lidar_rays(self.lidar)
        ages_us = 1e6 * column_ages(self.lidar)
        groups = np.floor(ages_us / _GROUP_US)  # columns that are cast from one pose
        self._groups = np.split(np.arange(len(groups)), np.flatnonzero(np.diff(groups)) + 1)
        self._ages_us = [round(float(ages_us[group].mean())) for group in self._groups]

    @property
    def sweep_us(self) -> int:
        """Time before a reading from which on it sees the scene [us]."""
        return round(1e6 * self.lidar.sweep)

    def sample(self, view: View) -> dict[str, np.ndarray]:
        """Takes a scan."""
        true = self._sweep(view) if self.sweep_us else self._cast(view, self._rays)
        ranges = noisy_ranges(true, self.lidar, self.streams[0])
        return {"ranges": ranges.reshape(self.lidar.rows, self.lidar.columns)}

    def _cast(self, view: View, rays: np.ndarray) -> np.ndarray:
        """Returns the true distances (M,) along rays (rows, columns, 3) of one instant [m]."""
        return view.ranges(self.lidar, rays.reshape(-1, 3), self.lidar.maximum)

    def _sweep(self, view: View) -> np.ndarray:
        """Returns the true distances (M,) of columns that were measured one after the other [m]."""
        assert view.before is not None, "the sensors of a sweep know what was before"
        true = np.empty((self.lidar.rows, self.lidar.columns))
        for columns, age_us in zip(self._groups, self._ages_us):
            cast = self._cast(view.before(age_us), self._rays[:, columns])
            true[:, columns] = cast.reshape(self.lidar.rows, -1)
        return true


def _ros(sensor: SensorDescription) -> list[RosTopic]:
    """A LaserScan of a plane scanner, a PointCloud2 of others; stamped with their first column."""
    (values,) = sensor["parameters"]
    lidar = LidarParameters(**values)
    name = f"{sensor['namespace']}/{sensor['tags'].get('topicName', sensor['sensor']).lstrip('/')}"
    times = lidar.sweep - column_ages(lidar)  # of each column, from the first one on [s]

    def began(header: Header) -> Header:
        stamp = header["stamp"]
        t_us = stamp["secs"] * 1_000_000 + stamp["nsecs"] // 1000 - round(1e6 * lidar.sweep)
        return {**header, "stamp": {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000}}

    def scan(header: Header, data: dict[str, np.ndarray]) -> dict[str, Any]:
        return {
            "header": began(header),
            "angle_min": lidar.min_angle,
            "angle_max": lidar.max_angle,
            "angle_increment": (lidar.max_angle - lidar.min_angle) / max(1, lidar.columns - 1),
            "time_increment": lidar.sweep / lidar.columns,
            "scan_time": sensor["period_us"] * 1e-6,
            "range_min": lidar.minimum,
            "range_max": lidar.maximum,
            "ranges": data["ranges"][0].tolist(),
            "intensities": [],
        }

    rays = lidar_rays(lidar) if lidar.rows > 1 else np.empty(0)

    def points(header: Header, data: dict[str, np.ndarray]) -> dict[str, Any]:
        known = np.where(np.isfinite(data["ranges"]), data["ranges"], np.nan)
        return sweep_cloud(began(header), (known[..., None] * rays).astype(np.float32), times)

    if lidar.rows == 1:
        return [RosTopic(name, "sensor_msgs/LaserScan", values, scan)]
    return [RosTopic(name, "sensor_msgs/PointCloud2", values, points)]


SENSOR = RenderedSensor(
    kind="lidar",
    types=("ray", "gpu_ray", "lidar", "gpu_lidar"),
    parts=lambda block: (lidar_of(block),),
    instrument=LidarInstrument,
    ros=_ros,
    casts=True,
    optical=False,
)
