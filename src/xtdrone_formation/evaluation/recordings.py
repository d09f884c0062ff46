"""The motion of a fleet during a run, from its truth log, rosbag or ULogs.

The truth log has true states. The other two have estimates: poses and velocities published by the
bridge, and vehicle_local_position of the ULogs. They are interpolated at the leader's time stamps.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import Scenario, files
from xtdrone_core.errors import shown
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.options import number
from xtdrone_core.scenario.vehicles import MAX_FLEET

from .. import serialisation
from ..declarations import SOURCES
from ..errors import FormationError

SOURCE_NAMES = {
    "truth": "true positions (truth log)",
    "ulog": "estimates (flight logs)",
    "rosbag": "estimates (ROS topics in the rosbag)",
}
_POSE = re.compile(r"/([^/]+)/mavros/local_position/(pose|velocity_local)")
_MAX_VALUE = 1e7  # largest position or speed [m, m/s]
_ESTIMATE = "timestamp x y z heading vx vy vz xy_valid z_valid".split()  # fields that are read
_HOW_TO_RECORD = {
    "truth": "every run does",
    "rosbag": "launch files do with record:=true",
    "ulog": "the full simulator does, unless with --log none",
}


# Times (T,) [us], positions and velocities (T, N, 3), headings (T, N).
_Motions = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Motion:
    """Positions and velocities of a fleet over time, the leader first."""

    source: str  # a key of SOURCES
    t_us: np.ndarray  # (T,) simulated time [us]
    pos: np.ndarray  # (T, N, 3) world [m]
    vel: np.ndarray  # (T, N, 3) world [m/s]
    yaw: np.ndarray  # (T, N) heading of the nose, from east counter-clockwise, continuous [rad]


def read(folder: Path | str, source: str | None = None) -> Motion:
    """Reads the motion of a run.

    Args:
        folder: The run folder.
        source: "truth", "rosbag" or "ulog"; None: the first of them that exists.

    Raises:
        FormationError: The folder or recording is missing or cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FormationError(
            f"no run folder '{folder}': give a folder below runs/, for example runs/latest"
        )
    available = {name: sorted(folder.glob(pattern)) for name, pattern in SOURCES.items()}
    if source is None:
        source = next((name for name, files in available.items() if files), None)
        if source is None:
            raise FormationError(
                f"'{folder}' has no recording of a flight: it contains none of "
                f"{', '.join(SOURCES.values())}"
            )
    elif not available[source]:
        raise FormationError(
            f"'{folder}' has no {source} ({SOURCES[source]}): give a run that "
            f"recorded it; {_HOW_TO_RECORD[source]}"
        )
    t_us, pos, vel, yaw = _READERS[source](folder, available[source])
    if not (np.abs(pos) < _MAX_VALUE).all() or not (np.abs(vel) < _MAX_VALUE).all():
        raise FormationError(
            f"the {source} of '{folder}' is damaged: it has positions or "
            f"velocities beyond {_MAX_VALUE:g}"
        )
    return Motion(source, t_us, pos, vel, np.nan_to_num(yaw))


def vehicle_names(folder: Path | str, n: int) -> list[str]:
    """Returns the names of a run's vehicles, the leader first; numbers for the simple simulator."""
    path = Path(folder) / "scenario.yaml"
    if not path.exists():
        return numbered(n)
    return [vehicle.name for vehicle in Scenario.load(path).vehicles]


def numbered(n: int) -> list[str]:
    """Returns names of vehicles that have none."""
    return [f"vehicle {i}" for i in range(n)]


def _names(folder: Path, recorded: Iterable[str]) -> list[str]:
    """Returns the vehicles in the scenario's order, else by the number that ends their names."""
    path = folder / "scenario.yaml"
    if not path.exists():
        numbers = {name: name[len(name.rstrip("0123456789")) :] for name in recorded}
        return sorted(recorded, key=lambda name: (int(numbers[name] or -1), name))
    names = [vehicle.name for vehicle in Scenario.load(path).vehicles]
    missing = [name for name in names if name not in recorded]
    if missing:
        raise FormationError(
            f"the recording of '{folder}' lacks {', '.join(missing[:5])} of its "
            "scenario.yaml: give the folder of a complete run"
        )
    return names


def _truth(folder: Path, paths: list[Path]) -> _Motions:
    summary = run_folder.read_summary(folder)
    # The simple simulator has no scenario.
    n = (
        number(f"n of '{folder}/summary.json'", summary["n"], 1, MAX_FLEET, whole=True)
        if "n" in summary
        else Scenario.load(folder / "scenario.yaml").n
    )
    t_us, table = read_truth(paths[0], n)
    return t_us, table[:, :, 0:3], table[:, :, 7:10], headings(table[:, :, 3:7])


