"""Reference flights as hashes of all that they leave: truth, flight logs, sensor streams.

    python tests/support/reference_flights.py            compare with the recorded ones
    python tests/support/reference_flights.py --record   record them anew

A change of the code that is not meant to change a flight leaves every hash as it is.
Rounding depends on the processor and on the versions of the libraries, so hashes are
compared where both are as they were at the recording; elsewhere the paths are, to 1 cm and
0.1 s: an Agent's decision can fall one command later there.
"""

import argparse
import hashlib
import json
import os
import platform
import struct
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import numpy as np
from llvmlite import binding

from xtdrone_core import Scenario, registry
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation

RECORDED = Path(__file__).resolve().parents[1] / "data" / "reference_flights.json"
PLANS = Path(__file__).resolve().parents[2] / "docs" / "missions"
PATH_TOLERANCE = 0.01  # between two machines [m]
TIME_TOLERANCE = 25  # between two machines [steps of 4 ms]
_SAMPLES = 20  # of each path

# name: seconds, agent, its arguments, scenario
FLIGHTS = {
    "iris": (25.0, "square", {"hold": 0.5}, {"vehicles": "iris", "log": "full"}),
    "typhoon_h480": (
        20.0,
        "square",
        {"hold": 0.5},
        {"vehicles": "typhoon_h480", "disturbances": "9: rotor typhoon_h480_0 1 0.6"},
    ),
    "heavy_lifter": (
        20.0,
        "square",
        {"hold": 0.5},
        {
            "vehicles": "heavy_lifter",
            "disturbances": "8: payload heavy_lifter_0 1.0 0.1,0,-0.2; 10: drain "
            "heavy_lifter_0 0.1; 12: charge heavy_lifter_0 0.5",
        },
    ),
    "mixed": (
        12.0,
        "square",
        {},
        {
            "vehicles": "iris*1, octorotor*1, crazyflie*1",
            "world": "outdoor",
            "pose_source": "truth",
        },
    ),
    "formation": (40.0, "formation", {"formations": ["cube", "triangle"]}, {"vehicles": "iris*9"}),
    "mission_in_wind": (
        45.0,
        "mission",
        {},
        {
            "vehicles": "iris",
            "mission": str(PLANS / "square.plan"),
            "log": "full",
            "wind": "mean=4,1,0 gust=20:3:0,4,0 dryden=5",
        },
    ),
    "stereo_and_lidar": (
        5.0,
        "square",
        {},
        {"vehicles": "iris_stereo*1, iris_3d_lidar*1", "world": "indoor"},
    ),
}


def machine() -> dict:
    """What the last bits of a flight depend on beside the code; OPENBLAS_CORETYPE names kernels.

    The target is what Numba compiles for: virtual machines of one model name have several.
    """
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith(("model name", "CPU part"))
        ),
        platform.processor(),
    )
    libraries = {name: metadata.version(name) for name in ("numpy", "numba", "scipy", "mujoco")}
    return {
        "processor": f"{platform.machine()} {model}",
        "target": binding.get_host_cpu_name(),
        "python": platform.python_version(),
        "blas": os.environ.get("OPENBLAS_CORETYPE", "as the processor"),
        **libraries,
    }


def fly(name: str) -> dict:
    """Flies one reference flight.

    Returns:
        `hashes` by name of the stream, `path`: _SAMPLES rows of all positions [m], and
        `positions`: those of every step.
    """
    seconds, agent, arguments, values = FLIGHTS[name]
    values = {**values, "vehicles": parse_vehicles(values["vehicles"])}
    scenario = Scenario(**values, speed=0.0, name=f"reference_{name}")
    folder = run_folder.create(scenario.name)
    streams = Streams()
    simulation = Simulation(scenario, folder, links=False, observers=[streams])
    simulation.agent = registry.AGENTS.load(agent)(
        scenario.n, on_event=simulation.event, **arguments
    )
    try:
        simulation.run(until_us=round(seconds * 1e6))
    finally:
        simulation.close()
    _, truth = read_truth(folder / "truth.bin", scenario.n)
    hashes = {
        "truth": _short(hashlib.sha256((folder / "truth.bin").read_bytes())),
        **streams.hashes(),
    }
    for path in sorted(folder.glob("ulog/*/*.ulg")):
        hashes.update(
            {
                f"ulog/{path.parent.name}/{topic}": value
                for topic, value in ulog_hashes(path.read_bytes()).items()
            }
        )
    positions = truth[:, :, :3]
    return {
        "hashes": hashes,
        "path": np.round(positions[_samples(positions)], 4).tolist(),
        "positions": positions,
    }


