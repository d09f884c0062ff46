"""Vehicles that touch nothing are stepped without MuJoCo: as it would, whatever else is near."""

import mujoco
import numpy as np
import pytest

from physics import push
from xtdrone_core import VehicleSpec, resources
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.engines.free_flight import FreeFlight
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

STEP_US = 4000
STATE = "pos", "quat", "vel", "ang_vel"


def engine(names, places, world="empty"):
    specs = tuple(
        VehicleSpec(name, f"v{k}", tuple(place), 0.3 * k)
        for k, (name, place) in enumerate(zip(names, places, strict=True))
    )
    models = {name: load_vehicle(name) for name in set(names)}
    return EmbeddedEngine(load_world(world), specs, tuple(models[name] for name in names))


def wrenches(of, rng):
    """Weight and a disturbance (N, B, 6) that tumbles them."""
    mass = np.array([model.mass for model in of.models])
    moments = np.array([np.diag(model.inertia) for model in of.models])
    wrench = rng.normal(size=(len(mass), 6))
    wrench *= np.column_stack([mass, mass, mass, 20.0 * moments])
    wrench[:, 2] += 9.80665 * mass
    return wrench


@pytest.mark.parametrize("payload", [0.0, 0.3])
@pytest.mark.parametrize("name", resources.vehicle_names())
def test_it_flies_as_mujoco_lets_it_fly(name, payload, monkeypatch):
    """For a second, from a slow turn on; with a payload beside the centre of gravity as well."""
    flown = []
    for alone in (True, False):
        of = engine([name], [(0.0, 0.0, 50.0)])
        if payload:
            of.set_payload(0, payload, (0.1, -0.05, -0.1))
        of.state.ang_vel[0] = of.data.qvel[3:6] = 0.01, 0.02, -0.01
        if not alone:
            monkeypatch.setattr(FreeFlight, "is_all", lambda self, data: False)
            monkeypatch.setattr(FreeFlight, "finish", lambda self, data: None)
        rng = np.random.default_rng(5)
        for _ in range(250):
            push(of, wrenches(of, rng), STEP_US)
        flown.append([getattr(of.state, name).copy() for name in STATE])
    for own, mujocos in zip(*flown, strict=True):
        np.testing.assert_allclose(own, mujocos, rtol=0, atol=1e-11)
    assert np.abs(flown[0][3]).max() > 0.5  # it turned


def test_mujoco_is_not_called_where_all_fly_freely(monkeypatch):
    of = engine(["iris", "solo"], [(0.0, 0.0, 20.0), (5.0, 0.0, 20.0)])
    still = np.zeros((2, 6))
    push(of, still, STEP_US)  # looks for contacts once
    monkeypatch.setattr(mujoco, "mj_step", None)
    time = of.data.time
    push(of, still, STEP_US)
    assert of.data.time == time + STEP_US * 1e-6
    assert of.state.acc[:, 2] == pytest.approx(-9.80665, rel=1e-6)


def test_what_another_vehicle_touches_changes_nothing():
    """One stands on the ground beside one that flies, or is not there at all."""
    places = [(0.0, 0.0, 30.0), (5.0, 0.0, 0.3)]
    both, one = engine(["iris", "iris"], places), engine(["iris"], places[:1])
    rng = np.random.default_rng(2)
    for _ in range(300):
        wrench = np.zeros((2, 6))
        wrench[0] = wrenches(one, rng)[0]
        push(both, wrench, STEP_US)
        push(one, wrench[:1], STEP_US)
    assert len(both.contacts().pairs)
    for name in STATE:
        np.testing.assert_array_equal(getattr(both.state, name)[0], getattr(one.state, name)[0])


def test_who_touches_something_is_moved_by_mujoco():
    of = engine(["iris"], [(0.0, 0.0, 0.3)])
    for _ in range(400):
        push(of, np.zeros((1, 6)), STEP_US)
    assert 0.0 < of.state.pos[0, 2] < 0.3 and np.abs(of.state.vel).max() < 1e-6
    assert of.data.ntree_awake == 0  # and falls asleep


def test_one_that_is_hung_up_is_left_to_mujoco():
    """Tendons and welds of a scene act on bodies that touch nothing."""
    of = engine(["iris"], [(0.0, 0.0, 3.0)])
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="v0")
    body.add_freejoint()
    body.add_geom(size=[0.1, 0, 0])
    body.add_site(name="hook")
    spec.worldbody.add_site(name="ceiling", pos=[0, 0, 5])
    tendon = spec.add_tendon(limited=True, range=[0, 1])
    tendon.wrap_site("hook")
    tendon.wrap_site("ceiling")
    model = spec.compile()
    at = of.addresses.base
    assert FreeFlight(of.model, of.masses, at).is_all(of.data)
    assert not FreeFlight(model, of.masses, at).is_all(mujoco.MjData(model))
