"""All propellers by name: published coefficients, generic blades of any size, and files."""

import functools
from pathlib import Path

from xtdrone_core import tables
from xtdrone_core.errors import shown, unknown_name

from . import propeller_file
from .errors import PropellerError
from .geometry import Geometry, generic, read_geometry, size_of
from .polar import polar_of
from .propeller import INCH, Propeller, from_coefficients, from_geometry, surrogate

MODELS = ("gill_dandrea_1", "gill_dandrea_2", "hbem", "surrogate")
GENERIC = "generic"  # generic-10x4.7, generic-5x4.3x3: any diameter and pitch [inch] and blades
_FILES = (".json", ".npz")
_SIZES = 1.0, 40.0  # diameters of generic propellers [inch]


@functools.cache
def published(model: str) -> dict[str, dict[str, Propeller]]:
    """Gill and D'Andrea's propellers by name, with those fitted to each flow.

    Args:
        model: gill_dandrea_1 or gill_dandrea_2.

    Returns:
        Name -> flow, axial or oblique -> propeller.
    """
    path = Path(__file__).parent / "data" / f"{model}.csv"
    found: dict[str, dict[str, Propeller]] = {}
    for name, flow, blades, *own in tables.read_table(path)[1:]:
        size = size_of(name)
        assert size is not None, name
        found.setdefault(name, {})[flow] = from_coefficients(
            name, model, 0.5 * size[0] * INCH, int(blades), [float(x) for x in own]
        )
    return found


def names() -> list[str]:
    """Names of the published propellers."""
    return sorted(published("gill_dandrea_2"))


def descriptions() -> dict[str, str]:
    """A line on each published propeller, for `xtdrone list`."""
    found = {}
    for name, flows in published("gill_dandrea_2").items():
        one = next(iter(flows.values()))
        found[name] = (
            f"{2 * one.radius / INCH:.3g} inch, {one.blades} blades, fitted in "
            f"{' and '.join(sorted(flows))} flow"
        )
    return found


def propeller(
    name: str,
    model: str = "",
    beside: Path | None = None,
    airfoil: str = "",
    diameter: float = 0.0,
    blades: int = 0,
) -> Propeller:
    """The propeller of a name, by a model.

    Args:
        name: A published one, generic-DIAMETERxPITCH[xBLADES] [inch], or a file: of geometry
            (UIUC's, APC's), or that `xtdrone propeller fit` wrote.
        model: One of MODELS; "": gill_dandrea_2 of published ones, surrogate of others.
        beside: Folder in which the file is looked up.
        airfoil: As polar.polar_of(), for hbem and its surrogate.
        diameter, blades: As geometry.read_geometry().

    Raises:
        PropellerError: There is none, or it has no such model.
    """
    if model and model not in MODELS:
        raise PropellerError(unknown_name("model of a propeller", model, MODELS))
    if name in published("gill_dandrea_2"):
        return _published(name, model or "gill_dandrea_2")
    path = (beside or Path()) / Path(name).expanduser()
    if name.startswith(f"{GENERIC}-"):
        geometry = _generic(name)
    elif path.suffix.lower() in _FILES:
        return _as_model(propeller_file.read(path), model)
    elif path.suffix[1:2].isalpha() or path.exists():  # the .7 of 10-4.7 is no kind of file
        geometry = read_geometry(path, diameter, blades)
    else:
        raise PropellerError(
            unknown_name(
                "propeller",
                name,
                names(),
                "generic-DIAMETERxPITCH[xBLADES] in inches, or a file of geometry",
            )
        )
    if model.startswith("gill"):
        raise PropellerError(
            f"'{shown(name)}' has no coefficients of {model}: give hbem or surrogate, or fit them "
            "with 'xtdrone propeller fit'"
        )
    whole = from_geometry(geometry, polar_of(airfoil))
    return whole if model == "hbem" else _table_of(whole)


def has_geometry(name: str) -> bool:
    """Whether a name is that of a generic propeller or of a geometry file."""
    suffix = Path(name).suffix.lower()
    return name not in published("gill_dandrea_2") and suffix not in _FILES


def _published(name: str, model: str) -> Propeller:
    if model == "hbem":
        raise PropellerError(
            f"'{shown(name)}' has coefficients and no geometry: give gill_dandrea_1, "
            "gill_dandrea_2 or surrogate, or its geometry file"
        )
    flows = published("gill_dandrea_2" if model == "surrogate" else model)[name]
    found = flows.get("oblique") or flows["axial"]
    return _table_of(found) if model == "surrogate" else found


def _generic(name: str) -> Geometry:
    size = size_of(name, metric=False)
    if size is None or not _SIZES[0] <= size[0] <= _SIZES[1] or not 0.0 < size[1] < 2 * size[0]:
        raise PropellerError(
            f"propeller '{shown(name)}' is not allowed: give generic-DIAMETERxPITCH[xBLADES] in "
            f"inches, a diameter from {_SIZES[0]:g} to {_SIZES[1]:g}, such as generic-10x4.7"
        )
    return generic(*size)


def _as_model(found: Propeller, model: str) -> Propeller:
    if model in ("", found.model):
        return found
    if model == "surrogate":
        return _table_of(found)
    raise PropellerError(f"'{shown(found.name)}' is a {found.model}: it has no model {model}")


@functools.cache
def _table_of(whole: Propeller) -> Propeller:
    return surrogate(whole)
