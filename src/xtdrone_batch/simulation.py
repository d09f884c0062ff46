"""BatchSimulation: many environments of a few vehicles each, stepped together."""

import functools
from typing import Any

import numpy as np
import psutil

from sensor_models.cameras import CameraParameters
from sensor_models.rendered.lidar import LidarParameters
from sensor_models.suite import SensorSuite
from xtdrone_core import FleetModel
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_core.sealing import sealed
from xtdrone_core.state import SensorBatch
from xtdrone_core.vehicle import Servo
from xtdrone_dynamics import progress
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_sim.plant.wind import Wind, WindParameters
from xtdrone_sim.vehicles.pose import sensors_at_zero, start_pose
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

from .arrays import STEP_US, Air, BatchState, Variation, new_state
from .cpu import CpuBackend
from .description import Backend, BatchDescription, records_of, types_of
from .device_array import check_device
from .errors import BatchError
from .levels import AT_ACTUATOR, LEVELS, Level, level_of
from .physics.control import LoopState, make_loops
from .physics.lanes.layout import lane_model
from .randomisation import Randomisation, seed_streams
from .rays.scene import RayScene
from .rays.sensor import Camera, Lidar
from .scenes import PLANE, Scenes, object_dtype
from .threads import Threads
from .worlds.generate import World, move

MAX_ENVIRONMENTS = 1 << 24
REALS = {"float64": np.float64, "float32": np.float32}
_GROUND = 20_000.0  # sides of the ground [m]
_AS_MODELLED = Randomisation()


