"""Wind for a fleet: mean, gusts, Dryden turbulence, and a wind field from a file."""

import difflib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.streams import new_stream, next_normals
from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.earth import wind as dryden

from ..errors import WindError

_STREAM = 1000  # number of the wind's random stream, above those of all sensors
_MAX = 1000.0  # speed of the air, start and length of gusts [m/s, s]
_SLOWEST = 1.0  # lower limit of the airspeed in the turbulence filters [m/s]
_WORDS = ("mean", "gust", "dryden", "field")
_TAGS = (
    "linear_velocity",
    "windVelocityMean",
    "windDirectionMean",
    "windGustVelocityMean",
    "windGustDirectionMean",
    "windGustStart",
    "windGustDuration",
    "drydenWind20ft",
    "windField",
)
_PX4S = (
    "windVelocityMax",
    "windVelocityVariance",
    "windDirectionVariance",  # PX4's, ignored
    "windGustVelocityMax",
    "windGustVelocityVariance",
    "windGustDirectionVariance",
    "windPubTopic",
)
_LIKENESS = 0.85  # similarity from which an unknown tag counts as misspelt


@dataclass(frozen=True)
class Gust:
    """One gust with a 1 - cos velocity profile."""

    start: float  # simulated time [s]
    duration: float  # [s]
    velocity: tuple[float, float, float]  # peak, added to the mean, world ENU [m/s]


@dataclass(frozen=True)
class WindParameters:
    """Wind parameters of a world."""

    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)  # velocity of the air, world ENU [m/s]
    gusts: tuple[Gust, ...] = ()
    dryden: float = 0.0  # mean wind at 20 ft that sets the turbulence [m/s]; 0 = none
    field: str = ""  # .npz file with x, y, z [m] and velocity (X, Y, Z, 3) [m/s]; "" = none

    @classmethod
    def parse(cls, text: str) -> "WindParameters":
        """Parses a launch argument.

        Args:
            text: `E,N,U` for a constant wind, or fields separated by blanks:
                `mean=E,N,U`, `gust=START:DURATION:E,N,U` (any number of them),
                `dryden=SPEED_AT_20_FT`, `field=FILE.npz`. Empty means still air.

        Raises:
            WindError: The text is invalid.
        """
        values: dict[str, Any] = {}  # fields of WindParameters
        gusts: list[Gust] = []
        for word in text.split():
            key, equals, value = word.partition("=")
            key, value = (key, value) if equals else ("mean", word)
            if key not in _WORDS:
                raise WindError(unknown_name("wind word", key, _WORDS))
            if key in values:
                raise WindError(f"wind '{text}' gives {key} twice: give it once")
            if key == "gust":
                start, _, rest = value.partition(":")
                duration, _, peak = rest.partition(":")
                gusts.append(Gust(_number(start), _positive(duration), _vector(peak)))
            elif key == "mean":
                values[key] = _vector(value)
            elif key == "dryden":
                values[key] = _positive(value)
            elif not value:
                raise WindError("field= of the wind names no file: give an .npz file")
            else:
                values[key] = value
        return cls(gusts=tuple(gusts), **values)

    @classmethod
    def of_world(cls, tags: Mapping[str, str], folder: Path) -> "WindParameters":
        """Reads the SDF tags of a world, World.wind.

        Supported are <linear_velocity> of <wind>, and of PX4's wind plugin
        windVelocityMean, windDirectionMean, windGustVelocityMean,
        windGustDirectionMean, windGustStart and windGustDuration. Additional tags of
        this project beside them are drydenWind20ft [m/s] and windField.

        Args:
            tags: Text by tag.
            folder: Folder of the world file; windField is relative to it.

        Raises:
            WindError: A value is invalid.
        """
        for tag, value in tags.items():
            if not isinstance(value, str):
                raise WindError(f"<{tag}> of the wind appears twice or has children: give it once")
            if tag.endswith("Variance") and _number(value) != 0.0:
                raise WindError(
                    f"<{tag}> of the wind is not supported: give drydenWind20ft for turbulence"
                )
            near = difflib.get_close_matches(tag, _TAGS, n=1, cutoff=_LIKENESS)
            if near and tag not in (*_TAGS, *_PX4S):
                raise WindError(f"unknown tag <{tag}> of the wind: did you mean <{near[0]}>?")
        mean = np.array(_vector(tags.get("linear_velocity", "0 0 0")))
        mean += _directed(tags, "windVelocityMean", "windDirectionMean")
        gusts: tuple[Gust, ...] = ()
        duration = _from_zero(tags, "windGustDuration")
        if duration > 0.0:
            peak = _directed(tags, "windGustVelocityMean", "windGustDirectionMean")
            x, y, z = peak.tolist()
            gusts = (Gust(_from_zero(tags, "windGustStart"), duration, (x, y, z)),)
        file = tags.get("windField", "")
        return cls(
            (float(mean[0]), float(mean[1]), float(mean[2])),
            gusts,
            _from_zero(tags, "drydenWind20ft"),
            str(folder / file) if file else "",
        )

    @property
    def still(self) -> bool:
        """Whether there is no wind at all."""
        return not (any(self.mean) or self.gusts or self.dryden or self.field)


