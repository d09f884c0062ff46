"""What every room of the workspace shares: seams, scenario, run folder, errors, command."""

from typing import TYPE_CHECKING

from .lazy import lazy_exports

if TYPE_CHECKING:
    from .errors import (
        ControlError as ControlError,
        ScenarioError as ScenarioError,
        XtdroneError as XtdroneError,
    )
    from .fleet_model import FleetModel as FleetModel
    from .modes import Mode as Mode
    from .scenario.scenario import Scenario as Scenario
    from .scenario.vehicles import VehicleSpec as VehicleSpec
    from .state import (
        ARM as ARM,
        DISARM as DISARM,
        KEEP as KEEP,
        Estimates as Estimates,
        FleetState as FleetState,
        Reading as Reading,
        SensorBatch as SensorBatch,
        SetPoints as SetPoints,
    )
    from .vehicle import (
        Actuator as Actuator,
        Body as Body,
        Joint as Joint,
        Pack as Pack,
        Rotor as Rotor,
        SensorBlock as SensorBlock,
        Servo as Servo,
        Vehicle as Vehicle,
        Wing as Wing,
    )

_EXPORTS = {
    "ARM": ".state:ARM",
    "Actuator": ".vehicle:Actuator",
    "Body": ".vehicle:Body",
    "ControlError": ".errors:ControlError",
    "DISARM": ".state:DISARM",
    "Estimates": ".state:Estimates",
    "FleetModel": ".fleet_model:FleetModel",
    "FleetState": ".state:FleetState",
    "Joint": ".vehicle:Joint",
    "KEEP": ".state:KEEP",
    "Mode": ".modes:Mode",
    "Pack": ".vehicle:Pack",
    "Reading": ".state:Reading",
    "Rotor": ".vehicle:Rotor",
    "Scenario": ".scenario.scenario:Scenario",
    "ScenarioError": ".errors:ScenarioError",
    "SensorBatch": ".state:SensorBatch",
    "SensorBlock": ".vehicle:SensorBlock",
    "Servo": ".vehicle:Servo",
    "SetPoints": ".state:SetPoints",
    "Vehicle": ".vehicle:Vehicle",
    "VehicleSpec": ".scenario.vehicles:VehicleSpec",
    "Wing": ".vehicle:Wing",
    "XtdroneError": ".errors:XtdroneError",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
