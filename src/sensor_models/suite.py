"""The sensors of a fleet: from the true state to the readings."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from xtdrone_core import SensorBatch, SensorBlock
from xtdrone_core.contracts import Snapshot
from xtdrone_core.runs.snapshot import Memory, Rows, take_over
from xtdrone_core.state import ExtraReadings
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate

from .changes import Changes, changed, parse_changes
from .errors import SensorError
from .noise import CHANNEL, turn_on
from .sensor import STEP_US, WORLD, Sensor, sensors
from .streams import new_stream

_MOUNTING = 100  # number of the stream of what is fixed when a vehicle is built

Cast = Callable[[int, np.ndarray, np.ndarray], float]


class Motion(Protocol):
    """The true motion of N vehicles: a FleetState, or the state of a batch."""

    @property
    def pos(self) -> np.ndarray:
        """(N, 3) world [m]."""

    @property
    def quat(self) -> np.ndarray:
        """(N, 4) xyzw, body to world."""

    @property
    def vel(self) -> np.ndarray:
        """(N, 3) world [m/s]."""

    @property
    def ang_vel(self) -> np.ndarray:
        """(N, 3) body frame [rad/s]."""

    @property
    def acc(self) -> np.ndarray:
        """(N, 3) world [m/s^2]."""


class SensorArray(Memory):
    """The sensors of one kind in a fleet.

    Attributes:
        sensor: The kind.
        memory: (N,) records, period 0 where a vehicle has no such sensor.
    """

    MEMORY = ("memory", "_channels", "_streams")

    def __init__(
        self,
        sensor: Sensor,
        blocks: Sequence[SensorBlock | None],
        seed: int,
        readings: np.ndarray,
        numbers: Sequence[int],
    ) -> None:
        """Builds them.

        Args:
            sensor: The kind.
            blocks: Blocks of each vehicle; None where it has none.
            seed: The scenario's.
            readings: (N,) records that they write to.
            numbers: Numbers of the vehicles, which name their random streams.
        """
        n = len(blocks)
        self.sensor = sensor
        self.readings = readings
        self.memory = np.zeros(n, dtype=sensor.memory_dtype())
        self._channels = np.zeros((n, sensor.channels), dtype=CHANNEL)
        self._channels["low"], self._channels["high"] = -math.inf, math.inf
        number = sensor.stream_number()
        self._streams = np.array(
            [new_stream(seed, vehicle, number) for vehicle in numbers], dtype=np.uint64
        )
        for i, block in enumerate(blocks):
            if block is None:
                continue
            rng = np.random.default_rng(
                np.random.SeedSequence(seed, spawn_key=(numbers[i], _MOUNTING + number))
            )
            p = sensor.parameters.from_block(block)
            sensor.fill(self.memory[i], self._channels[i], block, p, rng)
            turn_on(self._channels[i], self._streams[i])
            if sensor.begin is not None:
                sensor.begin(readings[i], p)
        self._distance = np.zeros(n)
        self._sample = sensor.sample
        self._flags = readings[sensor.flag] if sensor.flag else None
        self._flagged = False  # some of the flags may be set
        self.remember_start()
        self._schedule()

    def reset(self, mask: np.ndarray | None = None, step: int = 0) -> None:
        """Puts these vehicles' sensors back to the start; their schedules count from a step."""
        super().reset(mask)
        self.memory["epoch"][slice(None) if mask is None else mask] = step
        self._schedule()

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._schedule()
        self._flagged = self._flags is not None  # the readings that come with it may have flags

    def step(
        self,
        step: int,
        chosen: np.ndarray,
        world: Record,
        state: Motion,
        wind: np.ndarray,
        cast: Cast,
    ) -> None:
        """Writes the readings that are new at this step, and the flags."""
        if (step - self._first) % self._grid:
            if self._flagged and self._flags is not None:
                self._flags.fill(False)
                self._flagged = False
            return
        self._flagged = self._flags is not None
        if self.sensor.casts:
            self._measure(step, chosen, state, cast)
        self._sample(
            step,
            chosen,
            self.memory,
            self._channels,
            self._streams,
            world,
            state.pos,
            state.quat,
            state.vel,
            state.ang_vel,
            state.acc,
            wind,
            self._distance,
            self.readings,
        )

    def _schedule(self) -> None:
        """Computes the steps at which some vehicle has something to do: _first + k _grid."""
        fitted = self.memory[self.memory["period"] > 0]
        late = (
            fitted["latency"] if "latency" in (fitted.dtype.names or ()) else np.zeros(1, dtype=int)
        )
        self._first = int(fitted["epoch"][0])
        self._grid = int(
            np.gcd.reduce(np.concatenate([fitted["period"], late, fitted["epoch"] - self._first]))
        )

    def _measure(self, step: int, chosen: np.ndarray, state: Motion, cast: Cast) -> None:
        """Measures the true distances of the beams that are due."""
        for i in np.flatnonzero(chosen & (self.memory["period"] > 0)).tolist():
            vehicle = self.memory[i]
            if (step - vehicle["epoch"]) % vehicle["period"] == 0:
                point = state.pos[i] + rotate(*state.quat[i], *vehicle["pos"])
                self._distance[i] = cast(
                    i, point, np.array(rotate(*state.quat[i], *vehicle["axis"]))
                )


