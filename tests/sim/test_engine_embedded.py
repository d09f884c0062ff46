import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from physics import push
from xtdrone_core import FleetState, VehicleSpec, resources
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.errors import EngineError
from xtdrone_sim.scene import mujoco_scene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

STEP_US = 4000
DT = STEP_US * 1e-6
G = 9.80665


def engine(*specs, world="empty"):
    specs = specs or (VehicleSpec("iris", "iris_0", (0.0, 0.0, 100.0)),)
    return EmbeddedEngine(load_world(world), specs, tuple(load_vehicle(s.type) for s in specs))


def run(engine, steps, wrench=None):
    wrench = np.zeros((len(engine.specs), 6)) if wrench is None else np.array(wrench, dtype=float)
    for _ in range(steps):
        state = push(engine, wrench, STEP_US)
    return state


def test_free_fall():
    """Semi-implicit Euler: the velocity is exact, the place half a step of velocity ahead."""
    found = engine()
    top = found.state.pos[0, 2]
    state = run(found, 250)
    assert state.t_us == 1_000_000
    assert state.vel[0, 2] == pytest.approx(-G, rel=1e-12)
    assert state.pos[0, 2] - top == pytest.approx(-0.5 * G - 0.5 * DT * G, rel=1e-9)
    np.testing.assert_allclose(state.acc[0], (0.0, 0.0, -G), atol=1e-9)


@pytest.mark.parametrize("name", resources.vehicle_names())
def test_a_hover_wrench_keeps_the_height(name):
    found = engine(VehicleSpec(name, "v", (0.0, 0.0, 10.0), 0.7))
    start = found.state.copy()
    weight = found.models[0].mass * G
    state = run(found, 500, [[0, 0, weight, 0, 0, 0]])
    slack = 1e-6 if found.models[0].joints else 1e-12  # of joints that hold a body up
    np.testing.assert_allclose(state.pos, start.pos, atol=max(slack, 1e-9))
    np.testing.assert_allclose(state.quat, start.quat, atol=slack)


def test_torque_in_the_world_frame_gives_the_body_rate():
    """A torque along the world's x axis on a vehicle that is yawed by 90 degrees."""
    found = engine(VehicleSpec("iris", "v", (0.0, 0.0, 10.0), math.pi / 2))
    inertia = np.array(found.models[0].inertia)
    state = run(found, 1, [[0, 0, 0, 0.1, 0, 0]])
    np.testing.assert_allclose(
        state.ang_vel[0], np.linalg.solve(inertia, [0, -0.1, 0]) * DT, rtol=1e-6, atol=1e-9
    )


def test_a_tumbling_vehicle_keeps_energy_and_angular_momentum():
    found = engine()
    found.model.opt.gravity[:] = 0.0
    found.state.ang_vel[0] = found.data.qvel[3:6] = 3.0, 2.0, 6.0
    inertia = np.array(found.models[0].inertia)

    def measure(rate, quat):
        return 0.5 * rate @ inertia @ rate, Rotation.from_quat(quat).apply(inertia @ rate)

    energy, momentum = measure(np.array([3.0, 2.0, 6.0]), found.state.quat[0])
    state = run(found, 2500)
    after = measure(state.ang_vel[0], state.quat[0])
    assert after[0] == pytest.approx(energy, rel=1e-7)
    # The attitude leads by half a step, so its error stays of that size.
    assert np.linalg.norm(after[1] - momentum) < 1e-3 * np.linalg.norm(momentum)


