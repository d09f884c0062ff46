"""A propeller's file: JSON of its name, model, size and numbers; or .npz with the same arrays."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import files, outputs
from xtdrone_core.errors import shown
from xtdrone_dynamics.propellers import layout

from .errors import PropellerError
from .propeller import Propeller, from_coefficients, from_table

FORM = "xtdrone propeller 1"
_OWN = {"gill_dandrea_1": 9, "gill_dandrea_2": 14}
_LARGEST = 2.0  # radius [m]


def write(propeller: Propeller, path: Path | str) -> Path:
    """Writes a propeller; the name ends in .json or .npz.

    Raises:
        PropellerError: It is not by coefficients or a table, or cannot be written.
    """
    path = Path(path).expanduser()
    if propeller.model == "hbem":
        raise PropellerError(
            f"'{shown(propeller.name)}' is by blade elements, which its geometry file has: fit a "
            "surrogate or gill_dandrea_2 to it"
        )
    if path.suffix not in (".json", ".npz"):
        raise PropellerError(
            f"cannot write propeller '{shown(path)}': give a name that ends in .json or .npz"
        )
    data = _data(propeller)
    path = outputs.free_for(
        path, "propeller", lambda ends: FORM.encode() in ends or ends[:2] == b"PK", PropellerError
    )
    try:
        if path.suffix == ".npz":
            np.savez(path, **{name: _array(value) for name, value in data.items()})
        else:
            path.write_text(json.dumps(data) + "\n")
    except OSError as failed:
        raise outputs.cannot_write(path, failed, PropellerError) from failed
    return path


def read(path: Path | str) -> Propeller:
    """Reads a propeller that write() wrote.

    Raises:
        PropellerError: It is not one.
    """
    where = f"propeller '{shown(path)}'"
    data = (
        _arrays(path)
        if Path(path).suffix == ".npz"
        else files.read_json(path, "propeller", error=PropellerError)
    )
    if not isinstance(data, dict) or data.get("form") != FORM:
        raise PropellerError(
            f"{where} is none: its 'form' is not '{FORM}'; make it with 'xtdrone propeller fit'"
        )
    try:
        name, model = str(data["name"]), str(data["model"])
        radius, blades = float(data["radius"]), int(data["blades"])
        values = np.array(data["values"], dtype=float)
    except (KeyError, TypeError, ValueError) as failed:
        raise PropellerError(
            f"{where} lacks, or has no numbers for, {shown(failed)}: give name, model, radius [m], "
            "blades and values"
        ) from failed
    if not 0.0 < radius <= _LARGEST or not 1 <= blades <= 9 or not np.isfinite(values).all():
        raise PropellerError(
            f"{where}: radius {radius:g}, blades {blades}; give metres above 0, up to "
            f"{_LARGEST:g}, 1 to 9 blades, and finite values"
        )
    if model in _OWN and values.shape == (_OWN[model],):
        return from_coefficients(name, model, radius, blades, values.tolist())
    if model == "surrogate" and values.ndim == 4 and values.shape[3] == layout.VALUE_NUMBERS:
        if min(values.shape[1:3]) >= 2:
            return from_table(name, radius, blades, values)
    raise PropellerError(
        f"{where}: values of shape {values.shape} do not belong to model '{shown(model)}'; give "
        "9 for gill_dandrea_1, 14 for gill_dandrea_2, (layers, rows, columns, 5) for surrogate"
    )


def _data(propeller: Propeller) -> dict[str, Any]:
    """The plain data of its file."""
    own: Any = list(propeller.numbers[layout.OWN :])
    if propeller.model == "surrogate":
        shape = (*(int(own[k]) for k in (layout.LAYERS, layout.ROWS, layout.COLUMNS)), -1)
        own = np.round(np.array(own[layout.VALUES :]).reshape(shape), 7).tolist()
    return {
        "form": FORM,
        "name": propeller.name,
        "model": propeller.model,
        "radius": propeller.radius,
        "blades": propeller.blades,
        "values": own,
    }


def _arrays(path: Path | str) -> dict[str, Any]:
    files.check(path, "propeller", PropellerError)
    try:
        with np.load(path, allow_pickle=False) as held:
            return {
                name: held[name] if name == "values" else held[name].item() for name in held.files
            }
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as failed:
        raise PropellerError(
            f"cannot read propeller '{shown(path)}': {shown(failed)}; give a .npz of plain arrays"
        ) from failed


def _array(value: Any) -> np.ndarray:
    """The array of one part: tables in single precision."""
    whole = np.array(value)
    return whole.astype(np.float32) if whole.ndim > 1 else whole
