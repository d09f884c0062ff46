"""Vehicles that come and go while a simulation runs."""

import dataclasses
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from xtdrone_core import FleetModel, ScenarioError, VehicleSpec
from xtdrone_core.contracts import Agent, Regroupable, required
from xtdrone_core.runs.snapshot import Rows, regrouped

from ..vehicles.sdf import load_vehicle
from .mixed import MixedAutopilot, adopts

if TYPE_CHECKING:
    from ..simulation import Simulation

_APART = ("engine", "autopilot", "agent")  # parts that pass their state on themselves


def adopting(part: Any, name: str) -> Regroupable:
    """An engine or autopilot that can go on from another one.

    Raises:
        ScenarioError: It cannot.
    """
    return required(
        part, Regroupable, f"'{name}' keeps the vehicles that it starts with", "use engine embedded"
    )


def change_fleet(
    simulation: "Simulation",
    vehicles: Sequence[VehicleSpec],
    make_agent: Callable[["Simulation"], Agent] | None,
) -> None:
    """See Simulation.change_fleet()."""
    former = simulation.scenario
    scenario = dataclasses.replace(former, vehicles=tuple(vehicles))
    _refuse(simulation, scenario, make_agent)
    saved = {
        name: part.save() for name, part in simulation._stateful().items() if name not in _APART
    }
    models = tuple(load_vehicle(spec.type) for spec in scenario.vehicles)
    rows = Rows.of(former.specified(), scenario.specified())
    attributes = dict(simulation.__dict__)
    mixed = _mixed(simulation, scenario)
    before = SimpleNamespace(engine=simulation.engine, rows=rows, mixed=mixed)
    try:
        simulation.scenario, simulation.fleet = scenario, FleetModel.of(models)
        simulation._closers = []
        simulation.observers = [
            observer
            for observer in simulation.observers
            if observer not in simulation._own_observers
        ]
        simulation._build(models, False, before)
        for name, part in simulation._stateful().items():
            if name in saved:
                part.load(_passed_on(name, saved[name], part.save(), rows))
        adopting(simulation.autopilot, scenario.autopilot).regroup(
            mixed or attributes["autopilot"], rows
        )
    except BaseException:
        for part in simulation._closers:
            part.close()
        simulation.__dict__.clear()
        simulation.__dict__.update(attributes)
        raise
    for part in attributes["_closers"]:
        (mixed or part if part is attributes["autopilot"] else part).close()
    simulation._sensors = simulation.sensor_suite.batch
    simulation._started = False
    if make_agent is not None:
        simulation.agent = make_agent(simulation)
    if rows.new.any():
        simulation.reset(rows.new)


def _mixed(simulation, scenario) -> MixedAutopilot | None:
    """The autopilot as one of several, unless that of both fleets is the same and Regroupable."""
    kinds = {*simulation.scenario.autopilots, *scenario.autopilots}
    if len(kinds) == 1 and adopts(*kinds) and not isinstance(simulation.autopilot, MixedAutopilot):
        return None
    return MixedAutopilot.around(
        simulation.autopilot, simulation.texts, simulation.autopilot_context(False)
    )


def _passed_on(name: str, saved: Any, fresh: Any, rows: Rows) -> Any:
    """What a part of the new fleet loads."""
    if name == "rendered":
        return _rendered(saved, fresh, rows)
    found = regrouped(saved, fresh, rows)
    if name == "plant":
        found["disturbances"]["waiting"] = [
            {**each, "vehicle": rows.kept[each["vehicle"]]}
            for each in saved["disturbances"]["waiting"]
            if each["vehicle"] in rows.kept
        ]
        more = rows.after - rows.before  # owners are vehicles, and behind them inserted models
        owners = {
            **rows.kept,
            **{
                push["owner"]: push["owner"] + more
                for push in saved["pushes"]
                if push["owner"] >= rows.before
            },
        }
        found["pushes"] = [
            {**push, "owner": owners[push["owner"]]}
            for push in saved["pushes"]
            if push["owner"] in owners
        ]
    return found


def _rendered(saved: Any, fresh: Any, rows: Rows) -> Any:
    """Cameras and lidars come in the order of their vehicles, images with their orders."""
    former: dict[int, list] = {}
    for sensor in saved["sensors"]:
        former.setdefault(sensor["vehicle"], []).append(sensor)
    sensors = [
        former[old].pop(0) if (old := int(rows.source[sensor["vehicle"]])) >= 0 else sensor
        for sensor in fresh["sensors"]
    ]
    waiting = [
        {**item, "order": (rows.kept[item["order"][0]], item["order"][1])}
        for item in saved["waiting"]
        if item["order"][0] in rows.kept
    ]
    return {"sensors": sensors, "waiting": waiting}


def _refuse(simulation, scenario, make_agent):
    """Refuses what cannot be done, before anything changes."""
    now, then = set(simulation.scenario.specified()), set(scenario.specified())
    if not now < then and not then < now:
        raise ScenarioError(
            "a fleet either grows or shrinks, and the vehicles that stay keep "
            "type, name, start, autopilot and number: add some, or remove some"
        )
    if simulation.folder is not None or simulation.requests is not None:
        raise ScenarioError(
            "the vehicles of a recorded run, and of one with a control socket, "
            "stay the same: their files have a row for each; leave out record"
        )
    if simulation.agent is not None and make_agent is None:
        raise ScenarioError(
            f"{type(simulation.agent).__name__} flies a fleet of {len(now)}: let "
            "the commands of the simulation or backends fly one that changes"
        )
    adopting(simulation.engine, scenario.engine)
