"""A fleet's estimator in lanes gives the bits of the scalar one."""

import numpy as np
import pytest

import flights
from flights import FIELD, ORIGIN, fly, sensors
from xtdrone_autopilot.estimation.ekf import Ekf
from xtdrone_dynamics.lane_numbers import LANES

MANY = LANES + 3  # a block and a part of one


@pytest.mark.slow
@pytest.mark.parametrize("name", flights.FLIGHTS)
def test_vehicles_in_lanes_have_the_bits_of_vehicles_alone(name):
    few, _ = fly(flights.FLIGHTS[name], 15, 2, suite=sensors(2))
    many, _ = fly(flights.FLIGHTS[name], 15, MANY, suite=sensors(MANY))
    assert not few.in_lanes and many.in_lanes
    assert few.records.tobytes() == many.records[:2].tobytes()
    assert few.filters.tobytes() == many.filters[:2].tobytes()
    for i in range(2):
        assert np.array_equal(few.covariance(i), many.covariance(i))


def test_one_vehicle_of_a_block_is_reset_and_gets_poses():
    estimators = [fly(flights.circles, 5, n, suite=sensors(n))[0] for n in (2, MANY)]
    for ekf in estimators:
        ekf.fuse_vision(1, ekf.t_us, ekf.pos[1] + 0.1, ekf.quat[1])
        ekf.reset(np.arange(ekf.n) == 0)
    few, many = estimators
    assert not few.covariance(0).any() and not many.covariance(0).any()
    assert np.array_equal(few.covariance(1), many.covariance(1))
    assert few.records.tobytes() == many.records[:2].tobytes()


def test_a_fleet_in_lanes_is_saved_and_restored():
    ekf, _ = fly(flights.circles, 3, MANY, suite=sensors(MANY))
    saved = ekf.save()
    other = Ekf(MANY, ORIGIN, FIELD)
    other.load(saved)
    assert np.array_equal(other.covariances, ekf.covariances)
