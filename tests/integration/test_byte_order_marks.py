"""A byte-order mark, as editors of Windows write it, changes nothing in any text file of a user."""

import codecs

import pytest

from xtdrone_autopilot.navigation import plan_file
from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_control.teleoperation import record
from xtdrone_core import Scenario
from xtdrone_core.mavlink.key_file import read_key
from xtdrone_core.racing.track import read_track
from xtdrone_formation.formations import read_csv
from xtdrone_sim.vehicles.mesh import MeshFile
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_slam.datasets import trajectory_file
from xtdrone_slam.datasets.kalibr import read as read_kalibr
from xtdrone_slam.flight import trajectories

CHAIN = "cam{}: {{T_cam_imu: {}, camera_model: pinhole, distortion_model: radtan, "
CHAIN += "distortion_coeffs: [0, 0, 0, 0], intrinsics: [80, 80, 32, 24], resolution: [64, 48], "
CHAIN += "rostopic: /cam{}}}\n"
EYE = "[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]"
IMU = "{accelerometer_noise_density: 1, accelerometer_random_walk: 1, gyroscope_noise_density: 1, "
IMU += "gyroscope_random_walk: 1, rostopic: /imu, update_rate: 200}"
MODEL = (
    "<sdf version='1.6'><model name='m'><link name='l'><inertial><mass>1</mass>"
    "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
    "</link></model></sdf>"
)
WORLD = (
    "<sdf version='1.6'><world name='w'><model name='m'><static>1</static><link name='l'>"
    "<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link>"
    "</model></world></sdf>"
)
TRACK = "gates: [{pos: [0, 0, 1], yaw: 0}, {pos: [5, 0, 1], yaw: 0}]"
RECORD = (
    ",".join(["t", *record.STICKS, *record.MOTION])
    + "\n"
    + "".join(f"{t / 50}" + ",0" * len([*record.STICKS, *record.MOTION]) + "\n" for t in range(99))
)


def kalibr(path):
    (path.parent / "imu.yaml").write_bytes(codecs.BOM_UTF8 + IMU.encode())
    return read_kalibr(path, path.parent / "imu.yaml")


def key(path):
    path.chmod(0o600)
    return read_key(path)


@pytest.mark.parametrize(
    "name, read, text",
    [
        ("a.plan", plan_file.load, '{"fileType": "Plan", "version": 1, "mission": {"items": []}}'),
        ("a.params", parameter_file.read, "1\t1\tMPC_XY_CRUISE\t5\t9\n"),
        ("a.tum", trajectory_file.read, "0 1 2 3 0 0 0 1\n"),
        (
            "a.csv",
            lambda path: trajectories.load(str(path)).at(4.0),
            "t,x,y,z,yaw\n0,0,0,1,0\n9,5,0,1,0\n",
        ),
        ("a.csv", lambda path: read_csv(path, 3), "x,y,z\n1,2,3\n4,5,6\n"),
        ("camchain.yaml", kalibr, CHAIN.format(0, EYE, 0) + CHAIN.format(1, EYE, 1)),
        ("a.yaml", Scenario.load, "vehicles: iris\n"),
        ("a.yaml", read_track, TRACK),
        ("a.sdf", load_vehicle, MODEL),
        ("a.world", load_world, WORLD),
        ("a.obj", lambda path: MeshFile(path).parts(), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
        ("key", key, "words\n"),
        ("a.csv", record.read, RECORD),
    ],
)
def test_a_byte_order_mark_changes_nothing(tmp_path, name, read, text):
    results = []
    for mark, folder in ((b"", tmp_path / "a"), (codecs.BOM_UTF8, tmp_path / "b")):
        folder.mkdir()
        (folder / name).write_bytes(mark + text.encode())
        found = read(folder / name)
        results.append(repr(getattr(found, "__dict__", found)).replace(str(folder), ""))
    assert results[0] == results[1]
