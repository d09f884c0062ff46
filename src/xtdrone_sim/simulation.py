"""The simulation: one process, one clock, lockstep.

At each 4 ms step the sensors' readings go to the autopilot, its commands to the actuators,
their wrench to the engine, and the new state back to the sensors. Nothing here reads the wall
clock but the pacer.
"""

import dataclasses
import gc
import json
import logging
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import FleetState, Scenario, ScenarioError, SensorBatch, VehicleSpec
from xtdrone_core.contracts import (
    Agent,
    Attachable,
    GoalCounter,
    Observer,
    Stateful,
    Viewer,
    required,
)
from xtdrone_core.runs import run_folder, snapshot
from xtdrone_core.runs.control_link import TICK_US, ControlServer
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.snapshot import Rows
from xtdrone_core.state import SensorDescription
from xtdrone_core.stations import wanted_stations

from .control.requests import ControlRequests
from .fleet.selection import Vehicles, refuse_other_change, vehicle_mask
from .observers.crashes import Crash
from .observers.figures import flight_summary
from .observers.recording import WARNING, Console, SummaryKeeper, TruthRecorder
from .pacer import Pacer
from .parts import Parts, Setup, build_parts, regroupable
from .vehicles.pose import Pose
from .world import world_of

_log = logging.getLogger(__name__)

STEP_US = 4000  # PX4's lockstep period [us]


_WAIT = 8  # simulations that are over before memory is looked through for them
_over: weakref.WeakSet["Simulation"] = weakref.WeakSet()


def _free_closed() -> None:
    """Frees simulations that are over and that nobody refers to but their own parts.

    Python would do so late, as it counts objects: a map of 60 MB is one.
    """
    if len(_over) >= _WAIT:
        gc.collect()