class Wind(Memory):
    """Air velocity at every vehicle of a fleet, computed step by step.

    Gust times count from the start or the last reset of each vehicle.
    """

    MEMORY = ("_streams", "_filters", "_epoch_us", "_next_us")

    def __init__(
        self, parameters: WindParameters, n: int, seed: int, numbers: Sequence[int] | None = None
    ):
        """Starts the turbulence in its stationary state and reads the wind field.

        Args:
            parameters: Parameters of the wind.
            n: Number of vehicles.
            seed: Seed of the scenario.
            numbers: Numbers of the vehicles, which name their random streams; None: 0 and up.

        Raises:
            WindError: The wind field file cannot be read.
        """
        self._mean = np.array(parameters.mean)
        self._gusts = np.array(
            [(g.start, g.duration, *g.velocity) for g in parameters.gusts]
        ).reshape(-1, 5)
        self._dryden = parameters.dryden
        self._axes, self._field = _read_field(parameters.field)
        self._streams = np.array(
            [
                new_stream(seed, vehicle, _STREAM)
                for vehicle in (range(n) if numbers is None else numbers)
            ]
        )
        self._filters = np.zeros((n, 5))
        _start(self._streams, self._filters)
        self._epoch_us = np.zeros(n, dtype=np.int64)  # start or last reset of each vehicle
        self._next_us = 0  # expected time of the next step
        self.remember_start()

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Restarts the turbulence of these vehicles."""
        super().reset(mask)
        self._epoch_us[slice(None) if mask is None else mask] = self._next_us

    def step(
        self, t_us: int, dt_us: int, pos: np.ndarray, vel: np.ndarray, out: np.ndarray
    ) -> None:
        """Computes the wind for one step.

        Args:
            t_us: Simulated time at the start of the step [us].
            dt_us: Length of the step [us].
            pos: (N, 3) positions of the vehicles, world frame [m]; z is the height above ground.
            vel: (N, 3) velocities of the vehicles, world frame [m/s].
            out: (N, 3) output: velocity of the air at each vehicle, world frame [m/s].
        """
        self._next_us = t_us + dt_us
        _step(
            t_us,
            self._epoch_us,
            dt_us * 1e-6,
            self._mean,
            self._gusts,
            self._dryden,
            *self._axes,
            self._field,
            pos,
            vel,
            self._streams,
            self._filters,
            out,
        )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= _MAX:
        raise WindError(f"'{shown(text)}' of the wind is not a number within {_MAX:g}")
    return value


def _from_zero(tags: Mapping[str, str], tag: str) -> float:
    value = _number(tags.get(tag, "0"))
    if value < 0.0:
        raise WindError(f"<{tag}> of the wind is {value:g}: give a number from 0")
    return value


def _positive(text: str) -> float:
    value = _number(text)
    if value <= 0.0:
        raise WindError(f"'{text}' of the wind must be above 0")
    return value


def _vector(text: str) -> tuple[float, float, float]:
    values = tuple(map(_number, text.replace(",", " ").split()))
    if len(values) != 3:
        raise WindError(f"'{text}' of the wind is not a velocity: give E,N,U in m/s")
    return values[0], values[1], values[2]


def _directed(tags: Mapping[str, str], speed: str, direction: str) -> np.ndarray:
    towards = np.array(_vector(tags.get(direction, "1 0 0")))
    length = np.linalg.norm(towards)
    if length == 0.0:
        raise WindError(f"<{direction}> of the wind has length 0")
    velocity: np.ndarray = _number(tags.get(speed, "0")) * towards / length
    return velocity


def _read_field(file: str) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Axes (x, y, z) and velocities (X, Y, Z, 3) of a file; a single zero point without one."""
    if not file:
        return (np.zeros(1),) * 3, np.zeros((1, 1, 1, 3))
    try:
        with files.open_zip(file, "wind field", error=WindError) as archive:
            *axes, field = (
                np.asarray(np.load(io.BytesIO(archive.read(f"{name}.npy"))), dtype=float, order="C")
                for name in ("x", "y", "z", "velocity")
            )
    except (WindError, *files.DAMAGED) as error:
        raise WindError(
            f"cannot read wind field '{shown(file)}': {shown(error)}; it is an .npz "
            "file with x, y, z and velocity (X, Y, Z, 3)"
        ) from error
    for name, axis in zip("xyz", axes):
        if (
            axis.ndim != 1
            or not len(axis)
            or not np.isfinite(axis).all()
            or (np.diff(axis) <= 0.0).any()
        ):
            raise WindError(f"{name} of wind field '{file}' must be a list of numbers that rise")
    shape = tuple(len(axis) for axis in axes) + (3,)
    if field.shape != shape or not (np.abs(field) <= _MAX).all():
        raise WindError(
            f"velocity of wind field '{file}' has shape {field.shape}: give "
            f"numbers within {_MAX:g}, of shape {shape}"
        )
    return (axes[0], axes[1], axes[2]), field


