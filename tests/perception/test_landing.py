"""Landing on markers: motion of a target, its place in the world, Agents, the option."""

import contextlib
import math

import numpy as np
import pytest

pytest.importorskip("cv2", reason="markers need OpenCV")

import xtdrone as xd
from sensor_models.cameras import CameraParameters
from stack_flights import MissionFlight
from xtdrone_dynamics.quaternion import from_euler, multiply, to_matrix
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.landing.agent import MarkerLandingAgent
from xtdrone_perception.landing.deck_agent import MarkerDeckLandingAgent
from xtdrone_perception.landing.motion import Motion
from xtdrone_perception.landing.station import LandingMarker
from xtdrone_perception.landing.tracker import MarkerTracker, in_world
from xtdrone_perception.markers.families import parse
from xtdrone_perception.markers.picture import nested_of
from xtdrone_perception.markers.pose import MarkerPose
from xtdrone_sim.simulation import Simulation

PAD = np.array([6.0, 4.0])


def measured(motion, vel, seconds=4.0, stddev=0.02, rate=12.5, seed=0):
    """Feeds a motion that begins at (1, 2, 3); returns its true place at the end."""
    rng = np.random.default_rng(seed)
    for k in range(round(seconds * rate)):
        t_us = round(k / rate * 1e6)
        place = np.array([1.0, 2.0, 3.0]) + np.array(vel) * t_us * 1e-6
        motion.measure(t_us, place + rng.normal(0.0, stddev, 3), stddev**2 * np.eye(3))
    return place


@pytest.mark.parametrize("vel", [(0.0, 0.0, 0.0), (1.0, -0.5, 0.0)])
def test_a_motion_knows_place_and_velocity(vel):
    motion = Motion()
    place = measured(motion, vel)
    pos, found = motion.at(motion.t_us)
    assert pos == pytest.approx(place, abs=0.05)
    assert found == pytest.approx(vel, abs=0.3)
    assert motion.at(motion.t_us + 100_000)[0] == pytest.approx(pos + 0.1 * found)


def test_the_covariance_of_a_motion_is_honest():
    """The normalised error squared of the position is about 3 on the mean."""
    ratios = []
    for seed in range(60):
        motion = Motion(acceleration=0.05)
        place = measured(motion, (0.5, 0.2, 0.0), seed=seed)
        error = motion.state[:3] - place
        ratios.append(error @ np.linalg.solve(motion.covariance[:3, :3], error))
    assert 2.0 < np.mean(ratios) < 4.0


def test_an_outlier_is_left_out_and_a_lost_target_begins_anew():
    motion = Motion()
    place = measured(motion, (0.0, 0.0, 0.0))
    seen_us = motion.seen_us
    assert not motion.measure(seen_us + 80_000, place + 3.0, 1e-4 * np.eye(3))
    assert not motion.measure(seen_us, place, 1e-4 * np.eye(3))  # out of order
    assert motion.measure(seen_us + 1_200_000, place + 3.0, 1e-4 * np.eye(3))
    assert motion.at(motion.t_us)[0] == pytest.approx(place + 3.0)


def test_a_marker_is_put_into_the_world():
    """By a camera that looks down, is mounted aside and is on a vehicle that is turned."""
    camera = CameraParameters.pinhole(
        64, 48, 1.0, pos=(0.1, 0.02, -0.05), quat=from_euler(0.0, 0.5 * math.pi, 0.0)
    )
    quat, here, marker = (
        from_euler(0.1, -0.05, 0.7),
        np.array([1.0, 2.0, 5.0]),
        np.array([1.5, 2, 0]),
    )
    body = np.array(to_matrix(*quat)).reshape(3, 3)
    turn = np.array(to_matrix(*multiply(*quat, *camera.quat))).reshape(3, 3)
    away = turn.T @ (marker - here - body @ np.array(camera.pos))
    found = MarkerPose((0,), away, np.eye(3), 1e-6 * np.eye(6), 0.0)
    pos, covariance = in_world(found, camera, here, np.array(quat))
    assert pos == pytest.approx(marker)
    assert covariance == pytest.approx(covariance.T) and np.linalg.eigvalsh(covariance).min() > 0


