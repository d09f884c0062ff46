"""The parts of the lockstep: how they are built, and how they continue with another fleet."""

import dataclasses
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from sensor_models import SensorSuite
from sensor_models.changes import changed, parse_changes
from sensor_models.rendered_sensor import rendered_sensors
from xtdrone_core import FleetModel, Scenario, ScenarioError, Vehicle, registry
from xtdrone_core.contracts import (
    Autopilot,
    AutopilotContext,
    Engine,
    ExternalPose,
    Gripping,
    Logging,
    Observer,
    RangeCaster,
    Regroupable,
    Renderer,
    Slinger,
    Stateful,
    required,
)
from xtdrone_core.errors import shown
from xtdrone_core.racing.ghost import read_ghost
from xtdrone_core.racing.track import read_track
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.snapshot import Rows
from xtdrone_core.scenario.loads import SlungLoad, parse_loads
from xtdrone_core.scenario.models import PlacedModel, parse_models
from xtdrone_dynamics import quaternion

from .entities import Entities
from .errors import EngineError
from .fleet.mixed import MixedAutopilot, is_regroupable
from .fleet.sub_fleet import TextRouter, autopilot_of
from .observers.crashes import Crash, CrashMonitor
from .observers.figures import FlightFigures
from .observers.grippers import GripWatch
from .observers.laps import LapTimer
from .observers.loads import LoadRecorder
from .observers.models import ModelRecorder
from .observers.pose_feed import MotionCapture, TruthPose
from .observers.recording import WARNING, Console
from .plant.plant import Plant
from .rendering.realistic.conditions import conditions_of
from .rendering.realistic.scene import RealisticScene
from .rendering.scene import Beams
from .rendering.sensors import RenderedSensors
from .vehicles.pose import Pose, sensors_at_zero
from .vehicles.sdf import load_vehicle
from .world import World, wrong_ground
from .world.loads import load_models, own_loads

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setup:
    """The scenario and the surroundings that parts are built for."""

    scenario: Scenario
    world: World
    folder: Path | None  # run folder; None writes nothing
    links: bool  # open the MAVLink ports
    log_gaps: LogGaps  # collects gaps in the logs, such as those of a full disk
    # Takes each message: console, vehicle (None for the simulation), severity as in MAVLink, text.
    on_text: Callable[[Console, int | None, int, str], None]
    on_event: Callable[..., None]  # takes each event: t_us, name, **values


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a lockstep, all of one fleet.

    Attributes:
        fleet: The vehicles.
        engine: Moves bodies, finds contacts.
        plant: Actuators, aerodynamics, batteries, disturbances.
        sensors: Measures the true state.
        rendered: Cameras and lidars.
        autopilot: Turns readings into commands.
        context: What the autopilot was built from.
        texts: Passes on the messages of an autopilot that flies the whole fleet.
        console: Writes the messages.
        monitor: Records collisions and crashes.
        figures: Separation and errors of the estimates.
        entities: Models and links by Gazebo's names.
        race: Times laps on the scenario's track; None without one.
        observers: Those of the parts that see each step, in this order.
    """

    fleet: FleetModel
    engine: Engine
    plant: Plant
    sensors: SensorSuite
    rendered: RenderedSensors
    autopilot: Autopilot
    context: AutopilotContext
    texts: TextRouter
    console: Console
    monitor: CrashMonitor
    figures: FlightFigures
    entities: Entities
    race: LapTimer | None
    observers: tuple[Observer, ...]

    def stateful(self) -> dict[str, Stateful]:
        """The parts that a snapshot holds, by their names in it."""
        parts: dict[str, Any] = {  # some reset at a time, which Stateful does not
            "engine": self.engine,
            "plant": self.plant,
            "sensors": self.sensors,
            "rendered": self.rendered,
            "autopilot": self.autopilot,
            "monitor": self.monitor,
        }
        return parts if self.race is None else {**parts, "laps": self.race.laps}

    def for_fleet_of(self, scenario: Scenario) -> "Parts":
        """The same parts, ready to pass vehicles on to the fleet of another scenario.

        Its autopilot is a MixedAutopilot, unless both fleets have the same one, which regroups.
        """
        kinds = {*self.context.scenario.autopilots, *scenario.autopilots}
        if isinstance(self.autopilot, MixedAutopilot) or (
            len(kinds) == 1 and is_regroupable(*kinds)
        ):
            return self
        mixed = MixedAutopilot(self.context, whole=(self.autopilot, self.texts))
        return dataclasses.replace(self, autopilot=mixed)

    def regroup(self, before: "Parts", rows: Rows) -> None:
        """Takes over the state of the vehicles that were in the former fleet, too.

        The engine has done so when it was built, see build_parts(). Links move at the end.
        """
        scenario = self.context.scenario
        self.plant.regroup(before.plant, rows)
        self.sensors.regroup(before.sensors, rows)
        self.rendered.regroup(before.rendered, rows)
        self.monitor.regroup(before.monitor, rows)
        self.figures.regroup(before.figures)
        self.console.regroup(before.console)
        if self.race is not None and before.race is not None:
            self.race.regroup(before.race, rows)
        regroupable(self.autopilot, scenario.autopilot).regroup(before.autopilot, rows)

    def close(self) -> None:
        """Closes what holds threads, processes and sockets. May be called twice."""
        for part in (self.autopilot, self.rendered, self.engine):
            part.close()


def build_parts(setup: Setup, before: Parts | None = None, rows: Rows | None = None) -> Parts:
    """Builds all parts of a simulation.

    After an error all that has been built is closed.

    Args:
        setup: What they are built from.
        before: The parts of the former fleet, whose flight they continue; None at the start.
        rows: Where the vehicles were in the former fleet; with `before`.

    Raises:
        XtdroneError: Something in the scenario cannot be built, or continued.
    """
    scenario, world = setup.scenario, setup.world
    kinds = {kind: load_vehicle(kind) for kind in {spec.type for spec in scenario.vehicles}}
    models = tuple(kinds[spec.type] for spec in scenario.vehicles)
    fleet = FleetModel.of(models)
    names = [spec.name for spec in scenario.vehicles]
    new = names
    with ExitStack() as built:
        engine = build_engine(scenario, world, models)
        built.callback(engine.close)
        loads = parse_loads(scenario.loads, names)
        if before is None and (loads or any(model.slung for model in models)):
            _sling(engine, scenario, models, loads)
        if before is not None and rows is not None:
            regroupable(engine, scenario.engine).regroup(before.engine, rows)
            new = [name for name, is_new in zip(names, rows.new, strict=True) if is_new]
        _refuse_overlaps(names, engine.contacts().by_name(), new)
        console = Console(names, setup.folder, setup.log_gaps)
        on_text = partial(setup.on_text, console)
        for remark in remarks(world, models):
            _log.warning("warning: %s", remark)
            console.remarks.append(remark)
            on_text(None, WARNING, remark)
        wrong = [wrong_ground(world, model) for model in models]
        if not isinstance(engine, Gripping):
            wrong += [
                f"the gripper of {model.type} does nothing: engine '{scenario.engine}' has no "
                "grippers, use engine embedded"
                for model in models
                if model.grippers
            ]
        for reason in dict.fromkeys(wrong):
            if reason:
                _log.warning("warning: %s", reason)
                on_text(None, WARNING, reason)
        plant = Plant(scenario, fleet, world, engine)
        sensors = build_sensors(scenario, world, models, engine)
        rendered = build_rendered(scenario, world, models, engine)
        built.callback(rendered.close)
        texts = TextRouter(on_text, scenario.n)
        context = AutopilotContext(
            scenario,
            fleet,
            origin_of(world),
            world.magnetic_field,
            setup.folder,
            setup.links,
            texts,
            sensors.batch,
        )
        former = None if before is None else before.autopilot
        autopilot = (
            MixedAutopilot(context, former, rows)
            if isinstance(former, MixedAutopilot)
            else build_autopilot(context)
        )
        built.callback(autopilot.close)
        if isinstance(autopilot, Logging):
            autopilot.collect_gaps(setup.log_gaps)

        def on_collision(t_us: int, pair: Sequence[str]) -> None:
            setup.on_event(t_us, "collision", between=pair)

        def on_crash(crash: Crash) -> None:
            values = crash._asdict()
            setup.on_event(values.pop("t_us"), "crash", **values)
            on_text(None, WARNING, f"crash: {crash}")

        monitor = CrashMonitor(names, fleet, engine, on_collision, on_crash)
        figures = FlightFigures(names, monitor, autopilot)
        entities = Entities(world, scenario.vehicles, models, engine, plant.pushes)
        placed = parse_models(scenario.models)
        for model in placed if before is None else ():
            _insert(entities, model)
            for remark in entities.inserted[-1].remarks:
                console.remarks.append(f"{model.name}: {remark}")
                on_text(None, WARNING, f"{model.name}: {remark}")
        race = _lap_timer(scenario, setup.on_event)
        recorders: list[Observer] = []
        if setup.folder is not None and loads:
            recorders.append(
                LoadRecorder(setup.folder, setup.log_gaps, loads, entities.inserted_states)
            )
        if setup.folder is not None and placed:
            states = partial(entities.states, [model.name for model in placed])
            recorders.append(ModelRecorder(setup.folder, setup.log_gaps, states))
        if isinstance(engine, Gripping) and any(model.grippers for model in models):
            recorders.append(GripWatch(engine, scenario.vehicles, models, setup.on_event))
        parts = Parts(
            fleet,
            engine,
            plant,
            sensors,
            rendered,
            autopilot,
            context,
            texts,
            console,
            monitor,
            figures,
            entities,
            race,
            tuple(_observers(scenario, monitor, figures, autopilot, race, recorders)),
        )
        if before is not None and rows is not None:
            parts.regroup(before, rows)
        built.pop_all()
    return parts


def build_engine(scenario: Scenario, world: World, models: Sequence[Vehicle]) -> Engine:
    """Returns the engine of a scenario, with every vehicle at its start."""
    engine: Engine = registry.ENGINES.load(scenario.engine)(
        world, scenario.vehicles, models, scenario.instance
    )
    return engine


def _sling(
    engine: Engine, scenario: Scenario, models: Sequence[Vehicle], loads: Sequence[SlungLoad]
) -> None:
    """Hangs the loads of a scenario, and those that vehicles bring, below the vehicles.

    Raises:
        ScenarioError: The engine has no cables.
    """
    slinger = required(
        engine,
        Slinger,  # type: ignore[type-abstract]  # a protocol
        f"engine '{scenario.engine}' has no cables that can be slack",
        "fly loads with engine embedded",
    )
    hung, cables = load_models(loads, scenario.vehicles)
    own, own_cables = own_loads(scenario.vehicles, models)
    slinger.sling(hung + own, cables + own_cables)


def _insert(entities: Entities, model: PlacedModel) -> None:
    """Puts a model into the world."""
    sdf = f'<sdf version="1.7"><include><uri>{escape(str(model.sdf))}</uri></include></sdf>'
    turn = quaternion.from_euler(0.0, 0.0, model.yaw)
    entities.insert(sdf, model.name, Pose(model.pos, tuple(turn)))


def build_sensors(
    scenario: Scenario, world: World, models: Sequence[Vehicle], engine: Engine
) -> SensorSuite:
    """Returns the sensors of a fleet; range finders use the engine's rays if it has them."""
    beams = None
    if any(block.kind == "range" for model in models for block in model.sensors):
        beams = (
            engine.beam
            if isinstance(engine, RangeCaster)
            else Beams(world, scenario.vehicles, models, engine)
        )
    for spec, model in zip(scenario.vehicles, models, strict=True):
        if not any(block.kind == "imu" for block in model.sensors):
            raise ScenarioError(
                f"{spec.name} cannot be flown: '{shown(spec.type)}' has no imu, give its SDF one"
            )
    return SensorSuite(
        [sensors_at_zero(model) for model in models],
        origin_of(world),
        world.magnetic_field,
        scenario.seed,
        scenario.gps,
        world.gravity,
        beams,
        [spec.number for spec in scenario.vehicles],
        scenario.sensors,
    )


