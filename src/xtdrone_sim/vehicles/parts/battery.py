"""The battery of a vehicle.

A vehicle has a battery if its SDF file contains

    <xtdrone:battery>
      <cells>4</cells>
      <capacity>5.4</capacity>                         A h
      <internal_resistance>0.02</internal_resistance>  Ohm, of the whole pack
      <efficiency>0.75</efficiency>                    shaft power over electrical power
      <rated_voltage>14</rated_voltage>                V, from which on rotors reach maxRotVelocity
    </xtdrone:battery>

and optionally <avionics_power> [W] (0), <charge> at start (1) and
<rotor_power_constant>, the shaft power of one rotor over its speed cubed
[W s^3]. Without that constant, power is drag moment times speed; for PX4's models
this is several times that of real rotors, because their momentConstant is too large.
"""

from xtdrone_core import Pack

from ..sdf_file import Element, fail
from ..sdf_tree import number, refuse_unknown

_NEEDED = ("cells", "capacity", "internal_resistance", "efficiency", "rated_voltage")
_OPTIONAL = {"avionics_power": 0.0, "charge": 1.0, "rotor_power_constant": 0.0}


def read_battery(block: Element) -> Pack | None:
    """Parameters of a <xtdrone:battery> block; None for None.

    Raises:
        SdfError: Unknown tags or invalid values.
    """
    if block is None:
        return None
    refuse_unknown(block, (*_NEEDED, *_OPTIONAL))
    values = {tag: number(block, tag) for tag in _NEEDED}
    values |= {tag: number(block, tag, default) for tag, default in _OPTIONAL.items()}
    for tag, right, allowed in (
        ("cells", values["cells"] in range(1, 17), "a whole number from 1 to 16"),
        ("efficiency", 0.0 < values["efficiency"] <= 1.0, "a number above 0, up to 1"),
        ("charge", 0.0 <= values["charge"] <= 1.0, "a number from 0 to 1"),
        *((tag, values[tag] > 0.0, "a number above 0") for tag in ("capacity", "rated_voltage")),
        *(
            (tag, values[tag] >= 0.0, "a number from 0")
            for tag in ("internal_resistance", "avionics_power", "rotor_power_constant")
        ),
    ):
        if not right:
            fail(block, f"<{tag}> of the battery is {values[tag]:g}: give {allowed}")
    return Pack(cells=int(values.pop("cells")), **values)
