"""A flight on a small disk that fills up, has space again, becomes read-only and fills up again.

Called in a mount namespace of its own: full_disk.py FOLDER, where FOLDER is to be the disk.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pyulog import ULog

from xtdrone_core import Scenario
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.scenario import parse_vehicles
from xtdrone_sim.observers.recording import SummaryKeeper
from xtdrone_sim.simulation import Simulation

SIZE = 1_500_000  # [bytes]


def mount(*words):
    """Calls mount(8)."""
    subprocess.run(["mount", *words], check=True)


def fill(path):
    """Takes all the space that is left."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1024))
        except OSError:
            pass


def main(disk):
    """Flies, and prints what is in the files."""
    mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk)
    os.environ["XTDRONE_RUNS"] = disk
    filler, summaries = Path(disk) / "filler", []
    scenario = Scenario(parse_vehicles("iris*2"), log="fleet", speed=0.0)
    folder = run_folder.create("full_disk")
    flight = Simulation(scenario, folder, links=False)
    (keeper,) = (each for each in flight.observers if isinstance(each, SummaryKeeper))

    def fly(until):
        flight.run(round(until * 1e6))
        keeper.write(flight.t_us)  # as the wall clock would have it
        summaries.append(json.loads((folder / "summary.json").read_text()))

    try:
        fly(2.0)
        fill(filler)
        flight.event(flight.t_us, "lost", text="x" * 8000)
        fly(5.0)
        filler.unlink()
        fly(8.0)
        mount("-o", "remount,ro", disk)
        fly(10.0)
        mount("-o", "remount,rw", disk)
        fly(12.0)
        fill(filler)
        fly(14.0)
    finally:
        flight.close()
    t_us, _ = read_truth(folder / "truth.bin", 2)
    logs = [ULog(str(next(folder.glob(f"ulog/iris_{i}/*.ulg")))) for i in range(2)]
    print(
        json.dumps(
            {
                "summaries": summaries,
                "summary": json.loads((folder / "summary.json").read_text()),
                "truth": t_us.tolist(),
                "ulog": [
                    {
                        "damaged": log.file_corruption,
                        "end": log.last_timestamp * 1e-6,
                        "dropouts": [
                            (drop.timestamp * 1e-6, drop.duration) for drop in log.dropouts
                        ],
                    }
                    for log in logs
                ],
                "console": (folder / "console" / "autopilot.log").read_text(),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
