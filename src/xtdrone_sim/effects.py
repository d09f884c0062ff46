"""Aerodynamic effects that a vehicle's SDF file switches on by name.

Beside XTDrone (3)-(6), which are always there, a model may have

    <xtdrone:effects>
      <linear_drag><coefficients>0.5 0.3 0</coefficients></linear_drag>
      <ground_effect><rotor_radius>0.128</rotor_radius></ground_effect>
    </xtdrone:effects>

with xmlns:xtdrone="urn:xtdrone" on its <sdf> element; Gazebo passes over it.
"""

from xtdrone_core.errors import unknown_name

from .sdf_tree import OWN, fail, numbers, text

EFFECTS = {  # name: {tag: number of values}; units in docs and in xtdrone_dynamics.aerodynamics
    "linear_drag": {"coefficients": 3},  # along each body axis [N s/m]
    "quadratic_drag": {"areas": 3},  # drag coefficient times area, along each body axis [m^2]
    "ground_effect": {"rotor_radius": 1},  # [m]
    "translational_lift": {"lift": 1, "damping": 1},  # of one rotor [N s^2/m^2], [N s^2/m]
    "downwash": {"rotor_radius": 1},  # [m]
    "air_density": {},  # coefficients, given at sea level, scale with the density of the air
}


def read_effects(model) -> dict:
    """The effects that a <model> names.

    Args:
        model: The element.

    Returns:
        Name to {tag: tuple of numbers}.

    Raises:
        SdfError: Unknown effect, or values that make no sense.
    """
    block = model.find(OWN + "effects")
    effects = {}
    for effect in block if block is not None else ():
        tags = EFFECTS.get(effect.tag)
        if tags is None:
            fail(effect, unknown_name("effect", str(effect.tag), EFFECTS))
        effects[effect.tag] = {tag: _values(effect, tag, count) for tag, count in tags.items()}
    return effects


def _values(effect, tag, count) -> tuple:
    text(effect, tag)
    values = numbers(effect.find(tag), count)
    if min(values) < 0.0:
        fail(effect, f"<{tag}> of {effect.tag} is {values}: give numbers from 0")
    return values