@sealed
class BatchSimulation:
    """E environments of V vehicles each, on all threads of the CPU.

    The physics is that of the lockstep fleet: the same kernels, the same 4 ms. Vehicles get the
    true state; sensors are asked for.

    Attributes:
        state: The BatchState, arrays (E, V, ...) that every step overwrites.
        model: FleetModel of one environment's vehicles.
        scenes: The Scenes.
        t_us: Simulated time since the start of each environment (E,) [us].
        first: Number of the first environment, where these are a part of a larger batch.
        threads: Threads that step.
        device: 'cpu' or 'cuda'.

    Examples:
        >>> import numpy as np
        >>> import xtdrone as xd
        >>> batch = xd.BatchSimulation("iris@0,0,5", environments=8, action="velocity", threads=1)
        >>> batch.step(np.zeros(batch.action_shape)).pos.shape
        (8, 1, 3)
    """

    def __init__(
        self,
        vehicles: str = "iris",
        environments: int = 1,
        *,
        action: str = "velocity",
        controller: str = "px4",
        sub_steps: int = 5,
        scenes: Scenes | World | None = None,
        dtype: str = "float64",
        seed: int = 0,
        randomisation: Randomisation = _AS_MODELLED,
        wind: str = "",
        sensors: bool = False,
        device: str = "cpu",
        threads: int = 0,
        first: int = 0,
        gravity: float = GRAVITY,
        altitude: float = 0.0,
    ):
        """Builds a batch; all vehicles are at their start, at rest.

        Args:
            vehicles: Those of one environment, as in a Scenario: 'iris', 'iris*3, plane', or with
                poses 'iris@0,0,1'.
            environments: How many environments.
            action: What an action commands: one of control.LEVELS.
            controller: 'px4' (the flight stack's loops), 'indi' (its INDI) or 'geometric' (Aerial
                Gym's).
            sub_steps: Number of sub-steps of 4 ms in one step().
            scenes: What stands in the environments: Scenes, or a World (of a world file) that
                makes each environment anew at its reset; None for a ground.
            dtype: Type of the state, 'float64' or 'float32'.
            seed: Seed of all random numbers. What environment e draws depends on it and on e alone.
            randomisation: Drawn anew at each reset.
            wind: As in a Scenario: 'E,N,U' or words such as 'dryden=5'; constant within a step().
            sensors: Whether every step measures; see `sensors`.
            device: 'cpu', or 'cuda' for a graphics card: arrays then lie there, see
                device_array.DeviceArray. Wind and sensors stay on the CPU; tilting rotors only by
                action='actuator'.
            threads: Number of threads of the CPU; 0 for one on each core.
            first: Number of the first environment, where these are a part of a larger batch.
            gravity: [m/s^2].
            altitude: Altitude of the ground above mean sea level [m].

        Raises:
            XtdroneError: Something cannot be built; the message names it.
        """
        if dtype not in REALS:
            raise BatchError(f"dtype '{shown(dtype)}' is not allowed: give {' or '.join(REALS)}")
        progress.show_always()
        self.environments = _whole("environments", environments, 1, MAX_ENVIRONMENTS)
        self.sub_steps = _whole("sub_steps", sub_steps, 1, 10_000)
        self.threads = Threads(_whole("threads", threads, 0, 1024))
        self._specs = parse_vehicles(vehicles)
        models = {spec.type: load_vehicle(spec.type) for spec in self._specs}
        self.model = FleetModel.of([models[spec.type] for spec in self._specs])
        self._check_vehicles()
        self._check_device(device)
        self.device = device
        level = level_of(action, self.model)
        self.action_names = level.fields
        self._check_memory(REALS[dtype], controller)
        self._world = scenes if isinstance(scenes, World) else None
        self._world_streams = np.zeros((self.environments, 4), dtype=np.uint64)
        if isinstance(scenes, World):
            scenes = scenes.scenes(self.environments)
        self.scenes = _ground() if scenes is None else scenes
        if len(self.scenes.objects) not in (1, self.environments):
            raise BatchError(
                f"the scenes have {len(self.scenes.objects)} environments and the "
                f"batch {self.environments}: make as many, or one for all"
            )
        air = Air(float(gravity), float(altitude), -np.inf, 0.0)
        self.description = self._describe(level, controller, REALS[dtype], air, randomisation)
        self.t_us = np.zeros(self.environments, dtype=np.int64)
        self._now_us = 0
        self.first = _whole("first", first, 0, MAX_ENVIRONMENTS)
        self._seed = _whole("seed", seed, 0, 2**63 - 1)
        parameters = WindParameters.parse(wind)
        if randomisation.wind and not parameters.still:
            raise BatchError(
                f"wind '{shown(wind)}' and wind = {randomisation.wind:g} of the "
                "randomisation are not allowed together: leave one out"
            )
        total = self.environments * self.vehicles
        self._wind = (
            None if parameters.still else Wind(parameters, total, self._seed, self._numbers())
        )
        self._fleet = BatchState(
            *(array.reshape(total, *array.shape[2:]) for array in self.description.state)
        )  # views with one row for each vehicle
        self._suite = self._make_suite() if sensors else None
        self._views: list[Camera | Lidar] = []
        self._backend = _backend(device, self.description, self.threads)
        self.state: BatchState = self._backend.state
        self.reset(seed=self._seed)

    @property
    def action_shape(self) -> tuple[int, int, int]:
        """(E, V, K) of an action."""
        e, v, k = self.description.action.shape
        return e, v, k

    @property
    def sensors(self) -> SensorBatch:
        """The readings after the last step, of vehicle i of environment e in row e V + i.

        Raises:
            BatchError: The batch was built without sensors.
        """
        if self._suite is None:
            raise BatchError("this batch measures nothing: build it with sensors=True")
        return self._suite.batch

    @functools.cached_property
    def rays(self) -> RayScene:
        """What cameras and lidars see. After a change of scenes.objects call its invalidate()."""
        return RayScene(self.scenes, self.model, self.environments, self.threads)

    def add_camera(self, camera: CameraParameters, **options: Any) -> Camera:  # as Camera's
        """Mounts a camera; its capture() gives images of all environments.

        Args:
            camera: CameraParameters.pinhole(...), or one of rays.sensor.mounted().
            options: vehicle: index in an environment, None for all of them; channels: some of
                depth, image, segmentation, normals, flow; mounting: a Mounting, drawn at each
                reset; seed: of noise and mounting.

        Raises:
            BatchError: An option is not allowed, or the images do not fit into memory.
        """
        self._views.append(view := Camera(self, camera, **options))
        return view

    def add_lidar(self, lidar: LidarParameters, **options: Any) -> Lidar:  # as Lidar's
        """Mounts a lidar; its scan() gives the distances of all environments.

        Args:
            lidar: For example of rays.sensor.mounted().
            options: As of add_camera(), with channels of ranges, segmentation, normals; beams:
                (rows, columns, 3) directions in the lidar's frame in place of its own.

        Raises:
            BatchError: An option is not allowed, or the scans do not fit into memory.
        """
        self._views.append(view := Lidar(self, lidar, **options))
        return view

    @property
    def variation(self) -> Variation:
        """How each vehicle differs from its model now."""
        return self._backend.variation

    @property
    def in_lanes(self) -> bool:
        """Whether environments run in lanes while nothing can touch anything in them."""
        return self.description.in_lanes

    @property
    def vehicles(self) -> int:
        """Number of vehicles in one environment."""
        return self.model.n

    @property
    def step_s(self) -> float:
        """Simulated time of one step() [s]."""
        return self.description.step_s

    def reset(self, mask: np.ndarray | None = None, seed: int | None = None) -> BatchState:
        """Puts environments back to their start.

        Args:
            mask: (E,) bool, which ones; None for all.
            seed: Seed of the draws from now on; None goes on with the streams there are.

        Returns:
            state.

        Raises:
            BatchError: The mask has another shape or type, or selects nothing.
        """
        if mask is None:
            rows: Any = slice(None)
            self._now_us = 0
        else:
            rows = np.asarray(mask)
            if rows.dtype != np.bool_ or rows.shape != (self.environments,):
                raise BatchError(
                    f"a mask of {rows.dtype} and shape {rows.shape} is not allowed: "
                    f"give bool and ({self.environments},)"
                )
            if not rows.any():
                raise BatchError("the mask selects no environment: leave the reset out")
        which = np.arange(self.environments)[rows]
        if seed is not None:
            fresh = np.zeros_like(self.description.streams)
            seed_streams(_whole("seed", seed, 0, 2**63 - 1), self.first, fresh)
            self.description.streams[which] = fresh[which]
            if self._world is not None:
                # Another seed than the vehicles', so that worlds and starts are independent.
                seed_streams(~np.uint64(seed), self.first, fresh)  # type: ignore[arg-type]
                self._world_streams[which] = fresh[which]
        if (world := self._world) is not None:
            self.threads.over(
                len(which),
                lambda first, last: world.fill(self.scenes, which[first:last], self._world_streams),
            )
            self.rays.invalidate(mask)
        self.t_us[which] = 0
        self._backend.reset(which, seed is not None)
        everyone = None if mask is None else np.repeat(rows, self.vehicles)
        for part in (self._wind, self._suite):
            if part is not None:
                part.reset(everyone)
        for view in self._views:
            view.reset(which)
        return self.state

    def start_from(
        self,
        pos: np.ndarray,
        quat: np.ndarray,
        vel: np.ndarray,
        ang_vel: np.ndarray,
        actuator: np.ndarray | None = None,
    ) -> BatchState:
        """Makes a state the start of every environment, and resets all to it.

        Args:
            pos, quat, vel, ang_vel: (V, 3), (V, 4), (V, 3), (V, 3), as in `state`.
            actuator: (V, A) speeds of rotors [rad/s] and positions of others; None: as they are.

        Returns:
            state.
        """
        start = self.description.start
        start.pos[:], start.quat[:] = pos, quat
        start.vel[:], start.ang_vel[:] = vel, ang_vel
        if actuator is not None:
            start.actuator[:] = actuator
        return self.reset()

    def randomise(self, randomisation: Randomisation) -> None:
        """Draws by another randomisation from the next reset on."""
        self._backend.set_widths(randomisation.widths())

    def step(self, action: np.ndarray) -> BatchState:
        """Advances all environments by sub_steps of 4 ms under one action.

        Args:
            action: (E, V, K) as `action_names`, or one for each actuator. With device='cuda' also
                an array there, of the batch's type; its numbers are not checked.

        Returns:
            state.

        Raises:
            BatchError: Its shape is another, or a number is not finite.
        """
        checked, wind = self._checked(action), None
        if self._wind is not None:
            self.host_state()
            air = self._fleet
            self._wind.step(self._now_us, self.sub_steps * STEP_US, air.pos, air.vel, air.wind)
            wind = self.description.state.wind
        self._backend.step(checked, self._now_us, wind)
        if self.scenes.objects["moving"].any():
            self.threads.over(
                len(self.scenes.objects),
                lambda first, last: move(
                    first, last, self.scenes.bounds, self.scenes.objects, self.step_s
                ),
            )
            self._backend.update_objects()
        self._now_us += self.sub_steps * STEP_US
        self.t_us += self.sub_steps * STEP_US
        if self._suite is not None:
            self.host_state()
            self._suite.step(self._fleet, self._now_us, self._fleet.wind)
        return self.state

    def host_state(self) -> BatchState:
        """The state as NumPy's arrays: state, or with device='cuda' a copy that is made now."""
        return self._backend.host_state()

    def wait(self) -> None:
        """Returns when the device has done all that was asked; step() and reset() do not wait."""
        self._backend.wait()

    def _numbers(self) -> range:
        """Returns the numbers of all vehicles, which name their random streams."""
        first = self.first * self.vehicles
        return range(first, first + self.environments * self.vehicles)

    def _make_suite(self) -> SensorSuite:
        """Returns the sensors of all vehicles."""
        world = load_world("empty")
        blocks = [sensors_at_zero(vehicle) for vehicle in self.model.vehicles]
        return SensorSuite(
            blocks * self.environments,
            (world.latitude, world.longitude, self.description.air.altitude),
            world.magnetic_field,
            self._seed,
            gravity=self.description.air.gravity,
            numbers=self._numbers(),
        )

    def _checked(self, action: Any) -> np.ndarray:  # array or sequence, or on the device
        """Returns the action: the array of the description, or where it lies on the device."""
        on_device = self._backend.owns(action)
        given = action if on_device else np.asarray(action)
        if given.shape != self.description.action.shape:
            names = ", ".join(self.action_names) or "one for each actuator"
            raise BatchError(
                f"an action of shape {given.shape} is not allowed: give "
                f"{self.description.action.shape} (environments, vehicles, {names})"
            )
        if on_device:
            return self._backend.checked(given)
        if given.dtype.kind not in "fiu":
            raise BatchError(f"an action of type {given.dtype} is not allowed: give numbers")
        if not np.isfinite(given.sum()):
            bad = np.argwhere(~np.isfinite(given))
            if len(bad):
                e, i, k = bad[0].tolist()
                name = self.action_names[k] if self.action_names else f"actuator {k}"
                raise BatchError(
                    f"the action of environment {self.first + e}, vehicle {i} has "
                    f"{name} = {given[e, i, k]}: give finite numbers"
                )
        self.description.action[:] = given
        return self.description.action

    def _describe(
        self, level: Level, controller: str, real: type, air: Air, randomisation: Randomisation
    ) -> BatchDescription:
        """Returns the arrays of the batch, with vehicles at the origin."""
        state = new_state(self.model, self.environments, real)
        start = BatchState(*(array[0].copy() for array in state))
        for i, (spec, vehicle) in enumerate(zip(self._specs, self.model.vehicles)):
            pose = start_pose(spec, vehicle)
            start.pos[i], start.quat[i] = pose.pos, pose.quat
        loops, loop_state = make_loops(self.model, self.environments, level, controller, real)
        lanes = lane_model(self.model, loops, air.gravity, STEP_US * 1e-6, real)
        if not lanes.fits.all():  # environments are stepped as a whole
            lanes.fits[:] = False
        lead, actuators = (self.environments, self.model.n), self.model.actuator.shape[1]
        return BatchDescription(
            sub_steps=self.sub_steps,
            real=real,
            state=state,
            variation=Variation(np.ones(lead, dtype=real), np.ones((*lead, actuators), dtype=real)),
            loops=loops,
            loop_state=loop_state,
            action=np.zeros((*lead, len(level.fields) or actuators), dtype=real),
            lanes=lanes,
            records=records_of(self.model, self.scenes.meshes),
            air=air,
            objects=self.scenes.objects,
            start=start,
            start_loops=LoopState(*(array[0].copy() for array in loop_state)),
            types=types_of(self.model),
            streams=np.zeros((self.environments, 4), dtype=np.uint64),
            widths=randomisation.widths(),
            clear=np.zeros(self.environments, dtype=np.bool_),
        )

    def _check_memory(self, real: type, controller: str) -> None:
        """Refuses what would not fit: the system would end the process later, without a word."""
        one = _bytes(
            new_state(self.model, 1, real),
            make_loops(self.model, 1, LEVELS["position"], controller, real)[1],
        )
        # The action, how vehicles differ, rows and streams take about as much again.
        needed, free = 2 * one * self.environments, psutil.virtual_memory().available
        if needed > free:
            raise BatchError(
                f"{self.environments} environments of {self.model.n} vehicles need "
                f"{needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free: give at "
                f"most {self.environments * free // needed}, or dtype='float32'"
            )

    def _check_device(self, device: str) -> None:
        if device not in ("cpu", "cuda"):
            raise BatchError(unknown_name("device", device, ("cpu", "cuda")))
        if device == "cuda":
            check_device()

    def _check_vehicles(self) -> None:
        for vehicle in self.model.vehicles:
            driven = {
                actuator.joint for actuator in vehicle.actuators if isinstance(actuator, Servo)
            }
            if len(driven) < len(vehicle.joints):
                raise BatchError(
                    f"'{vehicle.type}' has a joint that no servo moves: a batch only "
                    "moves joints by servos"
                )


