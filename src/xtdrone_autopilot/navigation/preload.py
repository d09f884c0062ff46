"""What a scenario puts into the flight stacks before they start: parameters and missions."""

import logging
from collections.abc import Sequence

from xtdrone_core import Scenario

from ..errors import AutopilotError
from ..parameters import file as parameter_file
from ..parameters.store import ParameterStore
from ..state.estimator_flags import HEIGHT_BY_VISION
from . import plan_file
from .mission import Missions

_SHOWN = 5  # names in a warning
_log = logging.getLogger(__name__)


def preload(
    store: ParameterStore, missions: Missions, scenario: Scenario, origin: Sequence[float]
) -> None:
    """Loads the vehicles' own parameters, then those and the missions of the scenario.

    Args:
        store: Parameters of the fleet.
        missions: Its missions.
        scenario: With vehicles, params, mission and pose_source.
        origin: Latitude, longitude [rad] and more of the world's origin.

    Raises:
        AutopilotError: A file that cannot be read or flown.
    """
    for i, vehicle in enumerate(scenario.vehicles):
        if own := parameter_file.of_model(vehicle.type):
            _load(store, i, own, f"{vehicle.type}: {parameter_file.OWN}")
    if scenario.pose_source == "truth":  # as XTDrone has PX4: by vision alone
        store.values["EKF2_GPS_CTRL"] = 0
        store.values["EKF2_HGT_REF"] = HEIGHT_BY_VISION
    if scenario.params:
        _load_parameters(store, scenario)
    if scenario.mission:
        _load_missions(missions, scenario, origin)


def _load_parameters(store, scenario):
    skipped = {}  # names by file: a fleet may share one
    for i, vehicle in enumerate(scenario.vehicles):
        file = parameter_file.of_vehicle(scenario.params, vehicle.name)
        values, skipped[file] = parameter_file.of_scenario(scenario, vehicle.name)
        known = {key: value for key, value in values.items() if key not in skipped[file]}
        _load(store, i, known, file)
    for file, unknown in skipped.items():
        if unknown:
            _log.warning(
                "'%s': parameters that PX4 v1.15 does not have are skipped: %s",
                file,
                ", ".join(unknown[:_SHOWN]) + ", ..." * (len(unknown) > _SHOWN),
            )


def _load(store, i, values, file):
    if refused := parameter_file.load_into(store, i, values):
        raise AutopilotError(f"'{file}': {refused[0]}")


def _load_missions(missions, scenario, origin):
    starts = [vehicle.pos for vehicle in scenario.vehicles]
    for i, plan in enumerate(plan_file.of_fleet(scenario.mission, starts, origin)):
        missions.load_items(i, plan.items)
