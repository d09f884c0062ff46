"""Floats and propellers: read from SDF files, and how boats float and move."""

import math

import numpy as np
import pytest

import jointed
from afloat import DRAUGHT, INERTIA, KEEL, LENGTH, MASS, WATER, WIDTH, G, boat, powered, start
from ground import Ride
from xtdrone_sim.errors import SdfError
from xtdrone_sim.world import load_world


def periods(values, dt=0.004):
    """Mean time between the upward crossings of a value's mean [s]."""
    rising = np.flatnonzero((values[:-1] < 0.0) & (values[1:] >= 0.0))
    at = rising - values[rising] / (values[rising + 1] - values[rising])
    return np.diff(at).mean() * dt


def test_it_floats_at_the_depth_that_carries_its_mass(tmp_path):
    drag = "<linear_drag>0 0 800</linear_drag>"
    rows = Ride(boat(tmp_path, drag), "lake", start(z=0.1)).go(5.0)
    assert -(rows[-1, 2] + KEEL) == pytest.approx(DRAUGHT, rel=1e-4)
    assert abs(rows[-1, 7:]).max() < 1e-3


def test_it_heaves_and_rolls_with_the_periods_of_its_waterplane(tmp_path):
    """Without drag: heave sqrt(rho g A / m), roll sqrt(m g GM / I), GM = I_wp / V + KB - KG."""
    heave = Ride(boat(tmp_path), "lake", start(z=-KEEL - DRAUGHT + 0.01)).go(10.0)
    expected = math.tau / math.sqrt(WATER * G * LENGTH * WIDTH / MASS)
    assert periods(heave[:, 2] + KEEL + DRAUGHT) == pytest.approx(expected, rel=0.01)
    metacentre = WIDTH**3 * LENGTH / 12 * WATER / MASS + 0.5 * DRAUGHT + KEEL
    roll = Ride(boat(tmp_path), "lake", start(roll=0.03)).go(20.0)
    expected = math.tau / math.sqrt(MASS * G * metacentre / INERTIA[0])
    assert periods(roll[:, 3]) == pytest.approx(expected, rel=0.01)


def test_water_without_drag_neither_adds_energy_nor_takes_any(tmp_path):
    """Over ten seconds of large rolls and heaves, a corner of the deck under water."""
    vehicle = boat(tmp_path)
    rows = Ride(vehicle, "lake", start(roll=0.4, z=0.15)).go(10.0)
    kinetic = 0.5 * (
        MASS * (rows[:, 7:10] ** 2).sum(axis=1)
        + np.einsum("ki,ij,kj->k", rows[:, 10:], vehicle.inertia, rows[:, 10:])
    )
    fastest = kinetic[:1250].max(), kinetic[1250:].max()
    assert fastest[1] == pytest.approx(fastest[0], rel=0.03)


def test_drag_brings_it_to_rest(tmp_path):
    drag = (
        "<linear_drag>50 100 500</linear_drag><quadratic_drag>20 0 0</quadratic_drag>"
        "<linear_damping>50 50 50</linear_damping>"
    )
    vehicle = boat(tmp_path, drag)
    rows = Ride(vehicle, "lake", start(forward=3.0)).go(20.0)
    assert abs(rows[-1, 7:]).max() < 1e-2
    # With linear and quadratic drag it goes (m / b) ln(1 + b v / a).
    assert rows[-1, 0] == pytest.approx(MASS / 20.0 * math.log(1 + 20.0 * 3.0 / 50.0), rel=0.02)


def test_two_propellers_reach_the_speed_at_which_drag_equals_thrust(tmp_path):
    vehicle = powered(tmp_path)
    rows = Ride(vehicle, "lake", start()).go(30.0, 0.5, 0.5)
    thrust = 2 * 2e-5 * 550.0**2
    speed = (-10.0 + math.sqrt(100.0 + 4 * 8.0 * thrust)) / 16.0
    assert rows[-1, 7] == pytest.approx(speed, rel=0.01)


def test_unequal_propellers_turn_it_and_backwards_is_possible(tmp_path):
    vehicle = powered(tmp_path)
    rows = Ride(vehicle, "lake", start()).go(10.0, -0.3, 0.3)
    assert rows[-1, 12] == pytest.approx(2 * 0.3 * 2e-5 * 330.0**2 / 50.0, rel=0.02)


def test_a_propeller_out_of_the_water_does_not_push(tmp_path):
    ride = Ride(powered(tmp_path), "lake", start(z=5.0))
    ride.go(0.2, 1.0, 1.0)
    assert abs(ride.state.vel[0, :2]).max() == 0.0


def test_without_water_it_lies_on_the_ground(tmp_path):
    rows = Ride(boat(tmp_path), "empty", start(z=0.03)).go(1.0)
    assert rows[-1, 2] == pytest.approx(0.025, abs=2e-3)


def test_water_comes_from_the_world(tmp_path):
    assert (load_world("lake").water, load_world("lake").water_density) == (0.0, WATER)
    assert load_world("empty").water == -math.inf
    sea = tmp_path / "ocean.world"
    sea.write_text(
        '<sdf version="1.6"><world name="w"><model name="ocean"><static>1</static>'
        '<pose>0 0 1.5 0 0 0</pose><link name="l"/></model></world></sdf>'
    )
    assert (load_world(str(sea)).water, load_world(str(sea)).water_density) == (1.5, 1025.0)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ("<size>1 0 1</size><link>base</link>", "<size> of <xtdrone:hull> is 1 0 1: give length"),
        ("<size>1 1 1</size><link>keel</link>", "there is no link 'keel'"),
        ("<size>1 1 1</size><link>base</link><drag>1</drag>", "drag"),
    ],
)
def test_floats_that_make_no_sense_are_refused(tmp_path, wrong, words):
    with pytest.raises(SdfError, match=words):
        jointed.write(tmp_path, jointed.link("base") + f"<xtdrone:hull>{wrong}</xtdrone:hull>")