def _samples(positions):
    """Rows of a whole path that are recorded."""
    return np.linspace(0, len(positions) - 1, _SAMPLES).astype(int)


class Streams(Observer):
    """Hashes of what passes between the parts of a simulation."""

    wants_readings = True

    def __init__(self):
        self._found = {}

    def on_step(self, t_us, state, sensors):
        """All readings of the step."""
        for name in sensors.records.dtype.names:
            self._add(f"sensors/{name}", sensors.records[name])

    def on_reading(self, reading):
        """One image or scan."""
        for name, value in reading.data.items():
            key = f"readings/{reading.vehicle}/{reading.sensor}/{name}"
            self._add(key, np.array(reading.t_us))
            self._add(key, value)

    def _add(self, name, array):
        self._found.setdefault(name, hashlib.sha256()).update(np.ascontiguousarray(array))

    def hashes(self) -> dict:
        """Hash by name of the stream."""
        return {name: _short(found) for name, found in self._found.items()}


def ulog_hashes(data: bytes) -> dict:
    """A hash of all data messages of each topic in a ULog file."""
    found = {}
    for topic, _, body in ulog_data(data):
        found.setdefault(topic, hashlib.sha256()).update(body)
    return {topic: _short(hash_) for topic, hash_ in found.items()}


def ulog_data(data: bytes):
    """Topic, its instance and the bytes of each data message of a ULog file, in order."""
    at, names = 16, {}
    while at + 3 <= len(data):
        size, kind = struct.unpack_from("<HB", data, at)
        body = data[at + 3 : at + 3 + size]
        at += 3 + size
        if kind == ord("A"):
            names[struct.unpack_from("<H", body, 1)[0]] = body[3:].decode(), body[0]
        elif kind == ord("D"):
            yield *names[struct.unpack_from("<H", body)[0]], body[2:]


def _short(found) -> str:
    return found.hexdigest()[:16]


def differences(name: str, flown: dict, recorded: dict, exact: bool) -> list[str]:
    """What differs between a flight and its record, one line each.

    Args:
        name: The flight.
        flown: As of fly().
        recorded: The same, from the file.
        exact: Compare hashes; else paths only.
    """
    if exact:
        was, now = recorded["hashes"], flown["hashes"]
        return [
            f"{name}: {key} {was.get(key, 'was not there')} -> {now.get(key, 'is gone')}"
            for key in sorted({*was, *now})
            if was.get(key) != now.get(key)
        ]
    positions = flown["positions"]
    error = max(
        np.abs(positions[max(row - TIME_TOLERANCE, 0) : row + TIME_TOLERANCE + 1] - np.array(point))
        .max(axis=-1)
        .min(axis=0)
        .max()
        for row, point in zip(_samples(positions), recorded["path"], strict=True)
    )
    return [f"{name}: a path is {error:.3f} m off"] if error > PATH_TOLERANCE else []


def main():
    """The command above; exit status 1 where a flight differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "flights", nargs="*", metavar="FLIGHT", help=f"all, or some of {', '.join(FLIGHTS)}"
    )
    parser.add_argument("--record", action="store_true", help="write the file anew")
    args = parser.parse_args()
    chosen = args.flights or list(FLIGHTS)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {"flights": {}}
    exact = recorded.get("machine") == machine()
    with tempfile.TemporaryDirectory() as runs:
        os.environ["XTDRONE_RUNS"] = runs
        flown = {name: fly(name) for name in chosen}
    if args.record:
        for name in chosen:
            recorded["flights"][name] = {key: flown[name][key] for key in ("hashes", "path")}
        recorded["machine"] = machine()
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
        return 0
    found = [
        line
        for name in chosen
        for line in differences(name, flown[name], recorded["flights"][name], exact)
    ]
    print(
        "\n".join(found)
        or f"{len(chosen)} flights are as recorded"
        f"{'' if exact else ', to ' + str(PATH_TOLERANCE) + ' m: another machine'}"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
