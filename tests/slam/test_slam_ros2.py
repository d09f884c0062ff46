"""A flight that is recorded through ROS 2 as MCAP, imported as a dataset, and used."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("cyclonedds")

from rosbags.rosbag2 import StoragePlugin, Writer

from own_ports import LATEST
from xtdrone_core import command
from xtdrone_core.runs.ports import Ports
from xtdrone_ros2.wire.types import Types
from xtdrone_slam.datasets.calibration import Calibration, Camera, Imu, write_kalibr
from xtdrone_slam.datasets.dataset import Dataset
from xtdrone_slam.datasets.importing import import_bag
from xtdrone_slam.flight import trajectories

DOMAIN = 70 + Ports().instance
TRUTH = "/drone0/state/pose"
PERIOD_US = 80_000


def imported(bag, kalibr, out):
    import_bag(bag, kalibr / "camchain-imucam.yaml", kalibr / "imu.yaml", TRUTH, out)
    return Dataset(out)


def table(dataset, name):
    return np.loadtxt(dataset.folder / "mav0" / name / "data.csv", delimiter=",", comments="#")


def common(one, other):
    """The rows of two tables that have the same times."""
    _, a, b = np.intersect1d(one[:, 0], other[:, 0], return_indices=True)
    return one[a, 1:], other[b, 1:]


def test_an_imu_whose_axes_are_forward_right_down_is_turned(tmp_path):
    """The dataset's body is forward, left, up: readings and the cameras' poses turn together."""
    pose = np.eye(4)
    pose[:3, :3] = [[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]
    pose[:3, 3] = 0.1, 0.06, 0.02
    camera = Camera(4, 2, 12.5, (5.0, 5.0, 1.5, 0.5), (0.0,) * 4, tuple(map(tuple, pose)))
    beside = pose.copy()
    beside[1, 3] = -0.06
    other = replace(camera, body_from_camera=tuple(map(tuple, beside)))
    calibration = Calibration(camera, other, Imu(250.0, 1e-4, 1e-5, 1e-3, 1e-4))
    topics = "/left", "/right", "/drone0/sensors/imu"
    write_kalibr(tmp_path / "kalibr", calibration.flipped(), topics)
    types = Types()
    with Writer(tmp_path / "bag", version=8, storage_plugin=StoragePlugin.MCAP) as bag:

        def add(topic, kind, frame, **fields):
            known = next((each for each in bag.connections if each.topic == topic), None)
            bag.write(
                known or bag.add_connection(topic, kind, typestore=types.store),
                t_us * 1000,
                types.serialised(
                    types.message(
                        kind,
                        header={"stamp": {"sec": 0, "nanosec": t_us * 1000}, "frame_id": frame},
                        **fields,
                    )
                ),
            )

        for t_us in (0, PERIOD_US, 2 * PERIOD_US):
            for topic in topics[:2]:
                add(
                    topic,
                    "sensor_msgs/msg/Image",
                    "camera",
                    height=2,
                    width=4,
                    step=4,
                    encoding="mono8",
                    data=bytes(range(8)),
                )
            add(
                topics[2],
                "sensor_msgs/msg/Imu",
                "drone0_base_link_frd",
                angular_velocity=dict(zip("xyz", (0.1, 0.2, 0.3))),
                linear_acceleration=dict(zip("xyz", (1.0, 2.0, -9.8))),
            )
            add(
                TRUTH,
                "geometry_msgs/msg/PoseStamped",
                "map",
                pose={"position": {"x": 1e-6 * t_us}, "orientation": {"w": 1.0}},
            )
    dataset = imported(tmp_path / "bag", tmp_path / "kalibr", tmp_path / "out")
    assert len(dataset) == 3
    assert table(dataset, "imu0")[0, 1:] == pytest.approx([0.1, -0.2, -0.3, 1.0, -2.0, 9.8])
    assert dataset.calibration.left.pose == pytest.approx(pose)


@pytest.mark.long
def test_a_recorded_flight_is_the_same_dataset(tmp_path, monkeypatch):
    """Images and IMU of the bag equal those that the simulation wrote itself."""
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    t = np.linspace(0.0, 3.0, 31)
    trajectories.write_csv(
        tmp_path / "a.csv",
        np.column_stack([t, 0.3 * (1.0 - np.cos(t)), 0 * t, 1.2 + 0 * t, 0.5 * np.sin(t)]),
    )
    assert (
        command.main(
            [
                "slam",
                "record",
                "--trajectory",
                str(tmp_path / "a.csv"),
                "--ros2",
                "--name",
                "through",
            ]
        )
        == 0
    )
    run = tmp_path / LATEST
    own = Dataset(run / "dataset")
    other = imported(run / "bags" / "ros2", run / "bags" / "kalibr", tmp_path / "out")
    assert len(other) > len(own) > 30  # it has the take-off and the landing, too
    names = sorted((own.folder / "mav0/cam0/data").iterdir())
    for path in names:
        for camera in ("cam0", "cam1"):
            kept = f"mav0/{camera}/data/{path.name}"
            assert (own.folder / kept).read_bytes() == (other.folder / kept).read_bytes()
    one, two = common(table(own, "imu0"), table(other, "imu0"))
    assert len(one) == len(table(own, "imu0")) and np.array_equal(one, two)
    one, two = (
        each[:, :3]
        for each in common(
            table(own, "state_groundtruth_estimate0"), table(other, "state_groundtruth_estimate0")
        )
    )
    assert len(one) > 100 and np.abs(one - two).max() < 0.01
    assert other.calibration.left.pose == pytest.approx(own.calibration.left.pose)
