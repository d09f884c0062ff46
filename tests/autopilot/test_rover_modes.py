"""Rovers and boats under the embedded flight stack."""

import json
import math

import numpy as np
import pytest

from rover_modes import RECORD, VEHICLES, Embedded, script
from stack_flights import MissionFlight
from xtdrone_core import Mode
from xtdrone_core.mavlink.dialect import mavlink

WAYPOINT, TAKEOFF, LAND = (
    mavlink.MAV_CMD_NAV_WAYPOINT,
    mavlink.MAV_CMD_NAV_TAKEOFF,
    mavlink.MAV_CMD_NAV_LAND,
)
COURSE = ((24, 0), (24, 18), (0, 18), (0, 6))
ALL = pytest.mark.parametrize("vehicle", VEHICLES)


def ready(vehicle):
    return MissionFlight(vehicle, world="lake" if vehicle == "boat" else "empty").ready()


@pytest.mark.slow
def test_a_boat_that_drifts_with_the_wind_is_not_taken_for_one_at_rest():
    flight = MissionFlight("boat", world="lake", wind="mean=0,5,0")
    flight.run(15.0)
    assert flight.vel[1] > 0.2 and flight.autopilot.status["ready"][0]
    assert np.linalg.norm(flight.autopilot.estimator.pos[0] - flight.pos) < 0.3


def driving(vehicle, mode):
    """Armed in a mode of sticks; call sticks() at 10 Hz or more."""
    flight = ready(vehicle)
    sticks(flight)()
    assert flight.set_mode(mode).accepted
    assert flight.autopilot.commander.arm(0, flight.simulation.t_us).accepted
    return flight


def sticks(flight, throttle=0.0, roll=0.0):
    """A function that sends the sticks, both -1..1."""
    return lambda: flight.send(
        mavlink.MAVLink_manual_control_message(
            1, 0, round(1000 * roll), round(500 + 500 * throttle), 0, 0
        )
    )


def heading(flight):
    x, y, z, w = flight.simulation.state.quat[0]
    return math.atan2(2 * (x * y + z * w), 1 - 2 * (y * y + z * z))


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle, near",
    [("rover", 3.0), pytest.param("r1_rover", 2.0, marks=pytest.mark.long), ("boat", 5.0)],
)
def test_a_mission_is_driven_to_its_end(vehicle, near):
    flight = ready(vehicle)
    items = [flight.item(WAYPOINT, *place) for place in COURSE]
    assert flight.upload(items) == mavlink.MAV_MISSION_ACCEPTED
    flight.start()
    way = []
    flight.run(1.0)
    while flight.mode == Mode.MISSION and flight.simulation.t_us < 300_000_000:
        way.append(flight.pos[:2])
        flight.run(0.1)
    assert flight.mode == Mode.LOITER and "Mission finished, loitering" in flight.said
    for corner in COURSE:
        assert np.linalg.norm(np.array(way) - corner, axis=1).min() < near + 3.0 * (corner[1] == 6)
    flight.wait(lambda: np.linalg.norm(flight.vel) < 0.05, 20)
    flight.set_mode(Mode.RTL)
    flight.wait(lambda: np.linalg.norm(flight.pos[:2]) < 3.0, 120)


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle, mode",
    [
        # All modes of one vehicle, and the one that differs most of the others: what the sticks
        # command in each mode of each vehicle is held against PX4 below.
        pytest.param(
            vehicle,
            mode,
            marks=[] if vehicle == "rover" or mode == Mode.POSCTL else [pytest.mark.long],
        )
        for vehicle in VEHICLES
        for mode in (Mode.MANUAL, Mode.ACRO, Mode.STABILIZED, Mode.POSCTL)
    ],
)
def test_sticks_drive_ahead_turn_and_stop(vehicle, mode):
    flight = driving(vehicle, mode)
    flight.run(6.0, sticks(flight, 0.4))
    assert flight.pos[0] > 1.0 and abs(flight.pos[1]) < 0.3
    before = heading(flight)
    # To the right; as under PX4, the boat's sticks turn it slowly.
    flight.run(1.0, sticks(flight, 0.4, 1.0 if vehicle == "boat" else 0.1))
    assert 0.01 < (before - heading(flight)) % math.tau < math.pi
    for _ in range(15):
        flight.run(1.0, sticks(flight))
        if np.linalg.norm(flight.vel) < 0.15:
            break
    assert np.linalg.norm(flight.vel) < 0.15
    assert flight.autopilot.commander.disarm(0).accepted  # no landing before it


