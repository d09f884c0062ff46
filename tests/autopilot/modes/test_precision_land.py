"""AUTO.PRECLAND and precision landings of missions and returns, with a target that is made up."""

import math

import numpy as np
import pytest

from stack_flights import HEIGHT, MissionFlight
from xtdrone_autopilot.navigation.landing_target import TARGET, predict, update
from xtdrone_autopilot.navigation.precision_landing import Stage
from xtdrone_core import Mode
from xtdrone_core.frames import enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import FROM_ROS_NAME, custom_mode

PAD = np.array([2.0, -1.5, 0.02])
LAND = mavlink.MAV_CMD_NAV_LAND


class Pad:
    """Sends LANDING_TARGET with the position of a pad, as long as it is seen."""

    def __init__(self, flight, frame=mavlink.MAV_FRAME_LOCAL_NED):
        self.flight, self.frame, self.rng = flight, frame, np.random.default_rng(1)
        self.seen = True

    def __call__(self):
        if self.seen:
            # Relative to the truth, as a camera sees it, and from there by the estimate.
            pos = PAD - self.flight.pos + self.flight.autopilot.estimator.pos[0]
            self.send(enu_ned(pos + self.rng.normal(0.0, 0.01, 3)))

    def send(self, ned):
        t_us = self.flight.simulation.t_us
        self.flight.send(
            mavlink.MAVLink_landing_target_message(
                t_us, 0, self.frame, 0, 0, 0, 0, 0, *ned, [1, 0, 0, 0], 2, 1
            )
        )


def stages(flight, seconds, each, rate=25):
    """The stages of the landing, in order, until the vehicle is disarmed."""
    found = []

    def look():
        each()
        stage = flight.autopilot.landings.stage(0)
        if not found or found[-1] != stage:
            found.append(stage)

    for _ in range(round(seconds)):
        flight.run(1.0, look, rate)
        if not flight.armed:
            return found
    raise AssertionError(f"not landed: {found}, said {flight.said}")


def hovering():
    return MissionFlight().take_off()


def error(flight):
    return math.hypot(*(flight.pos - PAD)[:2])


def test_the_mode_has_the_names_and_numbers_of_px4():
    assert FROM_ROS_NAME["AUTO.PRECLAND"] == Mode.PRECLAND
    assert custom_mode(Mode.PRECLAND) == 0x9040000


@pytest.mark.slow
def test_it_lands_on_the_target():
    flight = hovering()
    flight.send(
        mavlink.MAVLink_command_long_message(1, 1, mavlink.MAV_CMD_NAV_LAND_LOCAL, 0, *[0] * 7)
    )
    assert flight.mode == Mode.PRECLAND
    found = stages(flight, 40, Pad(flight))
    assert found[:3] == [Stage.START, Stage.APPROACH, Stage.DESCEND]
    assert error(flight) < 0.1


@pytest.mark.slow
def test_it_searches_for_a_target_and_lands_where_it_is_without_one():
    flight = hovering()
    flight.set(PLD_SRCH_ALT=8.0, PLD_SRCH_TOUT=6.0)
    assert flight.set_mode(Mode.PRECLAND).accepted
    place, heights = flight.pos, []
    found = stages(flight, 60, lambda: heights.append(flight.pos[2]))
    assert found == [Stage.START, Stage.SEARCH, Stage.FALLBACK, Stage.OFF]
    assert max(heights) == pytest.approx(8.0, abs=0.5)
    assert math.hypot(*(flight.pos - place)[:2]) < 0.5
    assert any("search timed out" in text for text in flight.said)


@pytest.mark.slow
def test_a_search_that_sees_the_target_lands_on_it():
    flight, pad = hovering(), None
    pad = Pad(flight)
    assert flight.set_mode(Mode.PRECLAND).accepted

    def only_from_above():
        pad.seen = flight.pos[2] > 7.0 or flight.autopilot.landings.stage(0) != Stage.SEARCH
        pad.seen &= flight.autopilot.landings.stage(0) != Stage.START
        pad()

    found = stages(flight, 60, only_from_above)
    assert found[:4] == [Stage.START, Stage.SEARCH, Stage.APPROACH, Stage.DESCEND]
    assert error(flight) < 0.1


@pytest.mark.slow
def test_a_target_lost_in_the_descent_is_searched_for_again():
    flight = hovering()
    pad = Pad(flight)
    flight.set(PLD_BTOUT=0.3, PLD_MAX_SRCH=1)
    assert flight.set_mode(Mode.PRECLAND).accepted

    def lost_half_way():
        stage = flight.autopilot.landings.stage(0)
        pad.seen = stage in (Stage.START, Stage.APPROACH) or flight.pos[2] > 3.0
        pad()

    found = stages(flight, 90, lost_half_way)
    assert found.count(Stage.DESCEND) >= 2
    assert found[-2:] == [Stage.FALLBACK, Stage.OFF] or Stage.FALLBACK in found
    assert any("Lost landing target" in text for text in flight.said)


@pytest.mark.parametrize("kind, found", [(1, Stage.FALLBACK), (2, Stage.START)])
def test_an_opportunistic_landing_falls_back_at_once(kind, found):
    flight = hovering()
    flight.autopilot.navigator.land(0)
    flight.autopilot.landings.begin(0, kind)
    flight.run(0.1)
    assert flight.autopilot.landings.stage(0) == found


