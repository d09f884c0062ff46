"""A payload in the engine, against the equations of one rigid body."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from physics import push
from xtdrone_core import VehicleSpec
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

STEP_US = 4000
DT = STEP_US * 1e-6
G = 9.80665
PLACE = np.array((0.05, -0.12, -0.1))


def engine(*heights, name="iris"):
    specs = tuple(VehicleSpec(name, f"v_{i}", (3.0 * i, 0.0, h)) for i, h in enumerate(heights))
    return EmbeddedEngine(load_world("empty"), specs, (load_vehicle(name),) * len(specs))


def run(engine, steps, wrench):
    for _ in range(steps):
        push(engine, np.array(wrench, dtype=float), STEP_US)
    return engine.state


def acceleration(model, mass, place, force, torque):
    """Of the empty vehicle's centre of gravity and of the rates, out of rest and level."""
    total = model.mass + mass
    centre = mass * place / total
    inertia = np.array(model.inertia) + sum(
        m * (r @ r * np.eye(3) - np.outer(r, r))
        for m, r in ((model.mass, -centre), (mass, place - centre))
    )
    turning = np.linalg.solve(inertia, torque - np.cross(centre, force))
    return force / total - (0, 0, G) + np.cross(turning, -centre), turning


@pytest.mark.parametrize("name", ["iris", "typhoon_h480"])
@pytest.mark.parametrize("mass", [0.01, 0.3, 5.0])
def test_the_loaded_body_obeys_newton_and_euler(name, mass):
    found = engine(50.0, 50.0, name=name)
    found.set_payload(1, mass, PLACE)
    force, torque = np.array((1.0, -2.0, 18.0)), np.array((0.1, 0.2, -0.05))
    state = run(found, 1, [[*force, *torque]] * 2)
    for i, carried in enumerate((0.0, mass)):
        linear, turning = acceleration(found.models[0], carried, PLACE, force, torque)
        # The gyroscopic torque that comes with the turning within the step counts, too.
        np.testing.assert_allclose(state.vel[i] / DT, linear, rtol=2e-5, atol=3e-5)
        np.testing.assert_allclose(state.ang_vel[i] / DT, turning, rtol=2e-5, atol=3e-4)


def test_payload_changes_in_place_and_comes_off():
    found = engine(50.0)
    found.set_payload(0, 0.4, PLACE)
    run(found, 20, [[0, 0, 19.0, 0, 0, 0]])
    model, before = found.model, found.state.copy()
    found.set_payload(0, 0.2, (0.0, 0.0, 0.0))
    assert found.model is model
    state = run(found, 1, [[0, 0, 17.0, 0, 0, 0]])
    assert (state.vel[0] - before.vel[0])[2] / DT == pytest.approx(17.0 / 1.745 - G, rel=1e-3)
    found.set_payload(0, 0.0, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(
        found.masses.records["inertia"], engine(50.0).masses.records["inertia"], rtol=1e-12
    )
    before = found.state.copy()
    np.testing.assert_array_equal(
        run(found, 1, np.zeros((1, 6))).vel[0] - before.vel[0], found.state.acc[0] * DT
    )
    assert found.state.acc[0, 2] == pytest.approx(-G, rel=1e-6)


def test_the_others_fly_on_as_they_were():
    found, plain = engine(10.0, 20.0), engine(10.0, 20.0)
    for body in (found, plain):
        run(body, 50, [[0.1, 0, 16, 0.01, 0.02, 0]] * 2)
    found.set_payload(0, 0.3, PLACE)
    for body in (found, plain):
        run(body, 50, [[0.1, 0, 16, 0.01, 0.02, 0]] * 2)
    np.testing.assert_array_equal(found.state.pos[1], plain.state.pos[1])
    np.testing.assert_array_equal(found.state.ang_vel[1], plain.state.ang_vel[1])
    assert found.state.t_us == plain.state.t_us


def test_a_tumbling_loaded_body_keeps_its_angular_momentum_and_falls_freely():
    found = engine(100.0)
    found.set_payload(0, 0.5, PLACE)
    found.state.ang_vel[0] = found.data.qvel[3:6] = 3.0, 2.0, 6.0
    model = found.models[0]
    centre = 0.5 * PLACE / (model.mass + 0.5)
    inertia = np.array(model.inertia) + sum(
        m * (r @ r * np.eye(3) - np.outer(r, r))
        for m, r in ((model.mass, centre), (0.5, PLACE - centre))
    )

    def momentum():
        turn = Rotation.from_quat(found.state.quat[0])
        return turn.apply(inertia @ found.data.qvel[3:6])

    before = momentum()
    start = found.state.pos[0] + centre
    fall = np.cross((3.0, 2.0, 6.0), centre)
    state = run(found, 500, np.zeros((1, 6)))
    # The attitude leads by half a step, 14 mrad at this rate.
    assert np.linalg.norm(momentum() - before) < 1e-2 * np.linalg.norm(before)
    there = state.pos[0] + Rotation.from_quat(state.quat[0]).apply(centre)
    np.testing.assert_allclose(there, start + 2.0 * fall - (0, 0, 0.5 * G * 4.0), atol=0.1)


def test_a_loaded_vehicle_stands_on_the_ground_with_its_whole_weight():
    found = engine(0.0)
    found.set_payload(0, 0.5, (0.0, 0.0, -0.05))
    run(found, 250, np.zeros((1, 6)))
    lift = (found.models[0].mass + 0.25) * G  # too little for vehicle and payload together
    state = run(found, 250, [[0, 0, lift, 0, 0, 0]])
    assert abs(state.vel).max() < 1e-3 and found.contacts().by_name() == [("ground_plane", "v_0")]
    assert run(found, 100, [[0, 0, lift + 0.3 * G, 0, 0, 0]]).vel[0, 2] > 0.05
