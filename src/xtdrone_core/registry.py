"""Which class stands behind a name of a scenario; `module:Class` names one of your own."""

import importlib
from typing import Any

from .errors import ScenarioError, unknown_name

ENGINES = {"embedded": "xtdrone_sim.engines.embedded:EmbeddedEngine",
           "gazebo": "xtdrone_sim.engines.gazebo.engine:GazeboEngine"}
AUTOPILOTS = {"embedded": "xtdrone_autopilot.autopilot:EmbeddedAutopilot",
              "px4": "xtdrone_autopilot.px4.autopilot:Px4Autopilot"}
AGENTS = {"square": "xtdrone_control.agents:SquareAgent",
          "mission": "xtdrone_control.agents:MissionAgent",
          "formation": "xtdrone_formation.agents:FormationAgent",
          "formation_mission": "xtdrone_formation.agents:MissionFormation",
          "formation_path": "xtdrone_formation.agents:PathFormation"}
# Parts of the embedded flight stack that a scenario may replace.
PARTS = {"estimator": {"embedded": "xtdrone_autopilot.estimation.ekf:Ekf"},
         "position_control": {"embedded": "xtdrone_autopilot.control.position:PositionControl"},
         "velocity_control": {"embedded": "xtdrone_autopilot.control.velocity:VelocityControl"},
         "attitude_control": {"embedded": "xtdrone_autopilot.control.attitude:AttitudeControl"},
         "rate_control": {"embedded": "xtdrone_autopilot.control.rate:RateControl"},
         "mixer": {"embedded": "xtdrone_autopilot.control.allocation:Mixer"}}


def check(what: str, name: str, table: dict) -> None:
    """Refuses a name that is neither in the table nor of the form module:Class.

    Raises:
        ScenarioError: Such a name.
    """
    if name not in table and ":" not in name:
        raise ScenarioError(unknown_name(what, name, table,
                                         "name a class of your own as module:Class"))


def load(what: str, name: str, table: dict) -> Any:
    """The class behind a name.

    Args:
        what: Kind of thing for messages, for example "engine".
        name: A key of the table, or `module:Class`.
        table: ENGINES, AUTOPILOTS, AGENTS or one of PARTS.

    Raises:
        ScenarioError: No such name, module or class.
    """
    check(what, name, table)
    module, _, attribute = table.get(name, name).partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ScenarioError(f"cannot load {what} '{name}': {error}; a class of your own is named "
                            "module:Class, its folder on PYTHONPATH") from error
