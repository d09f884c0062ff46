"""Texts and events that a ground station gets in short flights with refused requests, and when.

    python tests/support/text_probe.py --autopilot px4 --record   real PX4, see PX4_BUILD
    python tests/support/text_probe.py                  hold the embedded stack against that

Left out are texts about log files and PX4's events about its arming checks.
"""

import argparse
import json
import tempfile
from pathlib import Path

from stream_probe import Probe
from xtdrone_core.mavlink_dialect import mavlink

RECORDED = Path(__file__).resolve().parents[1] / "data" / "px4_texts.json"
DISARM, ARM = (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0), (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
_CHECKS = frozenset({11047904, 13835193, 10011251, 377561, 3087815, 453929, 6801787, 1914663,
                     1203183})  # numbers of events: arming checks, health, log file
_SILENCE_S = 13.5  # of the ground station: PX4 tells its loss in between, in a text on its return
LATE_S = 1.5  # most by which a text may come earlier or later than PX4's [s]


def _armed(probe):
    return probe.station.last("HEARTBEAT").base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED


def _mode(probe, *numbers):
    probe.command(mavlink.MAV_CMD_DO_SET_MODE, 1, *numbers)
    probe.run(1.0)


def _arm_and_disarm(probe):
    for command in (ARM, DISARM):
        probe.command(*command)
        probe.run(1.0)


def _come_down(probe, command):
    probe.command(command)
    assert probe.run(90.0, lambda: not _armed(probe))
    probe.run(1.0)


def _lose_station(probe):
    probe.station.silent = True
    probe.run(_SILENCE_S)
    probe.station.silent = False
    probe.run(2.0)


STEPS = {
    "arm, disarm": _arm_and_disarm,
    "take off": Probe.take_off,
    "disarm in the air": lambda probe: (probe.command(*DISARM), probe.run(1.0)),
    "AUTO.MISSION without one": lambda probe: _mode(probe, 4, 4),
    "POSCTL without sticks": lambda probe: _mode(probe, 3),
    "land": lambda probe: _come_down(probe, mavlink.MAV_CMD_NAV_LAND),
    "OFFBOARD without set-points": lambda probe: _mode(probe, 6),
    "AUTO.LOITER": lambda probe: _mode(probe, 4, 3),
    "take off again": Probe.take_off,
    "return": lambda probe: _come_down(probe, mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH),
    "ground station lost and back": _lose_station,
}


def tell(autopilot: str) -> dict:
    """Step -> texts, and numbers with arguments of events: [seconds into the step, what]."""
    out = {}
    with tempfile.TemporaryDirectory(prefix="xtdrone-") as folder:
        probe = Probe(autopilot, Path(folder))
        try:
            probe.wait_ready()
            for name, step in STEPS.items():
                since, begin_us = len(probe.station.heard), probe.simulation.t_us
                step(probe)
                out[name] = {kind + "s": [
                    [round((t_us - begin_us) * 1e-6, 1), what]
                    for t_us, what in told(probe.station.timed(kind.upper(), since))]
                    for kind, told in (("statustext", _texts), ("event", _events))}
        finally:
            probe.close()
    return out


def _texts(messages):
    whole = []
    for t_us, m in messages:
        if m.id and m.chunk_seq:
            whole[-1][1] += m.text
        else:
            whole.append([t_us, m.text])
    return [(t_us, text) for t_us, text in whole if not text.startswith("[logger]")]


def _events(messages):
    found = ((t_us, m.id & 0xFFFFFF, bytes(m.arguments).rstrip(b"\0").hex())
             for t_us, m in messages)
    return [(t_us, f"{number} {arguments}".rstrip()) for t_us, number, arguments in found
            if number not in _CHECKS]


def differences(wanted: dict, found: dict) -> list[str]:
    """What PX4 says that is missing here, or comes in another order or at another time.

    More may be said here.
    """
    lines = []
    for step, kinds in wanted.items():
        for kind, items in kinds.items():
            rest = iter(found[step][kind])
            for at_s, item in items:
                here_s = next((then for then, other in rest if item == other), None)
                if here_s is None:
                    lines.append(f"{step}: PX4's {kind[:-1]} {item!r} at {at_s} s is missing")
                    rest = iter(found[step][kind])
                elif abs(here_s - at_s) > LATE_S:
                    lines.append(f"{step}: {kind[:-1]} {item!r} at {here_s} s, PX4's at {at_s} s")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--autopilot", default="embedded", help="embedded or px4")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    args = parser.parse_args()
    found = tell(args.autopilot)
    if args.record:
        steps = (f" {json.dumps(step)}: {json.dumps(kinds)}" for step, kinds in found.items())
        RECORDED.write_text("{\n" + ",\n".join(steps) + "\n}\n")
        return
    lines = differences(json.loads(RECORDED.read_text()), found)
    print("\n".join([*lines, f"{len(lines)} differ"]))


if __name__ == "__main__":
    main()
