"""Reads logs of any kind for identification."""

from collections.abc import Sequence
from pathlib import Path

from xtdrone_core.runs import bags

from . import bag, flight_log, table
from .errors import IdentificationError
from .record import Record, joined


def read(paths: Sequence[Path | str], rotors: int) -> Record:
    """Reads one or more logs as one record.

    Args:
        paths: ULog, CSV, or bags of ROS.
        rotors: Number of rotors of the vehicle.

    Raises:
        XtdroneError: One cannot be read, or they do not belong together.
    """
    return joined([_read(Path(path).expanduser(), rotors) for path in paths])


def _read(path: Path, rotors: int) -> Record:
    if bags.is_bag(path):
        return bag.read(path, rotors)
    if path.suffix.lower() == ".csv":
        return table.read(path, rotors)
    if path.suffix.lower() == ".ulg":
        return flight_log.read(path, rotors)
    raise IdentificationError(
        f"'{path}' is no log that is known here: give a .ulg, .csv, .bag, .mcap, .db3, or the "
        "folder of a ROS 2 bag"
    )
