"""Vehicles that lose a rotor in flight and stay where they are, with PX4's default parameters."""

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_core.flight_agent import FlightAgent

INDI = {"velocity_control": "indi", "rate_control": "indi", "mixer": "least_squares"}


class Stay(FlightAgent):
    """Holds its place above the start."""

    def attach(self, flight):
        self.flight = flight

    def fly(self, t_us, estimates, out):
        out.pos[:] = self.home + [0.0, 0.0, self.height]
        return False


def largest_distance(vehicle, rotor, until_s=20.0, **options):
    """How far the vehicle goes from its place after it lost a rotor at 10 s [m]."""
    scenario = xd.Scenario(
        vehicles=vehicle,
        gps="rtk",
        seed=1,
        log="none",
        disturbances=f"10: rotor {vehicle}_0 {rotor} 0",
        **options,
    )
    with xd.Simulation(scenario, agent=Stay(1, 5.0)) as simulation:
        while simulation.time < 10.0:
            simulation.step(25)
        place, away = simulation.state.pos[0].copy(), 0.0
        while simulation.time < until_s:
            simulation.step(5)
            away = max(away, float(np.linalg.norm(simulation.state.pos[0] - place)))
    return away


@pytest.mark.long
@pytest.mark.parametrize(
    "vehicle, rotor", [("typhoon_h480", 0), ("octorotor", 5), ("tilted_hexarotor", 2)]
)
def test_indi_stays_within_half_a_metre(vehicle, rotor):
    assert largest_distance(vehicle, rotor, wind="5,0,0", **INDI) < 0.5


@pytest.mark.slow
def test_the_mixer_alone_takes_a_lost_rotor_out():
    assert largest_distance("typhoon_h480", 3, mixer="least_squares") < 0.5


@pytest.mark.slow
def test_a_fully_actuated_vehicle_tilts_once_a_rotor_is_gone():
    assert largest_distance("tilted_hexarotor", 1, mixer="least_squares") < 2.5
