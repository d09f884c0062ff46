"""VTOLs that real PX4 flies by its own airframes; skipped where PX4_BUILD does not name one."""

import itertools
import json
import os

import numpy as np
import pytest

from waiting import until
from xtdrone_core import resources
from xtdrone_core.command import main
from xtdrone_core.runs.truth_log import read_truth

pytestmark = [
    pytest.mark.px4,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("PX4_BUILD"),
        reason="needs real PX4: set PX4_BUILD to its build folder (see docs/px4.md)",
    ),
]
PLAN = resources.root() / "docs/missions/vtol.plan"
HEIGHT = 30.0  # of the mission [m]
CORNERS = np.array(((350, 0), (350, 200), (-150, 200), (-150, 0)))  # [m]
FAST = 8.0  # of a hover at most; it flies on its wings when it is faster [m/s]


def across(pos):
    """Distance of places (K, 2) from the mission's rectangle [m]."""
    ends = np.vstack([CORNERS, CORNERS[:1]])
    found = []
    for a, b in itertools.pairwise(ends):
        share = np.clip((pos - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        found.append(np.linalg.norm(pos - a - share[:, None] * (b - a), axis=1))
    return np.min(found, axis=0)


@pytest.mark.parametrize(
    "vehicle, there_m, back_m",
    [("standard_vtol", 3.0, 3.0), ("tiltrotor", 3.0, 3.0), ("tailsitter", 3.0, 18.0)],
)
def test_it_hovers_up_flies_a_kilometre_on_its_wings_and_lands_in_a_hover(
    simulate, tmp_path, vehicle, there_m, back_m
):
    """Height error in the transitions: there by DO_VTOL_TRANSITION, back before the landing.

    PX4 pitches a tail-sitter up at its speed of flight, so that it rises on the transition back.
    """
    params = tmp_path / "alone.params"
    params.write_text("1\t1\tNAV_DLL_ACT\t0\t6\n")
    simulation = simulate(
        "--vehicle",
        vehicle,
        "--autopilot",
        "px4",
        "--gps",
        "rtk",
        "--speed",
        0,
        "--params",
        str(params),
    )
    simulation.wait_until(6_000_000)
    assert main(["mission", "upload", str(PLAN), "--start"]) == 0
    console = next(simulation.folder.glob(f"*/console/{vehicle}_0.log"))
    until(lambda: "Disarmed by landing" in console.read_text(), "it has landed", simulation.process)
    text = console.read_text().lower()
    assert "failsafe" not in text and "quadchute" not in text
    t_us, states = read_truth(next(simulation.folder.glob("*/truth.bin")), 1)
    pos, vel = states[:, 0, :3], states[:, 0, 7:10]
    fast = np.flatnonzero(np.linalg.norm(vel[:, :2], axis=1) > FAST)
    there, back = t_us[fast[0]], t_us[fast[-1]]
    assert np.linalg.norm(np.diff(pos[fast], axis=0), axis=1).sum() > 1000.0
    change = (t_us > there - 3_000_000) & (t_us < there + 10_000_000)
    assert abs(pos[change, 2] - HEIGHT).max() < there_m
    assert pos[t_us > back - 10_000_000, 2].max() < HEIGHT + back_m
    cruise = pos[(t_us > there + 10_000_000) & (t_us < back - 10_000_000)]
    assert abs(cruise[:, 2] - HEIGHT).max() < 3.0
    assert across(cruise[:, :2]).max() < 30.0  # it cuts the corners
    touching = np.flatnonzero(pos[:, 2] > pos[-1, 2] + 0.2)[-1]
    assert vel[touching:, 2].min() > -1.2
    assert np.linalg.norm(pos[-1, :2]) < 1.5


@pytest.mark.parametrize("heading", [None, 90.0], ids=["no heading", "heading"])
def test_in_wind_it_turns_to_the_transition_by_the_heading_of_the_waypoint_behind(
    simulate, tmp_path, heading
):
    """With its nose into 3.6 m/s of wind and a leg across; WV_EN is 1, as PX4 has it for VTOLs.

    Without that heading PX4's yaw set-point is NaN, and its weathervane holds the nose.
    """
    plan = json.loads(PLAN.read_text())
    plan["mission"]["items"][2]["params"][3] = heading
    path, params = tmp_path / "a.plan", tmp_path / "alone.params"
    path.write_text(json.dumps(plan))
    params.write_text("1\t1\tNAV_DLL_ACT\t0\t6\n")
    simulation = simulate(
        "--vehicles",
        "standard_vtol@0,0,0,1.5708",
        "--autopilot",
        "px4",
        "--gps",
        "rtk",
        "--speed",
        0,
        "--params",
        str(params),
        "--wind",
        "0,-3.6,0",
    )
    simulation.wait_until(6_000_000)
    assert main(["mission", "upload", str(path), "--start"]) == 0
    console = next(simulation.folder.glob("*/console/standard_vtol_0.log"))
    truth = next(simulation.folder.glob("*/truth.bin"))

    def refuses():
        return "unable to reach heading" in console.read_text()

    def flies():
        return np.hypot(*read_truth(truth, 1)[1][-1, 0, 7:9]) > FAST

    until(lambda: refuses() or flies(), "it has turned or given up", simulation.process)
    assert refuses() == (heading is None)