@pytest.mark.slow
def test_posctl_keeps_the_speed_of_the_stick():
    for vehicle, maximum in (("rover", 4.0), ("r1_rover", 40 * 0.0686), ("boat", 1.0)):
        flight = driving(vehicle, Mode.POSCTL)
        flight.run(10.0, sticks(flight, 0.5))
        assert flight.vel[0] == pytest.approx(0.5 * maximum, rel=0.2)


def test_acro_turns_a_differential_drive_at_the_rate_of_the_stick():
    """Its wheels scrub, so that the rate is smaller without the loop (MANUAL)."""
    rates = []
    for mode in (Mode.ACRO, Mode.MANUAL):
        flight = driving("r1_rover", mode)
        flight.run(3.0, sticks(flight, 0.0, 0.1))
        rates.append(-flight.simulation.state.ang_vel[0, 2])
    wanted = 0.1 * 2 * 40 * 0.0686 / (2 * 0.16317)
    assert abs(rates[0] - wanted) < abs(rates[1] - wanted)


def test_stabilized_keeps_the_heading():
    flight = driving("rover", Mode.STABILIZED)
    flight.run(3.0, sticks(flight, 0.3))
    flight.run(1.0, sticks(flight, 0.3, 0.2))
    flight.run(4.0, sticks(flight, 0.3))
    assert heading(flight) == pytest.approx(-math.radians(150) * 0.2, abs=0.06)


@pytest.mark.slow
@ALL
def test_modes_are_taken_over_armed_and_driven_as_by_px4(vehicle):
    """Against rover_modes.RECORD: the outputs after each move of the sticks, or no arming."""
    for name, there in json.loads(RECORD.read_text())[vehicle].items():
        mode = Mode[name]
        if mode in (Mode.ALTCTL, Mode.TAKEOFF) or (mode == Mode.POSCTL and vehicle != "r1_rover"):
            continue  # PX4's own, see docs/autopilot.md
        driven = Embedded(vehicle, "lake" if vehicle == "boat" else "empty")
        here = script(mode, driven)
        driven.close()
        assert {**here, "controls": 0} == {**there, "controls": 0}, name
        # 0.02 at most as measured, in STABILIZED.
        assert np.allclose(here.get("controls", 0), there.get("controls", 0), atol=0.05), name


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle", [pytest.param("rover", marks=pytest.mark.long), "r1_rover", "boat"]
)
def test_offboard_takes_places_and_velocities(vehicle):
    flight = ready(vehicle)
    place, speed = 0xDFC, 0xDE7  # masks that leave x and y

    def send():
        flight.target(1, place, x=6.0, y=8.0)

    flight.run(1.0, send)
    flight.offboard()
    assert flight.autopilot.commander.arm(0, flight.simulation.t_us).accepted
    flight.run(25.0, send)
    assert np.linalg.norm(flight.pos[:2] - (8.0, 6.0)) < 3.0
    flight.run(12.0, lambda: flight.target(1, speed, vx=0.0, vy=-0.8))
    assert flight.vel[0] == pytest.approx(-0.8, abs=0.3)


@ALL
def test_what_flies_only_is_refused_with_the_reason(vehicle):
    flight = ready(vehicle)
    for mode in (Mode.TAKEOFF, Mode.ALTCTL, Mode.LAND, Mode.FOLLOW_TARGET):
        flight.set_mode(mode)
        answer = flight.autopilot.commander.arm(0, flight.simulation.t_us)
        assert not answer.accepted and "rovers and boats stay at their height" in answer.reason
    flight.set_mode(Mode.LOITER)
    for command in (TAKEOFF, LAND):
        flight.upload([flight.item(command, 10, 0, 5.0)])
        assert "mission item 0 is for what flies" in flight.autopilot.missions.why_not(0)


def test_types_are_those_of_px4():
    for vehicle, number in (("rover", 10), ("r1_rover", 10), ("boat", 11)):
        flight = MissionFlight(vehicle)
        assert flight.autopilot.parameters.get(0, "MAV_TYPE") == number