def _backend(device: str, batch: BatchDescription, threads: Threads) -> Backend:
    """Returns what steps the batch.

    Raises:
        BatchError: The device cannot step it.
    """
    if device == "cpu":
        return CpuBackend(batch, threads)
    if batch.loop_state.values.shape[2] and batch.loops.level != AT_ACTUATOR:
        raise BatchError(
            "device='cuda' does not allocate to rotors that tilt: use "
            "action='actuator', or device='cpu'"
        )
    from .cuda import CudaBackend  # numba.cuda is slow to import

    return CudaBackend(batch)


def _bytes(*arrays: tuple) -> int:
    """Returns the size of the arrays in some tuples [bytes]."""
    return sum(array.nbytes for each in arrays for array in each)


def _whole(name: str, value: object, minimum: int, maximum: int) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not minimum <= value <= maximum
    ):
        raise BatchError(
            f"{name} = {shown(value)} is not allowed: "
            f"give a whole number from {minimum} to {maximum}"
        )
    return int(value)


def _ground() -> Scenes:
    objects = np.zeros((1, 1), dtype=object_dtype())
    objects["kind"], objects["size"] = PLANE, (_GROUND, _GROUND, 0.0)
    objects["quat"] = 0.0, 0.0, 0.0, 1.0
    bounds = np.array([[[-0.5 * _GROUND] * 2 + [0.0], [0.5 * _GROUND] * 2 + [1000.0]]])
    return Scenes(objects, bounds)
