"""Vehicles that come and go while a simulation runs."""

import dataclasses
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from xtdrone_core import FleetModel, ScenarioError, VehicleSpec
from xtdrone_core.contracts import Adopting, Agent, required
from xtdrone_core.runs.snapshot import regrouped

from .vehicles.sdf import load_vehicle

if TYPE_CHECKING:
    from .simulation import Simulation

_APART = ("engine", "agent")  # parts that pass their state on in a way of their own


def adopting(part: Any, name: str) -> Adopting:
    """An engine or autopilot that can go on from another one.

    Raises:
        ScenarioError: It cannot.
    """
    return required(part, Adopting, f"'{name}' keeps the vehicles that it starts with",
                    "use engine embedded and autopilot embedded")


def change_fleet(simulation: "Simulation", vehicles: Sequence[VehicleSpec],
                 make_agent: Callable[["Simulation"], Agent] | None) -> None:
    """See Simulation.change_fleet()."""
    former = simulation.scenario
    scenario = dataclasses.replace(former, vehicles=tuple(vehicles))
    _refuse(simulation, scenario.vehicles, make_agent)
    saved = {name: part.save() for name, part in simulation._stateful().items()
             if name not in _APART}
    models = tuple(load_vehicle(spec.type) for spec in scenario.vehicles)
    attributes = dict(simulation.__dict__)
    before = SimpleNamespace(scenario=former, engine=simulation.engine)
    try:
        simulation.scenario, simulation.fleet = scenario, FleetModel.of(models)
        simulation._closers = []
        simulation.observers = [observer for observer in simulation.observers
                                if observer not in simulation._own_observers]
        simulation._build(models, False, before)
        for name, part in simulation._stateful().items():
            if name in saved:
                part.load(_passed_on(name, saved[name], part.save(), former.n, scenario.n))
        adopting(simulation.autopilot, scenario.autopilot).adopt(attributes["autopilot"])
    except BaseException:
        for part in simulation._closers:
            part.close()
        simulation.__dict__.clear()
        simulation.__dict__.update(attributes)
        raise
    for part in attributes["_closers"]:
        part.close()
    simulation._sensors = simulation.sensor_suite.batch
    simulation._started = False
    if make_agent is not None:
        simulation.agent = make_agent(simulation)
    new = np.arange(scenario.n) >= former.n
    if new.any():
        simulation.reset(new)


def _passed_on(name, saved, fresh, before, after):
    """What a part of the new fleet loads."""
    if name == "rendered":  # cameras and lidars come in the order of their vehicles
        kept = saved["sensors"][:len(fresh["sensors"])]
        return {"sensors": [*kept, *fresh["sensors"][len(kept):]],
                "waiting": [item for item in saved["waiting"] if item["order"][0] < after]}
    return regrouped(saved, fresh, before, after)


def _refuse(simulation, vehicles, make_agent):
    """Refuses what cannot be done, before anything changes."""
    now = simulation.scenario.vehicles
    kept = min(len(now), len(vehicles))
    if len(vehicles) == len(now) or vehicles[:kept] != now[:kept]:
        raise ScenarioError("a fleet changes at its end only, since ports and system ids follow "
                            "the vehicles' numbers: add or remove the last ones")
    if simulation.folder is not None or simulation.requests is not None:
        raise ScenarioError("the vehicles of a recorded run, and of one with a control socket, "
                            "stay the same: their files have a row for each; leave out record")
    if simulation.agent is not None and make_agent is None:
        raise ScenarioError(f"{type(simulation.agent).__name__} flies a fleet of {len(now)}: let "
                            "the commands of the simulation or backends fly one that changes")
    adopting(simulation.engine, simulation.scenario.engine)
    adopting(simulation.autopilot, simulation.scenario.autopilot)
