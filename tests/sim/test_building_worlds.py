"""The worlds of buildings: what their plans give, with doors that a vehicle fits through."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xtdrone_core import FleetState, VehicleSpec
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

ROOT = Path(__file__).parents[2]


def distances(world, pos, directions):
    """Returns how far it is from a place along directions (M, 3) to the first thing [m]."""
    model = load_vehicle("iris")
    scene = RenderedScene(
        load_world(world), [VehicleSpec("iris", "v", (0.0, 0.0, 0.0), 0.0)], [model], (1, 1)
    )
    state = FleetState.zeros(1, 4)
    state.pos[0] = 0.0, 0.0, 0.2
    scene.place(state)
    return scene.cast(0, np.array(pos, dtype=float), np.array(directions, dtype=float), 100.0)


def test_the_files_are_what_the_plans_give():
    command = [sys.executable, str(ROOT / "scripts" / "make_worlds.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize("door", [(-13, 4), (1.5, 4), (10, 4), (-7, -4), (8.5, -4), (15, -4)])
def test_doors_of_the_hall_are_open_below_their_lintels(door):
    x, y = door
    side = np.sign(y)
    below, above = (distances("hall", (x, y - side, z), [(0, side, 0)])[0] for z in (1.5, 2.7))
    assert below > 2.0 and above == pytest.approx(0.9)


def test_the_corridor_is_straight_and_bare():
    ahead, left, right = distances("corridor", (10.0, 0.0, 1.5), [(1, 0, 0), (0, 1, 0), (0, -1, 0)])
    assert ahead > 60.0 and left == right == pytest.approx(1.1)
