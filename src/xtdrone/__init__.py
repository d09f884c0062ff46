"""Python interface for scripts and notebooks; without ROS and without global state.

    import xtdrone as xd

    with xd.Simulation(xd.Scenario(vehicles="iris*9", world="outdoor")) as sim:
        sim.arm()
        sim.takeoff(3.0)
        sim.run(5.0)
        print(sim.state.pos)

World frame ENU, body frame FLU, SI units, radians, quaternions xyzw. The vehicle leads every
array, also for one vehicle.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # loaded where they are first used, so that the command starts at once
    from sensor_models.cameras import (
        CameraParameters as CameraParameters,
        LidarParameters as LidarParameters,
    )
    from xtdrone_batch.randomisation import Randomisation as Randomisation
    from xtdrone_batch.rays.sensor import Mounting as Mounting
    from xtdrone_batch.simulation import BatchSimulation as BatchSimulation
    from xtdrone_batch.worlds.generate import World as World
    from xtdrone_core.agent import BaseAgent as Agent, EachVehicle as EachVehicle
    from xtdrone_core.contracts import Observer as Observer
    from xtdrone_core.errors import ScenarioError as ScenarioError, XtdroneError as XtdroneError
    from xtdrone_core.modes import Mode as Mode
    from xtdrone_core.scenario.scenario import Scenario as Scenario, VehicleSpec as VehicleSpec
    from xtdrone_core.state import (
        Estimates as Estimates,
        FleetState as FleetState,
        SensorBatch as SensorBatch,
        SetPoints as SetPoints,
    )
    from xtdrone_core.vehicle import Vehicle as Vehicle
    from xtdrone_gym.interfaces.vector_env import make_env as make_env
    from xtdrone_gym.realism import Realism as Realism
    from xtdrone_gym.task_batch import TaskBatch as TaskBatch

    from .simulation import Simulation as Simulation, load_vehicle as load_vehicle

_EXPORTS = {
    "Agent": "xtdrone_core.agent:BaseAgent",
    "BatchSimulation": "xtdrone_batch.simulation:BatchSimulation",
    "CameraParameters": "sensor_models.cameras:CameraParameters",
    "EachVehicle": "xtdrone_core.agent:EachVehicle",
    "Estimates": "xtdrone_core.state:Estimates", "FleetState": "xtdrone_core.state:FleetState",
    "LidarParameters": "sensor_models.cameras:LidarParameters",
    "Mode": "xtdrone_core.modes:Mode", "Mounting": "xtdrone_batch.rays.sensor:Mounting",
    "Observer": "xtdrone_core.contracts:Observer",
    "Randomisation": "xtdrone_batch.randomisation:Randomisation",
    "Realism": "xtdrone_gym.realism:Realism",
    "Scenario": "xtdrone_core.scenario.scenario:Scenario",
    "ScenarioError": "xtdrone_core.errors:ScenarioError",
    "SensorBatch": "xtdrone_core.state:SensorBatch", "SetPoints": "xtdrone_core.state:SetPoints",
    "Simulation": "xtdrone.simulation:Simulation",
    "TaskBatch": "xtdrone_gym.task_batch:TaskBatch", "Vehicle": "xtdrone_core.vehicle:Vehicle",
    "VehicleSpec": "xtdrone_core.scenario.scenario:VehicleSpec",
    "World": "xtdrone_batch.worlds.generate:World",
    "XtdroneError": "xtdrone_core.errors:XtdroneError",
    "load_vehicle": "xtdrone.simulation:load_vehicle",
    "make_env": "xtdrone_gym.interfaces.vector_env:make_env",
}

__all__ = ["Agent", "BatchSimulation", "CameraParameters", "EachVehicle", "Estimates",
           "FleetState", "LidarParameters", "Mode", "Mounting", "Observer", "Randomisation",
           "Realism", "Scenario", "ScenarioError", "SensorBatch", "SetPoints", "Simulation",
           "TaskBatch", "Vehicle", "VehicleSpec", "World", "XtdroneError", "load_vehicle",
           "make_env"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'xtdrone' has no attribute '{name}'")
    module, _, attribute = _EXPORTS[name].partition(":")
    found = globals()[name] = getattr(import_module(module), attribute)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
