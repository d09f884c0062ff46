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
    from sensor_models.cameras import CameraParameters as CameraParameters
    from sensor_models.rendered.lidar import LidarParameters as LidarParameters
    from xtdrone_batch.randomisation import Randomisation as Randomisation
    from xtdrone_batch.rays.sensor import Mounting as Mounting
    from xtdrone_batch.simulation import BatchSimulation as BatchSimulation
    from xtdrone_batch.worlds.generate import World as World
    from xtdrone_core.agent import BaseAgent as Agent, EachVehicle as EachVehicle
    from xtdrone_core.contracts import Observer as Observer
    from xtdrone_core.errors import ScenarioError as ScenarioError, XtdroneError as XtdroneError
    from xtdrone_core.modes import Mode as Mode
    from xtdrone_core.scenario.scenario import Scenario as Scenario
    from xtdrone_core.scenario.vehicles import VehicleSpec as VehicleSpec
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

    from .asynchronous import AsyncSimulation as AsyncSimulation
    from .backends.allocation import Allocation as Allocation
    from .backends.backend import Backend as Backend, VehicleState as VehicleState
    from .backends.mellinger import Mellinger as Mellinger, MellingerGains as MellingerGains
    from .compose.actors import Actor as Actor, Car as Car, Person as Person
    from .compose.battery import Battery as Battery
    from .compose.cameras import (
        Camera as Camera,
        DepthCamera as DepthCamera,
        Lidar as Lidar,
        StereoCamera as StereoCamera,
    )
    from .compose.effects import (
        AirDensity as AirDensity,
        Downwash as Downwash,
        Effect as Effect,
        GroundEffect as GroundEffect,
        LinearDrag as LinearDrag,
        QuadraticDrag as QuadraticDrag,
        TranslationalLift as TranslationalLift,
    )
    from .compose.frame import Frame as Frame
    from .compose.multirotor import Multirotor as Multirotor
    from .compose.part import Part as Part
    from .compose.rotors import (
        ModelledThrust as ModelledThrust,
        PropellerThrust as PropellerThrust,
        QuadraticThrust as QuadraticThrust,
        Rotor as Rotor,
        ThrustCurve as ThrustCurve,
        rotors_in_x as rotors_in_x,
    )
    from .compose.scene import Scene as Scene
    from .compose.sensors import (
        Airspeed as Airspeed,
        Barometer as Barometer,
        Gps as Gps,
        Imu as Imu,
        Magnetometer as Magnetometer,
        RangeFinder as RangeFinder,
        Sensor as Sensor,
    )
    from .compose.solids import (
        Box as Box,
        Cylinder as Cylinder,
        Mesh as Mesh,
        Solid as Solid,
        Sphere as Sphere,
    )
    from .results import film as film, plot as plot
    from .simulation import Simulation as Simulation, load_vehicle as load_vehicle

