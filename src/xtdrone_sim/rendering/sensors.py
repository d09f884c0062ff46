"""Rendered cameras and lidars of a fleet.

A sample is taken at a whole step and delivered `latency` later, so that it can be rendered
in a separate thread while the flight continues: what is delivered, and when, does not
depend on the speed of the machine.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import numpy as np

from sensor_models.cameras import FORMATS, RENDERED, cameras_of, lidar_of, plugin_tags
from sensor_models.lens import Lens, lidar_rays, noisy_ranges
from sensor_models.sensor import STEP_US
from sensor_models.streams import new_stream
from xtdrone_core import FleetState, Reading, Vehicle, VehicleSpec
from xtdrone_core.contracts import Engine
from xtdrone_core.runs.snapshot import Rows
from xtdrone_dynamics.quaternion import multiply, rotate, rotate_array

from .scene import RenderedScene, inserted_in

_COLOUR_FAR = 100.0  # up to here a depth camera's colour image is complete [m]
_FIRST_STREAM = 200  # numbers below belong to the sensors of sensor_models.suite


class RenderedSensors:
    """All cameras, depth cameras and lidars of a fleet."""

    def __init__(
        self,
        world: Any,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        seed: int,
        make_scene: Callable[..., Any] | None = None,
        engine: Engine | None = None,
    ):
        """Reads the vehicles' SensorBlocks of these kinds; compiles a scene if there are any.

        Args:
            world: The World.
            specs, models: The fleet's VehicleSpecs and Vehicles.
            seed: The scenario's.
            make_scene: Called with the size of the largest image and the samples per pixel for
                what draws and measures; None for a RenderedScene.
            engine: Whose inserted models are seen; None for none.

        Raises:
            SensorError: Invalid parameters.
            EngineError: The scene cannot be made.
        """
        self._sensors = []
        for i, (spec, model) in enumerate(zip(specs, models)):
            blocks = [block for block in model.sensors if block.kind in RENDERED]
            number = i if spec.number < 0 else spec.number  # of a scenario each has its own
            for j, block in enumerate(blocks):
                make = _Lidar if block.kind == "lidar" else _Camera
                self._sensors.append(
                    make((i, number), spec.name, block, seed, _FIRST_STREAM + 2 * j)
                )
        self._waiting = deque()  # (arrival [us], order, future), sorted by arrival
        self._thread = self._scene = None
        self._engine = engine
        if self._sensors:
            make_scene = make_scene or partial(RenderedScene, world, specs, models)
            self._scene = make_scene(
                self._largest(), max(sensor.samples for sensor in self._sensors)
            )
            self._thread = ThreadPoolExecutor(1, "cameras")

    def __len__(self) -> int:
        """Number of sensors."""
        return len(self._sensors)

    @property
    def renderer(self) -> str:
        """What draws, for example "egl: llvmpipe".

        Raises:
            EngineError: Nothing here can render.
        """
        return self._thread.submit(lambda: self._scene.renderer).result()

    def describe(self) -> list[dict]:
        """Each sensor in plain data: kind, vehicle, sensor, period_us, latency_us, arrays (name,
        dtype, shape), tags of its plugins, and parameters of each camera or lidar in it.
        """
        return [sensor.description() for sensor in self._sensors]

    def due(self, t_us: int) -> bool:
        """Whether a sensor samples at this time, or a reading is delivered."""
        return any(sensor.due(t_us) for sensor in self._sensors) or bool(
            self._waiting and self._waiting[0][0] <= t_us
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
        due = [sensor for sensor in self._sensors if sensor.due(t_us)]
        if due:
            seen = state.copy()
            self._thread.submit(self._scene.place, seen, *inserted_in(self._engine))
            for sensor in due:
                future = self._thread.submit(sensor.sample, self._scene, seen, t_us)
                if self._scene.in_step and sensor.kind == "lidar":
                    wait([future])
                self._waiting.append((t_us + sensor.latency_us, sensor.order, future))
            self._waiting = deque(sorted(self._waiting, key=lambda item: item[:2]))
        arrived = []
        while self._waiting and self._waiting[0][0] <= t_us:
            arrived.append(self._waiting.popleft()[2].result())
        return arrived

    def reset(self, mask: np.ndarray, t_us: int) -> None:
        """The sensors of these vehicles (mask (N,) bool) restart at t_us."""
        kept = deque()
        for item in self._waiting:
            if mask[item[1][0]]:
                wait([item[2]])  # else it would go on to draw from the sensor's new stream
            else:
                kept.append(item)
        self._waiting = kept
        for sensor in self._sensors:
            if mask[sensor.index]:
                sensor.restart(t_us)

    def save(self) -> dict:
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
                    "vehicle": sensor.index,
                    "epoch_us": sensor.epoch_us,
                    "streams": [stream.copy() for stream in sensor.streams()],
                }
                for sensor in self._sensors
            ],
            "waiting": waiting,
        }

    def regroup(self, before: "RenderedSensors", rows: Rows) -> None:
        """Takes over schedules, noise and readings on their way of the vehicles that stay."""
        wait([future for *_, future in before._waiting])  # they draw from the sensors' streams
        former: dict[int, list[_Sensor]] = {}
        for sensor in before._sensors:
            former.setdefault(sensor.index, []).append(sensor)
        for sensor in self._sensors:
            row = int(rows.source[sensor.index])
            if row >= 0:
                sensor.take_over(former[row].pop(0))
        self._waiting = deque(
            (arrival_us, (rows.kept[order[0]], order[1]), future)
            for arrival_us, order, future in before._waiting
            if order[0] in rows.kept
        )

    def load(self, snapshot: Mapping) -> None:
        """Restores a state returned by save()."""
        for sensor, saved in zip(self._sensors, snapshot["sensors"], strict=True):
            sensor.epoch_us = saved["epoch_us"]
            for stream, state in zip(sensor.streams(), saved["streams"], strict=True):
                stream[:] = state
        self._waiting = deque()
        for item in snapshot["waiting"]:
            future = Future()
            future.set_result(Reading(**item["reading"]))
            self._waiting.append((item["arrival_us"], tuple(item["order"]), future))

    def close(self) -> None:
        """Ends the thread and frees the context. May be called twice."""
        if self._thread is not None:
            self._thread.submit(self._scene.close)
            self._thread.shutdown()
            self._thread = None
            self._waiting.clear()

    def _largest(self):
        sizes = [
            (lens.pinhole.width, lens.pinhole.height)
            for sensor in self._sensors
            for lens in sensor.lenses
        ] or [(16, 16)]
        return max(width for width, _ in sizes), max(height for _, height in sizes)


class _Sensor:
    """Base class of rendered sensors."""

    def __init__(self, index, vehicle, block, rate, latency, order):
        self.index, self.vehicle, self.block = index, vehicle, block
        self.period_us = round(1e6 / rate)
        self.latency_us = round(latency * 1e6 / STEP_US) * STEP_US
        self.order = index, order
        self.epoch_us = 0  # when its schedule began

    def due(self, t_us) -> bool:
        """Whether it samples now."""
        return (t_us - self.epoch_us) % self.period_us == 0

    def restart(self, t_us):
        """Restarts its schedule and its noise."""
        self.epoch_us = t_us
        for stream, first in zip(self.streams(), self._first, strict=True):
            stream[:] = first

    def take_over(self, former: "_Sensor"):
        """Continues the schedule and the noise of the same sensor in another fleet."""
        self.epoch_us = former.epoch_us
        for stream, state in zip(self.streams(), former.streams(), strict=True):
            stream[:] = state

    def _remember_streams(self):
        self._first = [stream.copy() for stream in self.streams()]

    def placed(self, state, part):
        """World pose of a part of the body that the sensor sits on."""
        at = self.index, self.block.body
        q = tuple(state.body_quat[at])
        return state.body_pos[at] + rotate(*q, *part.pos), multiply(*q, *part.quat)

    def reading(self, t_us, data) -> Reading:
        return Reading(self.kind, self.vehicle, self.block.name, t_us, data)

    def described(self, arrays, parts) -> dict:
        return {
            "kind": self.kind,
            "vehicle": self.vehicle,
            "sensor": self.block.name,
            "period_us": self.period_us,
            "latency_us": self.latency_us,
            "arrays": arrays,
            "tags": plugin_tags(self.block),
            "parameters": [asdict(part) for part in parts],
        }


class _Camera(_Sensor):
    """One camera, a stereo pair or a depth camera."""

    def __init__(self, which, vehicle, block, seed, stream):
        index, number = which  # in the fleet, and that of the vehicle
        self.cameras = cameras_of(block)
        first = self.cameras[0]
        super().__init__(index, vehicle, block, first.rate, first.latency, stream)
        self.kind = (
            "depth" if block.kind == "depth" else "stereo" if len(self.cameras) == 2 else "camera"
        )
        self.lenses = [
            Lens(camera, seed, number, stream + k) for k, camera in enumerate(self.cameras)
        ]
        self.cameras = tuple(lens.camera for lens in self.lenses)
        self.samples = max(camera.anti_aliasing for camera in self.cameras)
        self._remember_streams()

    def streams(self):
        return [lens.stream for lens in self.lenses]

    def sample(self, scene, state, t_us) -> Reading:
        data = {}
        for camera, lens in zip(self.cameras, self.lenses):
            place = self.placed(state, camera)
            key = self.vehicle, self.block.name, camera.name
            if self.kind == "depth":
                far = max(camera.far, _COLOUR_FAR)
                colours, distances = scene.draw(*place, lens.pinhole, camera.near, far, True, key)
                data["depth"] = lens.depth(distances)
            else:
                colours = scene.draw(*place, lens.pinhole, camera.near, camera.far, key=key)
            data[camera.name or "image"] = lens.image(colours)
        return self.reading(t_us, data)

    def description(self) -> dict:
        arrays = []
        for camera in self.cameras:
            shape = [camera.height, camera.width]
            if self.kind == "depth":
                arrays.append(["depth", "<f4", shape])
            colours = [] if FORMATS[camera.format] == 1 else [FORMATS[camera.format]]
            arrays.append([camera.name or "image", "|u1", shape + colours])
        return self.described(arrays, self.cameras)


class _Lidar(_Sensor):
    """A scanner in a plane or in space."""

    kind = "lidar"
    lenses = ()
    samples = 0

    def __init__(self, which, vehicle, block, seed, stream):
        index, number = which
        self.lidar = lidar_of(block)
        super().__init__(index, vehicle, block, self.lidar.rate, self.lidar.latency, stream)
        self._rays = lidar_rays(self.lidar).reshape(-1, 3)
        self._stream = new_stream(seed, number, stream)
        self._remember_streams()

    def streams(self):
        return [self._stream]

    def sample(self, scene, state, t_us) -> Reading:
        place, turn = self.placed(state, self.lidar)
        rays = rotate_array(np.broadcast_to(turn, (len(self._rays), 4)), self._rays)
        true = scene.cast(self.index, place, rays, self.lidar.maximum, self.block.body)
        ranges = noisy_ranges(true, self.lidar, self._stream)
        return self.reading(t_us, {"ranges": ranges.reshape(self.lidar.rows, self.lidar.columns)})

    def description(self) -> dict:
        shape = [self.lidar.rows, self.lidar.columns]
        return self.described([["ranges", "<f4", shape]], [self.lidar])