def build_rendered(
    scenario: Scenario, world: World, models: Sequence[Vehicle], engine: Engine
) -> RenderedSensors:
    """Returns the cameras and lidars of a fleet, rendered by the engine if it can."""
    make = None
    changes = parse_changes(scenario.sensors)
    models = [
        dataclasses.replace(
            model, sensors=tuple(changed(block, changes) for block in model.sensors)
        )
        for model in models
    ]
    if isinstance(engine, Renderer):
        if others := sorted(changes.keys() & rendered_sensors().keys()):
            raise EngineError(
                f"sensors '{scenario.sensors}' changes {', '.join(others)}, which engine "
                f"'{scenario.engine}' measures as the SDF has it: change the SDF, or give engine "
                "embedded"
            )
        make = engine.scene
    elif scenario.rendering == "realistic":
        conditions = conditions_of(world, scenario.time_of_day, scenario.weather)
        make = partial(RealisticScene, world, scenario.vehicles, models, conditions, scenario.seed)
    return RenderedSensors(
        world, scenario.vehicles, models, scenario.seed, make, engine, scenario.namespaces
    )


def build_autopilot(context: AutopilotContext) -> Autopilot:
    """Returns the autopilot of a scenario's fleet."""
    if len(set(context.scenario.autopilots)) > 1:
        return MixedAutopilot(context)
    return autopilot_of(context)