_EXPORTS = {
    "Agent": "xtdrone_core.agent:BaseAgent",
    "Actor": "xtdrone.compose.actors:Actor",
    "AirDensity": "xtdrone.compose.effects:AirDensity",
    "Airspeed": "xtdrone.compose.sensors:Airspeed",
    "Allocation": "xtdrone.backends.allocation:Allocation",
    "AsyncSimulation": "xtdrone.asynchronous:AsyncSimulation",
    "Backend": "xtdrone.backends.backend:Backend",
    "Barometer": "xtdrone.compose.sensors:Barometer",
    "BatchSimulation": "xtdrone_batch.simulation:BatchSimulation",
    "Battery": "xtdrone.compose.battery:Battery",
    "Box": "xtdrone.compose.solids:Box",
    "Camera": "xtdrone.compose.cameras:Camera",
    "CameraParameters": "sensor_models.cameras:CameraParameters",
    "Car": "xtdrone.compose.actors:Car",
    "Cylinder": "xtdrone.compose.solids:Cylinder",
    "DepthCamera": "xtdrone.compose.cameras:DepthCamera",
    "Downwash": "xtdrone.compose.effects:Downwash",
    "EachVehicle": "xtdrone_core.agent:EachVehicle",
    "Effect": "xtdrone.compose.effects:Effect",
    "Estimates": "xtdrone_core.state:Estimates",
    "FleetState": "xtdrone_core.state:FleetState",
    "Frame": "xtdrone.compose.frame:Frame",
    "Gps": "xtdrone.compose.sensors:Gps",
    "GroundEffect": "xtdrone.compose.effects:GroundEffect",
    "Imu": "xtdrone.compose.sensors:Imu",
    "Lidar": "xtdrone.compose.cameras:Lidar",
    "LidarParameters": "sensor_models.rendered.lidar:LidarParameters",
    "LinearDrag": "xtdrone.compose.effects:LinearDrag",
    "Magnetometer": "xtdrone.compose.sensors:Magnetometer",
    "Mellinger": "xtdrone.backends.mellinger:Mellinger",
    "MellingerGains": "xtdrone.backends.mellinger:MellingerGains",
    "Mesh": "xtdrone.compose.solids:Mesh",
    "Mode": "xtdrone_core.modes:Mode",
    "ModelledThrust": "xtdrone.compose.rotors:ModelledThrust",
    "Mounting": "xtdrone_batch.rays.sensor:Mounting",
    "Multirotor": "xtdrone.compose.multirotor:Multirotor",
    "Observer": "xtdrone_core.contracts:Observer",
    "Part": "xtdrone.compose.part:Part",
    "Person": "xtdrone.compose.actors:Person",
    "PropellerThrust": "xtdrone.compose.rotors:PropellerThrust",
    "QuadraticDrag": "xtdrone.compose.effects:QuadraticDrag",
    "QuadraticThrust": "xtdrone.compose.rotors:QuadraticThrust",
    "Randomisation": "xtdrone_batch.randomisation:Randomisation",
    "RangeFinder": "xtdrone.compose.sensors:RangeFinder",
    "Realism": "xtdrone_gym.realism:Realism",
    "Rotor": "xtdrone.compose.rotors:Rotor",
    "Scenario": "xtdrone_core.scenario.scenario:Scenario",
    "ScenarioError": "xtdrone_core.errors:ScenarioError",
    "Scene": "xtdrone.compose.scene:Scene",
    "Sensor": "xtdrone.compose.sensors:Sensor",
    "SensorBatch": "xtdrone_core.state:SensorBatch",
    "SetPoints": "xtdrone_core.state:SetPoints",
    "Simulation": "xtdrone.simulation:Simulation",
    "Solid": "xtdrone.compose.solids:Solid",
    "Sphere": "xtdrone.compose.solids:Sphere",
    "StereoCamera": "xtdrone.compose.cameras:StereoCamera",
    "TaskBatch": "xtdrone_gym.task_batch:TaskBatch",
    "ThrustCurve": "xtdrone.compose.rotors:ThrustCurve",
    "TranslationalLift": "xtdrone.compose.effects:TranslationalLift",
    "Vehicle": "xtdrone_core.vehicle:Vehicle",
    "VehicleSpec": "xtdrone_core.scenario.vehicles:VehicleSpec",
    "VehicleState": "xtdrone.backends.backend:VehicleState",
    "World": "xtdrone_batch.worlds.generate:World",
    "XtdroneError": "xtdrone_core.errors:XtdroneError",
    "film": "xtdrone.results:film",
    "load_vehicle": "xtdrone.simulation:load_vehicle",
    "make_env": "xtdrone_gym.interfaces.vector_env:make_env",
    "plot": "xtdrone.results:plot",
    "rotors_in_x": "xtdrone.compose.rotors:rotors_in_x",
}

__all__ = [
    "Agent",
    "AirDensity",
    "Airspeed",
    "Allocation",
    "AsyncSimulation",
    "Backend",
    "Barometer",
    "BatchSimulation",
    "Battery",
    "Box",
    "Camera",
    "CameraParameters",
    "Cylinder",
    "DepthCamera",
    "Downwash",
    "EachVehicle",
    "Effect",
    "Estimates",
    "FleetState",
    "Frame",
    "Gps",
    "GroundEffect",
    "Imu",
    "Lidar",
    "LidarParameters",
    "LinearDrag",
    "Magnetometer",
    "Mellinger",
    "MellingerGains",
    "Mesh",
    "Mode",
    "ModelledThrust",
    "Mounting",
    "Multirotor",
    "Observer",
    "Part",
    "PropellerThrust",
    "QuadraticDrag",
    "QuadraticThrust",
    "Randomisation",
    "RangeFinder",
    "Realism",
    "Rotor",
    "Scenario",
    "ScenarioError",
    "Scene",
    "Sensor",
    "SensorBatch",
    "SetPoints",
    "Simulation",
    "Solid",
    "Sphere",
    "StereoCamera",
    "TaskBatch",
    "ThrustCurve",
    "TranslationalLift",
    "Vehicle",
    "VehicleSpec",
    "VehicleState",
    "World",
    "XtdroneError",
    "film",
    "load_vehicle",
    "make_env",
    "plot",
    "rotors_in_x",
]


# As xtdrone_core.lazy, whose package loads NumPy.
def __getattr__(name: str) -> Any:  # a class or function of _EXPORTS
    if name not in _EXPORTS:
        raise AttributeError(f"module 'xtdrone' has no attribute '{name}'")
    module, _, attribute = _EXPORTS[name].partition(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
