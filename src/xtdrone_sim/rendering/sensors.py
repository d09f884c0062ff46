"""Rendered sensors of a fleet: cameras, lidars and others that see the scene.

A sample is taken at a whole step and delivered `latency` later, so that it can be rendered
in a separate thread while the flight continues: what is delivered, and when, does not
depend on the speed of the machine.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sensor_models.blocks import plugin_tags
from sensor_models.cameras import CameraParameters
from sensor_models.rendered_sensor import RenderedSensor, Scene, View, rendered_sensors
from sensor_models.sensor import STEP_US
from xtdrone_core import FleetState, Reading, SensorBlock, Vehicle, VehicleSpec
from xtdrone_core.contracts import Engine, Snapshot
from xtdrone_core.runs.snapshot import Rows
from xtdrone_core.state import SensorDescription

from ..errors import EngineError
from ..world import World
from .past import Past, Sweep
from .scene import RenderedScene, inserted_in

_Result = TypeVar("_Result")
_FIRST_STREAM = 200  # numbers below belong to the sensors of sensor_models.suite
_NO_CAMERA = (16, 16)  # size of an image that is never drawn [pixels]


class FleetScene(Scene, Protocol):
    """A scene into which the fleet is put; all calls come from one thread."""

    in_step: bool  # whether the next step of the engine has to wait for sensors that cast rays

    @property
    def renderer(self) -> str:
        """What draws, for example "egl: llvmpipe"."""

    def place(
        self,
        state: FleetState,
        *inserted: Any,  # as RenderedScene.place() takes them
    ) -> None:
        """Puts everything where it is; `inserted` are the models of inserted_in()."""

    def close(self) -> None:
        """Frees its context."""


class _Waiting(NamedTuple):
    """A reading that is not delivered yet."""

    arrival_us: int
    order: tuple[int, int]  # vehicle, and its first random stream
    reading: "Future[Reading]"


class RenderedSensors:
    """All rendered sensors of a fleet."""

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        seed: int,
        make_scene: Callable[..., FleetScene] | None = None,
        engine: Engine | None = None,
        namespaces: Sequence[str] | None = None,
    ):
        """Reads the vehicles' SensorBlocks of these kinds; compiles a scene if there are any.

        Args:
            world: The World.
            specs, models: The fleet's VehicleSpecs and Vehicles.
            seed: The scenario's.
            make_scene: Called with the size of the largest image and the samples per pixel for
                what draws and measures; None for a RenderedScene.
            engine: Whose inserted models are seen; None for none.
            namespaces: What the topics of each vehicle begin with; None for their names.

        Raises:
            SensorError: Invalid parameters.
            EngineError: The scene cannot be made.
        """
        self._sensors: list[_Mounted] = []
        for i, (spec, model) in enumerate(zip(specs, models)):
            blocks = [block for block in model.sensors if block.kind in rendered_sensors()]
            number = i if spec.number < 0 else spec.number  # a scenario numbers its vehicles
            self._sensors += [
                _Mounted(
                    i,
                    spec.name,
                    f"/{spec.name}" if namespaces is None else namespaces[i],
                    block,
                    seed,
                    number,
                    _FIRST_STREAM + 2 * j,
                )
                for j, block in enumerate(blocks)
            ]
        self._waiting: deque[_Waiting] = deque()  # sorted by arrival and order
        self._past = Past(max((sensor.sweep_us for sensor in self._sensors), default=0))
        self._thread: ThreadPoolExecutor | None = None
        self._engine = engine
        if self._sensors:
            make_scene = make_scene or partial(RenderedScene, world, specs, models)
            self._scene = make_scene(self._largest(), self._samples())
            self._thread = ThreadPoolExecutor(1, "cameras")
            for sensor in self._sensors:
                sensor.refuse_sweep(self._scene.in_step)

    def __len__(self) -> int:
        """Number of sensors."""
        return len(self._sensors)

    @property
    def renderer(self) -> str:
        """What draws, for example "egl: llvmpipe".

        Raises:
            EngineError: Nothing here can render.
        """
        return self._submit(lambda: self._scene.renderer).result()

    def describe(self) -> list[SensorDescription]:
        """Returns each sensor in plain data."""
        return [sensor.description() for sensor in self._sensors]

    def due(self, t_us: int) -> bool:
        """Whether a sensor samples at this time or is in a sweep, or a reading is delivered."""
        return (
            self._past.wanted
            or any(sensor.due(t_us) for sensor in self._sensors)
            or bool(self._waiting and self._waiting[0].arrival_us <= t_us)
        )

    def step(self, state: FleetState, t_us: int) -> list[Reading]:
        """Samples the sensors that are due, and returns the readings delivered now.

        Args:
            state: The fleet at t_us.
            t_us: Simulated time, a whole step [us].

        Returns:
            Readings in the order of the vehicles and their sensors.

        Raises:
            EngineError: Nothing here can render.
        """
        if self._past.wanted:
            self._past.keep(state)
        due = [sensor for sensor in self._sensors if sensor.due(t_us)]
        if due:
            seen = state.copy()
            self._submit(self._scene.place, seen, *inserted_in(self._engine))
            for sensor in sorted(due, key=lambda sensor: sensor.sweep_us > 0):  # they move it
                past = self._past.begin(
                    max(t_us - sensor.sweep_us - STEP_US, sensor.epoch_us),
                    *inserted_in(self._engine),
                )
                future = self._submit(sensor.sample, self._scene, seen, t_us, past)
                if self._scene.in_step and sensor.declared.casts:
                    wait([future])
                self._waiting.append(_Waiting(t_us + sensor.latency_us, sensor.order, future))
            self._waiting = deque(sorted(self._waiting, key=lambda item: item[:2]))
        arrived = []
        while self._waiting and self._waiting[0].arrival_us <= t_us:
            arrived.append(self._waiting.popleft().reading.result())
        return arrived

    def reset(self, mask: np.ndarray, t_us: int) -> None:
        """The sensors of these vehicles (mask (N,) bool) restart at t_us."""
        kept: deque[_Waiting] = deque()
        for item in self._waiting:
            if mask[item.order[0]]:
                wait([item.reading])  # else it would go on to draw from the sensor's new stream
            else:
                kept.append(item)
        self._waiting = kept
        for sensor in self._sensors:
            if mask[sensor.vehicle]:
                sensor.restart(t_us)

    def save(self) -> dict[str, Any]:
        """Returns random streams, schedules, and readings not delivered yet."""
        waiting = []
        for arrival_us, order, future in self._waiting:
            reading = future.result()
            waiting.append(
                {
                    "arrival_us": arrival_us,
                    "order": order,
                    "reading": {
                        field.name: getattr(reading, field.name) for field in fields(reading)
                    },
                }
            )
        return {
            "sensors": [
                {
                    "vehicle": sensor.vehicle,
                    "epoch_us": sensor.epoch_us,
                    "streams": [stream.copy() for stream in sensor.streams],
                }
                for sensor in self._sensors
            ],
            "waiting": waiting,
            "past": self._past.save(),
        }

    def regroup(self, before: "RenderedSensors", rows: Rows) -> None:
        """Takes over schedules, noise and readings on their way of the vehicles that stay."""
        wait([item.reading for item in before._waiting])  # they draw from the sensors' streams
        former: dict[int, list[_Mounted]] = {}
        for sensor in before._sensors:
            former.setdefault(sensor.vehicle, []).append(sensor)
        for sensor in self._sensors:
            row = int(rows.source[sensor.vehicle])
            if row >= 0:
                sensor.take_over(former[row].pop(0))
        self._waiting = deque(
            item._replace(order=(rows.kept[item.order[0]], item.order[1]))
            for item in before._waiting
            if item.order[0] in rows.kept
        )

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""
        for sensor, saved in zip(self._sensors, snapshot["sensors"], strict=True):
            sensor.epoch_us = saved["epoch_us"]
            for stream, state in zip(sensor.streams, saved["streams"], strict=True):
                stream[:] = state
        self._past.load(snapshot.get("past", []))
        self._waiting = deque()
        for item in snapshot["waiting"]:
            future: Future[Reading] = Future()
            future.set_result(Reading(**item["reading"]))
            vehicle, stream = item["order"]
            self._waiting.append(_Waiting(item["arrival_us"], (vehicle, stream), future))

    def close(self) -> None:
        """Ends the thread and frees the context. May be called twice."""
        if self._thread is not None:
            self._thread.submit(self._scene.close)
            self._thread.shutdown()
            self._thread = None
            self._waiting.clear()

    def _submit(self, function: Callable[..., _Result], *arguments: object) -> "Future[_Result]":
        """Calls a function in the thread that renders."""
        assert self._thread is not None, "closed, or a fleet without rendered sensors"
        return self._thread.submit(function, *arguments)

    def _largest(self) -> tuple[int, int]:
        """Returns width and height of the largest image to render [pixels]."""
        pinholes = [lens.pinhole for sensor in self._sensors for lens in sensor.instrument.lenses]
        sizes = [(pinhole.width, pinhole.height) for pinhole in pinholes] or [_NO_CAMERA]
        return max(width for width, _ in sizes), max(height for _, height in sizes)

    def _samples(self) -> int:
        """Returns the samples per pixel that some camera needs."""
        return max(
            (
                part.anti_aliasing
                for sensor in self._sensors
                for part in sensor.instrument.parts
                if isinstance(part, CameraParameters)
            ),
            default=0,
        )


class _Mounted:
    """A sensor on its vehicle, with its schedule."""

    def __init__(
        self,
        vehicle: int,
        name: str,
        namespace: str,
        block: SensorBlock,
        seed: int,
        number: int,
        stream: int,
    ):
        """Builds the instrument.

        Args:
            vehicle, name: Index in the fleet, and name, of the vehicle.
            namespace: What its topics begin with.
            block: The sensor's.
            seed, number, stream: Seed and numbers of its random streams; `number` is the vehicle's.
        """
        self.declared: RenderedSensor = rendered_sensors()[block.kind]
        self.instrument = self.declared.instrument(block, seed, number, stream)
        self.vehicle, self._name, self._block = vehicle, name, block
        self._namespace = namespace
        first = self.instrument.parts[0]
        self._period_us = round(1e6 / first.rate)
        self.latency_us = round(first.latency * 1e6 / STEP_US) * STEP_US
        self.order = vehicle, stream
        self.epoch_us = 0  # when its schedule began
        self._first = [stream.copy() for stream in self.streams]

    @property
    def streams(self) -> Sequence[np.ndarray]:
        """Its random streams."""
        return self.instrument.streams

    @property
    def sweep_us(self) -> int:
        """Time before a reading from which on it sees the scene [us]."""
        return int(getattr(self.instrument, "sweep_us", 0))

    def refuse_sweep(self, in_step: bool) -> None:
        """Raises EngineError where the engine's scene shows one instant and this wants a sweep."""
        if in_step and self.sweep_us:
            raise EngineError(
                f"'{self._block.name}' of {self._name} has a sweep, and this engine casts all rays "
                "of a scan at once: give sweep 0, or engine embedded"
            )

    def due(self, t_us: int) -> bool:
        """Whether it samples now."""
        return (t_us - self.epoch_us) % self._period_us == 0

    def restart(self, t_us: int) -> None:
        """Restarts its schedule and its noise."""
        self.epoch_us = t_us
        for stream, first in zip(self.streams, self._first, strict=True):
            stream[:] = first

    def take_over(self, former: "_Mounted") -> None:
        """Continues the schedule and the noise of the same sensor in another fleet."""
        self.epoch_us = former.epoch_us
        for stream, state in zip(self.streams, former.streams, strict=True):
            stream[:] = state

    def sample(self, scene: FleetScene, state: FleetState, t_us: int, past: "Sweep") -> Reading:
        """Takes a reading of the fleet at t_us, of whose past a sweep shows the last part."""
        at = self.vehicle, self._block.body
        names = self._name, self._block.name

        def before(age_us: int) -> View:
            then_us = max(t_us - age_us, self.epoch_us)
            pos, quat = past.place(scene, then_us, at)
            return replace(view, pos=pos, quat=quat, t_us=then_us)

        view = View(scene, *at, names, state.body_pos[at], state.body_quat[at], t_us, before)
        return Reading(self.instrument.kind, *names, t_us, self.instrument.sample(view))

    def description(self) -> SensorDescription:
        """Returns it in plain data."""
        return {
            "kind": self.instrument.kind,
            "vehicle": self._name,
            "namespace": self._namespace,
            "sensor": self._block.name,
            "period_us": self._period_us,
            "latency_us": self.latency_us,
            "arrays": list(self.instrument.arrays),
            "tags": plugin_tags(self._block),
            "parameters": [asdict(part) for part in self.instrument.parts],
        }
