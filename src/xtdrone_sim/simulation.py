"""The simulation: one process, one clock, lockstep.

At each 4 ms step the sensors' readings go to the autopilot, its commands to the
rotors, their wrench to the engine, and the new state back to the sensors.
Nothing here reads the wall clock but the pacer.
"""

import threading
import time

import numpy as np

from sensor_models import SensorSuite
from xtdrone_core import ControlError, FleetModel, Scenario, XtdroneError, registry, run_folder
from xtdrone_core.control_link import TICK_US, ControlServer
from xtdrone_core.disturbances import parse_change
from xtdrone_core.truth_log import TruthWriter

from .plant.battery import BatteryStage
from .plant.disturbances import Changes
from .plant.rotors import RotorStage
from .plant.wind import Wind, WindParameters
from .rendering.frame_publisher import Delivery
from .rendering.scene import Beams
from .rendering.sensors import RenderedSensors
from .vehicles.sdf import load_vehicle, load_world

STEP_US = 4000  # PX4's lockstep period [us]
AWAIT_BRIDGE_S = 30.0  # wall time that its start waits for a bridge that was announced [s]
BARRIER_S = 1.0  # wall time that an unpaced simulation waits for the bridge [s]
TRUTH_POSE_US = 40_000  # period of true poses to the autopilot, where pose_source is truth [us]
MAX_LAG_S = 0.1  # behind real time by more than this, the pacer gives the rest up [s]
PAUSE_POLL_S = 0.05
WARNING = 4  # severity of a text from a flight stack, as in MAVLink


class Pacer:
    """Holds simulated time to a factor of wall time; the one reader of the wall clock."""

    def __init__(self, speed: float):
        """speed: simulated seconds per wall second, 0 = as fast as possible."""
        self._speed = speed
        self._begin = time.monotonic()
        self._base = self._begin
        self._base_us = 0
        self._paused_s = 0.0

    @property
    def speed(self) -> float:
        """The factor in force."""
        return self._speed

    def set_speed(self, speed: float, t_us: int) -> None:
        """A new factor from the simulated time t_us on."""
        self._speed, self._base, self._base_us = speed, time.monotonic(), t_us

    def wait(self, t_us: int) -> None:
        """Sleeps until the simulated time t_us is due."""
        if self._speed == 0.0:
            return
        left = self._base + (t_us - self._base_us) * 1e-6 / self._speed - time.monotonic()
        if left > 0:
            time.sleep(left)
        elif left < -MAX_LAG_S:
            self.set_speed(self._speed, t_us)

    def pause(self, seconds: float, t_us: int) -> None:
        """Tells the pacer of a pause, which counts as no time."""
        self._paused_s += seconds
        self.set_speed(self._speed, t_us)

    def elapsed(self) -> float:
        """Wall time since the start without pauses [s]."""
        return time.monotonic() - self._begin - self._paused_s