def headings(quat: np.ndarray) -> np.ndarray:
    """Returns continuous headings [rad] of attitudes (T, ..., 4) xyzw."""
    x, y, z, w = np.moveaxis(quat, -1, 0)
    return np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)), axis=0)


def _rosbag(folder: Path, paths: list[Path]) -> _Motions:
    from rosbags.rosbag1 import Reader

    # By vehicle and by "pose" or "velocity_local": rows of time and position or velocity.
    rows: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for path in paths:
        files.check(path, "bag", FormationError)
        try:
            with Reader(path) as bag:
                connections = [c for c in bag.connections if _POSE.fullmatch(c.topic)]
                for connection, _, data in bag.messages(connections):
                    match = _POSE.fullmatch(connection.topic)
                    assert match is not None
                    name, what = match.groups()
                    if what == "pose":
                        pos, quat = serialisation.pose_stamped(data)
                        values = *pos, *quat
                    else:
                        values = serialisation.twist_stamped(data)[0]
                    rows.setdefault(name, {"pose": [], "velocity_local": []})[what].append(
                        (serialisation.stamp(data), *values)
                    )
        except Exception as error:  # damaged bytes raise any of them in rosbags
            raise FormationError(
                f"cannot read '{path}': {shown(error)}; repair a truncated "
                "recording by rosbag reindex"
            ) from error
    rows = {name: both for name, both in rows.items() if all(both.values())}
    if not rows:
        raise FormationError(
            f"'{paths[0]}' has no poses: record mavros/local_position/pose and "
            "velocity_local of each vehicle"
        )
    return interpolate(
        [
            (_with_headings(np.array(rows[name]["pose"])), np.array(rows[name]["velocity_local"]))
            for name in _names(folder, rows)
        ]
    )


def _with_headings(rows: np.ndarray) -> np.ndarray:
    """Returns rows (t, x, y, z, heading) of rows (t, x, y, z, quaternion)."""
    return np.column_stack([rows[:, :4], headings(rows[:, 4:])])


def _ulog(folder: Path, paths: list[Path]) -> _Motions:
    from xtdrone_autopilot.ulog.reader import FlightLog  # here, since it needs pyulog

    logs: dict[str, list[np.ndarray]] = {}
    for path in paths:
        topic = FlightLog(path).topic("vehicle_local_position")
        if topic is not None:
            lacking = [name for name in _ESTIMATE if name not in topic]
            if lacking:
                raise FormationError(
                    f"vehicle_local_position of '{path}' has no {lacking[0]}: the log is damaged"
                )
            located = (topic["xy_valid"] & topic["z_valid"]).astype(bool)
            # PX4 writes north, east, down, and the heading from north clockwise.
            rows = np.stack(
                [
                    topic["timestamp"],
                    topic["y"],
                    topic["x"],
                    -topic["z"],
                    0.5 * np.pi - np.unwrap(topic["heading"]),
                    topic["vy"],
                    topic["vx"],
                    -topic["vz"],
                ],
                axis=1,
            )
            logs.setdefault(path.parent.name, []).append(rows[located].astype(float))
    if not logs:
        raise FormationError(
            f"the flight logs of '{folder}' have no vehicle_local_position: log that topic"
        )
    tables = {name: np.concatenate(parts) for name, parts in logs.items()}
    return interpolate(
        [(tables[name][:, :5], tables[name][:, [0, 5, 6, 7]]) for name in _names(folder, tables)]
    )


def interpolate(fleet: list[tuple[np.ndarray, np.ndarray]]) -> _Motions:
    """Interpolates rows (t_us, x, y, z, heading) and (t_us, velocity) at the leader's times."""
    unique = [
        [rows[np.unique(rows[:, 0], return_index=True)[1]] for rows in both] for both in fleet
    ]
    begin = max(rows[0, 0] for both in unique for rows in both)
    end = min(rows[-1, 0] for both in unique for rows in both)
    t_us = unique[0][0][:, 0]
    t_us = t_us[(t_us >= begin) & (t_us <= end)]
    if not len(t_us):
        raise FormationError(
            "the vehicles' recordings have no time in common: give the folder of one run"
        )
    poses, vel = (
        np.stack(
            [
                np.stack(
                    [np.interp(t_us, both[k][:, 0], column) for column in both[k].T[1:]], axis=1
                )
                for both in unique
            ],
            axis=1,
        )
        for k in (0, 1)
    )
    return t_us.astype(np.int64), poses[..., :3], vel, poses[..., 3]


_READERS = {"truth": _truth, "rosbag": _rosbag, "ulog": _ulog}
