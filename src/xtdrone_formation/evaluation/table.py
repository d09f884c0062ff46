"""The metrics of a run as a table, from its summary.json."""

from pathlib import Path
from typing import Any

from xtdrone_core import files
from xtdrone_core.errors import XtdroneError, shown

from ..errors import FormationError

_COLUMNS = (
    ("settled", "settle_time_s", "s"),
    ("slot error RMS", "rms_slot_error_m", "m"),
    ("at most", "max_slot_error_m", "m"),
    ("velocity RMS", "rms_velocity_error_m_s", "m/s"),
)
_WHOLE = (
    ("least separation", "min_separation_m", "m"),
    ("collisions", "collisions", ""),
    ("messages lost", "messages_lost", ""),
    ("simulated time", "sim_time_s", "s"),
    ("real-time factor", "real_time_factor", ""),
    ("all landed", "landed", ""),
)


def table(folder: Path | str) -> str:
    """Returns a row for each formation, then the figures of the whole flight and the run folder.

    Raises:
        FormationError: The folder has no summary of a flight.
    """
    path = Path(folder) / "summary.json"
    try:
        summary = files.check_keys(files.read_json(path, "summary"), f"summary '{path}'")
    except XtdroneError as error:
        raise FormationError(f"{error}; give the folder of a run that has ended") from error
    lines, flown = [], summary.get("formations") or []
    if not isinstance(flown, list):
        raise FormationError(f"formations of '{path}' is no list: the file is damaged")
    if flown:
        rows = [["formation", *(name for name, *_ in _COLUMNS)]]
        flown = [
            files.check_keys(row, f"a formation of '{path}'", ["name"], FormationError)
            for row in flown
        ]
        rows += [
            [shown(row["name"]), *(_word(row.get(key), unit) for _, key, unit in _COLUMNS)]
            for row in flown
        ]
        widths = [max(map(len, column)) for column in zip(*rows)]
        first, *rest = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        ]
        lines += [first, "-" * len(first), *rest, "-" * len(first)]
    lines += [
        f"{name:17} {_word(summary[key], unit)}" for name, key, unit in _WHOLE if key in summary
    ]
    return "\n".join([*lines, f"{'run folder':17} {Path(folder).resolve()}"])


def _word(value: Any, unit: str) -> str:  # value: from a JSON file
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g} {unit}".rstrip() if isinstance(value, float) else shown(value)
