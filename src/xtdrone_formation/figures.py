"""The figures of a run as a table, from its summary.json."""

import json
from pathlib import Path

from .errors import FormationError

_COLUMNS = (("settled", "settle_time_s", "s"), ("slot error RMS", "rms_slot_error_m", "m"),
            ("at most", "max_slot_error_m", "m"), ("velocity RMS", "rms_velocity_error_m_s", "m/s"))
_WHOLE = (("least separation", "min_separation_m", "m"), ("collisions", "collisions", ""),
          ("messages lost", "messages_lost", ""), ("simulated time", "sim_time_s", "s"),
          ("real-time factor", "real_time_factor", ""), ("all landed", "landed", ""))


def table(folder: Path | str) -> str:
    """A row for each formation, then the figures of the whole flight and the run folder.

    Raises:
        FormationError: The folder has no summary of a flight.
    """
    path = Path(folder) / "summary.json"
    try:
        summary = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise FormationError(f"cannot read '{path}': give the folder of a run that has "
                             "ended") from error
    lines = []
    if summary.get("formations"):
        rows = [["formation", *(name for name, *_ in _COLUMNS)]]
        rows += [[row["name"], *(_word(row.get(key), unit) for _, key, unit in _COLUMNS)]
                 for row in summary["formations"]]
        widths = [max(map(len, column)) for column in zip(*rows)]
        first, *rest = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
                        for row in rows]
        lines += [first, "-" * len(first), *rest, "-" * len(first)]
    lines += [f"{name:17} {_word(summary[key], unit)}" for name, key, unit in _WHOLE
              if key in summary]
    return "\n".join([*lines, f"{'run folder':17} {Path(folder).resolve()}"])


def _word(value, unit) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g} {unit}".rstrip() if isinstance(value, float) else str(value)
