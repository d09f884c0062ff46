"""Writes what was identified into a copy of the vehicle's model, and shows the difference."""

import math
from pathlib import Path

from xtdrone_core import resources
from xtdrone_core.errors import XtdroneError
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_numbers_by_path import SdfNumbers

from .identification import Identified
from .parameters import AXES, EFFECTS

# Parameters of rotors to paths of their numbers in an SDF file.
_ROTOR_PATHS = {
    "motor_constant": "plugin/motorConstant",
    "zero_position_armed": "plugin/control_channels/channel/zero_position_armed",
    "moment_constant": "plugin/momentConstant",
    "rotor_drag_coefficient": "plugin/rotorDragCoefficient",
    "rolling_moment_coefficient": "plugin/rollingMomentCoefficient",
    "time_constant_up": "plugin/timeConstantUp",
    "time_constant_down": "plugin/timeConstantDown",
}
_EFFECT_PATHS = {
    "linear_drag": "xtdrone:effects/linear_drag/coefficients",
    "drag_area": "xtdrone:effects/quadratic_drag/areas",
    "translational_lift": "xtdrone:effects/translational_lift/lift",
    "climb_damping": "xtdrone:effects/translational_lift/damping",
}
_NOISE_PATHS = ("plugin/gyroscopeNoiseDensity", "plugin/accelerometerNoiseDensity")


def revised(found: Identified, name: str) -> tuple[SdfNumbers, list[str]]:
    """Returns the vehicle's file with the identified numbers.

    Args:
        found: What was identified.
        name: The vehicle, by its name or path.

    Returns:
        The file, and a line on each number that could not be written, which keeps its value.
    """
    file = SdfNumbers(resources.vehicle_sdf(name))
    left: list[str] = []
    model, values = found.fit.model, found.fit.values
    starts = {one.name: one.start for one in model.parameters}
    changes: list[tuple[str, str, float]] = []  # parameter, path, factor
    for key, path in _ROTOR_PATHS.items():
        if key in starts and found.fit.is_known(key):
            changes.append((key, path, values[key] / starts[key]))
    for key, _ in EFFECTS.values():
        path = _EFFECT_PATHS[key]
        for suffix, place in (("", ""), *((f"_{axis}", f"#{k}") for k, axis in enumerate(AXES))):
            full = key + suffix
            if full in starts and found.fit.is_known(full):
                changes.append((full, path + place, values[full] / starts[full]))
    base = model.vehicle.bodies[0].links[0] if model.vehicle.bodies[0].links else "*"
    shifts = [("mass", f"link[{base}]/inertial/mass", values["mass"] - model.vehicle.mass)]
    for k, axis in enumerate(AXES):
        key = f"i{axis}{axis}"
        shift = values[key] - model.vehicle.inertia[k][k]
        shifts.append((key, f"link[{base}]/inertial/inertia/{key}", shift))
    for key, path, change in changes:
        _apply(file, key, path, left, factor=change)
    for key, path, change in shifts:
        if change and (key == "mass" or found.fit.is_known(key)):
            _apply(file, key, path, left, shift=change)
    _write_noise(file, found)
    return file, left


def _apply(
    file: SdfNumbers, key: str, path: str, left: list[str], factor: float = 1.0, shift: float = 0.0
) -> None:
    try:
        file.change(path, lambda old: factor * old + shift)
    except XtdroneError as error:
        left.append(f"{key} is not written: {error}")


def _write_noise(file: SdfNumbers, found: Identified) -> None:
    """Writes noise densities where the file has them and each reading is logged."""
    record = found.fitted
    for key, path, noise in zip(("gyro", "accel"), _NOISE_PATHS, found.fit.noise):
        every = record.periods_s.get(key, math.inf) < 1.5 * record.step_s
        if every and file.has(path):
            file.set(path, noise * math.sqrt(record.step_s))


def write(file: SdfNumbers, folder: Path) -> Path:
    """Writes the model's folder, and checks that it loads; returns its SDF file.

    Raises:
        XtdroneError: It cannot be written, or is no vehicle any more.
    """
    path = file.write_model(folder)
    load_vehicle(path)
    return path
