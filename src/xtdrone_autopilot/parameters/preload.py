"""What a scenario puts into the flight stacks before they start: parameters and missions."""

from pathlib import Path

import numpy as np

from ..errors import AutopilotError
from ..estimation.flags import HEIGHT_BY_VISION
from ..mavlink.dialect import mavlink
from ..navigation import plan_file
from . import file as parameter_file


def preload(autopilot, scenario, folder) -> None:
    """Loads the scenario's parameters and missions.

    Args:
        autopilot: The EmbeddedAutopilot.
        scenario: With vehicles, params and mission.
        folder: The run folder, or None; vehicles save their parameters in its params/.

    Raises:
        AutopilotError: A file that cannot be read or flown.
    """
    names = [vehicle.name for vehicle in scenario.vehicles]
    if folder is not None:
        autopilot.parameter_files = [folder / "params" / f"{name}.params" for name in names]
    if scenario.pose_source == "truth":  # as XTDrone has PX4: by vision alone
        autopilot.parameters.values["EKF2_GPS_CTRL"] = 0
        autopilot.parameters.values["EKF2_HGT_REF"] = HEIGHT_BY_VISION
    if scenario.params:
        _load_parameters(autopilot, Path(scenario.params), names)
    if scenario.mission:
        _load_missions(autopilot, scenario)


def _load_parameters(autopilot, path, names):
    files = [path / f"{name}.params" if path.is_dir() else path for name in names]
    for i, file in enumerate(files):
        _, unknown, refused = parameter_file.load_into(autopilot.parameters, i,
                                                       parameter_file.read(file))
        if refused:
            raise AutopilotError(f"'{file}': {refused[0]}")
        if unknown:
            autopilot.say(i, mavlink.MAV_SEVERITY_INFO,
                          f"{len(unknown)} parameters of {file.name} do not exist here")


def _load_missions(autopilot, scenario):
    files = scenario.mission.split(",")
    if len(files) not in (1, scenario.n):
        raise AutopilotError(f"{len(files)} plans for {scenario.n} vehicles: give one for all, or "
                             "one for each")
    plans = [plan_file.load(file.strip()) for file in files]
    starts = np.array([vehicle.pos for vehicle in scenario.vehicles])
    for i in range(scenario.n):
        items = plans[i % len(plans)].items
        if len(plans) == 1:
            items = plan_file.shifted(items, *(starts[i] - starts[0])[:2])
        autopilot.missions.load(i, items)
