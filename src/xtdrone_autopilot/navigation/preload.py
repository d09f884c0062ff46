"""Parameters and missions that a scenario loads before the flight stacks start."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from xtdrone_core import Scenario

from ..errors import AutopilotError
from ..parameters import file as parameter_file
from ..parameters.store import ParameterStore
from ..state.estimator_flags import HEIGHT_BY_VISION
from .fleet_plans import of_fleet
from .mission import Missions

_SHOWN = 5  # number of names in a warning
_log = logging.getLogger(__name__)


def preload(
    store: ParameterStore, missions: Missions, scenario: Scenario, origin: Sequence[float]
) -> None:
    """Loads the parameters of the models, then parameters and missions of the scenario.

    Args:
        store: Parameters of the fleet.
        missions: Missions of the fleet.
        scenario: The scenario; vehicles, params, mission and pose_source are used.
        origin: Latitude, longitude [rad] and height [m] of the world's origin.

    Raises:
        AutopilotError: A file cannot be read or flown.
    """
    for i, vehicle in enumerate(scenario.vehicles):
        if values := parameter_file.of_model(vehicle.type):
            _load(store, i, values, f"{vehicle.type}: {parameter_file.MODEL_FILE}")
    if scenario.pose_source != "sensors":  # XTDrone configures PX4 likewise: vision only
        store.values["EKF2_GPS_CTRL"] = 0
        store.values["EKF2_HGT_REF"] = HEIGHT_BY_VISION
    if scenario.params:
        _load_parameters(store, scenario)
    if scenario.mission:
        _load_missions(missions, scenario, origin)


def _load_parameters(store: ParameterStore, scenario: Scenario) -> None:
    """Loads the scenario's parameter files; warns of names that are skipped."""
    skipped = {}  # names by file, which vehicles may share
    counts = {}
    for i, vehicle in enumerate(scenario.vehicles):
        file = parameter_file.of_vehicle(scenario.params, vehicle.name)
        values, skipped[file] = parameter_file.of_scenario(scenario, vehicle.name)
        known = {key: value for key, value in values.items() if key not in skipped[file]}
        counts[file] = parameter_file.count_unknown(values, skipped[file])
        _load(store, i, known, file)
    for file, unknown in skipped.items():
        if unknown:
            _log.warning(
                "'%s': %s, skipped: %s",
                file,
                counts[file],
                ", ".join(unknown[:_SHOWN]) + ", ..." * (len(unknown) > _SHOWN),
            )


def _load(store: ParameterStore, i: int, values: Mapping[str, float], file: Path | str) -> None:
    """Sets parameters of vehicle i; raises AutopilotError if one is rejected."""
    if rejected := parameter_file.load_into(store, i, values):
        raise AutopilotError(f"'{file}': {rejected[0]}")


def _load_missions(missions: Missions, scenario: Scenario, origin: Sequence[float]) -> None:
    """Loads the scenario's mission of each vehicle."""
    starts = [vehicle.pos for vehicle in scenario.vehicles]
    for i, plan in enumerate(of_fleet(scenario.mission, starts, origin)):
        missions.load_items(i, plan.items)
