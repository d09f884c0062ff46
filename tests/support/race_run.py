"""A run folder with laps of a track, without a flight."""

import json

import numpy as np
import yaml

from xtdrone_core import Scenario
from xtdrone_core.racing.track import read_track
from xtdrone_core.scenario.vehicles import fleet


def write_run(folder, track, laps):
    """Writes a run of one iris that moves east at 1 m/s; laps: pairs of begin and time [s]."""
    folder.mkdir(parents=True)
    scenario = Scenario(fleet("iris", 1), track=str(track))
    (folder / "scenario.yaml").write_text(yaml.safe_dump(scenario.to_dict()))
    found = read_track(track)
    count = len(found.gates)
    laps = [
        {"began_s": began, "splits": [time * k / count for k in range(1, count + 1)]}
        for began, time in laps
    ]
    (folder / "summary.json").write_text(
        json.dumps(
            {
                "race": {
                    "track": found.name,
                    "gates": count,
                    "vehicles": [{"vehicle": "iris_0", "laps": laps}],
                }
            }
        )
    )
    record = np.zeros(500, dtype=[("t_us", "<i8"), ("table", "<f8", (1, 13))])
    record["t_us"] = np.arange(1, 501) * 20_000
    record["table"][:, 0, 0], record["table"][:, 0, 6] = record["t_us"] * 1e-6, 1.0
    (folder / "truth.bin").write_bytes(record.tobytes())
