"""What every room of the workspace shares: seams, scenario, run folder, errors, command."""

from .errors import ControlError, ScenarioError, XtdroneError
from .modes import Mode
from .scenario import Scenario, VehicleSpec
from .state import ARM, DISARM, KEEP, Estimates, FleetState, Reading, SensorBatch, SetPoints
from .vehicle import FleetModel, Pack, Rotor, SensorBlock, VehicleModel

__all__ = [
    "ARM", "DISARM", "KEEP", "ControlError", "Estimates", "FleetModel", "FleetState", "Mode",
    "Pack", "Reading", "Rotor", "Scenario", "ScenarioError", "SensorBatch", "SensorBlock",
    "SetPoints", "VehicleModel", "VehicleSpec", "XtdroneError",
]