@pytest.mark.slow
@pytest.mark.parametrize("kind", [1, 2])
def test_a_mission_lands_precisely(kind):
    flight = hovering()
    items = [
        flight.item(mavlink.MAV_CMD_NAV_WAYPOINT, 2.5, -1.0, HEIGHT),
        flight.item(LAND, 2.5, -1.0, 0.0, p=(0.0, float(kind), 0.0, math.nan)),
    ]
    assert flight.upload(items) == mavlink.MAV_MISSION_ACCEPTED
    assert flight.set_mode(Mode.MISSION).accepted
    found = stages(flight, 60, Pad(flight))
    assert Stage.DESCEND in found and error(flight) < 0.1


@pytest.mark.slow
def test_a_return_lands_precisely():
    flight = hovering()
    flight.set(RTL_PLD_MD=1, RTL_RETURN_ALT=5.0, RTL_DESCEND_ALT=4.0, RTL_LAND_DELAY=0.0)
    assert flight.set_mode(Mode.RTL).accepted
    found = stages(flight, 60, Pad(flight))
    assert Stage.DESCEND in found and error(flight) < 0.1


@pytest.mark.slow
def test_another_mode_ends_it():
    flight = hovering()
    assert flight.set_mode(Mode.PRECLAND).accepted
    flight.run(1.0, Pad(flight), 25)
    assert flight.autopilot.landings.stage(0) == Stage.APPROACH
    assert flight.set_mode(Mode.LOITER).accepted
    flight.run(0.1)
    assert flight.autopilot.landings.stage(0) == Stage.OFF


def test_another_frame_is_refused_as_by_px4():
    flight = hovering()
    Pad(flight, mavlink.MAV_FRAME_BODY_NED)()
    assert flight.said[-1].startswith("Landing target: coordinate frame 8 unsupported")
    assert flight.autopilot.landings.targets.records["t"][0] < 0


def test_angles_need_a_range_finder():
    flight = hovering()
    flight.send(
        mavlink.MAVLink_landing_target_message(0, 0, 8, 0.1, 0.2, 0, 0, 0, 0, 0, 0, [1, 0, 0, 0], 0)
    )
    assert "range finder" in flight.said[-1]


def test_angles_become_a_position():
    flight = hovering()
    estimator, targets = flight.autopilot.estimator, flight.autopilot.landings.targets
    estimator.terrain[0] = 0.0
    yaw, height = estimator.yaw(0), estimator.pos[0, 2]
    flight.set(LTEST_SENS_ROT=0)
    for _ in range(10):  # tangents ahead and to the right
        assert targets.take_angles(0, 0.1, 0.2)
        targets.step()
    forward, left = height * 0.1, -height * 0.2
    place = estimator.pos[0, :2] + [
        forward * math.cos(yaw) - left * math.sin(yaw),
        forward * math.sin(yaw) + left * math.cos(yaw),
    ]
    assert targets.records["pos"][0, :2] == pytest.approx(place, abs=0.3)  # the vehicle tilts a bit
    assert targets.records["pos"][0, 2] == pytest.approx(0.0, abs=0.05)


def test_the_velocity_relative_to_a_stationary_target_aids_the_estimator():
    deviations = []
    for mode in (0, 1):
        flight = hovering()
        estimator, targets = flight.autopilot.estimator, flight.autopilot.landings.targets
        flight.set(LTEST_MODE=mode, LTEST_ACC_UNC=0.01, LTEST_MEAS_UNC=1e-4)

        def look(estimator=estimator, targets=targets):
            estimator.terrain[0] = 0.0
            targets.take_angles(0, 0.0, 0.0)

        flight.run(1.0, look, 50)
        deviations.append(estimator.vel_std[0].copy())
    moving, stationary = deviations
    assert (stationary[:2] < 0.9 * moving[:2]).all()
    assert stationary[2] == pytest.approx(moving[2], rel=0.1)  # it says nothing of heights


def test_the_filter_is_a_kalman_filter():
    """Against the textbook's matrices, and an outlier is left out."""
    record = np.zeros(1, dtype=TARGET)[0]
    record["relative"][0], record["variance"][0] = (1.0, 0.5), np.diag([0.1, 0.2])
    predict(record, 0, 0.3, 10.0, 0.02)
    moved, noise = np.array([[1, 0.02], [0, 1]]), np.array([0.0002, 0.02])
    expected = moved @ np.diag([0.1, 0.2]) @ moved.T + 10.0 * np.outer(noise, noise)
    assert record["variance"][0] == pytest.approx(expected)
    assert record["relative"][0] == pytest.approx([1.01006, 0.506])
    assert not update(record, 0, 9.0, 0.01)
    assert update(record, 0, 1.2, 0.01)
    gain = expected[:, 0] / (expected[0, 0] + 0.01)
    assert record["relative"][0] == pytest.approx(
        np.array([1.01006, 0.506]) + gain * (1.2 - 1.01006)
    )
    assert record["variance"][0] == pytest.approx(
        (np.eye(2) - np.outer(gain, [1.0, 0.0])) @ expected
    )


def test_a_snapshot_keeps_the_landing(tmp_path):
    flight = hovering()
    assert flight.set_mode(Mode.PRECLAND).accepted
    flight.run(0.5, Pad(flight), 25)
    flight.simulation.save(tmp_path / "a.npz")
    stage = flight.autopilot.landings.stage(0)
    flight.run(0.5)
    other = MissionFlight()
    other.simulation.load(tmp_path / "a.npz")
    assert other.autopilot.landings.stage(0) == stage != Stage.OFF
