"""runs/bench.json: a list of {name, params, value, unit}; each benchmark replaces its own rows."""

import json

from xtdrone_core.runs import run_folder


def replace(name: str, rows) -> None:
    """Writes the rows of one benchmark; replaces rows with the same name and params.

    Args:
        name: Name of the benchmark's rows.
        rows: (params dict, value, unit) of each row.
    """
    path = run_folder.runs_root() / "bench.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text()) if path.exists() else []
    new = [
        {"name": name, "params": params, "value": value, "unit": unit}
        for params, value, unit in rows
    ]
    kept = [
        row
        for row in old
        if row["name"] != name or row["params"] not in [row["params"] for row in new]
    ]
    run_folder.write_json(path, kept + new)
