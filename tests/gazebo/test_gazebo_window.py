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
from xtdrone_sim.errors import EngineError
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="needs Gazebo 11: run scripts/setup_gazebo.sh",
    ),
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb: apt-get install xvfb"),
]
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


@pytest.fixture
def engine(screen):
    found = GazeboEngine(
        load_world("empty"),
        (VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),),
        (load_vehicle("iris"),),
        PORTS.instance,
    )
    yield found
    found.close()


def until_drawn(screen, engine):
    waiting.until(
        lambda: (screen() == GROUND).all(axis=2).sum() > SEEN,
        "the ground is drawn",
        running=engine.server,
    )


@pytest.mark.long  # the next test has this, too
def test_gzclient_draws_the_world(screen, engine):
    engine.open_viewer()
    until_drawn(screen, engine)


@pytest.mark.long
def test_gzclient_that_ends_at_its_start_is_opened_again(screen, engine):
    engine.open_viewer()
    first = engine.processes[-1]
    first.kill()
    until_drawn(screen, engine)
    second = engine.processes[-1]
    # The kernel ends what a thread started with that thread.
    assert second is not first and second.poll() is None and engine.opening.is_alive()
    engine.close()
    assert second.poll() is not None and not engine.opening.is_alive()


def test_no_gzclient_is_one_line(engine, monkeypatch):
    monkeypatch.setitem(engine.environment, "PATH", "/nowhere")
    with pytest.raises(EngineError, match="there is no gzclient"):
        engine.open_viewer()


def test_gzserver_whose_window_the_display_refuses_is_started_again(tmp_path, monkeypatch):
    """Xlib's exit hangs in Gazebo's thread: the process stays, and with it the port."""
    read = GazeboEngine.read_environment
    monkeypatch.setattr(
        GazeboEngine,
        "read_environment",
        lambda *args: {**(found := read(*args)), "PATH": f"{tmp_path}:{found['PATH']}"},
    )
    script = tmp_path / "gzserver"
    script.write_text(f"""#!/bin/bash
if [ ! -e {tmp_path}/first ]; then
    echo $$ >{tmp_path}/first
    echo "X Error of failed request:  BadDrawable (invalid Pixmap or Window parameter)"
    exec sleep 600
fi
PATH=${{PATH#*:}}
exec gzserver "$@"
""")
    script.chmod(0o755)
    GazeboEngine(
        load_world("empty"),
        (VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),),
        (load_vehicle("iris"),),
        PORTS.instance,
    ).close()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "first").read_text()), 0)
