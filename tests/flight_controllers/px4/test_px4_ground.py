"""Real PX4 drives rovers and the boat by its own airframes; skipped where PX4_BUILD names none."""

import os

import numpy as np
import pytest

from waiting import until
from xtdrone_core import resources
from xtdrone_core.command import main
from xtdrone_core.runs.truth_log import read_truth

pytestmark = [
    pytest.mark.px4,
    pytest.mark.skipif(
        not os.environ.get("PX4_BUILD"),
        reason="needs real PX4: set PX4_BUILD to its build folder (see docs/px4.md)",
    ),
]
COURSE = (40, 0), (40, 30), (0, 30), (0, 3)  # of docs/missions/course.plan, east and north [m]
ALONE = "1\t1\tNAV_DLL_ACT\t0\t6\n"


@pytest.mark.parametrize(
    "vehicle, world, near",
    [("rover", "empty", 3.0), ("r1_rover", "empty", 3.0), ("boat", "lake", 5.0)],
)
def test_a_mission_is_driven_to_its_end_in_wind(simulate, tmp_path, vehicle, world, near):
    params = tmp_path / "alone.params"
    params.write_text(ALONE)
    simulation = simulate(
        "--vehicle",
        vehicle,
        "--world",
        world,
        "--autopilot",
        "px4",
        "--speed",
        0,
        "--params",
        str(params),
        "--wind",
        "mean=0,5,0",
    )
    simulation.wait_until(6_000_000)
    assert (
        main(["mission", "upload", str(resources.root() / "docs/missions/course.plan"), "--start"])
        == 0
    )
    console = next(simulation.folder.glob(f"*/console/{vehicle}_0.log"))
    until(
        lambda: "Mission finished" in console.read_text(),
        "it has come to its end",
        simulation.process,
    )
    _, states = read_truth(next(simulation.folder.glob("*/truth.bin")), 1)
    for corner in COURSE[:3]:
        assert np.linalg.norm(states[:, 0, :2] - corner, axis=1).min() < near
    # The last corner counts as reached 5 m before it, and the log is up to a second behind.
    assert np.linalg.norm(states[-1, 0, :2] - COURSE[3]) < near + 5.0