@njit
def _start(streams: np.ndarray, filters: np.ndarray) -> None:
    for i in range(filters.shape[0]):
        a, b = next_normals(streams[i])
        filters[i, 0] = a
        for k in (1, 3):
            a, b = next_normals(streams[i])
            filters[i, k] = math.sqrt(0.5) * a
            filters[i, k + 1] = math.sqrt(0.125) * (a + b)


@njit
def _place(axis: np.ndarray, value: float) -> tuple[int, float]:
    """Cell and fraction of a value on a rising axis; values beyond the ends are clamped."""
    last = axis.shape[0] - 1
    if last == 0 or value <= axis[0]:
        return 0, 0.0
    if value >= axis[last]:
        return last - 1, 1.0
    cell: int = np.searchsorted(axis, value, side="right") - 1  # type: ignore[assignment]
    return cell, (value - axis[cell]) / (axis[cell + 1] - axis[cell])


@njit
def _interpolate(
    xs: np.ndarray,
    ys: np.ndarray,
    zs: np.ndarray,
    field: np.ndarray,
    x: float,
    y: float,
    z: float,
    k: int,
) -> float:
    """Trilinear interpolation of component k of the field."""
    i, a = _place(xs, x)
    j, b = _place(ys, y)
    m, c = _place(zs, z)
    total = 0.0
    for di in range(min(2, xs.shape[0])):
        for dj in range(min(2, ys.shape[0])):
            for dm in range(min(2, zs.shape[0])):
                weight = (a if di else 1.0 - a) * (b if dj else 1.0 - b) * (c if dm else 1.0 - c)
                total += weight * field[i + di, j + dj, m + dm, k]
    return total


@njit
def _step(
    t_us: int,
    epoch_us: np.ndarray,
    dt: float,
    mean: np.ndarray,
    gusts: np.ndarray,
    wind_20ft: float,
    xs: np.ndarray,
    ys: np.ndarray,
    zs: np.ndarray,
    field: np.ndarray,
    pos: np.ndarray,
    vel: np.ndarray,
    streams: np.ndarray,
    filters: np.ndarray,
    out: np.ndarray,
) -> None:
    for i in range(out.shape[0]):
        base_x, base_y, base_z = mean[0], mean[1], mean[2]
        for g in range(gusts.shape[0]):
            swell = dryden.gust((t_us - epoch_us[i]) * 1e-6, gusts[g, 0], gusts[g, 1])
            base_x += swell * gusts[g, 2]
            base_y += swell * gusts[g, 3]
            base_z += swell * gusts[g, 4]
        x, y, z = pos[i, 0], pos[i, 1], pos[i, 2]
        ux = base_x + _interpolate(xs, ys, zs, field, x, y, z, 0)
        uy = base_y + _interpolate(xs, ys, zs, field, x, y, z, 1)
        uz = base_z + _interpolate(xs, ys, zs, field, x, y, z, 2)
        if wind_20ft > 0.0:
            airspeed = max(
                _SLOWEST,
                math.sqrt((vel[i, 0] - ux) ** 2 + (vel[i, 1] - uy) ** 2 + (vel[i, 2] - uz) ** 2),
            )
            flat, upright, sigma, sigma_up = dryden.dryden_scales(z, wind_20ft)
            ratio, ratio_up = dt * airspeed / flat, dt * airspeed / upright
            filter_state, stream = filters[i], streams[i]
            a, b = next_normals(stream)
            filter_state[0] = dryden.dryden_along(filter_state[0], ratio, a)
            c, _d = next_normals(stream)
            filter_state[1], filter_state[2], aside = dryden.dryden_across(
                filter_state[1], filter_state[2], ratio, b, c
            )
            a, b = next_normals(stream)
            filter_state[3], filter_state[4], up = dryden.dryden_across(
                filter_state[3], filter_state[4], ratio_up, a, b
            )
            # Along the mean wind; towards east if there is none.
            speed = math.hypot(ux, uy)
            ex, ey = (ux / speed, uy / speed) if speed > 1e-6 else (1.0, 0.0)
            ux += sigma * (filter_state[0] * ex - aside * ey)
            uy += sigma * (filter_state[0] * ey + aside * ex)
            uz += sigma_up * up
        out[i, 0], out[i, 1], out[i, 2] = ux, uy, uz
