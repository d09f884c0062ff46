"""What is identified: the parameters of a vehicle, and what a log adds to them.

A flight shows forces only as accelerations, so that one of mass and thrust must be known; by
default it is the mass, which a balance tells.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from xtdrone_core import FleetModel, Vehicle
from xtdrone_core.fleet_model import packed
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY

from .errors import IdentificationError

KNOWN = ("mass", "motor_constant")  # one of them is given
_FACTOR = 1.0  # a priori, a positive number lies within a factor of e of the model's, one sigma
_GAIN = 0.003  # a priori, relative error of a calibrated sensor's gain, one sigma
_BODY = 19  # numbers of rollout's `body`
AXES = ("x", "y", "z")

# Parameters of rotors by their names in the SDF, with units; the others of a rotor are geometry.
ROTOR = {
    "motor_constant": "N s^2",
    "zero_position_armed": "rad/s",
    "moment_constant": "m",
    "rotor_drag_coefficient": "N s^2/m",
    "rolling_moment_coefficient": "N s^2",
    "time_constant_up": "s",
    "time_constant_down": "s",
}
_OF_COMMANDS = ("zero_position_armed", "time_constant_up", "time_constant_down", "delay")
# Effects by record's field, with name and unit of each component.
EFFECTS = {
    "linear_drag": ("linear_drag", "N s/m"),
    "drag_areas": ("drag_area", "m^2"),
    "lift": ("translational_lift", "N s^2/m^2"),
    "damping": ("climb_damping", "N s^2/m"),
}


@dataclass(frozen=True)
class Parameter:
    """One number that is fitted.

    Attributes:
        name: As in the table of results.
        unit: Its unit.
        start: Value of the model with which the fit begins.
        sigma: A priori standard deviation; of the logarithm where it is positive.
        positive: Whether it is fitted by its logarithm, relative to the start.
        of_vehicle: Whether it belongs to the vehicle; others belong to the log: wind, sensors.
    """

    name: str
    unit: str
    start: float
    sigma: float
    positive: bool = True
    of_vehicle: bool = True

    def value(self, theta: float) -> float:
        """Returns the number that a coordinate of the fit stands for."""
        return self.start * math.exp(theta) if self.positive else self.start + theta


@dataclass(frozen=True)
class Arrays:
    """What rollout's kernels take."""

    actuators: np.ndarray
    effects: np.ndarray
    body: np.ndarray
    accel_gain: np.ndarray  # (3,)
    accel_bias: np.ndarray  # (3,) [m/s^2]
    gyro_gain: np.ndarray  # (3,)


