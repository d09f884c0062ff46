"""Where commands lead, beside real PX4: writes docs/validation/commands.md.

`python scripts/validation/commands.py` gives an iris every case of tests/support/place_probe.py and
exits with status 1 if one ends otherwise than with real PX4, as recorded in tests/data.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import place_probe
from _report import Page

HEAD = (
    "Made by `scripts/validation.sh commands`. An iris that hovers 10 m above its start, nose to "
    "the north, gets one command; after 2 to 25 s its answer, mode and true place are compared "
    "with those of real PX4 v1.15.4 in the same simulation (`PX4_BUILD=... python "
    "tests/support/place_probe.py --autopilot px4 --out tests/data/px4_places.json` records them "
    "anew). *frame* is that of a COMMAND_INT, *long* a COMMAND_LONG; mode is main and sub mode. "
    "Places are north, east and up of the start [m] with the heading [deg]; of an orbit the "
    "distance from its centre [m], the height [m], the speed, positive clockwise [m/s], and the "
    "heading off the centre [deg]; of DO_SET_HOME the home [m]; of the message "
    "SET_GPS_GLOBAL_ORIGIN (30 m south, 20 m east and 5 m up) the local position that the vehicle "
    "tells then [m]. Unless the case says something else, the place asked for is 15 m north, 16 m "
    "up; an orbit has 10 m and 3 m/s."
)
_METRES, _DEGREES, (_RADIUS, _HEIGHT, _SPEED, _OFF) = (
    place_probe.NEAR,
    place_probe.TURN,
    place_probe.ORBIT,
)
ALIKE = (
    f"Alike: same answer and mode; within {_METRES} m and {_DEGREES:g} deg; of an orbit within "
    f"{_RADIUS} m of radius and height, {_SPEED} m/s and {_OFF:g} deg, where the nose can follow."
)


def ended(case: dict) -> str:
    """How a case ended, in one cell."""
    where = case.get("orbit") or case.get("home") or [*case["place"], case["heading"]]
    return f"{case['answer']}, {', '.join(f'{value:.1f}' for value in where)}"


def main() -> int:
    """Flies all cases; returns 1 if one ends otherwise."""
    recorded = json.loads(place_probe.RECORDED.read_text())
    page = Page("commands")
    page.add("# Commands", "", HEAD, "", ALIKE)
    with tempfile.TemporaryDirectory() as folder:
        found = place_probe.probe("embedded", Path(folder))
    page.table("case", "PX4", "here", "mode: PX4", "here", "alike")
    for name, case in found.items():
        real = recorded[name]
        alike = not place_probe.differences({name: case}, recorded)
        page.row(
            name, ended(real), ended(case), real["mode"], case["mode"], page.holds(name, alike)
        )
    return page.write()


if __name__ == "__main__":
    sys.exit(main())
