"""The propeller of a rotor that has a model, by its name or file.

<xtdrone:propeller>
  <name>apcsf-10x4.7</name>       `xtdrone propeller list`; or a file beside the SDF file
  <model>gill_dandrea_2</model>   gill_dandrea_1, hbem, surrogate; by default what it has
  <airfoil>naca4412</airfoil>     name, or file, for hbem and its surrogate
</xtdrone:propeller>
"""

from collections.abc import Iterable
from pathlib import Path

from xtdrone_propellers import catalogue
from xtdrone_propellers.errors import PropellerError
from xtdrone_propellers.propeller import Propeller

from ..sdf_file import Element, fail
from ..sdf_tree import number, refuse_unknown, text

CHOICE = ("name", "model", "airfoil", "diameter", "blades")  # elements beside a name


def chosen(block: Element | None) -> Propeller | None:
    """The propeller of a <xtdrone:propeller> block with a <name>; None without one.

    Raises:
        SdfError: There is none of that name, or its file is invalid.
    """
    if block is None or block.find("name") is None:
        return None
    refuse_unknown(block, CHOICE)
    beside = Path(block.base).parent if block.base else None
    try:
        return catalogue.propeller(
            text(block, "name"),
            text(block, "model", ""),
            beside,
            text(block, "airfoil", ""),
            number(block, "diameter", 0.0),
            int(number(block, "blades", 0.0)),
        )
    except PropellerError as error:
        fail(block, str(error))


def propellers_of(blocks: Iterable[Element]) -> dict[str, tuple[float, ...]]:
    """Numbers of the propellers of these blocks by the names that their rotors have."""
    made = [each for each in map(chosen, blocks) if each is not None]
    return {f"{each.name} ({each.model})": each.numbers for each in made}