class SensorSuite(Memory):
    """IMU, magnetometer, barometer, GPS and the other sensors of each vehicle.

    Readings are those of SensorBatch; kinds that it does not know are in its `extra`. A sensor
    whose period is no whole number of steps has its readings at the next step, as PX4's plugins
    in lockstep: 100 Hz becomes 83.3 Hz.

    Errors are XTDrone (11)(12) on each axis. The readings of a vehicle depend
    on the seed and on its number, not on the fleet's size.
    """

    MEMORY = ("_records", "_extra")

    batch: SensorBatch  # the readings, overwritten at each step

    def __init__(
        self,
        fleet_blocks: Iterable[Sequence[SensorBlock]],
        origin: Sequence[float],
        magnetic_field_enu: Sequence[float] | np.ndarray,
        seed: int,
        gps_preset: str = "",
        gravity: float = GRAVITY,
        cast: Cast | None = None,
        numbers: Sequence[int] | None = None,
        changes: str = "",
    ) -> None:
        """Builds the sensors of a fleet.

        Args:
            fleet_blocks: Per vehicle, its SensorBlocks. Cameras and lidars are ignored.
            origin: The world's latitude, longitude [rad] and height [m].
            magnetic_field_enu: (3,) field over the world [T].
            seed: The scenario's.
            gps_preset: A preset in place of every vehicle's GPS parameters, or "".
            gravity: The engine's [m/s^2].
            cast: What range finders measure with: cast(vehicle, point (3,), direction (3,))
                gives the distance [m] from a point of the world to the first surface that is
                not the vehicle's own, or inf. None: the plane z = 0.
            numbers: Numbers of the vehicles, which name their random streams; None: 0 and up.
            changes: Parameters in place of the vehicles' own, see changes.parse_changes().

        Raises:
            SensorError: Invalid parameters, preset or rate.
        """
        self._world = np.array([(tuple(origin), tuple(magnetic_field_enu), gravity)], dtype=WORLD)[
            0
        ]
        self._cast = _to_ground if cast is None else cast
        presets = {"gps": gps_preset} if gps_preset else {}
        new = parse_changes(changes)
        fleet = [_by_kind(blocks, presets, new) for blocks in fleet_blocks]
        for kind in new:
            if not any(block.kind == kind for blocks in fleet_blocks for block in blocks):
                raise SensorError(
                    f"no vehicle has a sensor of kind '{kind}': leave its parameters out"
                )
        self.n = len(fleet)
        numbers = range(self.n) if numbers is None else numbers
        self.batch = SensorBatch.empty(self.n)
        self._records = self.batch.records
        self._extra: dict[str, np.ndarray] = {}
        self._step = 0
        self._all, self._still = np.ones(self.n, dtype=np.bool_), np.zeros((self.n, 3))
        self._arrays: dict[str, SensorArray] = {}
        for kind, sensor in sensors().items():
            blocks = [by_kind.get(kind) for by_kind in fleet]
            if any(block is not None for block in blocks):
                readings = self._records
                if sensor.readings:
                    readings = self._extra[kind] = np.zeros(
                        self.n, dtype=np.dtype(sensor.readings, align=True)
                    )
                    self.batch.extra[kind] = ExtraReadings(
                        readings,
                        np.array([block is not None for block in blocks]),
                        sensor.log,
                        sensor.mavlink,
                    )
                self._arrays[kind] = SensorArray(sensor, blocks, seed, readings, numbers)
        self.remember_start()
        self._extra_start = {kind: records.copy() for kind, records in self._extra.items()}

    @property
    def gps_pos(self) -> np.ndarray:
        """Antennas from the centres of gravity, (N, 3) body FLU [m]."""
        return (
            self._arrays["gps"].memory["pos"].copy()
            if "gps" in self._arrays
            else np.zeros((self.n, 3))
        )

    def step(
        self,
        state: Motion,
        t_us: int,
        wind: np.ndarray | None = None,
        mask: np.ndarray | None = None,
    ) -> SensorBatch:
        """Measures a state.

        Args:
            state: The true state at t_us.
            t_us: Simulated time, a multiple of 4 ms [us].
            wind: (N, 3) velocity of the air at each vehicle, world [m/s]; None for still air.
            mask: (N,) bool, the vehicles that are measured; the others' readings stay as they
                are. None: all.

        Returns:
            The readings. The suite owns them and overwrites them at the next step.

        Raises:
            SensorError: A time between two steps.
        """
        step, rest = divmod(t_us, STEP_US)
        if rest:
            raise SensorError(f"t_us = {t_us} is not allowed: sensors step every {STEP_US} us")
        self.batch.t_us, self._step = t_us, step
        chosen = self._all if mask is None else mask
        wind = self._still if wind is None else wind
        for array in self._arrays.values():
            array.step(step, chosen, self._world, state, wind, self._cast)
        return self.batch

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Puts these vehicles' sensors and readings back to the start; schedules count from now.

        Their first readings are those of the next step(); step(..., mask=mask) at the same time
        gives them at once.
        """
        super().reset(mask)
        rows = slice(None) if mask is None else mask
        for kind, start in self._extra_start.items():
            self._extra[kind][rows] = start[rows]
        for array in self._arrays.values():
            array.reset(mask, self._step)

    def regroup(self, before: "SensorSuite", rows: Rows) -> None:
        """Takes over the state of the vehicles that were in the former fleet, too."""
        take_over(self, before, rows)

    def save(self) -> dict[str, Any]:
        """Returns the state of sensors and readings."""
        return {
            **super().save(),
            "step": self._step,
            "t_us": self.batch.t_us,
            "arrays": {kind: array.save() for kind, array in self._arrays.items()},
        }

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        super().load(snapshot)
        self._step, self.batch.t_us = snapshot["step"], snapshot["t_us"]
        for kind, array in self._arrays.items():
            array.load(snapshot["arrays"][kind])


def _by_kind(
    blocks: Sequence[SensorBlock], presets: dict[str, str], changes: Changes
) -> dict[str, SensorBlock]:
    """Returns a vehicle's blocks of the kinds that the suite measures; presets replace them.

    Raises:
        SensorError: Two of a kind, or no imu.
    """
    kept: dict[str, SensorBlock] = {}
    for block in blocks:
        if block.kind in sensors():
            if block.kind in kept:
                raise SensorError(f"'{block.name}' is a second {block.kind}: give a vehicle one")
            kept[block.kind] = changed(
                replace(block, parameters={"preset": presets[block.kind]})
                if block.kind in presets
                else block,
                changes,
            )
    if "imu" not in kept:
        raise SensorError("a vehicle without an imu cannot be flown: give its SDF one")
    return kept


def _to_ground(vehicle: int, point: np.ndarray, direction: np.ndarray) -> float:
    """Returns the distance along a beam to the plane z = 0 [m]."""
    if direction[2] == 0.0 or point[2] * direction[2] > 0.0:
        return math.inf
    return -point[2] / direction[2]
