"""gzclient on a running world; skipped where Gazebo is not set up."""

import os
import shutil

import numpy as np
import pytest
from PIL import ImageGrab

import waiting
import walk
from own_ports import PORTS
from xtdrone_core import VehicleSpec, resources
from xtdrone_sim.engines.gazebo.engine import GazeboEngine
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

pytestmark = [pytest.mark.gazebo, pytest.mark.slow, pytest.mark.skipif(
    not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
    reason="needs Gazebo 11: run scripts/setup_gazebo.sh"), pytest.mark.skipif(
    shutil.which("Xvfb") is None, reason="needs Xvfb: apt-get install xvfb")]
GROUND = np.array([123, 137, 109])  # of worlds/empty.world under its sun, 8 bits a channel
SEEN = 100_000  # pixels; the start-up window of gzclient has none of that colour


@pytest.fixture
def screen(monkeypatch):
    """A display without other windows; gives a function that returns its pixels, (H, W, 3)."""
    monkeypatch.delenv("DISPLAY", raising=False)
    server = walk.display()
    yield lambda: np.asarray(ImageGrab.grab(xdisplay=os.environ["DISPLAY"]).convert("RGB"))
    server.terminate()
    server.wait()


def test_gzclient_draws_the_world(screen):
    engine = GazeboEngine(load_world("empty"), (VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),),
                          (load_vehicle("iris"),), PORTS.instance)
    try:
        engine.open_viewer()
        waiting.until(lambda: (screen() == GROUND).all(axis=2).sum() > SEEN, "the ground is drawn",
                      running=engine._server)
    finally:
        engine.close()
