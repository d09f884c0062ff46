"""Jerk-limited trajectories, legs and corners of AUTO modes against what can be known of them."""

import math

import numpy as np
import pytest

from xtdrone_autopilot.navigation.heading import turn_to
from xtdrone_autopilot.navigation.line import fly_line
from xtdrone_autopilot.navigation.trajectory import advance, speed_to_slow
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.vehicle_status import TARGET_POSITION, new_status

DT = 0.004
ACC, JERK = 3.0, 4.0
PARAMETERS = ParameterStore(1).values


def follow(wanted, seconds, acc_z=3.0, vel=(0.0, 0.0, 0.0), acc=(0.0, 0.0, 0.0)):
    """Velocity and acceleration (T, 3) of a trajectory that goes to a velocity."""
    status = new_status(1)
    status["smooth_vel"], status["smooth_acc"] = vel, acc
    rows = []
    for _ in range(round(seconds / DT)):
        advance(status[0], 0, 3, wanted, ACC, acc_z, JERK, DT)
        rows.append(np.stack([status["smooth_vel"][0], status["smooth_acc"][0]]))
    return np.array(rows).transpose(1, 0, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "vel, acc",
    [
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ((4.0, -3.0, 1.0), (2.5, -2.0, 0.5)),
        ((-8.0, 0.0, 0.0), (-3.0, 1.0, -1.0)),
    ],
)
def test_a_velocity_is_reached_within_the_limits(vel, acc):
    wanted = (5.0, -1.0, 2.0)
    velocity, acceleration = follow(wanted, 12.0, vel=vel, acc=acc)
    np.testing.assert_allclose(velocity[-1], wanted, atol=1e-6)
    np.testing.assert_allclose(acceleration[-1], 0.0, atol=1e-6)
    assert np.abs(acceleration).max() <= ACC + 1e-9
    assert np.abs(np.diff(acceleration, axis=0)).max() <= JERK * DT + 1e-6
    below = np.array(vel) + np.array(acc) * np.abs(acc) / 2 / JERK < wanted
    assert (velocity[:, below] - np.array(wanted)[below]).max() < 0.005  # it does not overshoot


def test_the_shortest_way_to_a_velocity_is_taken():
    """Acceleration up, along and down: v / a + a / j."""
    velocity, _ = follow((9.0, 0.0, 0.0), 6.0)
    assert np.argmax(velocity[:, 0] > 9.0 - 1e-9) * DT == pytest.approx(
        9 / ACC + ACC / JERK, abs=0.01
    )


def test_axes_arrive_together():
    velocity, _ = follow((8.0, 2.0, -1.0), 8.0)
    arrival = [np.argmax(np.abs(v - w) < 1e-6) * DT for v, w in zip(velocity.T, (8.0, 2.0, -1.0))]
    assert np.ptp(arrival) < 0.02


@pytest.mark.parametrize("end", [0.0, 2.0])
@pytest.mark.parametrize("distance", [0.1, 1.0, 20.0])
def test_speed_to_slow_slows_within_the_distance(distance, end):
    """Constant braking, begun as late as the jerk delays it."""
    speed = speed_to_slow(distance, end, ACC, JERK)
    way = (speed**2 - end**2) / (2 * ACC) + 2 * speed * ACC / JERK
    assert speed == end or way == pytest.approx(distance)


def fly_legs(*places, seconds=60.0, accept=2.0, speed=math.nan):
    """Path (T, 3) and velocity (T, 3) of a vehicle that follows its trajectory exactly."""
    status = new_status(1)
    v, q = status[0], PARAMETERS[0]
    places = np.array(places, dtype=float)
    v["smooth_pos"], v["accept"], v["target_type"] = places[0], accept, TARGET_POSITION
    v["target_speed"], k, rows = speed, 1, []
    v["sp_yaw"] = 0.0
    for _ in range(round(seconds / DT)):
        v["previous"], v["target"] = places[k - 1], places[k]
        v["following"] = places[k + 1] if k + 1 < len(places) else np.nan
        fly_line(v, q, v["smooth_pos"].copy(), DT)
        rows.append(np.concatenate([v["smooth_pos"], v["smooth_vel"]]))
        off = np.abs(v["smooth_pos"] - places[k])
        if math.hypot(off[0], off[1]) <= accept and off[2] <= 0.8 and k + 1 < len(places):
            k += 1
    rows = np.array(rows)
    return rows[:, :3], rows[:, 3:]


@pytest.mark.slow
def test_a_leg_is_straight_in_space_and_limited_by_its_vertical_part():
    path, vel = fly_legs((0, 0, 10), (25, 0, 38))
    np.testing.assert_allclose(path[-1], (25, 0, 38), atol=0.05)
    off_line = np.abs(path[:, 0] * 28 - (path[:, 2] - 10) * 25) / math.hypot(28, 25)
    assert off_line.max() < 0.7
    assert vel[:, 2].max() == pytest.approx(PARAMETERS["MPC_Z_V_AUTO_UP"][0], rel=0.01)
    assert vel[:, 0].max() == pytest.approx(3.0 * 25 / 28, rel=0.02)


@pytest.mark.slow
def test_a_corner_is_cut_inside_the_acceptance_radius_at_the_speed_that_its_angle_allows():
    path, vel = fly_legs((0, 0, 10), (30, 0, 10), (30, 30, 10))
    np.testing.assert_allclose(path[-1], (30, 30, 10), atol=0.05)
    assert path[:, 0].max() < 30.5
    speed = np.linalg.norm(vel, axis=1)
    at_corner = speed[np.argmin(np.linalg.norm(path - (30, 0, 10), axis=1))]
    # On the circle that touches both legs 2 m before the corner: sqrt(acceleration x radius).
    assert 0.5 * math.sqrt(0.5 * 3.0 * 2.0) < at_corner <= math.sqrt(0.5 * 3.0 * 2.0) + 0.2
    path, vel = fly_legs((0, 0, 10), (30, 0, 10), (60, 0, 10))
    assert vel[(path[:, 0] > 20) & (path[:, 0] < 40), 0].min() > 4.9  # straight on


@pytest.mark.slow
def test_the_trajectory_goes_to_the_velocity_that_was_wanted_the_last_time():
    """As in PX4, which first goes on and then takes the new velocity."""
    _, vel = fly_legs((0, 0, 10), (30, 0, 10), seconds=2 * DT)
    assert not vel[0].any() and vel[1, 0] > 0.0


@pytest.mark.slow
def test_it_stops_before_a_leg_that_changes_height():
    path, vel = fly_legs((0, 0, 10), (30, 0, 10), (60, 0, 20))
    near = np.linalg.norm(path - (30, 0, 10), axis=1) < 2.5
    assert np.linalg.norm(vel[near], axis=1).min() < 1.5


@pytest.mark.parametrize("begin", [0.0, 90.0, 180.0, -90.0, 30.0])
@pytest.mark.parametrize("rounding", [-1e-9, 0.0, 1e-9])
def test_half_a_turn_goes_the_way_that_px4_goes(begin, rounding):
    """Counter-clockwise seen from above, whatever is lost in rounding."""
    status = new_status(1)
    status["sp_yaw"] = math.radians(begin)
    turn_to(status[0], PARAMETERS[0], math.radians(begin + 180.0) + rounding, DT)
    turned = math.degrees(status["sp_yaw"][0]) - begin
    assert (turned + 180.0) % 360.0 - 180.0 == pytest.approx(45.0 * DT)  # MPC_YAWRAUTO_MAX
