"""The link's other messages, environments of systems, the ORB baseline, ORB-SLAM3's files."""

import io
import sys
from dataclasses import replace

import numpy as np
import pytest

cv2 = pytest.importorskip("cv2")

from slam_wall import record_still_wall, stereo, wall
from xtdrone_core import command
from xtdrone_slam import SlamError
from xtdrone_slam.benchmark import adapters, environments, link, runner
from xtdrone_slam.systems.orb.adjustment import adjust
from xtdrone_slam.systems.orb.features import Pinhole
from xtdrone_slam.systems.orb.landmarks import Keyframe, Map
from xtdrone_slam.systems.orb.odometry import Odometry
from xtdrone_slam.systems.orbslam3 import start as orbslam3, vocabulary
from xtdrone_slam.systems.vins_fusion import start as vins_fusion

# Answers each pair with the IMU readings and depth images since the last one.
_COUNT = """
import sys
from xtdrone_slam.benchmark import link
imu, depths = [], 0
for kind, t_us, payload in link.messages(sys.stdin.buffer):
    if kind == link.IMU:
        imu.append(t_us)
        gyro, accel = link.reading(payload)
    elif kind == link.DEPTH:
        depths += int(round(float(link.depth(payload, (240, 320))[5, 7]), 3) == 1.5)
    elif kind == link.PAIR:
        assert all(t <= t_us for t in imu)
        print(link.pose_line(t_us, (len(imu), depths, accel[2] if imu else 0), (0, 0, 0, 1), 1),
              flush=True)
        imu, depths = [], 0
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return record_still_wall(tmp_path_factory.mktemp("wall"))


@pytest.mark.parametrize(
    "inputs, expected",
    [
        (("stereo",), (0, 0, 0)),
        (("stereo", "imu"), (20, 0, 9.81)),
        (("stereo", "imu", "depth"), (20, 1, 9.81)),
    ],
)
def test_adapter_says_what_comes_with_the_pairs(dataset, tmp_path, inputs, expected):
    code = _COUNT.replace("{", "{{").replace("}", "}}")
    adapter = adapters.Adapter("count", (sys.executable, "-c", code), "", True, {}, inputs)
    outcome = runner.run(adapter, dataset, tmp_path / "run", speed=2.0)
    assert outcome.reason == ""
    rows = np.loadtxt(tmp_path / "run" / "estimate.tum")
    assert np.allclose(rows[:, 1:4], [expected] * 4)


def test_readings_never_overtake_their_pair(dataset, tmp_path):
    """As in a live flight, where images come later than the readings of their time."""
    code = _COUNT.replace("{", "{{").replace("}", "}}")
    adapter = adapters.Adapter(
        "count", (sys.executable, "-c", code), "", True, {}, ("stereo", "imu")
    )
    with runner.SystemRun(adapter, dataset.folder, tmp_path) as session:
        for index, (begin, t_us) in enumerate(((20_000, 80_000), (130_000, 160_000))):
            for ahead in range(begin, t_us + 50_000, 10_000):
                session.imu(ahead, (0, 0, 0), (0, 0, 1e-6 * ahead))
            session.submit(t_us, *dataset.pair(index), wait=True)
        session.imu(150_000, (0, 0, 0), (0, 0, 0))  # too late: its pair has gone
        session.imu(230_000, (0, 0, 0), (0, 0, 0.23))
        session.submit(240_000, *dataset.pair(2), wait=True)
        session.finish()
    rows = np.loadtxt(tmp_path / "estimate.tum")
    assert rows[:, 1].tolist() == [7, 8, 5]
    assert np.allclose(rows[:, 3], [0.08, 0.16, 0.23])


def test_no_pair_is_dropped_at_speed_zero(dataset, tmp_path):
    slow = _COUNT.replace("imu.append(t_us)", "pass").replace(
        "assert all(t <= t_us for t in imu)", "import time; time.sleep(0.03)"
    )
    adapter = adapters.Adapter(
        "slow", (sys.executable, "-c", slow.replace("{", "{{").replace("}", "}}")), "", True, {}
    )
    system = runner.SystemRun(adapter, dataset.folder, tmp_path)
    with system as session:
        for index in range(15):
            session.submit(80_000 * (index + 1), *dataset.pair(index % 4), wait=True)
        session.finish()
    assert system.outcome.answers == 15 and system.outcome.dropped == 0


def test_unknown_messages_are_passed_over():
    image = np.arange(6, dtype=np.uint8).reshape(2, 3)
    stream = io.BytesIO(
        link.message(b"X", 1, b"abc")
        + link.pack_imu(2, (1, 2, 3), (4, 5, 6))
        + link.pack(3, image, image)
    )
    ((t_us, left, _),) = link.frames(stream, (2, 3))
    assert t_us == 3 and np.array_equal(left, image)


def test_unknown_input_is_refused(tmp_path):
    (tmp_path / "adapter.yaml").write_text("command: [cat]\ninputs: [stereo, lidar]\n")
    with pytest.raises(SlamError, match="lidar"):
        adapters.load(str(tmp_path) + "/")


def test_system_without_its_environment_says_how_to_install(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_SYSTEMS", str(tmp_path))
    adapter = adapters.Adapter("far", ("{home}",), "", True, {}, ("stereo",), ("far==1",))
    with pytest.raises(SlamError, match="xtdrone slam install far"):
        runner.run(adapter, dataset, tmp_path / "run")


@pytest.mark.long
def test_environment_is_made_kept_and_completed(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_SYSTEMS", str(tmp_path))
    near = adapters.Adapter(
        "near",
        ("{home}",),
        "",
        True,
        {},
        requirements=("--no-index", "pip"),
        install=(
            "{python}",
            "-c",
            "import sys, xtdrone_slam; open(sys.argv[1] + '/x', 'w')",
            "{home}",
        ),
    )
    steps = []
    assert not environments.installed(near)
    folder = environments.install(near, lambda step, line: steps.append((step, line)))
    assert [step for step, line in steps if not line] == ["environment", "packages", "completion"]
    assert any(step == "packages" and "pip" in line for step, line in steps)
    assert environments.home(near) == folder and (folder / "x").is_file()
    # Where it cannot be made anew, the old one stays.
    other = replace(near, requirements=("another",))
    with pytest.raises(SlamError, match="xtdrone slam install near"):
        environments.home(other)
    monkeypatch.setattr(environments.sys, "executable", "/bin/false")
    with pytest.raises(SlamError, match="step environment: no message"):
        environments.install(other)
    assert environments.installed(near) and (folder / "x").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["near"]


def test_unreachable_package_index_is_told_in_one_line():
    said = [
        "Collecting a",
        "WARNING: Retrying ... NewConnectionError('...: refused')",
        "ERROR: Could not find a version",
        "ERROR: No matching distribution found for a",
    ]
    assert "cannot be reached" in environments.failure_reason(said)
    assert (
        environments.failure_reason(said[2:]) == said[-1]
        and environments.failure_reason([]) == "no message"
    )


def test_list_and_install_tell_what_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XTDRONE_SYSTEMS", str(tmp_path))
    assert not command.main(["list", "systems"])
    said = capsys.readouterr().out
    assert all(name in said for name in adapters.names())
    assert "not installed: xtdrone slam install basalt" in said and "(input: stereo)" in said
    (tmp_path / "basalt").mkdir()
    (tmp_path / "basalt" / "installed").write_text(
        "\n".join(adapters.load("basalt").requirements) + "\n"
    )
    for name, says in (("basalt", "installed already"), ("klt", "no environment of its own")):
        assert not command.main(["slam", "install", name])
        assert says in capsys.readouterr().out


@pytest.mark.slow
def test_orb_finds_a_known_motion_and_adjusts():
    odometry = Odometry(stereo(), features=300)
    for share in np.linspace(0.0, 1.0, 14):
        pos = share * np.array([0.5, -0.4, 0.2])
        pose, count = odometry.step(*wall(pos))
        odometry.map()
        assert count > 60
        assert np.allclose(pose[:3, 3], pos, atol=0.02)
        assert np.allclose(pose[:3, :3], np.eye(3), atol=0.01)
    assert len(odometry.keyframes) >= 2
    again = Odometry(stereo(), features=300)
    for share in np.linspace(0.0, 1.0, 14):
        twice, _ = again.step(*wall(share * np.array([0.5, -0.4, 0.2])))
        again.map()
    assert np.array_equal(twice, pose)  # to the last digit


def test_orb_says_that_it_is_lost_and_goes_on():
    odometry = Odometry(stereo(), features=300)
    grey = np.full((240, 320), 128, dtype=np.uint8)
    for left, right, known in (
        (*wall(np.zeros(3)), True),
        (grey, grey, False),
        (*wall(np.zeros(3)), True),
    ):
        assert (odometry.step(left, right)[0] is not None) == known
        odometry.map()


def test_adjustment_mends_a_pose_that_is_off():
    rng = np.random.default_rng(3)
    camera = Pinhole(400.0, 320.0, 240.0, 0.12)
    points = rng.uniform((-2, -1.5, 3), (2, 1.5, 7), (120, 3))
    world = Map(
        points=points + rng.normal(0, 0.02, points.shape),
        owners=np.zeros(120, int),
        descriptors=np.zeros((120, 32), np.uint8),
    )
    true = [np.eye(4) for _ in range(4)]
    for k, pose in enumerate(true):
        pose[:3, 3] = -0.1 * k, 0.02 * k, 0.0
        seen = camera.project(points + pose[:3, 3]) + rng.normal(0, 0.1, (120, 3))
        off = pose.copy()
        off[:3, 3] += (0.03, -0.02, 0.03) if k else 0.0
        world.keyframes.append(Keyframe(off, np.arange(120), seen, np.full(120, 0.5)))
    world.keyframes[2].seen[5] += 40.0  # one wrong match
    adjust(world, camera, window=3)
    for frame, pose in zip(world.keyframes, true):
        assert np.allclose(frame.camera_from_world, pose, atol=0.006)
    assert 5 not in world.keyframes[2].landmarks and 5 in world.keyframes[1].landmarks


def test_vocabulary_is_a_tree_in_the_format_of_dbow2(tmp_path):
    rng = np.random.default_rng(1)
    nodes = vocabulary.train([vocabulary.draw(rng) for _ in range(2)], branches=4, levels=2)
    vocabulary.write(tmp_path / "v.txt", nodes, branches=4, levels=2)
    text = (tmp_path / "v.txt").read_text()
    rows = [line.split() for line in text.split("\n")]  # a last line feed would be one more
    assert rows[0] == ["4", "2", "0", "0"] and len(rows) == 1 + 4 + 16
    assert all(len(row) == 35 and int(row[0]) < number for number, row in enumerate(rows[1:], 1))
    assert [row[1] for row in rows[1:]] == ["0"] * 4 + ["1"] * 16


def test_settings_of_orbslam3_hold_the_calibration(tmp_path):
    (tmp_path / "s.yaml").write_text(orbslam3.settings(stereo(), 900, 15, 0))
    storage = cv2.FileStorage(str(tmp_path / "s.yaml"), cv2.FILE_STORAGE_READ)
    assert storage.getNode("Camera1.fx").real() == 200.0
    assert np.allclose(storage.getNode("Stereo.T_c1_c2").mat()[:3, 3], (0.12, 0, 0))
    assert np.allclose(orbslam3.body_from_rectified(stereo()), stereo().left.pose)
    assert storage.getNode("IMU.Frequency").empty()


def test_settings_of_orbslam3_with_the_imu_hold_its_noise_and_place(tmp_path):
    (tmp_path / "s.yaml").write_text(orbslam3.settings(stereo(), 900, 15, 0, True, 2.0))
    storage = cv2.FileStorage(str(tmp_path / "s.yaml"), cv2.FILE_STORAGE_READ)
    assert storage.getNode("IMU.NoiseGyro").real() == 2.0 * stereo().imu.gyroscope_noise_density
    assert storage.getNode("IMU.Frequency").real() == stereo().imu.rate
    assert np.allclose(storage.getNode("IMU.T_b_c1").mat(), stereo().left.pose)


def test_configuration_of_vins_fusion_holds_the_calibration(tmp_path):
    vins_fusion.write(tmp_path, stereo())
    storage = cv2.FileStorage(str(tmp_path / "vins_fusion.yaml"), cv2.FILE_STORAGE_READ)
    assert np.allclose(storage.getNode("body_T_cam1").mat(), stereo().right.pose)
    assert storage.getNode("acc_n").real() == pytest.approx(1e-3 * 250**0.5)
    camera = cv2.FileStorage(
        str(tmp_path / storage.getNode("cam0_calib").string()), cv2.FILE_STORAGE_READ
    )
    assert camera.getNode("projection_parameters").getNode("fx").real() == 200.0


@pytest.mark.parametrize("name", ["orbslam3", "basalt"])
def test_real_system_answers(dataset, tmp_path, name):
    try:
        environments.home(adapters.load(name))
    except SlamError as error:
        pytest.skip(str(error))
    outcome = runner.run(adapters.load(name), dataset, tmp_path / "run")
    assert outcome.reason == "", (tmp_path / "run" / "system.log").read_text()[-2000:]
    assert outcome.answers == 4
    rows = np.loadtxt(tmp_path / "run" / "estimate.tum")
    assert np.abs(rows[:, 1:4]).max() < 0.2  # it rests