def regroupable(part: object, name: str) -> Regroupable:
    """Returns an engine or autopilot that can continue with another fleet.

    Raises:
        ScenarioError: It cannot.
    """
    return required(
        part,
        Regroupable,  # type: ignore[type-abstract]  # a protocol
        f"'{name}' keeps the vehicles that it starts with",
        "use engine embedded",
    )


def remarks(world: World, models: Iterable[Vehicle]) -> list[str]:
    """Returns a line for each part of the files of world and vehicles that is not used as given."""
    by_name = {f"world {world.name}": world.remarks, **{each.type: each.remarks for each in models}}
    return [f"{name}: {remark}" for name, lines in by_name.items() for remark in lines]


def origin_of(world: World) -> tuple[float, float, float]:
    """Latitude, longitude [rad] and height [m] of the world's origin."""
    return world.latitude, world.longitude, world.altitude


def _observers(
    scenario: Scenario,
    monitor: CrashMonitor,
    figures: FlightFigures,
    autopilot: Autopilot,
    race: LapTimer | None,
    recorders: Sequence[Observer],
) -> Iterable[Observer]:
    """The parts that see each step, in this order."""
    yield from (monitor, figures)
    yield from recorders
    if scenario.pose_source != "sensors":
        taking = required(
            autopilot,
            ExternalPose,  # type: ignore[type-abstract]  # a protocol
            f"autopilot '{scenario.autopilot}' takes no pose from outside",
            f"leave out pose_source:={scenario.pose_source}",
        )
        if scenario.pose_source == "truth":
            yield TruthPose(taking)
        else:
            yield MotionCapture(taking, scenario.seed)
    if isinstance(autopilot, Observer):
        yield autopilot
    if race is not None:
        yield race


def _lap_timer(scenario: Scenario, on_event: Callable[..., None]) -> LapTimer | None:
    if not scenario.track:
        return None
    track = read_track(scenario.track)
    ghost = read_ghost(scenario.ghost, track) if scenario.ghost else None
    return LapTimer(track, scenario.vehicles, ghost, on_event)


def _refuse_overlaps(
    names: Sequence[str], touching: Iterable[tuple[str, str]], new: Sequence[str]
) -> None:
    """Refuses new vehicles that touch others where they start."""
    for one, other in touching:
        if one in names and other in names and (one in new or other in new):
            raise ScenarioError(
                f"'{one}' and '{other}' overlap where they start: give poses "
                "further apart, as in --vehicles 'boat@0,0,0; boat@10,0,0'"
            )
