"""A fleet without contacts is not searched for contacts, and flies the same to the last bit."""

import mujoco
import numpy as np
import pytest

from physics import push
from xtdrone_core import VehicleSpec, resources
from xtdrone_sim.engines.clearance import Clearance
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

STEP_US = 4000
TYPES = ("iris", "typhoon_h480", "standard_vtol", "quadrotor_arm")  # three of them have joints
WITHOUT = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def engine(world, names, places):
    specs = tuple(
        VehicleSpec(name, f"v{k}", tuple(place), 0.3 * k)
        for k, (name, place) in enumerate(zip(names, places, strict=True))
    )
    models = {name: load_vehicle(name) for name in set(names)}
    return EmbeddedEngine(load_world(world), specs, tuple(models[name] for name in names))


def clearance(of):
    return Clearance(of.model, of.addresses.body[:, 0], of.addresses.base[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("world", ["empty", "indoor"])
def test_the_same_bits_with_and_without_the_search(world):
    """36 vehicles hover; then half of them is pushed together, collides, and falls down."""
    names = [TYPES[k % len(TYPES)] for k in range(36)]
    places = [(3.0 * (k % 6) - 7.5, 3.0 * (k // 6) - 7.5, 3.0) for k in range(36)]
    spared, whole = engine(world, names, places), engine(world, names, places)
    assert spared.clearance is not None
    whole.clearance.holds = lambda qpos: False  # MuJoCo looks for contacts at each step
    weight = np.array([9.80665 * model.mass for model in spared.models])
    searched, touched = [], 0
    for k in range(700):
        wrench = np.zeros((36, 6))
        wrench[:, 2] = weight
        if k > 100:
            half = np.arange(36) % 2 == 0
            wrench[half, :2] = -2.0 * spared.state.pos[half, :2] * weight[half, None] / 10.0
            wrench[half, 2] *= 0.9
        for each in (spared, whole):
            push(each, wrench, STEP_US)
        for name in ("pos", "quat", "vel", "ang_vel", "joint_pos"):
            np.testing.assert_array_equal(getattr(spared.state, name), getattr(whole.state, name))
        searched.append(not spared.model.opt.disableflags & WITHOUT)
        touched += whole.data.ncon > 0
        assert spared.data.ncon == whole.data.ncon
    assert touched > 30
    if world == "empty":  # indoors they begin between walls
        assert not any(searched[:100])
    assert all(searched[-20:])


@pytest.mark.slow
@pytest.mark.parametrize("world", ["empty", "indoor", "outdoor"])
def test_whatever_mujoco_finds_in_contact_is_near(world):
    """Two of each type at random, every joint at any angle; also below the ground."""
    names = [name for name in resources.vehicle_names() for _ in range(2)]
    of = engine(world, names, [(4.0 * k, 0.0, 5.0) for k in range(len(names))])
    rng = np.random.default_rng(7)
    free = of.addresses.base[:, 0]
    near = clear = 0
    for _ in range(150):
        of.data.qpos[:] = rng.uniform(-3.0, 3.0, of.model.nq)
        for at in free:
            of.data.qpos[at : at + 3] = rng.uniform((-60, -60, -1), (60, 60, 40))
            turn = rng.normal(size=4)
            of.data.qpos[at + 3 : at + 7] = turn / np.linalg.norm(turn)
        mujoco.mj_kinematics(of.model, of.data)
        mujoco.mj_collision(of.model, of.data)
        holds = clearance(of).holds(of.data.qpos)
        assert not (holds and of.data.ncon)
        near, clear = near + bool(of.data.ncon), clear + holds
    assert near > 10
    if world == "empty":
        assert clear > 10


def test_distances_hold_until_somebody_has_moved_by_half_of_the_least_one():
    of = engine("empty", ["iris"] * 2, [(0.0, 0.0, 100.0), (5.0, 0.0, 100.0)])
    found = clearance(of)
    qpos = of.data.qpos.copy()
    assert found.holds(qpos)
    qpos[of.addresses.base[1, 0]] = 0.5  # inside of each other
    assert not found.holds(qpos)
    qpos[of.addresses.base[1, 0]] = 5.0
    # All distances are looked at 25 steps after the last look, two of which have gone by.
    assert [found.holds(qpos) for _ in range(40)] == [False] * 23 + [True] * 17
    qpos[of.addresses.base[1, 0]] = np.nan
    assert not found.holds(qpos)


def test_what_moves_and_is_no_vehicle_is_always_near():
    of = engine("street", ["iris"] * 2, [(0.0, 0.0, 100.0), (5.0, 0.0, 100.0)])
    assert not clearance(of).holds(of.data.qpos)
