"""Gazebo 11 as engine: steps, contacts, whole flights; skipped where it is not set up."""

import json
import os
import select
import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from own_ports import LATEST
from physics import MULTIROTORS, push
from waiting import LIMIT_S
from xtdrone_core import VehicleSpec, resources
from xtdrone_core.command import main
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.engines.gazebo.engine import GazeboEngine
from xtdrone_sim.errors import EngineError
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="needs Gazebo 11: run scripts/setup_gazebo.sh",
    ),
]
STEP_US = 4000
DT = STEP_US * 1e-6
G = 9.80665
CORNERS = np.array([(4, 0), (4, 4), (0, 4), (0, 0)], dtype=float)


@pytest.fixture
def build():
    """build(engine_class, *specs, world) makes an engine that ends with the test."""
    made = []

    def make(engine_class, *specs, world="empty"):
        made.append(
            engine_class(load_world(world), specs, tuple(load_vehicle(s.type) for s in specs))
        )
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def high(name="iris_0", kind="iris", x=0.0):
    return VehicleSpec(kind, name, (x, 0.0, 50.0))


def test_free_fall_is_semi_implicit(build):
    engine = build(GazeboEngine, high())
    engine.reset()
    top = engine.state.pos[0, 2]
    for _ in range(250):
        state = push(engine, np.zeros((1, 6)), STEP_US)
    assert state.t_us == 1_000_000
    assert state.vel[0, 2] == pytest.approx(-G, rel=1e-6)
    assert state.pos[0, 2] - top == pytest.approx(-0.5 * G - 0.5 * DT * G, rel=1e-6)
    np.testing.assert_allclose(state.acc[0], (0, 0, -G), atol=1e-6)


def test_open_loop_both_engines_move_alike(build):
    """2 s of forces and torques that tumble each vehicle: within 5 cm and 0.2 degrees.

    0.4 s with joints: Gazebo's give way under load, and these bodies have no gyroscopic correction.
    All kinds fly at once, 30 m apart, and one more iris, which takes up a payload.
    """
    kinds = [*(kind for kind in MULTIROTORS if not kind.startswith("iris_")), "iris"]
    specs = [high(f"v_{i}", kind, 30.0 * i) for i, kind in enumerate(kinds)]
    models = [load_vehicle(kind) for kind in kinds]
    engines = [build(cls, *specs) for cls in (GazeboEngine, EmbeddedEngine)]
    for engine in engines:
        engine.reset()
    compared = set()
    for k in range(500):
        t = k * DT
        if k == 100:  # taken up in flight
            for engine in engines:
                engine.set_payload(len(kinds) - 1, 0.5, (0.05, -0.12, -0.1))
        wrench = np.array(
            [
                [
                    model.mass * np.sin(3 * t),
                    model.mass * np.cos(2 * t),
                    model.mass * G * (1 + 0.3 * np.sin(4 * t)),
                    *np.diag(np.array(model.inertia)) * 8 * np.sin(5 * t + np.arange(3)),
                ]
                for model in models
            ]
        )
        found, wanted = (push(engine, wrench, STEP_US) for engine in engines)
        if k in (99, 499):
            chosen = [i for i, model in enumerate(models) if bool(model.joints) == (k == 99)]
            compared.update(chosen)
            turns = Rotation.from_quat(found.quat).inv() * Rotation.from_quat(wanted.quat)
            for i in chosen:
                assert np.linalg.norm(wanted.ang_vel[i]) > 0.5, kinds[i]
                assert np.linalg.norm(found.pos[i] - wanted.pos[i]) <= 0.05, kinds[i]
                assert np.degrees(turns.magnitude()[i]) <= 0.2, kinds[i]
    assert len(compared) == len(kinds)


def test_standing_still_contacts_and_reset(build):
    engine = build(GazeboEngine, VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0), 0.4))
    engine.reset()
    start = engine.state.copy()
    for _ in range(250):
        state = push(engine, np.zeros((1, 6)), STEP_US)
    assert np.abs(state.acc).max() < 1e-3  # a shaking vehicle blinds every estimator
    np.testing.assert_allclose(state.pos, start.pos, atol=2e-3)
    assert engine.contacts().by_name() == [("ground_plane", "iris_0")]
    for _ in range(50):
        push(engine, np.array([[0, 0, 30.0, 0, 0, 0]]), STEP_US)
    assert engine.contacts().by_name() == []
    engine.reset()
    again = engine.state
    np.testing.assert_allclose(again.pos, start.pos, atol=1e-9)
    np.testing.assert_allclose(again.vel, 0.0, atol=1e-9)
    assert again.t_us == 300 * STEP_US  # time goes on


def test_normals_point_from_the_first_name_to_the_second(build):
    engine = build(
        GazeboEngine,
        VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)),
        VehicleSpec("iris", "a", (3.0, 0.0, 0.0)),
    )
    engine.reset()
    push(engine, np.zeros((2, 6)), STEP_US)
    contacts = engine.contacts()
    assert contacts.by_name() == [("a", "ground_plane"), ("ground_plane", "iris_0")]
    ups = {contacts.names[i]: normal[2] for (i, _), normal in zip(contacts.pairs, contacts.normals)}
    assert ups == pytest.approx({"a": -1.0, "ground_plane": 1.0}, abs=1e-3)


