"""Texts and events that a ground station gets in a short flight with refused requests.

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
_SILENCE_S = 14.0  # of the ground station, longer than COM_DL_LOSS_T


def _armed(probe):
    return probe.station.last("HEARTBEAT").base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED


def _mode(probe, *numbers):
    probe.command(mavlink.MAV_CMD_DO_SET_MODE, 1, *numbers)
    probe.run(1.0)


def _arm_and_disarm(probe):
    for command in (ARM, DISARM):
        probe.command(*command)
        probe.run(1.0)


def _land(probe):
    probe.command(mavlink.MAV_CMD_NAV_LAND)
    assert probe.run(60.0, lambda: not _armed(probe))
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
    "land": _land,
    "ground station lost and back": _lose_station,
}


def tell(autopilot: str) -> dict:
    """Step -> texts, and numbers with arguments of events, in their order."""
    out = {}
    with tempfile.TemporaryDirectory(prefix="xtdrone-") as folder:
        probe = Probe(autopilot, Path(folder))
        try:
            probe.wait_ready()
            for name, step in STEPS.items():
                since = len(probe.station.heard)
                step(probe)
                out[name] = {"texts": _texts(probe.station.messages("STATUSTEXT", since)),
                             "events": _events(probe.station.messages("EVENT", since))}
        finally:
            probe.close()
    return out


def _texts(messages):
    whole = []
    for m in messages:
        if m.id and m.chunk_seq:
            whole[-1] += m.text
        else:
            whole.append(m.text)
    return [text for text in whole if not text.startswith("[logger]")]


def _events(messages):
    found = ((m.id & 0xFFFFFF, bytes(m.arguments).rstrip(b"\0").hex()) for m in messages)
    return [f"{number} {arguments}".rstrip() for number, arguments in found
            if number not in _CHECKS]


def differences(wanted: dict, found: dict) -> list[str]:
    """What PX4 says that is missing here, or comes in another order; more may be said."""
    lines = []
    for step, kinds in wanted.items():
        for kind, items in kinds.items():
            rest = iter(found[step][kind])
            lines += [f"{step}: PX4 {kind[:-1]} {item!r}" for item in items
                      if not any(item == other for other in rest)]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--autopilot", default="embedded", help="embedded or px4")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    args = parser.parse_args()
    found = tell(args.autopilot)
    if args.record:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
        return
    lines = differences(json.loads(RECORDED.read_text()), found)
    print("\n".join([*lines, f"{len(lines)} differ"]))


if __name__ == "__main__":
    main()
