"""Runs every reader over the files of a folder: what is read, refused with a reason, or crashes.

    python scripts/users.py FOLDER           a table of all files in it
    python scripts/users.py FOLDER --json    the same as JSON
    make users FOLDER=~/flights              likewise

The exit status is 1 if a reader crashes. A line with `crashed` is a fault of this project: send it
with its file. `passed over` are files of kinds that no reader is for.
"""

import argparse
import contextlib
import io
import json
import logging
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from xtdrone_core import XtdroneError
from xtdrone_core.runs import bags

READ, REFUSED, CRASHED, PASSED_OVER = "read", "refused", "crashed", "passed over"
_MOST_S = 120  # time for one file
_SDF = (".sdf", ".world", ".urdf", ".xacro", ".model", ".gazebo")
_MESHES = (".dae", ".stl", ".obj")
_IMU_KEYS = {"update_rate", "rostopic"}
Reader = Callable[[Path], str]  # returns a few words about what it read


def plan(path: Path) -> str:
    from xtdrone_autopilot.navigation import plan_file

    found = plan_file.load(path)
    return f"{sum(map(len, found.items.values()))} items"


def parameters(path: Path) -> str:
    from xtdrone_autopilot.parameters import file, store

    values = file.read(path)
    return file.count_unknown(values, [name for name in values if name not in store.table()])


def flight_log(path: Path) -> str:
    from xtdrone_autopilot.ulog import reader

    log = reader.FlightLog(path)
    reader.summary(log)
    return f"{log.seconds:.1f} s, {len(log.topics())} topics, {len(log.messages())} messages"


def recording(path: Path) -> str:
    from xtdrone_web.replay import sources

    found = sources.read(str(path))
    return f"{', '.join(found.names)}: {found.end_s - found.start_s:.1f} s"


def trajectory(path: Path) -> str:
    from xtdrone_slam.datasets import trajectory_file

    if count := trajectory_file.count_without_times(path):
        trajectory_file.read(path, np.arange(count))
        return f"{count} poses without times"
    table = trajectory_file.read(path)
    return f"{len(table)} poses, {table[-1, 0] - table[0, 0]:.1f} s"


def flown(path: Path) -> str:
    from xtdrone_slam.flight import trajectories

    return f"trajectory of {trajectories.load(str(path)).duration:.1f} s"


def sticks(path: Path) -> str:
    from xtdrone_control.teleoperation import record

    return f"flight record of {record.read(path).t_s[-1]:.1f} s"


def formation(path: Path) -> str:
    from xtdrone_core.tables import read_table
    from xtdrone_formation import formations

    rows = [row for row in read_table(path) if row != ["x", "y", "z"]]
    return f"{len(formations.read_csv(path, len(rows) + 1))} slots"


def dataset(path: Path) -> str:
    from xtdrone_slam.datasets.dataset import Dataset

    return f"{len(Dataset(path))} stereo pairs"


def kalibr(path: Path) -> str:
    from xtdrone_slam.datasets import kalibr as reader

    imu = next((each for each in sorted(path.parent.glob("*imu*.yaml")) if _is_imu(each)), None)
    found, _ = reader.read(path, imu or path.with_name("imu.yaml"))
    return f"{found.left.width} x {found.left.height} pixels, {found.left.distortion_model}"


def scenario(path: Path) -> str:
    from xtdrone_core import Scenario

    return f"scenario of {len(Scenario.load(path).vehicles)} vehicles"


def track(path: Path) -> str:
    from xtdrone_core.racing.track import read_track

    return f"track with {len(read_track(path).gates)} gates"


def model(path: Path) -> str:
    from xtdrone_sim.vehicles.sdf import load_vehicle

    found = load_vehicle(path)
    return f"vehicle with {len(found.actuators)} actuators"


def world(path: Path) -> str:
    from xtdrone_sim.world import load_world

    return f"world with {len(load_world(path).models)} models"


def mesh(path: Path) -> str:
    from xtdrone_sim.vehicles.mesh import MeshFile

    return f"{sum(len(part.faces) for part in MeshFile(path).parts())} triangles"