def test_markers_are_named_in_a_word():
    assert parse("tag36h11:0,1,2:0.8") == ("tag36h11", (0, 1, 2), 0.8)
    assert [marker.id for marker in nested_of("DICT_6X6_250:4:0.5")] == [4]


@pytest.mark.parametrize("text", ["tag36h11", "tag36h11:a:0.8", "tag36h11:0:big", "a:b:c:d"])
def test_what_names_no_markers_is_refused(text):
    with pytest.raises(PerceptionError, match="FAMILY:ID,...:SIZE"):
        nested_of(text)


def test_vehicles_without_a_camera_are_refused():
    with pytest.raises(PerceptionError, match="iris_0 has no camera that sees markers"):
        xd.Simulation(xd.Scenario(vehicles="iris"), agent=MarkerLandingAgent())
    station = LandingMarker(landing_marker="tag36h11:0:0.8")
    assert station.wanted and not LandingMarker().wanted
    with pytest.raises(PerceptionError, match="no vehicle has a camera"):
        station.open(MissionFlight("iris").simulation)
    with pytest.raises(PerceptionError, match="unknown family of markers 'tag9h9'"):
        MarkerLandingAgent(marker="tag9h9:0:1")


class Ends(xd.Observer):
    """Keeps where all vehicles are."""

    period_us = 200_000

    def on_step(self, t_us, state, sensors):
        self.pos = state.pos.copy()


def flown(agent, **scenario):
    ends = Ends()
    with xd.Simulation(
        xd.Scenario(gps="rtk", **scenario), agent=agent, observers=[ends]
    ) as simulation:
        while not agent.done:
            simulation.step(10)
    return ends.pos


def test_what_a_tracker_has_seen_is_in_snapshots_and_forgotten_by_a_reset(tmp_path):
    scenario = xd.Scenario(vehicles="iris_downward", world="landing", log="none")
    with contextlib.closing(Simulation(scenario, agent=MarkerLandingAgent())) as simulation:
        motion = next(each for each in simulation.observers if isinstance(each, MarkerTracker))
        motion = motion.motions[0]
        place = measured(motion, (0.5, 0.0, 0.0))
        before = motion.at(motion.t_us)
        simulation.save(tmp_path / "seen.zip")
        simulation.reset()
        assert not motion.seen
        simulation.load(tmp_path / "seen.zip")
        assert motion.seen and motion.at(motion.t_us)[0] == pytest.approx(place, abs=0.1)
        assert (np.array(motion.at(motion.t_us)) == np.array(before)).all()


@pytest.mark.slow
def test_it_lands_on_a_pad_by_what_its_camera_sees():
    agent = MarkerLandingAgent(east=2.0, north=1.0, height=3.0)
    pos = flown(agent, vehicles="iris_downward@4.5,2.4,0", world="landing")
    assert np.hypot(*(pos[0, :2] - PAD)) < 0.1
    assert agent.goals_reached() == {"marker landings": (1, 1)}


@pytest.mark.long
def test_it_lands_on_a_rover_that_drives():
    agent = MarkerDeckLandingAgent(speed=1.0, height=3.0)
    pos = flown(agent, vehicles="rover_marker; iris_downward@-3,0,0", world="landing")
    assert pos[1, 2] > 1.9


@pytest.mark.long
def test_without_a_pad_it_lands_where_it_is():
    agent = MarkerLandingAgent(east=1.0, north=0.0, height=3.0)
    pos = flown(agent, vehicles="iris_downward", world="empty")
    assert pos[0, :2] == pytest.approx([1.0, 0.0], abs=1.0)
    assert agent.goals_reached() == {"marker landings": (0, 1)}
