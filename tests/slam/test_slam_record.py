"""The reference trajectory, its files, the closed-loop flight and what is recorded of it."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("cv2")

from xtdrone_core import Scenario, command
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import LogGaps
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_sim.simulation import Simulation
from xtdrone_slam import SlamError
from xtdrone_slam.agents.trajectory import TrajectoryAgent
from xtdrone_slam.datasets import formats
from xtdrone_slam.datasets.dataset import Dataset
from xtdrone_slam.flight import trajectories


def test_reference_turns_far_more_than_its_path():
    curve = trajectories.load("reference")
    times = np.linspace(0, curve.duration, 2000)
    at = [curve.at(t) for t in times]
    speed = np.array([np.linalg.norm(vel) for _, vel, *_ in at])
    assert speed[0] == speed[-1] == 0.0 and 0.4 < speed.max() < 1.2
    assert np.linalg.norm(at[0][0] - at[-1][0]) < 1e-9  # a loop
    yaw = np.array([yaw for _, _, yaw, *_ in at])
    assert np.abs(np.diff(yaw)).sum() > 5 * 2 * np.pi
    assert np.degrees(max(abs(rate) for *_, rate, _ in at)) < 120


def test_two_rounds_are_41_m_with_the_view_ahead():
    curve = trajectories.load("rounds")
    at = [curve.at(t) for t in np.linspace(0, curve.duration, 2000)]
    places = np.array([pos for pos, *_ in at])
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).sum() == pytest.approx(40.9, abs=0.05)
    assert np.ptp(places[:, 2]) < 1e-9 and np.linalg.norm(places[0] - places[-1]) < 1e-9
    across = [vel[1] * np.cos(yaw) - vel[0] * np.sin(yaw) for _, vel, yaw, *_ in at]
    assert np.abs(across).max() < 0.01  # no side slip


def test_same_trajectory_from_csv_and_tum(tmp_path):
    table = trajectories.reference(0.5)
    trajectories.write_csv(tmp_path / "a.csv", table)
    quats = Rotation.from_rotvec(table[:, 4:] * [0, 0, 1.0]).as_quat()
    formats.write_tum(tmp_path / "a.tum", np.column_stack([table[:, :4], quats]))
    one, two = (trajectories.load(str(tmp_path / name)) for name in ("a.csv", "a.tum"))
    for t in (0.0, 7.3, 30.0, 100.0):
        assert np.allclose(one.at(t)[0], two.at(t)[0], atol=1e-6)
        assert np.isclose(np.cos(one.at(t)[2] - two.at(t)[2]), 1.0)


@pytest.mark.parametrize(
    "text, says",
    [
        ("t,x,y\n0,0,0\n", "t,x,y,z,yaw"),
        ("t,x,y,z,yaw\n0,0,0,1,0\n", "two rows"),
        ("t,x,y,z,yaw\n0,0,0,1,0\n0,1,0,1,0\n", "increasing"),
        ("t,x,y,z,yaw\n0,0,0,0,0\n1,0,0,1,0\n", "0.3 m"),
        ("t,x,y,z,yaw\n0,0,0,1,0\n1,a,0,1,0\n", "five numbers"),
    ],
)
def test_bad_trajectory_file(tmp_path, text, says):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(SlamError, match=says):
        trajectories.load(str(tmp_path / "bad.csv"))


def _wave(folder):
    """A trajectory file that sways on both axes and turns."""
    t = np.linspace(0.0, 6.0, 61)
    place = 0.6 * (1.0 - np.cos(t))  # from rest
    trajectories.write_csv(
        folder / "a.csv", np.column_stack([t, place, -place, 1.2 + 0 * t, 1.5 * np.sin(t)])
    )
    return str(folder / "a.csv")


class Unrecorded(TrajectoryAgent):
    """Flies only, on a vehicle without cameras."""

    def attach(self, simulation):
        """Records nothing."""


@pytest.mark.slow
def test_vehicle_follows_place_and_yaw(tmp_path):
    agent = Unrecorded(1, _wave(tmp_path))
    scenario = Scenario(vehicles=parse_vehicles("iris@0,0"), gps="rtk", speed=0.0)
    simulation = Simulation(scenario, agent=agent, links=False)
    begin = []
    errors, turns = [], []

    class Look(Observer):
        def on_step(self, t_us, state, sensors):
            compare(t_us, state)

    def compare(t_us, state):
        if agent.begin_us is None or not 1.0 < (t_us - agent.begin_us) * 1e-6 < 5.8:
            return
        begin.append(t_us)
        place, _, yaw, *_ = agent.trajectory.at((t_us - agent.begin_us) * 1e-6)
        axis = Rotation.from_quat(state.quat[0]).as_matrix()[:, 0]
        errors.append(np.linalg.norm(state.pos[0] - place))
        turns.append(abs(np.angle(np.exp(1j * (np.arctan2(axis[1], axis[0]) - yaw)))))

    simulation.observers.append(Look())
    try:
        simulation.run(60_000_000)
    finally:
        simulation.close()
    assert agent.done and len(begin) > 1000
    assert max(errors) < 0.35
    assert np.degrees(max(turns)) < 15.0


class Stage:
    """What a recording Agent asks of a simulation."""

    def __init__(self, folder):
        camera = {
            "width": 8,
            "height": 6,
            "fx": 5.0,
            "fy": 5.0,
            "cx": 3.5,
            "cy": 2.5,
            "k1": 0.0,
            "k2": 0.0,
            "k3": 0.0,
            "p1": 0.0,
            "p2": 0.0,
            "skew": 0.0,
            "distortion_center": (3.5, 2.5),
            "quat": (0, 0, 0, 1),
        }
        pair = {
            "kind": "stereo",
            "vehicle": "iris_0",
            "sensor": "pair",
            "period_us": 80_000,
            "arrays": [["left", "|u1", [6, 8]], ["right", "|u1", [6, 8]]],
            "parameters": [{**camera, "pos": (0.1, y, 0.0)} for y in (0.06, -0.06)],
        }
        tags = (
            "gyroscopeNoiseDensity",
            "gyroscopeRandomWalk",
            "accelerometerNoiseDensity",
            "accelerometerRandomWalk",
        )
        imu = SimpleNamespace(
            kind="imu", pos=(0.02, 0.0, 0.0), parameters=dict.fromkeys(tags, "0.001")
        )
        self.folder, self.t_us = folder, 0
        self.scenario = Scenario(parse_vehicles("iris@0,0"))
        self.state = SimpleNamespace(pos=np.array([[0.0, 3.0, 0.0]]))
        self.rendered_sensors = lambda: [pair]
        self.fleet = SimpleNamespace(vehicles=[SimpleNamespace(sensors=(imu,))])
        self.observers = []
        self.log_gaps = LogGaps(folder, list)


def descriptor_of(path):
    """The number under which this process has a file open."""
    folder = Path("/proc/self/fd")
    return next(int(link.name) for link in folder.iterdir() if Path(os.path.realpath(link)) == path)


def test_a_recording_ends_where_the_disk_is_full_and_the_flight_goes_on(tmp_path):
    stage = Stage(tmp_path)
    agent = TrajectoryAgent(1)
    agent.attach(stage)
    (recorder,) = stage.observers
    readings = tmp_path / "dataset/mav0/imu0/data.csv"
    with open("/dev/full", "w") as full:
        os.dup2(full.fileno(), descriptor_of(readings))
    state = SimpleNamespace(
        pos=np.zeros((1, 3)),
        quat=np.array([[0.0, 0.0, 0.0, 1.0]]),
        vel=np.zeros((1, 3)),
        ang_vel=np.zeros((1, 3)),
    )
    sensors = SimpleNamespace(gyro=np.ones((1, 3)), accel=np.ones((1, 3)))
    agent.recorder.start()
    for stage.t_us in (4000, 8000):
        recorder.on_step(stage.t_us, state, sensors)
    recorder.close()
    (gap,) = stage.log_gaps.table()
    assert gap["log"] == "dataset" and gap["missing_s"] == [[0.004, None]]
    assert f"cannot write '{readings}': No space left" in gap["reason"]


def test_recording_begins_and_ends_with_the_flight(tmp_path):
    stage = Stage(tmp_path)
    agent = TrajectoryAgent(1)
    agent.attach(stage)
    (recorder,) = stage.observers
    image = np.zeros((6, 8), dtype=np.uint8)
    quat = np.array([[0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]])  # looks north
    state = SimpleNamespace(
        pos=np.array([[1.0, 2.0, 3.0]]),
        quat=quat,
        vel=np.zeros((1, 3)),
        ang_vel=np.array([[0.0, 0.0, 1.0]]),
    )
    sensors = SimpleNamespace(gyro=np.ones((1, 3)), accel=np.ones((1, 3)))
    for stage.t_us in range(4000, 400_000, 4000):
        if stage.t_us == 100_000:
            agent.recorder.start()
        if stage.t_us == 300_000:
            agent.recorder.stop()
        recorder.on_step(stage.t_us, state, sensors)
        if stage.t_us % 80_000 == 40_000 and stage.t_us > 80_000:  # half a period late
            recorder.on_reading(
                SimpleNamespace(
                    vehicle="iris_0",
                    sensor="pair",
                    t_us=stage.t_us - 40_000,
                    data={"left": image, "right": image},
                )
            )
    table = agent.recorder.truth()
    assert Dataset(tmp_path / "dataset").times_us.tolist() == [160_000, 240_000]
    imu = Dataset(tmp_path / "dataset").calibration.imu
    assert imu.gyroscope_random_walk == 0.001  # as the SDF says
    assert imu.accelerometer_random_walk == 3e-3  # an estimator needs more than the SDF's
    assert table[0, 0] == pytest.approx(0.1) and table[-1, 0] == pytest.approx(0.3)
    assert np.allclose(table[:, 1:4], [1.0, 2.02, 3.0])  # of the IMU, ahead of the centre
    states = (tmp_path / "dataset/mav0/state_groundtruth_estimate0/data.csv").read_text()
    assert [float(x) for x in states.splitlines()[1].split(",")[8:11]] == pytest.approx(
        [-0.02, 0, 0]
    )


@pytest.mark.parametrize("begin, first_us", [("ground", 4000), ("hover", 80_000)])
def test_a_recording_from_the_ground_begins_before_the_climb(tmp_path, begin, first_us):
    stage = Stage(tmp_path)
    agent = TrajectoryAgent(1, record_from=begin)
    agent.attach(stage)
    (recorder,) = stage.observers
    agent.home = np.array([[*agent.trajectory.at(0.0)[0][:2], 0.0]])
    state = SimpleNamespace(
        pos=np.zeros((1, 3)),
        quat=np.array([[0.0, 0.0, 0.0, 1.0]]),
        vel=np.zeros((1, 3)),
        ang_vel=np.zeros((1, 3)),
    )
    sensors = SimpleNamespace(gyro=np.ones((1, 3)), accel=np.ones((1, 3)))
    for stage.t_us in range(4000, 120_000, 4000):
        if stage.t_us == 80_000:  # the end of the climb
            agent.begin(stage.t_us, None)
        recorder.on_step(stage.t_us, state, sensors)
        if stage.t_us == 100_000:
            image = np.zeros((6, 8), dtype=np.uint8)
            data = {"left": image, "right": image}
            recorder.on_reading(
                SimpleNamespace(vehicle="iris_0", sensor="pair", t_us=stage.t_us, data=data)
            )
    assert agent.recorder.truth()[0, 0] == pytest.approx(1e-6 * first_us)


def test_vehicle_without_a_pair_cannot_record(tmp_path):
    stage = Stage(tmp_path)
    stage.rendered_sensors = list
    with pytest.raises(SlamError, match="stereo pair"):
        TrajectoryAgent(1).attach(stage)


def test_flight_that_cannot_begin_says_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    words = ["fly", "xtdrone_slam.agents.trajectory:TrajectoryAgent", "--vehicles", "iris@5,5"]
    assert command.main(words) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if "kernels" not in line]
    assert len(said) == 1 and "5.4 m from the start" in said[0]
    assert "iris_stereo@0.00,3.00" in said[0]


def test_flown_path_becomes_a_trajectory(tmp_path):
    agent = Unrecorded(1, _wave(tmp_path))
    run_folder.prepare(tmp_path)
    simulation = Simulation(
        Scenario(vehicles=parse_vehicles("iris@0,0"), gps="rtk", speed=0.0),
        tmp_path,
        agent=agent,
        links=False,
    )
    (tmp_path / "scenario.yaml").write_text("vehicles: iris@0,0\n")
    try:
        simulation.run(60_000_000)
    finally:
        simulation.close()
    again = trajectories.load(str(tmp_path))
    trajectories.write_csv(tmp_path / "flown.csv", trajectories.read_flown(tmp_path))
    same = trajectories.load(str(tmp_path / "flown.csv"))
    times, state = read_truth(tmp_path / "truth.bin", 1)
    begin = times[np.flatnonzero(state[:, 0, 2] > 0.5)[0]]
    for t_us, row in zip(times, state[:, 0]):
        t = (t_us - begin) * 1e-6
        if 0.5 < t < again.duration - 0.5:
            assert np.allclose(again.at(t).pos, row[:3], atol=0.01)
            assert np.allclose(same.at(t).pos, row[:3], atol=0.01)
            assert np.allclose(again.at(t).vel, row[7:10], atol=0.1)


def test_folder_without_a_flight_is_no_trajectory(tmp_path):
    with pytest.raises(SlamError, match="not the run folder"):
        trajectories.load(str(tmp_path))
