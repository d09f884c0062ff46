#!/usr/bin/env python3
"""Writes src/xtdrone_autopilot/parameters/px4.csv.

    scripts/make_parameters.py PX4/build/px4_sitl_default/parameters.json iris.params

The second file is what `xtdrone params save` gives of real PX4 that flies the iris: the
parameters that it lists over MAVLink, with their values.
"""

import argparse
import csv
import json
from pathlib import Path

import numpy as np

from xtdrone_autopilot.parameters import file as parameter_file

OUT = Path(__file__).parents[1] / "src/xtdrone_autopilot/parameters/px4.csv"
COLUMNS = (
    "name",
    "type",
    "default",
    "min",
    "max",
    "unit",
    "group",
    "listed",
    "volatile",
    "description",
)
TYPES = {"Int32": "int", "Float": "float"}


def row(p: dict, used: dict) -> dict:
    """One row of the table from PX4's description of a parameter."""
    whole = p["type"] == "Int32"
    name = p["name"]
    return {
        "name": name,
        "type": TYPES[p["type"]],
        "default": number(used.get(name, p["default"]), whole),
        "unit": p.get("units", ""),
        "group": p["group"],
        "listed": "yes" if name in used else "",
        "volatile": "yes" if p.get("volatile") else "",
        "description": p["shortDesc"],
        **limits(p, whole),
    }


def limits(p: dict, whole: bool) -> dict:
    """Range of a parameter; of one with named values or bits, what these allow."""
    if "values" in p:
        values = [v["value"] for v in p["values"]]
        return {"min": number(min(values), whole), "max": number(max(values), whole)}
    if "bitmask" in p:
        return {"min": "0", "max": str(sum(1 << bit["index"] for bit in p["bitmask"]))}
    return {key: number(p[key], whole) if key in p else "" for key in ("min", "max")}


def number(value: float, whole: bool) -> str:
    """As short as 32 bits allow."""
    return str(int(value)) if whole else str(np.float32(value)).removesuffix(".0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("metadata", type=Path, help="parameters.json of PX4's build")
    parser.add_argument("used", type=Path, help="the listed parameters of a running PX4")
    args = parser.parse_args()
    metadata = {p["name"]: p for p in json.loads(args.metadata.read_text())["parameters"]}
    used = parameter_file.read(args.used)
    if missing := sorted(used.keys() - metadata.keys()):
        raise SystemExit(f"{args.metadata} lacks {', '.join(missing)}")
    with open(OUT, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row(p, used) for name, p in sorted(metadata.items()) if name.isupper())


if __name__ == "__main__":
    main()