def test_one_vehicle_is_reset_and_the_other_flies_on(build):
    first, second = (VehicleSpec("iris", f"iris_{i}", (3.0 * i, 0.0, 0.0)) for i in range(2))
    flights = []
    for reset in (False, True):
        engine = build(GazeboEngine, first, second)
        engine.reset()
        start = engine.state.copy()
        for _ in range(50):
            push(engine, np.array([[0, 0, 30.0, 0, 0, 0]] * 2), STEP_US)
        if reset:
            engine.reset(np.array([True, False]))
            np.testing.assert_allclose(engine.state.pos[0], start.pos[0], atol=1e-9)
            np.testing.assert_allclose(engine.state.vel[0], 0.0, atol=1e-9)
        for _ in range(50):
            push(engine, np.array([[0, 0, 30.0, 0, 0, 0]] * 2), STEP_US)
        flights.append(engine.state.copy())
        engine.close()
    np.testing.assert_array_equal(flights[0].pos[1], flights[1].pos[1])
    np.testing.assert_array_equal(flights[0].vel[1], flights[1].vel[1])
    assert flights[1].vel[0, 2] == pytest.approx(flights[0].vel[0, 2] / 2, rel=0.02)


def test_a_payload_weighs_on_the_ground_and_comes_off(build):
    engine = build(GazeboEngine, VehicleSpec("iris", "iris_0", (0.0, 0.0, 0.0)))
    engine.reset()
    mass = load_vehicle("iris").mass
    still, lift = np.zeros((1, 6)), np.array([[0, 0, (mass + 0.25) * G, 0, 0, 0]])
    engine.set_payload(0, 0.5, (0.0, 0.0, -0.05))
    for wrench in (still, lift):  # the lift is too little for vehicle and payload together
        for _ in range(250):
            state = push(engine, wrench, STEP_US)
    assert abs(state.vel).max() < 1e-2
    assert engine.contacts().by_name() == [("ground_plane", "iris_0")]
    engine.set_payload(0, 0.0, (0.0, 0.0, 0.0))
    before = state.vel[0, 2]
    for _ in range(50):
        state = push(engine, lift, STEP_US)
    assert state.vel[0, 2] - before == pytest.approx(0.2 * 0.25 * G / mass, rel=0.05)


def test_gazebos_own_tools_work_on_the_running_world(build):
    """Its pose can be asked for; its pause button neither stops time nor makes it pass."""
    engine = build(GazeboEngine, high())
    engine.reset()
    hover = np.array([[0, 0, load_vehicle("iris").mass * G, 0, 0, 0]])

    def gz(words):
        script = f". {resources.root()}/.setup/gazebo11/env.sh; {words}"
        return subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True)

    with gz("gz world --pause 1") as running:
        while running.poll() is None:
            push(engine, hover, STEP_US)
    with gz("gz world --pause 0; gz model --model-name iris_0 --pose") as running:
        answer = running.communicate(timeout=LIMIT_S)[0]
    assert [float(x) for x in answer.split()][2] == pytest.approx(50.1, abs=0.01)
    state = push(engine, hover, STEP_US)
    assert state.pos[0, 2] == pytest.approx(50.1, abs=0.01)


def test_a_second_gazebo_is_refused(build):
    build(GazeboEngine, high())
    with pytest.raises(EngineError, match="another Gazebo"):
        build(GazeboEngine, high())


def test_a_plugin_that_gazebo_cannot_load_is_named(build, monkeypatch, tmp_path):
    """At once, though gzserver goes on without it."""
    setup = tmp_path / ".setup" / "gazebo11"
    setup.mkdir(parents=True)
    (setup / "libxtdrone_lockstep.so").write_text("of another release")
    for name in ("models", "worlds", "src", ".setup/gazebo11/env.sh", ".setup/gazebo11/plugin"):
        (tmp_path / name).symlink_to(resources.root() / name)
    monkeypatch.setenv("XTDRONE_ROOT", str(tmp_path))
    with pytest.raises(EngineError, match="does not start: .*Failed to load plugin"):
        build(GazeboEngine, high())


def test_a_server_that_ends_is_named(build):
    engine = build(GazeboEngine, high())
    os.killpg(engine.server.pid, signal.SIGKILL)
    with pytest.raises(EngineError, match="gzserver"):
        for _ in range(1000):
            push(engine, np.zeros((1, 6)), STEP_US)


def test_nothing_survives_a_simulation_that_is_killed():
    code = (
        "import sys; from xtdrone_core import VehicleSpec;"
        "from xtdrone_sim.engines.gazebo.engine import GazeboEngine;"
        "from xtdrone_sim.vehicles.sdf import load_vehicle;"
        "from xtdrone_sim.world import load_world;"
        "e = GazeboEngine(load_world('empty'), (VehicleSpec('iris', 'a', (0., 0., 0.)),),"
        "(load_vehicle('iris'),)); print(e.server.pid, e.folder, flush=True);"
        "sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pid, folder = parent.stdout.readline().split()
    number = os.pidfd_open(int(pid))
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert select.select([number], [], [], LIMIT_S)[0]
    os.close(number)
    subprocess.run(["rm", "-r", folder], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.long), 4])
def test_square_with_the_embedded_autopilot(runs, n):
    assert main(["fly", "square", "--engine", "gazebo", "--gps", "rtk", "--n", str(n)]) == 0
    folder = (runs / LATEST).resolve()
    t_us, table = read_truth(folder / "truth.bin", n)
    lines = (folder / "events.jsonl").read_text().splitlines()
    corners = [event for event in map(json.loads, lines) if event["event"] == "corner"]
    assert len(corners) == 4
    for corner, place in zip(corners, CORNERS):
        k = np.searchsorted(t_us, corner["t_us"])
        assert np.linalg.norm(table[k, :, :2] - table[0, :, :2] - place, axis=1).max() <= 0.3
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["landed"] and summary["collisions"] == 0 and summary["engine"] == "gazebo"
