"""Compares the ROS bridge with recorded MAVROS, in the flight in which that was recorded.

    python tests/support/mavros_comparison.py            prints what differs; status 1 where
                                                         there is no reason for it in REASONS
    python tests/support/mavros_comparison.py --write    writes docs/ros_mavros.md as well
    ... --px4 BUILD                                      flies real PX4, as the reference did, in
                                                         place of the embedded stack, and writes
                                                         docs/ros_mavros_px4.md

Starts roslaunch with a master on a free port. tests/data/mavros_reference.json says what was
recorded.
"""

import argparse
import json
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from ros_fixtures import Processes, environment, free_port  # noqa: E402

EMBEDDED, REAL = (
    (ROOT / "docs" / "ros_mavros.md", "the embedded stack"),
    (ROOT / "docs" / "ros_mavros_px4.md", "real PX4 v1.15.4"),
)
REFERENCE = json.loads((ROOT / "tests/data/mavros_reference.json").read_text())
RATE = 0.3  # relative, of rates in the hover
# Not compared: times, and what a battery or a computer has at the moment.
SKIPPED = re.compile(
    r"stamp|_ref|observed|estimated|round_trip|remote_|voltage|current|percentage"
    r"|temperature|charge|load|^battery_remaining|time_utc|\.uid|_version$"
)
TOLERANCES = (  # name of a field, absolute and relative
    (r"covariance", 1e-9, 3.0),
    (r"magnetic_field", 5e-6, 0.0),
    (r"^lati|^longi|geo\.l", 3e-5, 0.0),
    (r"gps1/raw: l(at|on)$", 300.0, 0.0),
    (r"gps1/raw: alt", 1500.0, 0.0),
    (r"gps1/raw: (vel|cog)$", 1e9, 0.0),
    (r"altitude|amsl|monotonic", 1.5, 0.0),
    (r"orientation|rotation", 0.06, 0.0),
    (r"angular|rate", 0.2, 0.0),
    (r"pressure", 300.0, 0.0),
    (r"heading|data$", 4.0, 0.05),
    (r"channels|rpm", 60.0, 0.15),
    (r"size|counter", 1e9, 0.0),
    (r"", 0.6, 0.15),
)
REASONS = {  # pattern of what and name: reason
    r"gps1/raw: alt_ellipsoid": "PX4 gets heights above the sea only of a simulator, and "
    "repeats them; the embedded stack's receiver knows both.",
    r"answer cmd/set_home .*1000": "PX4 takes any finite number for a latitude, and has its home "
    "there; the embedded stack refuses it.",
    r"answer mission/push": "A waypoint whose latitude is not a number. PX4 takes it, since it "
    "checks places where a mission begins; the embedded stack refuses "
    "the upload.",
    r"answer geofence/push .*5001": "Two vertices of a polygon that should have four. PX4 takes "
    "them, and its fence counts as left everywhere; the embedded "
    "stack refuses them.",
    r"answer ftp/list": "The files of PX4's simulation; those of the embedded stack are its flight "
    "logs and saved parameters.",
    r"answer vehicle_info_get": "Versions and identity of PX4's build; the bridge's own system id "
    "is 240.",
}


class Difference(NamedTuple):
    """One thing in which the bridge is not as MAVROS."""

    what: str
    name: str
    mavros: str
    here: str

    @property
    def reason(self) -> str:
        """Why, or nothing where it should not be."""
        return next(
            (
                reason
                for pattern, reason in REASONS.items()
                if re.search(pattern, f"{self.what} {self.name}")
            ),
            "",
        )


def fields(mavros: Any, here: Any, name: str, path: str = ""):
    """Differences of two plain messages, by the names of their fields."""
    if SKIPPED.search(path):
        return
    if path.endswith("seq"):  # counts, or not
        mavros, here = bool(mavros), bool(here)
    if isinstance(mavros, dict) and isinstance(here, dict):
        if set("xyzw") == set(mavros) == set(here) and sum(mavros[k] * here[k] for k in "xyzw") < 0:
            here = {k: -v for k, v in here.items()}  # the same rotation
        for key in mavros.keys() - {"stamp"}:
            yield from fields(mavros[key], here.get(key), name, f"{path}.{key}".lstrip("."))
    elif isinstance(mavros, list) and isinstance(here, list):
        if len(mavros) != len(here):
            yield Difference(
                "value", f"{name}: {path}", f"{len(mavros)} values", f"{len(here)} values"
            )
        for k, pair in enumerate(zip(mavros, here)):
            yield from list(fields(*pair, name, f"{path}.{k}"))[:2]
    elif not same(mavros, here, name, path):
        yield Difference("value", f"{name}: {path}", show(mavros), show(here))


def same(mavros: Any, here: Any, name: str, path: str) -> bool:
    """Whether two values are near enough to each other."""
    if isinstance(mavros, (bool, str)) or not isinstance(here, (int, float)):
        return mavros == here
    if math.isnan(mavros) or math.isnan(here):
        return math.isnan(mavros) and math.isnan(here)
    whole = isinstance(mavros, int) and isinstance(here, int)
    absolute, relative = next(
        (a, r)
        for pattern, a, r in TOLERANCES
        if re.search(pattern, f"{name}: {path}") or re.search(pattern, path)
    )
    if whole and (absolute, relative) == TOLERANCES[-1][1:]:
        return mavros == here  # an enumeration, a bit field, a count
    return abs(mavros - here) <= absolute + relative * abs(mavros)


