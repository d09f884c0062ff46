"""Drag and the other aerodynamic effects of a vehicle."""

from dataclasses import dataclass, fields
from typing import ClassVar

from .part import Element, Part, Vector, add


@dataclass(frozen=True, kw_only=True)
class Effect(Part):
    """An aerodynamic effect under its name in <xtdrone:effects>; its fields are its elements.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Light(LinearDrag):
        ...     coefficients: tuple = (0.1, 0.1, 0.0)
        >>> Light().effect
        'linear_drag'
    """

    effect: ClassVar[str]

    def write(self, model: Element) -> None:
        """Adds it to <xtdrone:effects>."""
        block = add(model, self.effect)
        for entry in fields(self):
            value = getattr(self, entry.name)
            add(block, entry.name, value)


@dataclass(frozen=True, kw_only=True)
class LinearDrag(Effect):
    """Drag in proportion to the airspeed, Pegasus (2).

    Examples:
        >>> LinearDrag(coefficients=(0.5, 0.3, 0.0)).effect
        'linear_drag'
    """

    effect = "linear_drag"
    coefficients: Vector  # along each body axis [N s/m]


@dataclass(frozen=True, kw_only=True)
class QuadraticDrag(Effect):
    """Drag in proportion to the airspeed squared.

    Examples:
        >>> QuadraticDrag(areas=(0.01, 0.01, 0.03)).effect
        'quadratic_drag'
    """

    effect = "quadratic_drag"
    areas: Vector  # drag coefficient times area, along each body axis [m^2]


@dataclass(frozen=True, kw_only=True)
class GroundEffect(Effect):
    """More thrust near the ground.

    Examples:
        >>> GroundEffect(rotor_radius=0.128).effect
        'ground_effect'
    """

    effect = "ground_effect"
    rotor_radius: float  # [m]


@dataclass(frozen=True, kw_only=True)
class TranslationalLift(Effect):
    """More thrust in forward flight, less in a climb.

    Examples:
        >>> TranslationalLift(lift=1e-3, damping=0.05).effect
        'translational_lift'
    """

    effect = "translational_lift"
    lift: float  # coefficient of one rotor's lift [N s^2/m^2]
    damping: float  # one rotor's damping of climb and descent [N s^2/m]


@dataclass(frozen=True, kw_only=True)
class Downwash(Effect):
    """The wake below the rotors, which others feel through their drag along z.

    Examples:
        >>> Downwash(rotor_radius=0.128).effect
        'downwash'
    """

    effect = "downwash"
    rotor_radius: float  # [m]


@dataclass(frozen=True, kw_only=True)
class AirDensity(Effect):
    """Coefficients, given at sea level, scale with the density of the air.

    Examples:
        >>> AirDensity().effect
        'air_density'
    """

    effect = "air_density"
