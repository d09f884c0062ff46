"""Tail-sitters on half wings as VTOLs: missions with transitions by the embedded flight stack."""

import math

import numpy as np
import pytest

from stack_flights import NAN
from xtdrone_autopilot.navigation import plan_file
from xtdrone_autopilot.state.vehicle_status import (
    HOVERS,
    NO_VTOL,
    ON_WINGS,
    TO_FIXED_WING,
    TO_HOVER,
)
from xtdrone_core import FleetModel, Mode, Scenario, resources
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.abilities.vehicle_type import half_winged
from xtdrone_dynamics.quaternion import rotate
from xtdrone_sim.mission_check import check_plan
from xtdrone_sim.vehicles.sdf import load_vehicle

PLAN = plan_file.load(resources.root() / "docs/missions/tail_sitter.plan")
INDI = {"velocity_control": "indi", "rate_control": "indi", "gps": "rtk"}
WIND = "mean=0,5,0 dryden=5"
RADIUS = 80.0  # NAV_LOITER_RAD [m]


def state(f):
    return int(f.autopilot.status["vtol_state"][0])


def transition(f, wanted):
    """DO_VTOL_TRANSITION; returns the result of the acknowledgement, None = no answer."""
    f.links.replies.clear()
    f.send(
        mavlink.MAVLink_command_long_message(
            1, 1, mavlink.MAV_CMD_DO_VTOL_TRANSITION, 0, float(wanted), 0, 0, 0, 0, 0, 0
        )
    )
    return f.links.replies[-1].result if f.links.replies else None


def test_only_vehicles_on_half_wings_are_half_winged():
    names = ("phi_tailsitter", "tal_tailsitter", "tailsitter", "standard_vtol", "plane", "iris")
    fleet = FleetModel.of([load_vehicle(name) for name in names])
    assert half_winged(fleet).tolist() == [True, True, False, False, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "wind"),
    [
        pytest.param("phi_tailsitter", "", marks=pytest.mark.long),
        pytest.param("tal_tailsitter", "", marks=pytest.mark.long),
        pytest.param("phi_tailsitter", WIND, marks=pytest.mark.long),
        pytest.param("tal_tailsitter", WIND, marks=pytest.mark.long),
    ],
)
def test_a_mission_goes_on_wings_past_its_way_points_and_lands_in_a_hover(flight, kind, wind):
    f = flight(vehicle=kind, wind=wind, **INDI)
    f.autopilot.missions.load_items(0, PLAN.items)
    f.start()
    rows = []
    for _ in range(150):
        f.run(1, lambda: rows.append((*f.pos, *f.vel, state(f))), rate=10)
        if not f.armed:
            break
    assert {"Mission finished, landed", "Disarmed by landing"} <= set(f.said)
    rows = np.array(rows)
    pos, vel, states = rows[:, :3], rows[:, 3:6], rows[:, 6]
    order = states[np.flatnonzero(np.diff(states, prepend=0))].tolist()
    assert order == [HOVERS, TO_FIXED_WING, ON_WINGS, TO_HOVER, HOVERS]
    assert np.hypot(*vel[states == ON_WINGS, :2].T).max() > 12.5
    changes = np.isin(states, (TO_FIXED_WING, TO_HOVER))
    heights = pos[changes, 2]
    risen = abs(heights[: np.argmax(~changes[np.argmax(changes) :])] - 24.5).max()
    assert risen < (2.0 if wind else 1.0)
    passed = np.hypot(*(pos[states == ON_WINGS, :2] - [220.0, 120.0]).T).min()
    assert passed < 30.0  # it turns within its acceptance radius, as a fixed wing
    assert math.hypot(*pos[-1, :2]) < 1.0
    assert rotate(*f.simulation.state.quat[0], 0.0, 0.0, 1.0)[2] > 0.99  # it stands


@pytest.mark.long
def test_on_wings_it_circles_where_it_loiters_and_offboard_brings_it_back(flight):
    f = flight(vehicle="phi_tailsitter", **INDI)
    f.set(MIS_TAKEOFF_ALT=20.0)
    f.autopilot.commander.take_off(0, NAN, f.simulation.t_us)
    assert f.autopilot.commander.arm(0, f.simulation.t_us).accepted
    f.wait(lambda: f.mode == Mode.LOITER, 30)
    assert transition(f, ON_WINGS) == mavlink.MAV_RESULT_ACCEPTED
    f.wait(lambda: state(f) == ON_WINGS, 12)
    centre = f.autopilot.status["target"][0, :2].copy()
    f.run(25)
    away = []
    f.run(10, lambda: away.append(np.hypot(*(f.pos[:2] - centre))), rate=5)
    assert np.array(away) == pytest.approx(RADIUS, abs=6.0)
    assert transition(f, HOVERS) == mavlink.MAV_RESULT_ACCEPTED
    f.wait(lambda: state(f) == HOVERS, 15)
    assert f.mode == Mode.LOITER and np.hypot(*f.vel[:2]) < 5.5


def test_without_indi_it_is_no_vtol(flight):
    f = flight(vehicle="phi_tailsitter")
    assert state(f) == NO_VTOL
    assert transition(f, ON_WINGS) is None


def test_a_plan_with_transitions_says_which_loops_fly_it():
    wanted = (
        "is for a VTOL, which phi_tailsitter is not by these loops: give --velocity_control indi"
    )
    errors = check_plan(PLAN, Scenario(vehicles="phi_tailsitter")).errors
    assert len(errors) == 2 and all(wanted in error for error in errors)
    assert not check_plan(PLAN, Scenario(vehicles="phi_tailsitter", **INDI)).errors