def readers_of(path: Path) -> list[Reader]:
    """Returns the readers for a file or folder; of a kind with several, each may read it."""
    suffix = path.suffix.lower()
    if path.is_dir():
        return [dataset] if (path / "mav0").is_dir() else [recording]
    if suffix in (".yaml", ".yml"):
        return _readers_of_yaml(path)
    if suffix in _SDF:
        return [world if b"<world" in path.read_bytes()[: 1 << 20] else model]
    if path.stem.endswith("times") and suffix == ".txt":  # which is read with KITTI's poses
        return []
    if suffix in (".txt", ".waypoints") and b"QGC WPL" in path.read_bytes()[:64]:
        return [plan]
    kinds: dict[tuple[str, ...], list[Reader]] = {
        (".plan", ".waypoints", ".mission"): [plan],
        (".params", ".param", ".parm"): [parameters],
        (".ulg",): [flight_log, recording],
        bags.SUFFIXES: [recording, trajectory],
        (".tum", ".txt", ".kitti"): [trajectory],
        (".csv",): [flown, formation, sticks],
        _MESHES: [mesh],
    }
    return next((readers for suffixes, readers in kinds.items() if suffix in suffixes), [])


def _readers_of_yaml(path: Path) -> list[Reader]:
    """Returns the readers for YAML, by its keys."""
    try:
        values = _yaml(path)
    except XtdroneError:
        return [scenario]
    keys = set(values) if isinstance(values, dict) else set()
    if "cam0" in keys or "cam1" in keys:
        return [kalibr]
    if _is_imu(path):  # which is read with its chain of cameras
        return []
    return [track if "gates" in keys else scenario]


def _yaml(path: Path) -> object:
    """Returns what a file of YAML holds, also one of OpenCV."""
    from xtdrone_slam.datasets import calibration

    return calibration.read_yaml(path)


def _is_imu(path: Path) -> bool:
    with contextlib.suppress(XtdroneError):
        values = _yaml(path)
        if isinstance(values, dict):
            return _IMU_KEYS <= set(values.get("imu0", values))
    return False


def read(path: Path) -> tuple[str, str]:
    """Runs the readers of a file; returns what came of it, and a line about it."""
    try:
        readers = readers_of(path)
    except OSError as error:
        return REFUSED, str(error)
    if not readers:
        return PASSED_OVER, ""
    refusals = []
    result = REFUSED, ""
    for reader in readers:
        outcome, words = _run(reader, path)
        if outcome == CRASHED:
            return CRASHED, f"{reader.__name__}: {words}"
        if outcome == READ and result[0] != READ:
            result = READ, words
        if outcome == REFUSED:
            refusals.append(words)
    return result if result[0] == READ else (REFUSED, refusals[0])


def _run(reader: Reader, path: Path) -> tuple[str, str]:
    said = io.StringIO()
    signal.alarm(_MOST_S)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return READ, reader(path)
    except XtdroneError as error:
        lines = str(error).splitlines()
        return (REFUSED, lines[0]) if len(lines) == 1 else (CRASHED, "a reason of several lines")
    except TimeoutError:
        return CRASHED, f"takes more than {_MOST_S} s"
    except Exception as error:  # what this script looks for
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        return CRASHED, f"{type(error).__name__}: {error} ({where})".replace("\n", " ")
    finally:
        signal.alarm(0)


def _too_long(*_: object) -> None:
    raise TimeoutError


def sources(folder: Path) -> Iterator[Path]:
    """Yields files below a folder, and folders that are read as one: data sets and ROS 2 bags."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if (path / "mav0").is_dir() or (path / "metadata.yaml").is_file():
                yield path
            else:
                yield from sources(path)
        elif path.is_file():
            yield path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="with the files")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    if not args.folder.is_dir():
        parser.error(f"there is no folder '{args.folder}'")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _too_long)
    rows = []
    for path in sources(args.folder):
        outcome, words = read(path)
        rows.append({"file": str(path.relative_to(args.folder)), "outcome": outcome, "what": words})
        if not args.json:
            print(f"{outcome:11s}  {rows[-1]['file']}  {words}", flush=True)
    counts = Counter(row["outcome"] for row in rows)
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print(", ".join(f"{counts[each]} {each}" for each in (READ, REFUSED, CRASHED, PASSED_OVER)))
    return 1 if counts[CRASHED] else 0


if __name__ == "__main__":
    sys.exit(main())
