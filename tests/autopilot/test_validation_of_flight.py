"""What scripts/validation/flight.py measures in a flight: rates, jerk and waypoints."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts" / "validation"))

import flight

STEP_S = 0.004


def test_jerk_is_that_of_a_trajectory_that_goes_on_by_16_and_24_ms():
    t = np.arange(500) * STEP_S
    went_on = np.sort(np.concatenate([np.arange(0, 2, 0.04), np.arange(0, 2, 0.04) + 0.024]))
    last = went_on[np.searchsorted(went_on, t + 1e-9) - 1]
    jerk = flight.jerk_of(np.outer(last, (4.0, -2.0, 0.0)))
    assert jerk == pytest.approx(np.tile((4.0, -2.0, 0.0), (len(jerk), 1)))


def test_turn_of_set_points_is_over_the_period_of_their_loop():
    angle = np.repeat(np.arange(50), flight.LOOP) * 0.1  # deg, one set-point each 8 ms
    turn = flight.turn_of(Rotation.from_rotvec(np.outer(angle, (1, 0, 0)), degrees=True).as_quat())
    assert turn == pytest.approx(np.full(len(angle) - flight.LOOP, 0.1 / 0.008))


def test_a_waypoint_is_near_while_it_is_the_current_one():
    pos = np.array([(0.0, 0, 0), (1.0, 0, 0), (2.0, 0, 0), (3.0, 0, 0)])
    places = {1: np.array((3.0, 0, 0)), 2: np.array((3.0, 1.0, 0))}
    distances = flight.waypoint_distances(pos, np.array([1, 1, 1, 2]), places)
    assert distances == pytest.approx([1.0, 1.0])


@pytest.mark.slow
def test_a_cruise_is_as_fast_as_that_of_real_px4():
    flown = flight.cruise_flight()
    assert flight.cruise_speed(flown["pos"], flown["vel"]).mean() == pytest.approx(
        flight.of_px4("cruise_mean"), abs=0.1
    )
