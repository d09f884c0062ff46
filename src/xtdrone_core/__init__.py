"""What every room of the workspace shares: seams, scenario, run folder, errors, command."""

from .errors import ControlError, ScenarioError, XtdroneError
from .fleet_model import FleetModel
from .modes import Mode
from .scenario.scenario import Scenario
from .scenario.vehicles import VehicleSpec
from .state import ARM, DISARM, KEEP, Estimates, FleetState, Reading, SensorBatch, SetPoints
from .vehicle import Actuator, Body, Joint, Pack, Rotor, SensorBlock, Servo, Vehicle, Wing

__all__ = [
    "ARM",
    "DISARM",
    "KEEP",
    "Actuator",
    "Body",
    "ControlError",
    "Estimates",
    "FleetModel",
    "FleetState",
    "Joint",
    "Mode",
    "Pack",
    "Reading",
    "Rotor",
    "Scenario",
    "ScenarioError",
    "SensorBatch",
    "SensorBlock",
    "Servo",
    "SetPoints",
    "Vehicle",
    "VehicleSpec",
    "Wing",
    "XtdroneError",
]
