"""Aerodynamic effects that a vehicle's SDF file switches on by name.

Beside XTDrone (3)-(6), which are always there, a model may have

    <xtdrone:effects xmlns:xtdrone="urn:xtdrone">
      <linear_drag><coefficients>0.5 0.3 0</coefficients></linear_drag>
      <ground_effect><rotor_radius>0.128</rotor_radius></ground_effect>
    </xtdrone:effects>

which Gazebo ignores.
"""

from ..sdf_file import Element, fail
from ..sdf_tree import numbers, refuse_unknown, text

EFFECTS = {  # name: {tag: number of values}; units in docs and in forces.aerodynamics
    "linear_drag": {"coefficients": 3},  # drag along each body axis [N s/m]
    "quadratic_drag": {"areas": 3},  # drag coefficient times area, along each body axis [m^2]
    "ground_effect": {"rotor_radius": 1},  # [m]
    "translational_lift": {"lift": 1, "damping": 1},  # one rotor's [N s^2/m^2], [N s^2/m]
    "downwash": {"rotor_radius": 1},  # [m]
    "air_density": {},  # coefficients, given at sea level, scale with the density of the air
}


def read_effects(block: Element) -> dict:
    """The effects that a block <xtdrone:effects> names.

    Args:
        block: The element, or None.

    Returns:
        Name to {tag: tuple of numbers}.

    Raises:
        SdfError: Unknown effect, or invalid values.
    """
    if block is None:
        return {}
    refuse_unknown(block, EFFECTS)
    effects = {}
    for effect in block:
        tags = EFFECTS[effect.tag]
        refuse_unknown(effect, tags)
        effects[effect.tag] = {tag: _values(effect, tag, count) for tag, count in tags.items()}
    if "downwash" in effects and not _feels_the_wake(effects):
        fail(
            block,
            "downwash is felt through drag along z: switch on linear_drag, "
            "quadratic_drag or the damping of translational_lift too",
        )
    return effects


def _values(effect: Element, tag: str, count: int) -> tuple:
    text(effect, tag)
    values = numbers(effect.find(tag), count)
    if min(values) < 0.0:
        fail(effect, f"<{tag}> of {effect.tag} is {values}: give numbers from 0")
    if tag == "rotor_radius" and values[0] == 0.0:
        fail(effect, f"<{tag}> of {effect.tag} is 0: give metres above 0")
    return values


def _feels_the_wake(effects: dict[str, dict[str, tuple[float, ...]]]) -> bool:
    """Whether air that comes down on a vehicle with these effects does anything to it."""
    along_z = (
        ("linear_drag", "coefficients", 2),
        ("quadratic_drag", "areas", 2),
        ("translational_lift", "damping", 0),
    )
    return any(name in effects and effects[name][tag][k] > 0.0 for name, tag, k in along_z)
