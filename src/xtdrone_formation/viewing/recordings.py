"""The motion of a fleet during a run, from its truth log, rosbag or ULogs.

The truth log has true states. The other two have estimates: poses and velocities published by the
bridge, and vehicle_local_position of the ULogs. They are interpolated at the leader's time stamps.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import Scenario, files, run_folder
from xtdrone_core.errors import shown
from xtdrone_core.options import number
from xtdrone_core.scenario import MAX_FLEET
from xtdrone_core.truth_log import read_truth

from .. import serialisation
from ..errors import FormationError

SOURCES = {"truth": "truth.bin", "rosbag": "bags/*.bag", "ulog": "ulog/*/*.ulg"}
_POSE = re.compile(r"/([^/]+)/mavros/local_position/(pose|velocity_local)")
_LARGEST = 1e7  # position and speed of a vehicle [m, m/s]
_ESTIMATE = "timestamp x y z vx vy vz xy_valid z_valid".split()  # fields that are read
_HOW = {"truth": "every run does", "rosbag": "launch files do with record:=true",
        "ulog": "the full simulator does, unless with --log none"}


@dataclass(frozen=True)
class Motion:
    """Positions and velocities of a fleet over time, leader first."""

    source: str  # a key of SOURCES
    t_us: np.ndarray  # (T,) simulated time [us]
    pos: np.ndarray  # (T, N, 3) world [m]
    vel: np.ndarray  # (T, N, 3) world [m/s]


def read(folder: Path | str, source: str | None = None) -> Motion:
    """The motion of a run.

    Args:
        folder: The run folder.
        source: "truth", "rosbag" or "ulog"; None: the first of them that exists.

    Raises:
        FormationError: The folder or recording is missing or cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FormationError(f"no run folder '{folder}': give a folder below runs/, for example "
                             "runs/latest")
    available = {name: sorted(folder.glob(pattern)) for name, pattern in SOURCES.items()}
    if source is None:
        source = next((name for name, files in available.items() if files), None)
        if source is None:
            raise FormationError(f"'{folder}' has no recording of a flight: it contains none of "
                                 f"{', '.join(SOURCES.values())}")
    elif not available[source]:
        raise FormationError(f"'{folder}' has no {source} ({SOURCES[source]}): give a run that "
                             f"recorded it; {_HOW[source]}")
    t_us, pos, vel = _READERS[source](folder, available[source])
    if not (np.abs(pos) < _LARGEST).all() or not (np.abs(vel) < _LARGEST).all():
        raise FormationError(f"the {source} of '{folder}' is damaged: it has positions or "
                             f"velocities beyond {_LARGEST:g}")
    return Motion(source, t_us, pos, vel)


def _names(folder, found):
    """The vehicles in the order of the scenario, else by the number at the end of their names."""
    path = folder / "scenario.yaml"
    if not path.exists():
        return sorted(found, key=lambda name: (int(re.search(r"\d*$", name)[0] or -1), name))
    names = [vehicle.name for vehicle in Scenario.load(path).vehicles]
    missing = [name for name in names if name not in found]
    if missing:
        raise FormationError(f"the recording of '{folder}' lacks {', '.join(missing[:5])} of its "
                             "scenario.yaml: give the folder of a complete run")
    return names


def _truth(folder, paths):
    summary = run_folder.read_summary(folder)
    # The simple simulator has no scenario.
    n = number(f"n of '{folder}/summary.json'", summary["n"], 1, MAX_FLEET, whole=True) \
        if "n" in summary else Scenario.load(folder / "scenario.yaml").n
    t_us, table = read_truth(paths[0], n)
    return t_us, table[:, :, 0:3], table[:, :, 7:10]


def _rosbag(folder, paths):
    from rosbags.rosbag1 import Reader

    rows = {}  # vehicle -> {"pose" or "velocity_local": rows of time and position or velocity}
    for path in paths:
        files.check(path, "bag", FormationError)
        try:
            with Reader(path) as bag:
                wanted = [c for c in bag.connections if _POSE.fullmatch(c.topic)]
                for connection, _, data in bag.messages(wanted):
                    name, what = _POSE.fullmatch(connection.topic).groups()
                    read_one = (serialisation.pose_stamped if what == "pose"
                                else serialisation.twist_stamped)
                    rows.setdefault(name, {"pose": [], "velocity_local": []})[what].append(
                        (serialisation.stamp(data), *read_one(data)[0]))
        except Exception as error:  # damaged bytes raise any of them in rosbags
            raise FormationError(f"cannot read '{path}': {shown(error)}; repair a truncated "
                                 "recording by rosbag reindex") from error
    rows = {name: both for name, both in rows.items() if all(both.values())}
    if not rows:
        raise FormationError(f"'{paths[0]}' has no poses: record mavros/local_position/pose and "
                             "velocity_local of each vehicle")
    return _interpolate([[np.array(rows[name][what]) for what in ("pose", "velocity_local")]
                      for name in _names(folder, rows)])


def _ulog(folder, paths):
    from xtdrone_autopilot.ulog.reader import FlightLog  # here, since it needs pyulog

    logs = {}
    for path in paths:
        topic = FlightLog(path).topic("vehicle_local_position")
        if topic is not None:
            lacking = [name for name in _ESTIMATE if name not in topic]
            if lacking:
                raise FormationError(f"vehicle_local_position of '{path}' has no {lacking[0]}: the "
                                     "log is damaged")
            located = (topic["xy_valid"] & topic["z_valid"]).astype(bool)
            rows = np.stack([topic["timestamp"], topic["y"], topic["x"], -topic["z"], topic["vy"],
                             topic["vx"], -topic["vz"]], axis=1)  # PX4 writes north, east, down
            logs.setdefault(path.parent.name, []).append(rows[located].astype(float))
    if not logs:
        raise FormationError(f"the flight logs of '{folder}' have no vehicle_local_position: log "
                             "that topic")
    tables = {name: np.concatenate(parts) for name, parts in logs.items()}
    return _interpolate([(tables[name][:, [0, 1, 2, 3]], tables[name][:, [0, 4, 5, 6]])
                      for name in _names(folder, tables)])


def _interpolate(fleet):
    """Positions and velocities at the leader's times, from rows (t_us, x, y, z) per vehicle."""
    fleet = [[rows[np.unique(rows[:, 0], return_index=True)[1]] for rows in both]
             for both in fleet]
    begin = max(rows[0, 0] for both in fleet for rows in both)
    end = min(rows[-1, 0] for both in fleet for rows in both)
    t_us = fleet[0][0][:, 0]
    t_us = t_us[(t_us >= begin) & (t_us <= end)]
    if not len(t_us):
        raise FormationError("the vehicles' recordings have no time in common: give the folder of "
                             "one run")
    pos, vel = (np.stack([np.stack([np.interp(t_us, both[k][:, 0], both[k][:, axis])
                                    for axis in (1, 2, 3)], axis=1) for both in fleet], axis=1)
                for k in (0, 1))
    return t_us.astype(np.int64), pos, vel


_READERS = {"truth": _truth, "rosbag": _rosbag, "ulog": _ulog}
