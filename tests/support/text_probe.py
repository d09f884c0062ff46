"""Texts and events that a ground station gets in short flights with refused requests, and when.

    python tests/support/text_probe.py --autopilot px4 --record   real PX4, see PX4_BUILD
    python tests/support/text_probe.py                  hold the embedded stack against that

Left out are texts and events about log files. Reports are the events of the arming checks between
PX4's two summaries, each as a list of 'number arguments'.
"""

import argparse
import contextlib
import json
import struct
import tempfile
from collections.abc import Collection
from pathlib import Path

from stream_probe import Probe
from xtdrone_core.mavlink.dialect import mavlink

RECORDED = Path(__file__).resolve().parents[1] / "data" / "px4_texts.json"
DISARM, ARM = (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0), (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
_SUMMARY, _HEALTH = 11047904, 1914663  # events that begin and end a report of the arming checks
_LOG_FILE = 1203183  # event
# The embedded stack always needs a position to be armed.
PARAMETERS = f"1\t1\tCOM_ARM_WO_GPS\t0\t{mavlink.MAV_PARAM_TYPE_INT32}\n"
_LATE_STATION_S = 10.0
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


def _come(probe):
    """A station comes when the vehicle has long been there."""
    probe.station.silent = True
    probe.run(_LATE_STATION_S)
    probe.station.silent = False
    probe.wait_ready()


def _lose_station(probe):
    probe.station.silent = True
    probe.run(_SILENCE_S)
    probe.station.silent = False
    probe.run(2.0)


def _set(probe, name, value, kind=mavlink.MAV_PARAM_TYPE_INT32):
    code = "<f" if kind == mavlink.MAV_PARAM_TYPE_REAL32 else "<i"
    (number,) = struct.unpack("<f", struct.pack(code, value))
    probe.station.send(mavlink.MAVLink_param_set_message(1, 1, name.encode(), number, kind))


@contextlib.contextmanager
def _parameter(probe, name, value, before, kind=mavlink.MAV_PARAM_TYPE_INT32):
    _set(probe, name, value, kind)
    yield probe.run(3.0)
    _set(probe, name, before, kind)
    probe.run(3.0)


def _in_mode_for_landing(probe):
    _mode(probe, 4, 5)
    probe.run(2.0)
    probe.command(*ARM)
    _mode(probe, 4, 3)
    probe.run(2.0)


def _with_battery_required(probe):
    with _parameter(probe, "COM_ARM_BAT_MIN", 1.1, 0.0, mavlink.MAV_PARAM_TYPE_REAL32):
        probe.command(*ARM)


def _with_station_required(probe):
    with _parameter(probe, "NAV_DLL_ACT", 2, 0):
        _lose_station(probe)
        probe.run(2.0)


def _stream(probe, message):
    for _ in range(40):
        probe.station.send(message)
        probe.run(0.1)
    probe.run(4.0)


def _stream_set_points(probe):
    _stream(
        probe,
        mavlink.MAVLink_set_position_target_local_ned_message(
            0, 1, 1, mavlink.MAV_FRAME_LOCAL_NED, 0b111111000111, *[0.0] * 11
        ),
    )


def _stream_sticks(probe):
    _stream(probe, mavlink.MAVLink_manual_control_message(1, 0, 0, 0, 0, 0))


def _upload(probe):
    """A mission of a take-off, which is cleared again."""
    here = probe.station.last("GLOBAL_POSITION_INT")
    probe.station.send(mavlink.MAVLink_mission_count_message(1, 1, 1, 0))
    probe.run(0.5)
    probe.station.send(
        mavlink.MAVLink_mission_item_int_message(
            1,
            1,
            0,
            mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT,
            mavlink.MAV_CMD_NAV_TAKEOFF,
            1,
            1,
            0.0,
            0.0,
            0.0,
            float("nan"),
            here.lat,
            here.lon,
            5.0,
            0,
        )
    )
    probe.run(3.0)
    probe.station.send(mavlink.MAVLink_mission_clear_all_message(1, 1, 0))
    probe.run(3.0)


def _fly_above_limit(probe):
    _set(probe, "GF_ACTION", 1)
    with _parameter(probe, "GF_MAX_VER_DIST", 1.0, 0.0, mavlink.MAV_PARAM_TYPE_REAL32):
        pass


def _lose_gps(probe):
    _set(probe, "SYS_FAILURE_EN", 1)
    probe.run(1.0)
    probe.command(
        mavlink.MAV_CMD_INJECT_FAILURE, mavlink.FAILURE_UNIT_SENSOR_GPS, mavlink.FAILURE_TYPE_OFF, 0
    )
    probe.run(12.0)
    probe.command(*ARM)
    probe.command(
        mavlink.MAV_CMD_INJECT_FAILURE, mavlink.FAILURE_UNIT_SENSOR_GPS, mavlink.FAILURE_TYPE_OK, 0
    )
    probe.run(15.0)


STEPS = {
    "start, and a station after ten seconds": _come,
    "RUN_PREARM_CHECKS": lambda probe: (
        probe.command(mavlink.MAV_CMD_RUN_PREARM_CHECKS),
        probe.run(1.0),
    ),
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
    "armed in AUTO.RTL": _in_mode_for_landing,
    "COM_ARM_BAT_MIN": _with_battery_required,
    "NAV_DLL_ACT": _with_station_required,
    "set-points": _stream_set_points,
    "sticks": _stream_sticks,
    "a mission": _upload,
    "take off for the third time": Probe.take_off,
    "GF_MAX_VER_DIST": _fly_above_limit,
    "land again": lambda probe: _come_down(probe, mavlink.MAV_CMD_NAV_LAND),
    "GPS lost and back": _lose_gps,
}


# Steps without which the others go on alike, and which take most of the time.
REPEATED = {
    "take off again",
    "return",
    "ground station lost and back",
    "NAV_DLL_ACT",
    "take off for the third time",
    "GF_MAX_VER_DIST",
    "land again",
    "GPS lost and back",
}

# Steps where the time that the estimator takes decides: order and times may differ, and how many
# reports come before the last one.
LOOSE = {
    "start, and a station after ten seconds": "PX4 has its position 2 s later",
    "GPS lost and back": "PX4 ends its use of GPS 2 s after it has given the position up",
}


def tell(autopilot: str, but: Collection[str] = ()) -> dict:
    """Flies STEPS but for some.

    Returns:
        Step -> texts, events with their arguments, reports: [seconds into the step, what].
    """
    out = {}
    with tempfile.TemporaryDirectory(prefix="xtdrone-") as folder:
        params = Path(folder) / "probe.params"
        params.write_text(PARAMETERS)
        probe = Probe(autopilot, Path(folder) / "run", str(params))
        try:
            for name, step in STEPS.items():
                if name in but:
                    continue
                since, begin_us = len(probe.station.heard), probe.simulation.t_us
                step(probe)
                events = _events(probe.station.timed("EVENT", since))
                found = {
                    "statustexts": _texts(probe.station.timed("STATUSTEXT", since)),
                    "events": _single(events),
                    "reports": _reports(events),
                }
                out[name] = {
                    kind: [[round((t_us - begin_us) * 1e-6, 1), what] for t_us, what in items]
                    for kind, items in found.items()
                }
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
    """(time, number, arguments) of each."""
    return [(t_us, m.id & 0xFFFFFF, bytes(m.arguments).rstrip(b"\0").hex()) for t_us, m in messages]


def _single(events):
    """Those outside the reports."""
    out, inside = [], False
    for t_us, number, arguments in events:
        inside |= number == _SUMMARY
        if not inside and number != _LOG_FILE:
            out.append((t_us, f"{number} {arguments}".rstrip()))
        inside &= number != _HEALTH
    return out


def _reports(events):
    out = []
    for t_us, number, arguments in events:
        if number == _SUMMARY:
            out.append((t_us, []))
        if out and (number == _SUMMARY or not out[-1][1][-1].startswith(f"{_HEALTH} ")):
            out[-1][1].append(f"{number} {arguments}".rstrip())
    return out


def differences(wanted: dict, found: dict) -> list[str]:
    """What PX4 says that is missing here, or comes in another order or at another time.

    More texts and events may come here, but no more reports. Steps that were not flown are left
    out.
    """
    lines = []
    for step, kinds in wanted.items():
        if step not in found:
            continue
        if step in LOOSE:
            lines += _loose_differences(step, kinds, found[step])
            continue
        for kind, items in kinds.items():
            more = len(found[step][kind]) - len(items)
            if kind == "reports" and more > 0:
                lines.append(f"{step}: {more} more reports than PX4's: {found[step][kind]}")
            rest = iter(found[step][kind])
            for at_s, item in items:
                here_s = next((then for then, other in rest if item == other), None)
                if here_s is None:
                    lines.append(f"{step}: PX4's {kind[:-1]} {item!r} at {at_s} s is missing")
                    rest = iter(found[step][kind])
                elif abs(here_s - at_s) > LATE_S:
                    lines.append(f"{step}: {kind[:-1]} {item!r} at {here_s} s, PX4's at {at_s} s")
    return lines


def _loose_differences(step, wanted, found):
    lines = [
        f"{step}: PX4's {kind[:-1]} {item!r} is missing"
        for kind in ("statustexts", "events")
        for item in {item for _, item in wanted[kind]} - {item for _, item in found[kind]}
    ]
    last, here = ((of["reports"] or [[0.0, []]])[-1][1] for of in (wanted, found))
    if here != last:
        lines.append(f"{step}: the last report is {here}, PX4's {last}")
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