class Model:
    """A vehicle as a function of the coordinates of a fit.

    Attributes:
        vehicle: The vehicle with which the fit begins.
        parameters: What is fitted.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        speeds: bool = False,
        accel: bool = True,
        step_s: float = 0.004,
        known: str = "mass",
        given: Mapping[str, float] | None = None,
        priors: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        """Chooses the parameters.

        Args:
            vehicle: A vehicle whose rotors are all that drives it.
            speeds: Whether the inputs are measured speeds, so that commands and lag do not show.
            accel: Whether there is an accelerometer.
            step_s: Step of the record [s].
            known: Which of KNOWN is given.
            given: Values of some parameters, which are then not fitted.
            priors: Value and standard deviation a priori of some that are not positive.

        Raises:
            IdentificationError: The vehicle has none or other actuators, or a name is unknown.
        """
        self.vehicle = vehicle
        self._speeds, self._step_s = speeds, step_s
        self._rotors = len(vehicle.rotors)
        check(vehicle)
        fleet = FleetModel.of([vehicle])
        self._actuators = fleet.actuator[0, : self._rotors].copy()
        self._actuators["propeller_at"] = -1  # the constants are fitted
        self._effects = fleet.effects.copy()
        if speeds:
            self._actuators["input_scaling"], self._actuators["zero_position_armed"] = 1.0, 0.0
            self._actuators["time_constant_up"] = self._actuators["time_constant_down"] = 0.0
            self._actuators["upper"] = self._actuators["max_rot_velocity"] = 1e9
        every = [*self._of_vehicle(known), *self._of_log(accel)]
        fixed = dict(given or {})
        for name in fixed:
            if name not in {one.name for one in every} | {"mass"}:
                raise IdentificationError(
                    f"'{name}' cannot be given: give one of mass, "
                    f"{', '.join(one.name for one in every if one.of_vehicle)}"
                )
        self._mass = fixed.pop("mass", vehicle.mass)
        self._fixed = fixed
        for k, one in enumerate(every):
            if one.name in (priors or {}):
                start, sigma = (priors or {})[one.name]
                every[k] = replace(one, start=start, sigma=sigma)
        self.parameters = tuple(one for one in every if one.name not in fixed)

    def _of_vehicle(self, known: str) -> list[Parameter]:
        vehicle, first = self.vehicle, self._actuators[0]
        out = [] if known == "mass" else [Parameter("mass", "kg", vehicle.mass, _FACTOR)]
        out += [
            Parameter(f"i{axis}{axis}", "kg m^2", vehicle.inertia[k][k], _FACTOR)
            for k, axis in enumerate(AXES)
        ]
        for name, unit in ROTOR.items():
            if float(first[name]) <= 0.0 or name == known:
                continue
            if self._speeds and name in _OF_COMMANDS:
                continue
            out.append(Parameter(name, unit, float(first[name]), _FACTOR))
        for field, (name, unit) in EFFECTS.items():
            values = np.atleast_1d(self._effects[field][0])
            for k, value in enumerate(values):
                if value > 0.0:
                    suffix = f"_{AXES[k]}" if len(values) > 1 else ""
                    out.append(Parameter(name + suffix, unit, float(value), _FACTOR))
        if not self._speeds:
            out.append(Parameter("delay", "s", 0.0, 0.05, positive=False))
        return out

    def _of_log(self, accel: bool) -> list[Parameter]:
        """What is fitted beside the vehicle, so that it does not bend the vehicle's numbers."""
        vehicle = self.vehicle
        arm = max(math.hypot(*rotor.pos) for rotor in vehicle.rotors)
        torque = 0.1 * vehicle.mass * 9.8 * arm
        groups = [
            ("trim", "N m", torque, AXES),
            ("wind", "m/s", 3.0, AXES[:2]),
            ("gyro_gain", "-", _GAIN, AXES),
        ]
        if accel:
            groups += [
                ("imu", "m", 0.2 * arm, AXES),
                ("accel_bias", "m/s^2", 0.5, AXES),
                ("accel_gain", "-", _GAIN, AXES),
            ]
        return [
            Parameter(f"{name}_{axis}", unit, 0.0, sigma, positive=False, of_vehicle=False)
            for name, unit, sigma, axes in groups
            for axis in axes
        ]

    def values(self, theta: np.ndarray) -> dict[str, float]:
        """Returns all parameters by name, with those that are given."""
        fitted = {one.name: one.value(float(x)) for one, x in zip(self.parameters, theta)}
        return {"mass": self._mass, **self._fixed, **fitted}

    def arrays(self, theta: np.ndarray) -> Arrays:
        """Returns what the kernels take."""
        values = self.values(theta)
        actuators, effects = self._actuators.copy(), self._effects.copy()
        for name in ROTOR:
            if name in values:
                actuators[name] *= values[name] / float(self._actuators[0][name])
        for field, (name, _) in EFFECTS.items():
            if name in values:
                effects[field] = values[name]
            for k, axis in enumerate(AXES):
                if f"{name}_{axis}" in values:
                    effects[field][0, k] = values[f"{name}_{axis}"]
        body = np.zeros(_BODY)
        body[0] = values["mass"]
        body[1:7] = packed(self.vehicle.inertia)
        for k, axis in enumerate(AXES):
            body[1 + k] = values[f"i{axis}{axis}"]
        body[7:10] = _three(values, "trim")
        body[10:13] = _three(values, "imu")
        body[13] = values.get("delay", 0.0) / self._step_s
        body[14:17] = _three(values, "wind")
        body[17] = SEA_LEVEL_DENSITY
        return Arrays(
            actuators,
            effects,
            body,
            1.0 + _three(values, "accel_gain"),
            _three(values, "accel_bias"),
            1.0 + _three(values, "gyro_gain"),
        )


def _three(values: Mapping[str, float], name: str) -> np.ndarray:
    return np.array([values.get(f"{name}_{axis}", 0.0) for axis in AXES])


def check(vehicle: Vehicle) -> None:
    """Refuses what the equations here do not have."""
    if not vehicle.rotors:
        raise IdentificationError(
            f"'{vehicle.type}' has no rotors: multirotors are identified, such as iris"
        )
    if vehicle.wings or vehicle.half_wings or vehicle.tyres or vehicle.hulls:
        raise IdentificationError(
            f"'{vehicle.type}' has wings, wheels or floats: multirotors without them are identified"
        )
    if any(rotor.body != 0 for rotor in vehicle.rotors):
        raise IdentificationError(
            f"'{vehicle.type}' tilts its rotors in flight: multirotors with fixed rotors are "
            "identified"
        )