class Simulation:
    """A scenario that runs.

    Attributes:
        scenario: What is simulated.
        folder: Its run folder, or None.
        t_us: Simulated time [us].
        world, fleet: The World and the FleetModel.
        engine, plant, sensor_suite, rendered, autopilot: The parts of the lockstep.
        monitor: Records collisions and crashes.
        figures: Separation and errors of the estimates.
        observers: Called at each step; append more, see contracts.Observer.
        entities: Models and links by Gazebo's names: their states, moved, inserted, pushed.
        pacer: Keeps simulated time at a multiple of wall time.
        log_gaps: Gaps in the logs, such as those of a full disk.
        requests: The control socket, or None.
        race: The LapTimer of the scenario's track, or None.
        ended: How run() ended: finished, stopped, or failed and why.
    """

    step_us = STEP_US

    # An attribute that it does not have cannot be set: it would do nothing, without a word.
    __slots__ = (
        "__weakref__",
        "_agent",
        "_built",
        "_closed",
        "_events",
        "_films",
        "_sensors",
        "_started",
        "_stopping",
        "_summaries",
        "autopilot",
        "console",
        "ended",
        "engine",
        "entities",
        "figures",
        "fleet",
        "folder",
        "log_gaps",
        "monitor",
        "observers",
        "pacer",
        "parts",
        "plant",
        "race",
        "rendered",
        "requests",
        "scenario",
        "sensor_suite",
        "t_us",
        "world",
    )

    def __init__(
        self,
        scenario: Scenario,
        folder: Path | str | None = None,
        agent: Agent | None = None,
        control: ControlServer | None = None,
        links: bool = True,
        observers: Iterable[Observer] = (),
    ):
        """Builds everything; nothing moves before run() or step().

        Args:
            scenario: What to simulate.
            folder: Run folder for logs; None writes nothing.
            agent: An Agent that flies the fleet in process, or None.
            control: The control socket to answer on and to close at the end, or None.
            links: Whether the autopilot opens its MAVLink ports.
            observers: Observers from the start; they are closed with the simulation.

        Raises:
            XtdroneError: Something in the scenario cannot be built.
        """
        _free_closed()
        self.scenario, self.folder = scenario, None if folder is None else Path(folder)
        self.log_gaps = LogGaps(self.folder, self._warn)
        self._events = (
            None if self.folder is None else run_folder.EventLog(self.folder, self.log_gaps)
        )
        self._summaries: SummaryKeeper | None = None
        self.ended = "finished"  # unless run() ends otherwise
        self.t_us = 0
        self.observers: list[Observer] = [*observers]
        self.pacer = Pacer(scenario.speed)
        self._stopping = False  # no Event: a signal that interrupts another must not wait for it
        self._started = False
        self._closed = False
        self.requests: ControlRequests | None = None
        self.console = Console((), None)  # until the parts have one
        self._built = False
        self.agent = agent
        self.world = world_of(scenario)
        try:
            parts = build_parts(self._setup(scenario, links))
        except BaseException:
            for observer in self.observers:
                observer.close()
            raise
        try:
            if self.folder is not None:
                self._record(self.folder)
            self._use(parts)
            self._sense()
            if control is not None:
                self.requests = ControlRequests(self, control)
            self._attach_agent()
        except BaseException:
            self._close_all()
            raise

    def _setup(self, scenario: Scenario, links: bool) -> Setup:
        return Setup(
            scenario,
            self.world,
            self.folder,
            links,
            self.log_gaps,
            on_text=self._on_text,
            on_event=self.event,
        )

    def _record(self, folder: Path) -> None:
        n = self.scenario.n
        self._summaries = SummaryKeeper(folder, n, self.log_gaps, self.summary)
        self.observers += [
            TruthRecorder(folder / run_folder.TRUTH, n, self.log_gaps),
            self._summaries,
        ]

    def _use(self, parts: Parts) -> None:
        """Flies with these parts from now on."""
        self.parts = parts
        self.fleet, self.engine, self.plant = parts.fleet, parts.engine, parts.plant
        self.sensor_suite, self.rendered = parts.sensors, parts.rendered
        self.autopilot, self.console = parts.autopilot, parts.console
        self.monitor, self.figures, self.race = parts.monitor, parts.figures, parts.race
        self.entities = parts.entities
        self.observers += parts.observers

    @property
    def agent(self) -> Agent | None:
        """The Agent that flies the fleet in process."""
        return self._agent

    @agent.setter
    def agent(self, agent: Agent | None) -> None:
        if agent is not None and not isinstance(agent, Agent):
            raise ScenarioError(
                f"{type(agent).__name__} is not an Agent: it needs period_us, "
                "done, step(), reset(), save() and load(); inherit from "
                "xtdrone_core.agent.BaseAgent for defaults"
            )
        self._agent = agent
        if self._built:
            self._attach_agent()

    def _attach_agent(self) -> None:
        self._built = True
        if isinstance(self._agent, Attachable):
            self._agent.attach(self)

    @property
    def state(self) -> FleetState:
        """The true FleetState now; owned by the engine."""
        return self.engine.state

    @property
    def sensors(self) -> SensorBatch:
        """The last SensorBatch; owned by the sensor suite."""
        return self._sensors

    @property
    def collisions(self) -> list[tuple[int, str, str]]:
        """(t_us, name, name) of each collision so far, except with the ground."""
        return self.monitor.collisions

    @property
    def crashes(self) -> list[Crash]:
        """The crashes so far."""
        return self.monitor.crashes

    @property
    def landed(self) -> np.ndarray:
        """(N,) bool, which vehicles have landed.

        The autopilot says so and has disarmed, and the vehicle is upright, at rest and intact.
        """
        estimates = self.autopilot.estimates()
        return estimates.landed & ~estimates.armed & self.monitor.resting(self.state)

    @property
    def reached(self) -> dict[str, tuple[int, int]]:
        """Number of goals reached and number of goals, by the name of the Agent's goals."""
        return self._agent.goals_reached() if isinstance(self._agent, GoalCounter) else {}

    @property
    def last_warning(self) -> str | None:
        """Text of the last warning of a flight stack."""
        return self.console.last_warning

    @property
    def stopping(self) -> bool:
        """Whether stop() was called."""
        return self._stopping

    def rendered_sensors(self) -> list[SensorDescription]:
        """The cameras and lidars, as RenderedSensors.describe() gives them."""
        return self.rendered.describe()

    def step(self) -> None:
        """One lockstep step of 4 ms."""
        if not self._started:
            self._start()
        t_us, state = self.t_us, self.engine.state
        for values in self.plant.disturb(t_us):
            self.event(t_us, "disturbance", **values)
        commands = self.autopilot.step(t_us, self._sensors)
        agent = self._agent
        if agent is not None and t_us % agent.period_us == 0:
            self.autopilot.apply(agent.step(t_us, self.autopilot.estimates()))
        wrench = self.plant.step(t_us, commands, state, STEP_US)
        state = self.engine.step(wrench, self.plant.actuators.joint_targets, STEP_US)
        t_us += STEP_US
        self.t_us = t_us
        self._sense()
        for observer in self.observers:
            period = observer.period_us
            if period == 0 or t_us % period == 0:
                observer.on_step(t_us, state, self._sensors)
        if self._films and self.rendered.due(t_us):
            self._sample_rendered()

    def run(self, until_us: int | None = None) -> None:
        """Steps until stop(), the agent is done, or the simulated time until_us.

        Paced by the scenario's speed. With speed 0 and a bridge on the control
        socket it waits for the bridge at every 20 ms.
        """
        try:
            self._run(until_us)
        except Exception as error:
            self.ended = f"failed: {error}"
            raise
        except BaseException:
            self.ended = "stopped"
            raise
        self.ended = "stopped" if self._stopping else "finished"

    def _run(self, until_us: int | None) -> None:
        pacer, requests = self.pacer, self.requests
        # What commands by a station counts at the next step: pacing by ticks would let it wait for
        # five.
        commanded = any(station.COMMANDS for station in wanted_stations(self.scenario))
        paced_us = STEP_US if commanded else TICK_US
        if self.t_us == 0:
            pacer.restart(0)
        pacer.set_speed(pacer.speed, self.t_us)
        while not self._stopping and (until_us is None or self.t_us < until_us):
            if pacer.holds and requests is not None:
                requests.idle()
                continue
            self.step()
            pacer.stepped(self.t_us)
            if requests is not None and self.t_us % TICK_US == 0:
                requests.tick()
            if self.t_us % paced_us == 0:
                while not (pacer.wait(self.t_us) or pacer.holds or self._stopping):
                    if requests is not None:
                        requests.answer()
            if self._agent is not None and self._agent.done:
                break

    def reset(self, vehicles: Vehicles = None) -> None:
        """Resets vehicles to the start of the scenario while the others fly on.

        They continue exactly as new ones would: their logs restart, and so do random streams,
        sensor schedules and the scenario's disturbances. The others are not affected. Agents
        are called at multiples of their period; to reproduce the flight of a new simulation,
        reset at such a time.

        Args:
            vehicles: Indices, names, or a mask (N,) of bool; None for all, and for the models
                inserted into the world.

        Raises:
            XtdroneError: No such vehicle, or engine, autopilot or Agent cannot do it.
        """
        mask = self.mask_of(vehicles)
        if self._agent is not None:
            self._agent.reset(mask)
        self.autopilot.reset(mask)
        self.engine.reset(mask)
        self.plant.reset(mask, self.t_us)
        self.rendered.reset(mask, self.t_us)
        self.sensor_suite.reset(mask)
        self._sense(mask)
        for observer in self.observers:
            observer.on_reset(self.t_us, mask)
        for part in self._remembering():
            part.reset(mask)
        if vehicles is None and self.entities.inserted:
            self.entities.reset()
        names = [spec.name for spec, there in zip(self.scenario.vehicles, mask) if there]
        self.event(self.t_us, "reset", vehicles=names)

    def insert(self, sdf: str, name: str, pose: Pose = Pose(), frame: str = "") -> None:
        """Inserts a model of one rigid body, static or free; see Entities.insert().

        Raises:
            XtdroneError: It is invalid, its name is taken, or the engine cannot take it.
        """
        self.entities.insert(sdf, name, pose, frame)
        self.event(self.t_us, "insert", model=name)
        for remark in self.entities.inserted[-1].remarks:
            self.console.remarks.append(f"{name}: {remark}")
            self._warn(f"{name}: {remark}")

    def remove(self, name: str) -> None:
        """Removes an inserted model.

        Raises:
            XtdroneError: There is none.
        """
        self.entities.remove(name)
        self.event(self.t_us, "remove", model=name)

    def change_fleet(
        self,
        vehicles: Sequence[VehicleSpec],
        make_agent: Callable[["Simulation"], Agent] | None = None,
    ) -> None:
        """Adds vehicles, or takes some out; the others fly on, and keep their numbers.

        The parts are built for the new fleet and continue from the state of the former ones.
        MAVLink links stay open. New vehicles start as after a reset.

        Args:
            vehicles: The new fleet: the present one with some more, or with some less.
            make_agent: Makes the Agent of the new fleet, if the present one has an Agent.

        Raises:
            XtdroneError: Not such a fleet, a start that is taken, or a part that cannot do it;
                the simulation goes on as it was.
        """
        scenario = dataclasses.replace(self.scenario, vehicles=tuple(vehicles))
        self._refuse_change(scenario, make_agent is not None)
        rows = Rows.of(self.scenario.specified(), scenario.specified())
        before = self.parts.for_fleet_of(scenario)
        parts = build_parts(self._setup(scenario, links=False), before, rows)
        before.close()
        former = {id(observer) for observer in self.parts.observers}
        self.observers = [each for each in self.observers if id(each) not in former]
        self.scenario = scenario
        self._use(parts)
        self._sensors = parts.sensors.batch
        self._started = False
        if make_agent is not None:
            self.agent = make_agent(self)
        if rows.new.any():
            self.reset(rows.new)

    def _refuse_change(self, scenario: Scenario, has_new_agent: bool) -> None:
        """Refuses a change of the fleet that cannot be done, before anything is built."""
        refuse_other_change(self.scenario, scenario)
        if self.folder is not None or self.requests is not None:
            raise ScenarioError(
                "the vehicles of a recorded run, and of one with a control socket, "
                "stay the same: their files have a row for each; leave out record"
            )
        if self._agent is not None and not has_new_agent:
            raise ScenarioError(
                f"{type(self._agent).__name__} flies a fleet of {self.scenario.n}: let "
                "the commands of the simulation or backends fly one that changes"
            )
        regroupable(self.engine, scenario.engine)

    def save(self, path: Path | str) -> None:
        """Writes the complete state of the simulation to one file.

        Raises:
            XtdroneError: It cannot be written; engine, autopilot or Agent cannot be saved.
        """
        parts = {name: part.save() for name, part in self._stateful().items()}
        snapshot.write(path, {"t_us": self.t_us, **parts}, self.scenario.to_dict())
        self.event(self.t_us, "save", path=str(path))

    def load(self, path: Path | str) -> None:
        """Restores a file of save(); the flight continues bit for bit, also in a new process.

        Raises:
            XtdroneError: It is not a snapshot, or belongs to another scenario.
        """
        saved, scenario = snapshot.read(path)
        own = json.loads(json.dumps(self.scenario.to_dict()))  # with the file's types
        _refuse_other(own, scenario, path)
        for name, part in self._stateful().items():
            if name not in saved:
                raise snapshot.SnapshotError(
                    f"'{path}' was saved without {name}: load it without one"
                )
            part.load(saved[name])
        self.t_us = saved["t_us"]
        self.pacer.restart(self.t_us)
        self._sensors = self.sensor_suite.batch
        self._started = False
        self.entities.refresh()
        self.event(self.t_us, "load", path=str(path))

    def _stateful(self) -> dict[str, Stateful]:
        parts = self.parts.stateful()
        for k, observer in enumerate(self._remembering()):
            parts[f"{type(observer).__name__} {k}"] = observer
        return parts if self._agent is None else {**parts, "agent": self._agent}

    def _remembering(self) -> list[snapshot.Memory]:
        """The observers that have a state of their own, beside the parts."""
        parts = {id(part) for part in self.parts.stateful().values()}
        found = (each for each in self.observers if isinstance(each, snapshot.Memory))
        return [each for each in found if id(each) not in parts]

    def mask_of(self, vehicles: Vehicles) -> np.ndarray:
        """(N,) bool of vehicles given by indices, names or such a mask; None for all.

        Raises:
            ScenarioError: No such vehicle.
        """
        return vehicle_mask(self.scenario, vehicles)

    def stop(self) -> None:
        """Ends run() at the next step; safe from signal handlers and other threads."""
        self._stopping = True
        self.autopilot.interrupt()

    def open_viewer(self) -> None:
        """Opens the engine's window.

        Raises:
            XtdroneError: It has none, or there is no display.
        """
        required(
            self.engine,
            Viewer,  # type: ignore[type-abstract]  # a protocol
            f"engine '{self.scenario.engine}' has no window",
            "leave out gui",
        ).open_viewer()

    def event(self, t_us: int, name: str, **values: Any) -> None:  # values of JSON
        """Writes an event of the flight to events.jsonl, and tells the observers."""
        if self._events is not None:
            self._events.add(t_us, name, **values)
        for observer in self.observers:
            observer.on_event(t_us, name, values)

    def say(self, text: str, severity: int = WARNING) -> None:
        """Writes a line to the console; severity as in MAVLink."""
        self._on_text(self.console, None, severity, text)

    def real_time_factor(self) -> float:
        """Simulated over wall time so far, pauses left out."""
        return self.pacer.factor(self.t_us)

    def summary(self) -> dict[str, Any]:
        """The simulation's fields of summary.json."""
        return flight_summary(self, "mavlink" if self._agent is None else "agent")

    def close(self) -> None:
        """Ends all parts and writes summary.json; safe to call twice."""
        if self._closed:
            return
        self.pacer.stop()
        values = None if self._summaries is None else self.summary()
        self._close_all()  # logs may find that the disk is full
        if self._summaries is not None:
            self._summaries.write(self.t_us, self.ended, values)

    def _close_all(self) -> None:
        self._closed = True
        _over.add(self)
        for observer in self.observers:
            observer.close()
        if self.requests is not None:
            self.requests.close()
        self.parts.close()

    def _start(self) -> None:
        """Before the first step: passes the initial state to the observers."""
        self._started = True
        self._films = len(self.rendered) > 0
        for observer in self.observers:
            observer.on_start(self.t_us, self.state, self._sensors)

    def _sense(self, mask: np.ndarray | None = None) -> None:
        batch = self.sensor_suite.step(
            self.engine.state, self.t_us, self.plant.actuators.wind, mask
        )
        batch.battery_voltage[:] = self.plant.battery.voltage
        batch.battery_current[:] = self.plant.battery.current
        self._sensors = batch

    def _sample_rendered(self) -> None:
        """Samples the cameras and lidars that are due and delivers finished readings."""
        if not any(observer.wants_readings for observer in self.observers):
            return
        for reading in self.rendered.step(self.engine.state, self.t_us):
            for observer in self.observers:
                observer.on_reading(reading)

    def _warn(self, text: str) -> None:
        _log.warning("warning: %s", text)
        self.say(text)

    def _on_text(self, console: Console, vehicle: int | None, severity: int, text: str) -> None:
        console.say(self.t_us, vehicle, severity, text)
        for observer in self.observers:
            observer.on_text(self.t_us, vehicle, severity, text)


def _refuse_other(own: Mapping[str, Any], other: Mapping[str, Any], path: Path | str) -> None:
    """Rejects a snapshot of another scenario; speed, window and name may differ."""
    free = {name for name, (_, option) in Scenario.options().items() if not option.affects_flight}
    for key in sorted({*own, *other} - free):
        if own.get(key) != other.get(key):
            raise snapshot.SnapshotError(
                f"'{path}' was saved with {key} {other.get(key)!r}, this scenario has "
                f"{own.get(key)!r}: load it into the same scenario"
            )
