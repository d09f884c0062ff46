"""Declaration of a kind of sensor; a new one is a module of measured/ with a Sensor called SENSOR.

These modules and those of the entry-point group `xtdrone.sensors` are found
automatically. The SDF reader, the presets, the suite, the flight log and the telemetry all
follow from the declaration.
"""

import functools
import importlib
import math
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np

from xtdrone_core.state import Topic

from .errors import SensorError
from .parameters import Tags

STEP_US = 4_000  # step of engine and sensors [us]
FOLDERS = ("measured", "rendered")  # folders whose every module declares a SENSOR
GROUP = "xtdrone.sensors"
WORLD = np.dtype(
    [
        ("origin", "f8", (3,)),  # latitude, longitude [rad], height [m]
        ("field", "f8", (3,)),  # magnetic, ENU [T]
        ("gravity", "f8"),
    ]
)  # [m/s^2]
_RATE_TOLERANCE = 0.01  # a period counts as a whole number of steps if it is this near to one
_OWN_STREAMS = 10_000  # numbers of streams from here on follow from a kind's name


@dataclass(frozen=True)
class Sensor:
    """One kind of sensor.

    `fill(memory, channels, block, parameters, rng)` puts the parameters of one vehicle into its
    row of memory and into its channels; it sets memory["period"]. rng is for what is drawn once.

    `begin(readings, parameters)` writes what one vehicle's sensor reports from the start on.

    `sample(step, chosen, memory, channels, streams, world, pos, quat, vel, ang_vel, acc, wind,
    distance, readings)` is compiled. It measures for each vehicle i with chosen[i] and
    geometry.due(step, its period, its epoch), and sets the flag of all chosen ones:

    - memory (N,) of memory_dtype(), channels (N, C) of noise.CHANNEL, streams (N, 4) uint64
    - world: a record of WORLD
    - pos, quat, vel, ang_vel, acc as in FleetState; wind (N, 3) of the air, world [m/s]
    - distance (N,) along the beam, where the sensor casts one [m]
    - readings (N,): records of SensorBatch, or of the kind's own `readings`
    """

    tags: Tags  # how its block is read; names the kind
    parameters: Any  # a dataclass with from_block(block)
    fill: Callable[..., None]
    sample: Callable[..., None]
    channels: int  # quantities with a noise of their own
    memory: list[tuple] = field(default_factory=list)  # NumPy fields
    readings: list[tuple] = field(default_factory=list)  # NumPy fields; [] = SensorBatch's
    flag: str = ""  # field of the readings that says whether one is new; "" = each step
    begin: Callable[..., None] | None = None
    plugins: tuple[str, ...] = ()  # sitl_gazebo's plugins, without lib and .so
    types: tuple[str, ...] = ()  # types of SDF's <sensor>
    stream: int = -1  # number of its random stream; -1: from its name
    casts: bool = False  # needs the distance along a beam: memory has pos and axis
    log: Topic | None = None  # topic of readings of its own in the flight log
    mavlink: Topic | None = None  # MAVLink message of readings of its own

    @property
    def kind(self) -> str:
        """The kind of its SDF blocks."""
        return self.tags.kind

    def memory_dtype(self) -> np.dtype:
        """A vehicle's record: period and epoch [steps], then the sensor's own.

        A period of 0 means that the vehicle has no such sensor; the schedule counts from epoch.
        """
        return np.dtype([("period", "i8"), ("epoch", "i8"), *self.memory], align=True)

    def stream_number(self) -> int:
        """A number unique to this kind."""
        return (
            self.stream
            if self.stream >= 0
            else _OWN_STREAMS + int.from_bytes(self.kind.encode()[:4], "big")
        )


@functools.cache
def declarations() -> dict[str, Any]:
    """Returns what declares each kind of sensor: a Sensor of measured/ or a RenderedSensor of
    rendered/.

    Raises:
        SensorError: A module that cannot be loaded, or two of one kind.
    """
    folders = [importlib.import_module(f"{__package__}.{name}") for name in FOLDERS]
    declared = [
        importlib.import_module(f"{folder.__name__}.{module.name}").SENSOR
        for folder in folders
        for module in pkgutil.iter_modules(folder.__path__)
    ]
    for entry in metadata.entry_points(group=GROUP):
        try:
            declared.append(entry.load())
        except (ImportError, AttributeError) as error:
            raise SensorError(
                f"cannot load sensor '{entry.name}' ({entry.value}): {error}"
            ) from error
    by_kind: dict[str, Any] = {}
    for sensor in declared:
        if sensor.kind in by_kind:
            raise SensorError(
                f"there are two sensors of kind '{sensor.kind}': give one another name"
            )
        by_kind[sensor.kind] = sensor
    return by_kind


@functools.cache
def sensors() -> dict[str, Sensor]:
    """Returns every kind of Sensor by name, in the order of their random streams.

    Raises:
        SensorError: As declarations().
    """
    measured = [sensor for sensor in declarations().values() if isinstance(sensor, Sensor)]
    return {sensor.kind: sensor for sensor in sorted(measured, key=Sensor.stream_number)}


def period_steps(rate: float) -> int:
    """Steps between two readings of a rate [Hz], the next whole number of them."""
    steps = 1e6 / (rate * STEP_US)
    return max(1, math.ceil(steps - _RATE_TOLERANCE * round(steps)))


def whole_rate(rate: float) -> float:
    """The rate at whole steps [Hz]."""
    return 1e6 / (period_steps(rate) * STEP_US)
