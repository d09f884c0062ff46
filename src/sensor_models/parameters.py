"""Parameters of the sensors, read from a vehicle's SDF or from presets.yaml.

A sensor block may name a preset (`<preset>rtk</preset>`) and may override any
value: under PX4 sitl_gazebo's tag names, in that project's units, or under the
names of XTDrone's Table I in snake case, in SI units, as presets.yaml has them.
"""

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from xtdrone_core import SensorBlock
from xtdrone_core.errors import unknown_name

from .errors import SensorError

_GAUSS = 1e-4  # [T]
_SITL_STEP = 0.004  # step of sitl_gazebo's GPS plugin, that its densities depend on [s]
_SITL_GPS_CORRELATION = 60.0  # decay of its bias, in steps

DEFAULT_PRESETS = {"imu": "adis16448", "magnetometer": "lis3mdl", "barometer": "ms5611",
                   "gps": "m8n", "airspeed": "sdp33", "range": "sf11c"}
_IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_LISTS = {"hard_iron": 3, "soft_iron": 9}  # tags that hold more than one number
_SIGNED = ("drift",)  # values that may be negative
_ABOVE_ZERO = ("rate", "range", "hdop", "vdop", "dropout_duration")


@dataclass(frozen=True)
class NoiseParameters:
    """One quantity's errors: XTDrone (11)(12), Table I. The unit u is the quantity's own."""

    noise_density: float  # white noise, continuous [u/sqrt(Hz)]
    random_walk: float  # drive of the bias, continuous [u/sqrt(s)]
    bias_correlation_time: float  # of the Gauss-Markov bias [s]
    turn_on_bias_sigma: float  # standard deviation of the bias at start [u]

    def __post_init__(self) -> None:
        for name in ("noise_density", "random_walk", "turn_on_bias_sigma"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise SensorError(f"{name} {value} is not allowed: give a number from 0")
        if not self.bias_correlation_time > 0:
            raise SensorError(f"bias_correlation_time {self.bias_correlation_time} is not allowed: "
                              "give a positive time in seconds")

    def white_sigma(self, dt: float) -> float:
        """Standard deviation of the white noise of readings dt [s] apart."""
        return self.noise_density / math.sqrt(dt)

    def bias_step(self, dt: float) -> tuple[float, float]:
        """Decay and drive of the bias over dt [s]: XTDrone (12), exactly discretised."""
        if math.isinf(self.bias_correlation_time):
            return 1.0, self.random_walk * math.sqrt(dt)
        decay = math.exp(-dt / self.bias_correlation_time)
        spread = -math.expm1(-2.0 * dt / self.bias_correlation_time)
        drive = self.random_walk * math.sqrt(0.5 * self.bias_correlation_time * spread)
        return decay, drive


@dataclass(frozen=True)
class ImuParameters:
    """Inertial measurement unit; it has a reading at every step."""

    gyroscope: NoiseParameters  # [rad/s]
    accelerometer: NoiseParameters  # [m/s^2]
    gyroscope_range: float  # largest reading on either side [rad/s]
    gyroscope_resolution: float  # one bit [rad/s]
    accelerometer_range: float  # largest reading on either side [m/s^2]
    accelerometer_resolution: float  # one bit [m/s^2]
    gyroscope_misalignment: float = 0.0  # standard deviation of each axis' tilt to another [rad]
    gyroscope_scale_error: float = 0.0  # standard deviation of each axis' relative gain
    accelerometer_misalignment: float = 0.0  # [rad]
    accelerometer_scale_error: float = 0.0

    @classmethod
    def from_block(cls, block: SensorBlock) -> "ImuParameters":
        """From an SDF block of kind imu. Raises SensorError for a value that makes no sense."""
        values = _values(block)
        return cls(_noise(values, "gyroscope_"), _noise(values, "accelerometer_"),
                   values["gyroscope_range"], values["gyroscope_resolution"],
                   values["accelerometer_range"], values["accelerometer_resolution"],
                   *(values.get(f"{sensor}_{name}", 0.0)
                     for sensor in ("gyroscope", "accelerometer")
                     for name in ("misalignment", "scale_error")))


@dataclass(frozen=True)
class MagnetometerParameters:
    """Three-axis magnetometer."""

    noise: NoiseParameters  # [T]
    range: float  # largest reading on either side [T]
    resolution: float  # one bit [T]
    rate: float  # [Hz]
    hard_iron: tuple = (0.0, 0.0, 0.0)  # field of the vehicle's own magnets, body FLU [T]
    soft_iron: tuple = _IDENTITY  # (3, 3) by rows: what its iron makes of the field, body FLU

    @classmethod
    def from_block(cls, block: SensorBlock) -> "MagnetometerParameters":
        """From an SDF block of kind magnetometer; sitl_gazebo's tags are in gauss.

        Raises:
            SensorError: A value that makes no sense.
        """
        values = _values(block)
        return cls(_noise(values), values["range"], values["resolution"], values["rate"],
                   values.get("hard_iron", cls.hard_iron), values.get("soft_iron", cls.soft_iron))


@dataclass(frozen=True)
class BarometerParameters:
    """Static pressure sensor."""

    noise: NoiseParameters  # [Pa]
    drift: float  # steady drift of the pressure [Pa/s]
    minimum: float  # smallest reading [Pa]
    maximum: float  # largest reading [Pa]
    resolution: float  # one bit [Pa]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "BarometerParameters":
        """From an SDF block of kind barometer. Raises SensorError for a bad value."""
        values = _values(block)
        _check_limits(block, values)
        return cls(_noise(values), values["drift"], values["minimum"], values["maximum"],
                   values["resolution"], values["rate"])


@dataclass(frozen=True)
class GpsParameters:
    """Satellite receiver. Its fix arrives `latency` after the time at which it was true."""

    horizontal: NoiseParameters  # position, each axis [m]
    vertical: NoiseParameters  # [m]
    horizontal_velocity: NoiseParameters  # each axis [m/s]
    vertical_velocity: NoiseParameters  # [m/s]
    rate: float  # [Hz]
    latency: float  # [s]
    eph: float  # horizontal accuracy that it reports [m]
    epv: float  # vertical accuracy that it reports [m]
    fix: int  # kind of fix that it reports: 3 three-dimensional, 6 RTK fixed
    satellites: int  # number that it reports
    hdop: float  # horizontal dilution of precision
    vdop: float  # vertical dilution of precision
    dropout_rate: float  # times that it loses its fix, on average [1/s]
    dropout_duration: float  # length of a loss, on average [s]

    @classmethod
    def from_block(cls, block: SensorBlock, preset: str = "") -> "GpsParameters":
        """From an SDF block of kind gps, or from a preset in the block's place.

        A preset's errors belong to its dilution of precision: a block that names
        another hdop or vdop has errors and reported accuracy larger by the ratio.

        Raises:
            SensorError: Unknown preset, or a value that makes no sense.
        """
        if preset:
            block = SensorBlock(block.kind, block.name, block.pos, block.quat, {"preset": preset})
        values = _values(block)
        usual = _preset_of(block)
        for name, most in (("fix", 8), ("satellites", 100)):
            if not (values[name] == int(values[name]) <= most):
                raise SensorError(f"{name} {values[name]:g} of '{block.name}' is not allowed: give "
                                  f"a whole number from 0 to {most}")
        across, up = values["hdop"] / usual["hdop"], values["vdop"] / usual["vdop"]
        return cls(_noise(values, "horizontal_", across), _noise(values, "vertical_", up),
                   _noise(values, "horizontal_velocity_", across),
                   _noise(values, "vertical_velocity_", up),
                   values["rate"], values["latency"], values["eph"] * across, values["epv"] * up,
                   int(values["fix"]), int(values["satellites"]), values["hdop"], values["vdop"],
                   values["dropout_rate"], values["dropout_duration"])


@dataclass(frozen=True)
class AirspeedParameters:
    """Pitot tube along the block's x axis, with a differential pressure sensor."""

    noise: NoiseParameters  # [Pa]
    range: float  # largest reading on either side [Pa]
    resolution: float  # one bit [Pa]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "AirspeedParameters":
        """From an SDF block of kind airspeed. Raises SensorError for a bad value."""
        values = _values(block)
        return cls(_noise(values), values["range"], values["resolution"], values["rate"])


@dataclass(frozen=True)
class RangeParameters:
    """Range finder along the block's x axis: one beam."""

    noise: NoiseParameters  # [m]
    minimum: float  # shortest distance [m]
    maximum: float  # longest distance [m]
    resolution: float  # one bit [m]
    rate: float  # [Hz]

    @classmethod
    def from_block(cls, block: SensorBlock) -> "RangeParameters":
        """From an SDF block of kind range: our tags, sitl_gazebo's, or a <ray> of SDF.

        Raises:
            SensorError: A value that makes no sense.
        """
        ray = block.parameters.get("ray", {})
        scope = ray.get("range", {}) if isinstance(ray, dict) else {}
        tags = {**{_RAY_TAGS[tag]: value for tag, value in scope.items() if tag in _RAY_TAGS},
                **{tag: value for tag, value in block.parameters.items() if tag != "ray"}}
        values = _values(SensorBlock(block.kind, block.name, block.pos, block.quat, tags))
        _check_limits(block, values)
        return cls(_noise(values), values["minimum"], values["maximum"], values["resolution"],
                   values["rate"])


PARAMETERS = {"imu": ImuParameters, "magnetometer": MagnetometerParameters,
              "barometer": BarometerParameters, "gps": GpsParameters,
              "airspeed": AirspeedParameters, "range": RangeParameters}  # by kind of block
_PRESETS = Path(__file__).parent / "presets.yaml"


@lru_cache
def presets() -> dict:
    """All presets: {kind: {name: {parameter: value}}}."""
    import yaml  # here, so that reading parameters of one's own needs no YAML

    return yaml.safe_load(_PRESETS.read_text())


def descriptions() -> dict[str, str]:
    """A line on each preset, for `xtdrone list`."""
    return {name: kind + (f", {values['rate']:g} Hz" if "rate" in values else "")
            for kind, known in presets().items() for name, values in known.items()}


def preset_text(name: str) -> str:
    """A preset as presets.yaml has it: each value with its unit and where it comes from.

    Raises:
        SensorError: No such preset.
    """
    known = [name for presets_of_kind in presets().values() for name in presets_of_kind]
    if name not in known:
        raise SensorError(unknown_name("preset", name, known))
    lines = _PRESETS.read_text().splitlines()
    start = lines.index(f"  {name}:") + 1
    end = next((i for i in range(start, len(lines)) if not lines[i].startswith("    ")),
               len(lines))
    return "\n".join(line[4:] for line in lines[start:end])


def preset(kind: str, name: str) -> dict:
    """One preset's values by name.

    Raises:
        SensorError: No such preset.
    """
    known = presets()[kind]
    if name not in known:
        raise SensorError(unknown_name(f"{kind} preset", name, known))
    return known[name]


def _preset_of(block: SensorBlock) -> dict:
    name = str(block.parameters.get("preset", DEFAULT_PRESETS[block.kind])).strip()
    return preset(block.kind, name)


def _values(block: SensorBlock) -> dict:
    """A block's values in SI units under our names: its preset's, overridden by its tags."""
    kind, tags = block.kind, dict(block.parameters)
    values = dict(_preset_of(block))
    own: dict[str, Any] = {}
    for tag, value in tags.items():
        name, scale = _SITL_TAGS[kind].get(tag, (tag, 1.0))
        if name in _LISTS and kind == "magnetometer":
            own[name] = _numbers(block, tag, value, _LISTS[name])
        elif name in _names(kind):
            own[name] = scale * _number(block, tag, value)
        elif tag not in _SITL_GPS_TAGS and tag != "preset":
            _refuse_near_miss(block, tag)
    if kind == "gps":
        own.update(_sitl_gps(block, tags))
    for name in own:  # a new walk replaces the preset's standing deviation, and the reverse
        prefix, _, _what = name.rpartition("random_walk")
        if name.endswith("random_walk"):
            values.pop(prefix + "bias_sigma", None)
        elif name.endswith("bias_sigma"):
            values.pop(name.replace("bias_sigma", "random_walk"), None)
    values.update(own)
    _check_signs(block, values)
    return values


def _noise(values: dict, prefix: str = "", scale: float = 1.0) -> NoiseParameters:
    """The Table I values that start with a prefix, times a scale; what is not given is zero."""
    time = values.get(prefix + "bias_correlation_time", math.inf)
    sigma = values.get(prefix + "bias_sigma")
    walk = values.get(prefix + "random_walk", 0.0)
    if sigma is not None and time > 0:
        walk = sigma * math.sqrt(2.0 / time)
    stationary = walk * math.sqrt(0.5 * time) if math.isfinite(time) else 0.0
    turn_on = values.get(prefix + "turn_on_bias_sigma", stationary)
    return NoiseParameters(scale * values.get(prefix + "noise_density", 0.0), scale * walk, time,
                           scale * turn_on)


def _check_signs(block: SensorBlock, values: dict[str, Any]) -> None:
    """Refuses what is negative, or 0 where nothing is divided by 0."""
    for name, value in values.items():
        above = name in _ABOVE_ZERO or name.endswith(("bias_correlation_time", "_range"))
        if name not in _SIGNED and name not in _LISTS and (value < 0 or (above and value == 0)):
            raise SensorError(f"{name} {value:g} of {block.kind} '{block.name}' is not allowed: "
                              f"give a number {'above' if above else 'from'} 0")


def _check_limits(block: SensorBlock, values: dict[str, Any]) -> None:
    if values["minimum"] >= values["maximum"]:
        raise SensorError(f"range {values['minimum']:g} to {values['maximum']:g} of {block.kind} "
                          f"'{block.name}' is not allowed: give minimum < maximum")


def _sitl_gps(block: SensorBlock, tags: dict[str, Any]) -> dict:
    """Densities of sitl_gazebo's GPS tags as this model has them.

    That plugin multiplies its densities by the square root of its step where
    the density of a sampled noise asks for division, and steps its bias by
    `b += density sqrt(dt) w dt - b / 60` per step of dt. Written as (12), the
    walk is density dt and the correlation time 60 dt: at 4 ms its random walk
    of 2 stands for a bias of 3 mm, where the same number in (12) is metres.
    """
    if not any(tag.startswith("gps") for tag in tags if tag in _SITL_GPS_TAGS):
        return {}
    word = str(tags.get("gpsNoise", "false")).strip().lower()
    if word not in ("0", "1", "false", "true"):
        raise SensorError(f"<gpsNoise> of '{block.name}' is '{word}': give true or false")
    noisy = word in ("1", "true")
    rate = _number(block, "updateRate", tags.get("updateRate", tags.get("pubRate", 5.0)))
    white = _SITL_STEP ** 0.5 / rate ** 0.5  # density times this, per reading at this rate
    values = {"rate": rate}
    for tag, (name, default) in _SITL_GPS_TAGS.items():
        if name:
            density = _number(block, tag, tags.get(tag, default))
            values[name] = noisy * density * (_SITL_STEP if name.endswith("random_walk") else white)
    for axis in ("horizontal_", "vertical_"):
        values[axis + "bias_correlation_time"] = _SITL_GPS_CORRELATION * _SITL_STEP
    return values


_SITL_GPS_TAGS = {  # our name and the plugin's default; None where there is no value to take
    "gpsNoise": (None, None),
    "gpsXYRandomWalk": ("horizontal_random_walk", 2.0),
    "gpsZRandomWalk": ("vertical_random_walk", 4.0),
    "gpsXYNoiseDensity": ("horizontal_noise_density", 2e-4),
    "gpsZNoiseDensity": ("vertical_noise_density", 4e-4),
    "gpsVXYNoiseDensity": ("horizontal_velocity_noise_density", 0.2),
    "gpsVZNoiseDensity": ("vertical_velocity_noise_density", 0.4),
}

_SITL_TAGS = {  # sitl_gazebo's tag: our name, our unit per theirs
    "imu": {
        f"{sensor}{tag}": (f"{sensor}_{name}", 1.0)
        for sensor in ("gyroscope", "accelerometer")
        for tag, name in (("NoiseDensity", "noise_density"), ("RandomWalk", "random_walk"),
                          ("BiasCorrelationTime", "bias_correlation_time"),
                          ("TurnOnBiasSigma", "turn_on_bias_sigma"))},
    "magnetometer": {"pubRate": ("rate", 1.0), "noiseDensity": ("noise_density", _GAUSS),
                     "randomWalk": ("random_walk", _GAUSS),
                     "biasCorrelationTime": ("bias_correlation_time", 1.0)},
    "barometer": {"pubRate": ("rate", 1.0), "baroDriftPaPerSec": ("drift", 1.0)},
    "gps": {"pubRate": ("rate", 1.0), "updateRate": ("rate", 1.0)},
    "airspeed": {"pubRate": ("rate", 1.0)},
    "range": {"update_rate": ("rate", 1.0), "pubRate": ("rate", 1.0),
              "min_distance": ("minimum", 1.0), "max_distance": ("maximum", 1.0)},
}

_RAY_TAGS = {"min": "minimum", "max": "maximum", "resolution": "resolution"}

_TABLE_I = ("noise_density", "random_walk", "bias_correlation_time", "turn_on_bias_sigma",
            "bias_sigma")


@lru_cache
def _names(kind: str) -> frozenset:
    """Every name that a block of this kind may set."""
    names = {name for values in presets()[kind].values() for name in values}
    if kind == "imu":
        names |= {f"{sensor}_{error}" for sensor in ("gyroscope", "accelerometer")
                  for error in ("misalignment", "scale_error")}
    prefixes = {"imu": ("gyroscope_", "accelerometer_"),
                "gps": ("horizontal_", "vertical_", "horizontal_velocity_",
                        "vertical_velocity_")}.get(kind, ("",))
    return frozenset(names | {prefix + name for prefix in prefixes for name in _TABLE_I})


def _number(block: SensorBlock, tag: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise SensorError(f"<{tag}> of {block.kind} '{block.name}' is '{value}': give a number")
    return number


def _numbers(block: SensorBlock, tag: str, value: Any, count: int) -> tuple[float, ...]:
    words = str(value).split()
    if len(words) != count:
        raise SensorError(f"<{tag}> of {block.kind} '{block.name}' is '{value}': give {count} "
                          "numbers")
    return tuple(_number(block, tag, word) for word in words)


def _refuse_near_miss(block: SensorBlock, tag: str) -> None:
    known = [*_names(block.kind), *_SITL_TAGS[block.kind],
             *(_LISTS if block.kind == "magnetometer" else ()),
             *(_SITL_GPS_TAGS if block.kind == "gps" else ())]
    refuse_near_miss(block, tag, known, 0.85)


def refuse_near_miss(block: SensorBlock, tag: str, known: Iterable[str], likeness: float) -> None:
    """A misspelt tag must not pass as one of SDF's many that say nothing to us.

    Raises:
        SensorError: One of the known tags is that like it (0 to 1).
    """
    near = difflib.get_close_matches(tag, known, n=1, cutoff=likeness)
    if near:
        raise SensorError(f"unknown tag <{tag}> of {block.kind} '{block.name}': did you mean "
                          f"<{near[0]}>?")
