"""Parameter files: QGroundControl's, and those of MAVProxy and Mission Planner.

# QGroundControl: vehicle, component, name, value, MAVLink type (6 = int32, 9 = float)
1   1   MPC_XY_CRUISE   5.000000000000000000    9

# MAVProxy and Mission Planner: name and value, separated by blanks, a tab, a comma or =
MPC_XY_CRUISE    5.0

Those of other components, as of a gimbal, are left out.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from xtdrone_core import Scenario, files, outputs, resources
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.mavlink.dialect import mavlink

from ..errors import AutopilotError
from .store import ParameterStore, parameter, table

MODEL_FILE = "vehicle.params"  # parameter file in a model's folder
IDENTITY = ("MAV_SYS_ID", "MAV_TYPE")  # parameters that a file does not change
_FORMS = "vehicle, component, name, value and type, or name and value"
_AUTOPILOT = mavlink.MAV_COMP_ID_AUTOPILOT1
_READ_ONLY = "@READONLY"  # at the end of a line of ArduPilot's
_SEPARATORS = re.compile("[,=]")
_HEAD = "# Onboard parameters for Vehicle"
_TYPE = {int: mavlink.MAV_PARAM_TYPE_INT32, float: mavlink.MAV_PARAM_TYPE_REAL32}


def of_vehicle(path: Path | str, name: str) -> Path:
    """Returns the file of a vehicle: path itself, or NAME.params if path is a folder."""
    path = Path(path)
    return path / f"{name}.params" if path.is_dir() else path


def of_model(vehicle: str) -> dict[str, float]:
    """Reads the parameters of a vehicle type, from vehicle.params beside its SDF file.

    Args:
        vehicle: Vehicle type, as in VehicleSpec.

    Returns:
        Name to value; empty without such a file.

    Raises:
        AutopilotError: See read(); or PX4 does not have a parameter.
    """
    path = resources.vehicle_sdf(vehicle).parent / MODEL_FILE
    values = read(path) if path.is_file() else {}
    for name in values:
        if name not in table():
            raise AutopilotError(f"'{shown(path)}': {unknown_name('parameter', name, table())}")
    return values


def read(path: Path | str) -> dict[str, float]:
    """Reads names and values of a file.

    Raises:
        AutopilotError: There is no such file, a line has neither form, or none has a parameter.
    """
    text = files.read_text(path, "parameters", error=AutopilotError)
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = _SEPARATORS.sub(" ", line.partition("#")[0]).split()
        if words and words[-1] == _READ_ONLY:
            words.pop()
        if not words:
            continue
        try:
            name, value = words[2:4] if len(words) in (4, 5) else words
            amount = float(value)
            if len(words) in (4, 5) and int(words[1]) != _AUTOPILOT:
                continue
            values[name] = amount
        except ValueError as error:
            raise AutopilotError(
                f"line {number} of '{shown(path)}' is no parameter, '{shown(line.strip())}': write "
                f"{_FORMS}"
            ) from error
    if not values:
        raise AutopilotError(f"'{shown(path)}' has no parameter: write {_FORMS}, one a line")
    return values


def of_scenario(scenario: Scenario, name: str) -> tuple[dict[str, float], list[str]]:
    """Reads the scenario's parameter file of a vehicle.

    Returns:
        Name to value, and the names that PX4 does not have.

    Raises:
        AutopilotError: See read(); or there are such names, and the scenario does not skip them.
    """
    path = of_vehicle(scenario.params, name)
    values = read(path)
    unknown = [name for name in values if name not in table()]
    if unknown and scenario.unknown_params == "refuse":
        raise AutopilotError(
            f"'{shown(path)}': {unknown_name('parameter', unknown[0], table())}; "
            f"{count_unknown(values, unknown)}: --unknown_params skip (unknown_params:=skip) flies "
            "without"
        )
    return values, unknown


def count_unknown(values: Collection[str], unknown: Collection[str]) -> str:
    """Says how many parameters of a file PX4 does not have."""
    return f"{len(unknown)} of {len(values)} parameters unknown to PX4 v1.15"


def write(path: Path | str, vehicle: int, values: Mapping[str, float]) -> None:
    """Writes names and values of one vehicle (system id), in QGroundControl's format.

    Raises:
        AutopilotError: The file cannot be written, or PX4 does not have a name.
    """
    lines = [f"{_HEAD} {vehicle}", "#", "# Vehicle-Id Component-Id Name Value Type"]
    for name in sorted(values):
        kind = parameter(name).type
        text = str(int(values[name])) if kind is int else f"{values[name]:.18f}"
        lines.append("\t".join([str(vehicle), "1", name, text, str(_TYPE[kind])]))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    path = outputs.free_for(
        path, "parameters", lambda ends: ends.startswith(_HEAD.encode()), AutopilotError
    )
    try:
        path.write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise AutopilotError(f"cannot write parameters '{path}': {error.strerror}") from error


def settable(values: Mapping[str, float]) -> dict[str, float]:
    """Returns the values without system id and type, which each vehicle keeps."""
    return {name: value for name, value in values.items() if name not in IDENTITY}


def load_into(store: ParameterStore, i: int, values: Mapping[str, float]) -> list[str]:
    """Sets parameters of vehicle i, except its system id and type.

    Returns:
        A message for each rejected value: PX4 has no such name, or it is not a finite number.
    """
    rejected = []
    for name, value in settable(values).items():
        try:
            store.set(i, name, value)
        except AutopilotError as error:
            rejected.append(str(error))
    return rejected