WORLDS = sorted({*resources.world_names()} - {"lake"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, world",
    [
        # Each vehicle in one world, each world with one vehicle or more.
        pytest.param(name, world, marks=[] if world == shown else [pytest.mark.long])
        for name, shown in itertools.zip_longest(
            resources.vehicle_names(), WORLDS, fillvalue="empty"
        )
        for world in WORLDS
    ],
)
def test_a_vehicle_at_z_0_stands_still(name, world):
    found = engine(VehicleSpec(name, "v", (0.0, 0.0, 0.0), 0.4), world=world)
    start = found.state.copy()
    highest = 0.0
    for _ in range(1250):
        state = run(found, 1)
        highest = max(highest, abs(state.vel).max())
    assert abs(state.pos - start.pos).max() < 1e-3
    np.testing.assert_allclose(state.quat, start.quat, atol=2e-3)
    assert highest < 0.06  # settles without a jump
    assert found.contacts().by_name() == [("ground_plane", "v")]


def test_friction_holds_against_a_push_and_yields_to_a_stronger_one():
    weight = load_vehicle("iris").mass * G
    for share, moves in ((0.3, False), (1.5, True)):
        found = engine(VehicleSpec("iris", "v", (0.0, 0.0, 0.0)))
        run(found, 50)
        start = found.state.pos.copy()
        state = run(found, 250, [[share * weight, 0, 0, 0, 0, 0]])
        assert (abs(state.pos - start).max() > 0.1) == moves
        if not moves:
            assert abs(state.pos - start).max() < 1e-3


def test_a_vehicle_lands_softly_and_comes_to_rest():
    found = engine(VehicleSpec("iris", "v", (0.0, 0.0, 0.25)))
    cog = found.models[0].cog[2]
    after = [run(found, 1).pos[0, 2] - cog for _ in range(500)]
    touch = next(i for i, height in enumerate(after) if height < 0.0)
    assert min(after) > -0.03 and max(after[touch:]) < 0.01
    assert abs(found.state.vel).max() < 1e-6 and abs(found.state.acc).max() < 1e-4


def test_contacts_name_vehicles_and_models_of_the_world():
    found = engine(
        VehicleSpec("iris", "low", (0.0, 0.0, 0.0)),
        VehicleSpec("iris", "high", (0.0, 0.0, 0.6)),
        VehicleSpec("iris", "free", (5.0, 5.0, 5.0)),
    )
    assert found.contacts().by_name() == [("ground_plane", "low")]
    run(found, 200)
    assert ("high", "low") in found.contacts().by_name()
    wall = engine(VehicleSpec("iris", "v", (11.8, 0.0, 1.0)), world="indoor")
    assert ("v", "wall_east") in wall.contacts().by_name()


def test_start_poses_put_the_models_origin_there():
    found = engine(VehicleSpec("iris", "v", (1.0, 2.0, 3.0), 0.5))
    np.testing.assert_allclose(
        found.state.pos[0], np.add((1, 2, 3), found.models[0].cog), atol=1e-12
    )
    np.testing.assert_allclose(
        Rotation.from_quat(found.state.quat[0]).as_euler("xyz"), (0, 0, 0.5), atol=1e-12
    )


def fleet_of_three():
    return [VehicleSpec("iris", f"iris_{i}", (3.0 * i, 0.0, 0.0)) for i in range(3)]


def flight(engine, steps=200, seed=4):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        state = push(
            engine, rng.normal(size=(len(engine.specs), 6)) * 0.3 + (0, 0, 15, 0, 0, 0), STEP_US
        )
    return state.copy()


def same(a: FleetState, b: FleetState):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("t_us", "pos", "quat", "vel", "ang_vel", "acc")
    )


def test_two_runs_and_a_reset_run_are_equal_bit_for_bit():
    one, other = engine(*fleet_of_three()), engine(*fleet_of_three())
    first = flight(one)
    assert same(first, flight(other))
    t_us = one.state.t_us
    one.reset()
    again = flight(one)
    assert again.t_us == 2 * t_us  # time goes on
    again.t_us = t_us
    assert same(first, again)


@pytest.mark.parametrize(
    "act, message", [(lambda e: run(e, 1, np.full((1, 6), np.nan)), "'iris_0' is not finite")]
)
def test_what_cannot_be_done_is_said(act, message):
    with pytest.raises(EngineError, match=message):
        act(engine())


def test_window_needs_a_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(EngineError, match="gui needs a display"):
        engine().open_viewer()


def test_more_vehicles_than_memory_takes_are_refused_before_the_scene_is_built(monkeypatch):
    memory = SimpleNamespace(total=2_000_000_000)
    monkeypatch.setattr(mujoco_scene.psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(mujoco_scene.psutil, "swap_memory", lambda: SimpleNamespace(total=0))
    iris = load_vehicle("iris")
    mujoco_scene.refuse_too_many([iris] * 1000)
    with pytest.raises(EngineError, match=r"2000 vehicles .* its 2 GB at most 11\d\d do"):
        mujoco_scene.refuse_too_many([iris] * 2000)