def show(value: Any) -> str:
    """A value for the table."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def compare(topics: dict, answers: list):
    """All Differences of a Flight."""
    for name, known in REFERENCE["topics"].items():
        found = topics.get(name)
        if known["direction"] != "pub":
            continue
        if known.get("messages") and not found["messages"]:
            yield Difference("silent", name, f"{known['rate']:g} Hz", "no message")
            continue
        rate, here = known.get("rate", 0.0), found["rate"]
        if abs(rate - here) > RATE * rate + 0.06:
            yield Difference("rate", name, f"{rate:g} Hz", f"{here:g} Hz")
        if known.get("sample") and found["sample"]:
            hover = known["sample_from"] == "hover"  # else it is of any moment
            yield from (
                d
                for d in fields(known["sample"], found["sample"], name)
                if hover or "header" in d.name
            )
    for (_, service, request, mavros), here in zip(REFERENCE["calls"], answers, strict=True):
        if plain_answer(mavros) != plain_answer(here):
            yield Difference(
                "answer",
                f"{service} {json.dumps(request)[:90]}",
                json.dumps(mavros)[:90],
                json.dumps(here)[:90],
            )


def plain_answer(answer: dict) -> str:
    """An answer without the times in it."""
    return re.sub(r'"stamp": \{[^}]*\}', "", json.dumps(answer, sort_keys=True))


def fly(*arguments: str) -> tuple[dict, list]:
    """Topics and answers of the flight through the bridge, of a launch with these arguments."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        processes = Processes(environment(port, Path(folder)))
        try:
            launch = processes.start(
                "roslaunch",
                "-p",
                port,
                ROOT / "launch/single_vehicle.launch",
                "communication:=false",
                *arguments,
            )
            processes.await_vehicles(launch)
            done = processes.run(sys.executable, __file__, "--fly", timeout=1200)
            if done.returncode:
                raise SystemExit(done.stderr.splitlines()[-1])
            return tuple(json.loads(done.stdout.splitlines()[-1]))
        finally:
            processes.close()


def page(stack: str, topics: dict, differences: list[Difference]) -> str:
    """Text of docs/ros_mavros.md or ros_mavros_px4.md, by what flew."""
    text = [
        f"# The bridge on {stack} against MAVROS",
        "",
        "<!-- Written by tests/support/mavros_comparison.py --write. -->",
        "",
        "MAVROS 1.21.0 flew PX4 v1.15.4 on this simulator, and what it published and answered "
        f"was recorded. Here the bridge flies {stack} through the same flight: "
        "take-off, OFFBOARD by velocity and position, a hover in which rates [Hz] and values "
        f"are compared, a mission, a landing, {len(REFERENCE['calls'])} calls of services. "
        "Types, md5 sums and latches are the same in all rows (tests/control/"
        "test_bridge_rows.py); topics that MAVROS offers and never filled in its flight are "
        "in [the table of topics](ros_topics.md) only.",
        "",
        "| topic | type | MAVROS | here | values |",
        "|---|---|---|---|---|",
    ]
    wrong = {difference.name.split(":")[0] for difference in differences}
    for name, known in REFERENCE["topics"].items():
        if known.get("messages"):
            found = topics[name]
            rates = [
                f"{row['rate']:g}" if row["rate"] else f"{row['messages']} in the flight"
                for row in (known, found)
            ]
            value = "differ, see below" if name in wrong else "agree"
            text.append(f"| {name} | {known['type']} | {rates[0]} | {rates[1]} | {value} |")
    text += ["", "| what | name | MAVROS | here | why |", "|---|---|---|---|---|"]
    for d in differences:
        cells = [cell.replace("|", "/") for cell in (*d, d.reason)]
        text.append(
            "| " + " | ".join(f"`{c}`" if k in (1, 2, 3) else c for k, c in enumerate(cells)) + " |"
        )
    same_answers = len(REFERENCE["calls"]) - sum(d.what == "answer" for d in differences)
    text += ["", f"{same_answers} of {len(REFERENCE['calls'])} answers are the same."]
    return "\n".join(text) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table into docs")
    parser.add_argument("--px4", metavar="BUILD", help="fly this build of PX4")
    parser.add_argument("--fly", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.fly:
        from mavros_flight import Flight

        flight = Flight(REFERENCE)
        flight.fly()
        print(json.dumps([flight.topics, flight.answers]))
        return 0
    launch = ["autopilot:=px4", f"px4:={args.px4}"] if args.px4 else []
    topics, answers = fly(*launch)
    differences = list(compare(topics, answers))
    for d in differences:
        print(
            f"{d.what:7} {d.name}: {d.mavros} against {d.here}"
            + (f" ({d.reason})" if d.reason else "")
        )
    unexplained = sum(not d.reason for d in differences)
    print(f"{len(differences)} differences, {unexplained} of them without a reason")
    if args.write:
        path, stack = REAL if args.px4 else EMBEDDED
        path.write_text(page(stack, topics, differences))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