class Simulation:
    """A scenario that runs."""

    def __init__(self, scenario: Scenario, folder=None, agent=None, control_port=None,
                 links: bool = True):
        """Builds everything; nothing moves before run() or step().

        Args:
            scenario: What to simulate.
            folder: Run folder for logs; None writes nothing.
            agent: An Agent that flies the fleet from inside, or None.
            control_port: TCP port of the control socket, None for no socket.
            links: Whether the autopilot opens its MAVLink ports.

        Raises:
            XtdroneError: Something in the scenario cannot be built.
        """
        self.scenario = scenario
        self.folder = folder
        self.agent = agent
        self.t_us = 0
        self.world = load_world(scenario.world)
        models = tuple(load_vehicle(spec.type) for spec in scenario.vehicles)
        self.fleet = FleetModel.of(models)
        self.control = None
        self.autopilot = None
        self._console = self._truth = self.rendered = self._delivery = None
        self._filmed = False  # somebody asked where the images are
        self.on_reading = None  # called with each Reading of a camera or lidar when it arrives
        self.on_step = None  # called with t_us, FleetState and SensorBatch after each step
        engine = registry.load("engine", scenario.engine, registry.ENGINES)
        autopilot = registry.load("autopilot", scenario.autopilot, registry.AUTOPILOTS)
        origin = self.world.latitude, self.world.longitude, self.world.altitude
        field = self.world.magnetic_field
        self.engine = engine(self.world, scenario.vehicles, models)
        try:
            if folder is not None:
                self._console = open(folder / "console" / "autopilot.log", "a")
                self._truth = TruthWriter(folder / "truth.bin", scenario.n)
            self.rotors = RotorStage(self.fleet, self.world.altitude)
            self.battery = BatteryStage(self.fleet)
            self.changes = Changes(scenario, self.fleet, self.engine, self.rotors, self.battery)
            self._wind = self._make_wind()
            self.sensor_suite = SensorSuite([model.sensors for model in models], origin, field,
                                            scenario.seed, scenario.gps, self.world.gravity,
                                            self._make_beams(models))
            self.rendered = RenderedSensors(self.world, scenario.vehicles, models, scenario.seed,
                                            getattr(self.engine, "scene", None))
            self.autopilot = autopilot.for_scenario(scenario, self.fleet, origin, field, folder,
                                                    links, self._log)
            self.control = None if control_port is None else ControlServer(control_port)
            if len(self.rendered) and control_port is not None:
                self._log(None, 6, f"cameras and lidars are drawn by {self.rendered.renderer}")
                self._delivery = Delivery(self.rendered)
        except BaseException:
            self._close_parts()
            raise
        self._wrench = np.zeros((scenario.n, 6))
        self.last_warning = None  # of a flight stack, in words
        self.collisions = []  # (t_us, name, name), each once per touch
        self._touching = set()
        self._state = self.engine.reset()
        self._sensors = self._sense()
        self._look()
        self._stop = threading.Event()
        self._paused = False
        self._steps_left = 0
        self._warned = False
        self._pacer = Pacer(scenario.speed)
        if hasattr(self.autopilot, "attach_truth"):  # for the logs of real PX4
            self.autopilot.attach_truth(lambda: self._state)
        self.progress = None  # called with this simulation at each simulated second

    @property
    def state(self):
        """The true FleetState now; owned by the engine."""
        return self._state

    @property
    def sensors(self):
        """The last SensorBatch, what the vehicles' sensors say; owned by the sensor suite."""
        return self._sensors

    def step(self) -> None:
        """One lockstep step of 4 ms."""
        if self.changes.due(self.t_us):
            for change in self.changes.apply(self.t_us):
                self.event(self.t_us, "change", **self.changes.values(change))
        commands = self.autopilot.step(self.t_us, self._sensors)
        if self.agent is not None and self.t_us % TICK_US == 0:
            wishes = self.agent.step(self.t_us, self.autopilot.estimates())
            self.autopilot.apply(wishes)
        if self._wind is not None:
            self._wind.step(self.t_us, STEP_US, self._state.pos, self._state.vel, self.rotors.wind)
        self.rotors.step(commands, self._state, STEP_US, self._wrench)
        self.battery.step(self.rotors.power, STEP_US, self.rotors.speed_share)
        self._state = self.engine.step(self._wrench, STEP_US)
        self.t_us += STEP_US
        self._sensors = self._sense()
        if self.on_step is not None:
            self.on_step(self.t_us, self._state, self._sensors)
        if self.rendered.due(self.t_us):
            self._look()
        if self.t_us % TICK_US == 0:
            self._record()
        if self.scenario.pose_source == "truth" and self.t_us % TRUTH_POSE_US == 0:
            state = self._state
            for i in range(self.scenario.n):
                self.autopilot.take_vision(i, self.t_us, state.pos[i], state.quat[i])

    def await_bridge(self) -> None:
        """Waits until a bridge is on the control socket, so that no flight is over before."""
        end = time.monotonic() + AWAIT_BRIDGE_S
        while not self.control.has_barrier and not self._stop.is_set():
            self.control.poll(self._handle, PAUSE_POLL_S)
            if time.monotonic() > end:
                self._log(None, 4, f"no bridge within {AWAIT_BRIDGE_S:g} s; going on without it")
                return

    def run(self, until_us=None) -> None:
        """Steps until stop(), the agent is done, or the simulated time until_us.

        Paced by the scenario's speed. With speed 0 and a bridge on the control
        socket it waits for the bridge at every 20 ms.
        """
        if self.t_us == 0:
            self._pacer = Pacer(self._pacer.speed)
        self._pacer.set_speed(self._pacer.speed, self.t_us)
        while not self._stop.is_set() and (until_us is None or self.t_us < until_us):
            if self._paused and self._steps_left == 0:
                self._idle()
                continue
            self.step()
            self._steps_left = max(self._steps_left - 1, 0)
            if self.t_us % TICK_US == 0:
                self._tick()
            if self.agent is not None and self.agent.done:
                break

    def stop(self) -> None:
        """Ends run() at the next step; safe from signal handlers and other threads."""
        self._stop.set()
        if hasattr(self.autopilot, "interrupt"):  # it may be waiting for a peer
            self.autopilot.interrupt()

    def event(self, t_us: int, name: str, **values) -> None:
        """Writes an event of the flight to events.jsonl."""
        if self.folder is not None:
            run_folder.add_event(self.folder, t_us, name, **values)

    def real_time_factor(self) -> float:
        """Simulated over wall time so far, pauses left out."""
        return self.t_us * 1e-6 / max(self._pacer.elapsed(), 1e-9)

    def summary(self) -> dict:
        """The fields of summary.json that the simulation knows."""
        s = self.scenario
        estimates = self.autopilot.estimates()
        return {"n": s.n, "engine": s.engine, "autopilot": s.autopilot,
                "transport": "agent" if self.agent is not None else "mavlink", "world": s.world,
                "seed": s.seed, "gps": s.gps, "pose_source": s.pose_source, "speed": s.speed,
                "sim_time_s": self.t_us * 1e-6,
                "real_time_factor": round(self.real_time_factor(), 3),
                "collisions": len(self.collisions),
                "landed": bool((estimates.landed & ~estimates.armed).all())}

    def close(self) -> None:
        """Ends all parts and writes summary.json; safe to call twice."""
        if self._truth is not None:
            run_folder.update_summary(self.folder, **self.summary())
        self._close_parts()

    def _close_parts(self):
        for part in (self._truth, self._delivery, self.rendered, self.control, self.autopilot,
                     self.engine, self._console):
            if part is not None:
                part.close()
        self._truth = None

    def _sense(self):
        batch = self.sensor_suite.step(self._state, self.t_us, self.rotors.wind)
        batch.battery_voltage[:] = self.battery.voltage
        batch.battery_current[:] = self.battery.current
        return batch

    def _look(self):
        """Cameras and lidars: looks are taken, and those that arrive are handed on.

        Not before anybody wants them: a flight that nobody films costs nothing more.
        """
        if not self._filmed and self.on_reading is None:
            return
        for reading in self.rendered.step(self._state, self.t_us):
            if self._filmed:
                self._delivery.write(reading)
            if self.on_reading is not None:
                self.on_reading(reading)

    def _make_beams(self, models):
        """What range finders measure with, where a vehicle has one."""
        if any(block.kind == "range" for model in models for block in model.sensors):
            return getattr(self.engine, "beam", None) or Beams(
                self.world, self.scenario.vehicles, models, lambda: self.engine.state)
        return None

    def _make_wind(self):
        """The world's wind, or the scenario's in its place; None in still air."""
        if self.scenario.wind:
            parameters = WindParameters.parse(self.scenario.wind)
        else:
            parameters = WindParameters.of_world(self.world.wind, self.world.sdf.parent)
        if parameters.still:
            return None
        return Wind(parameters, self.scenario.n, self.scenario.seed)

    def _record(self):
        if self._truth is not None:
            self._truth.write(self._state)
        touching = {pair for pair in self.engine.contacts() if "ground_plane" not in pair}
        for pair in touching - self._touching:
            self.collisions.append((self.t_us, *pair))
            self.event(self.t_us, "collision", between=list(pair))
        self._touching = touching
        if self.progress is not None and self.t_us % 1_000_000 == 0:
            self.progress(self)

    def _tick(self):
        control = self.control
        if control is not None:
            control.tick(self.t_us, self._state)
            control.poll(self._handle)
            if self._pacer.speed == 0.0 and control.has_barrier:
                in_time = control.barrier(self.t_us, self._handle, BARRIER_S)
                if not in_time and not self._warned:
                    self._warned = True
                    self._log(None, 4, f"the bridge was {BARRIER_S:g} s late at "
                                       f"{self.t_us * 1e-6:.2f} s; going on without it")
        self._pacer.wait(self.t_us)

    def _idle(self):
        begin = time.monotonic()
        self.control.poll(self._handle, PAUSE_POLL_S)
        self._pacer.pause(time.monotonic() - begin, self.t_us)

    def _log(self, vehicle, severity, text):
        who = "simulation" if vehicle is None else self.scenario.vehicles[vehicle].name
        if vehicle is not None and severity <= WARNING:
            self.last_warning = f"{who} at {self.t_us * 1e-6:.1f} s: {text}"
        if self._console is not None:
            self._console.write(f"{self.t_us * 1e-6:9.3f} {who} [{severity}] {text}\n")
            self._console.flush()

    # What the control socket asks -------------------------------------------------------------

    def _handle(self, op, request):
        handler = getattr(self, f"_on_{op}", None) if isinstance(op, str) else None
        if handler is None:
            known = sorted(name[4:] for name in dir(self) if name.startswith("_on_"))
            raise ControlError(f"unknown request '{op}': choose one of {', '.join(known)}")
        return handler(request)

    def _on_status(self, request):
        return {"t_us": self.t_us, "paused": self._paused, "speed": self._pacer.speed,
                "real_time_factor": self.real_time_factor(), "n": self.scenario.n,
                "vehicles": [spec.name for spec in self.scenario.vehicles],
                "folder": str(self.folder) if self.folder else None}

    def _on_health(self, request):
        health = getattr(self.autopilot, "health", None)  # real PX4 tells it over MAVLink
        return {"t_us": self.t_us, "health": health() if health else []}

    def _on_sensors(self, request):
        self._filmed = self._delivery is not None
        return {"sensors": self._delivery.describe() if self._filmed else []}

    def _on_pause(self, request):
        self._paused = True
        return {"t_us": self.t_us}

    def _on_resume(self, request):
        self._paused = False
        return {"t_us": self.t_us}

    def _on_step(self, request):
        n = request.get("n", 1)
        if not isinstance(n, int) or not 1 <= n <= 1_000_000:
            raise ControlError(f"{n} steps are not allowed: give 1 to 1000000 (4 ms each)")
        self._paused = True
        self._steps_left = n
        return {"t_us": self.t_us + n * STEP_US}

    def _on_speed(self, request):
        speed = request.get("speed")
        if not isinstance(speed, (int, float)) or not 0 <= speed < 1e6:
            raise ControlError(f"speed {speed} is not allowed: 1 is real time, 0 as fast as "
                               "possible")
        self._pacer.set_speed(float(speed), self.t_us)
        return {"speed": float(speed)}

    def _on_event(self, request):
        name, values = request.get("event"), request.get("values", {})
        if not isinstance(name, str) or not isinstance(values, dict):
            raise ControlError("an event has a name and values: {\"op\": \"event\", \"event\": "
                               "\"landed\", \"values\": {}}")
        values = {k: v for k, v in values.items() if k not in ("t_us", "event", "folder")}
        self.event(self.t_us, name, **values)
        return {"t_us": self.t_us}

    def _on_change(self, request):
        text = request.get("change")
        if not isinstance(text, str):
            raise ControlError('a change is a text: {"op": "change", "change": "rotor iris_0 2 0"}')
        try:
            self.changes.add(parse_change(text, [spec.name for spec in self.scenario.vehicles],
                                          self.t_us))
        except XtdroneError as error:
            raise ControlError(str(error)) from error
        return {"t_us": self.t_us}

    def _on_stop(self, request):
        self.stop()
        return {"t_us": self.t_us}
