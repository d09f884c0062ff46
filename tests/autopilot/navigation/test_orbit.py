"""DO_ORBIT as real PX4 v1.15.4's FlightTaskOrbit takes it; flights are in test_places_as_px4.py."""

import math

import numpy as np
import pytest

from stack_flights import NAN, Flight
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import ORBIT

CENTRE = (30.0, 0.0, 12.0)  # east, north, up [m]


@pytest.fixture(scope="module")
def flown():
    flight = Flight()
    flight.take_off()
    yield flight
    flight.simulation.close()


@pytest.fixture
def flight(flown):
    """A vehicle that hovers, and orbits nothing."""
    pause(flown)
    return flown


def pause(flight):
    flight.autopilot.commander.reposition(0, [NAN] * 3, NAN, -1.0, flight.simulation.t_us)


def order(flight, radius=10.0, speed=3.0, heading=0.0, centre=CENTRE):
    """Orders an orbit; returns the vehicle's status."""
    autopilot = flight.autopilot
    autopilot.commander.orbit(0, centre, radius, speed, heading, flight.simulation.t_us)
    return autopilot.status[0]


def change_speed(flight, kind, speed):
    number = mavlink.MAV_CMD_DO_CHANGE_SPEED
    params = kind, speed, -1.0, 0.0, 0.0, 0.0, 0.0
    flight.send(mavlink.MAVLink_command_long_message(1, 1, number, 0, *params))


def arrived(flight, **given):
    """Status of a vehicle that is on the circle of an orbit."""
    status = order(flight, **given)
    flight.autopilot.orbits.arrive(0)
    return status


def test_it_flies_straight_to_the_nearest_point_of_the_circle(flight):
    status = order(flight)
    here = flight.autopilot.estimator.pos[0]
    out = here[:2] - CENTRE[:2]
    nearest = CENTRE[:2] + 10.0 * out / np.linalg.norm(out)
    assert status["nav_state"] == ORBIT
    assert status["target"] == pytest.approx([*nearest, CENTRE[2]])
    assert status["target_yaw"] == pytest.approx(math.atan2(-out[1], -out[0]))


@pytest.mark.parametrize(
    "given, radius, speed",
    [
        ({}, 10.0, 3.0),
        ({"radius": -10.0}, -10.0, 3.0),
        ({"speed": -3.0}, -10.0, 3.0),
        ({"radius": -10.0, "speed": -3.0}, 10.0, 3.0),
        ({"speed": 20.0}, 10.0, math.sqrt(20.0)),
        ({"radius": 100.0, "speed": 20.0}, 100.0, 10.0),
        ({"radius": NAN}, 1.0, math.sqrt(2.0)),
        ({"speed": NAN}, 10.0, 1.0),
        ({"speed": 0.0}, 10.0, 0.0),
    ],
)
def test_radius_and_speed(flight, given, radius, speed):
    status = arrived(flight, **given)
    assert status["orbit_radius"] == radius
    assert status["target_speed"] == pytest.approx(speed, abs=1e-3)
    assert status["target_speed"] > 0.0  # which would be MPC_XY_CRUISE


@pytest.mark.parametrize("radius", [0.5, -0.5, 0.0, 2000.0])
def test_a_radius_that_px4_does_not_take_holds_the_place(flight, radius):
    before = flight.autopilot.estimator.pos[0].copy()
    status = order(flight, radius=radius)
    assert status["nav_state"] == ORBIT
    assert status["target"] == pytest.approx(before, abs=0.5)


@pytest.mark.parametrize("heading, free", [(0, False), (1, True), (2, True), (4, True), (5, False)])
def test_the_heading_is_kept_or_to_the_centre(flight, heading, free):
    yaw = flight.autopilot.estimator.yaw(0)
    status = arrived(flight, heading=float(heading))
    if free:
        assert status["target_yaw"] == pytest.approx(yaw, abs=0.1)
    else:
        assert math.isnan(status["target_yaw"])


def test_a_reposition_that_gives_nothing_ends_orbits_and_flights_to_elsewhere(flight):
    arrived(flight)
    pause(flight)
    assert flight.autopilot.status["nav_state"][0] != ORBIT
    flight.autopilot.commander.reposition(0, CENTRE, NAN, -1.0, flight.simulation.t_us)
    pause(flight)
    here = flight.autopilot.estimator.pos[0]
    assert flight.autopilot.status["target"][0] == pytest.approx(here, abs=1.0)


def test_what_is_not_given_is_that_of_the_present_orbit(flight):
    arrived(flight, radius=-12.0, speed=2.0, heading=3.0)
    status = arrived(flight, radius=NAN, speed=NAN, heading=NAN, centre=(NAN,) * 3)
    assert (status["orbit_radius"], status["target_speed"]) == (-12.0, 2.0)
    assert status["target_yaw"] == math.inf
    assert status["centre"] == pytest.approx(CENTRE)


@pytest.mark.parametrize(
    "kind, speed, now", [(0, 2.0, 4.0), (1, 2.0, 2.0), (1, -1.0, 4.0), (NAN, 2.0, 4.0)]
)
def test_a_change_of_speed_in_a_loiter(flight, kind, speed, now):
    autopilot = flight.autopilot
    autopilot.commander.reposition(0, [20.0, 0.0, 5.0], NAN, 4.0, flight.simulation.t_us)
    change_speed(flight, kind, speed)
    assert autopilot.status["target_speed"][0] == now
    autopilot.commander.reposition(0, [0.0, 0.0, 5.0], NAN, -1.0, flight.simulation.t_us)
    after = autopilot.status["target_speed"][0]
    assert after == speed if speed > 0.0 else math.isnan(after)
    change_speed(flight, 1.0, -1.0)
