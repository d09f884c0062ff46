"""Trajectories of others: forms that are read, as evo does, and a reason for each that is not."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

file_interface = pytest.importorskip("evo.tools.file_interface")

from evo.core import metrics
from evo.core.metrics import PoseRelation

import pose_bags
from xtdrone_slam import SlamError
from xtdrone_slam.datasets import formats, trajectory_file
from xtdrone_slam.evaluation.metrics import evaluate
from xtdrone_slam.flight import trajectories

EUROC = "#timestamp,p_x,p_y,p_z,q_w,q_x,q_y,q_z,v_x,v_y,v_z,b1,b2,b3,b4,b5,b6\n"


def poses(count=30, start_s=1.6e9, origin=(0.0, 0.0, 2.0), seed=4):
    """A wavy flight (T, 8) at 10 Hz."""
    rng = np.random.default_rng(seed)
    k = np.arange(count)
    position = np.column_stack([0.3 * k, np.sin(0.2 * k), 0.1 * np.cos(k)]) + origin
    quats = Rotation.from_rotvec(np.cumsum(0.1 * rng.normal(size=(count, 3)), axis=0)).as_quat()
    return np.column_stack([start_s + 0.1 * k, position, quats])


def euroc(table, header=EUROC, more=(0,) * 9):
    rows = [
        ",".join([str(round(row[0] * 1e9)), *map(str, [*row[1:4], row[7], *row[4:7], *more])])
        for row in table
    ]
    return header + "\n".join(rows)


def kitti(table, times=False):
    matrices = np.concatenate(
        [Rotation.from_quat(table[:, 4:]).as_matrix(), table[:, 1:4, None]], axis=2
    ).reshape(-1, 12)
    rows = np.column_stack([table[:, 0], matrices]) if times else matrices
    return "\n".join(" ".join(map(repr, row)) for row in rows.tolist())


def same(found, table):
    assert np.allclose(found[:, :4], table[:, :4], atol=1e-6)
    signs = np.sign(np.sum(found[:, 4:] * table[:, 4:], axis=1))
    assert np.allclose(found[:, 4:] * signs[:, None], table[:, 4:], atol=1e-9)


@pytest.mark.parametrize(
    "text, table",
    [
        (euroc(poses()), poses()),
        (euroc(poses(start_s=1.0)), poses(start_s=1.0)),  # told by its header alone
        (euroc(poses(), header=""), poses()),  # told by its times alone
        (euroc(poses(), more=()), poses()),
        (kitti(poses(), times=True), poses()),
    ],
    ids=["euroc", "early euroc", "euroc without header", "short euroc", "kitti behind times"],
)
def test_other_forms_are_read(tmp_path, text, table):
    (tmp_path / "a.csv").write_text(text)
    same(trajectory_file.read(tmp_path / "a.csv"), table)


def test_euroc_is_read_as_by_evo(tmp_path):
    (tmp_path / "a.csv").write_text(euroc(poses()) + "\n")
    theirs = file_interface.read_euroc_csv_trajectory(tmp_path / "a.csv")
    mine = trajectory_file.read(tmp_path / "a.csv")
    assert np.allclose(theirs.timestamps, mine[:, 0], atol=1e-6)
    assert np.array_equal(theirs.positions_xyz, mine[:, 1:4])
    assert np.array_equal(theirs.orientations_quat_wxyz, np.roll(mine[:, 4:], 1, axis=1))


@pytest.mark.parametrize("times", ["times.txt", "00_times.txt", "../sequences/00/times.txt"])
def test_kitti_s_poses_take_their_times_from_a_file(tmp_path, times):
    (tmp_path / "poses").mkdir()
    path = tmp_path / "poses" / "00.txt"
    path.write_text(kitti(poses(5)))
    with pytest.raises(SlamError, match="12 numbers in each row, KITTI's poses, and no times: put"):
        trajectory_file.read(path)
    (path.parent / times).parent.mkdir(parents=True, exist_ok=True)
    (path.parent / times).write_text("\n".join(map(repr, poses(5)[:, 0].tolist())))
    same(trajectory_file.read(path), poses(5))
    (path.parent / times).write_text("0\n1\n")
    with pytest.raises(SlamError, match="has 2 times, and .* 5 poses"):
        trajectory_file.read(path)


ROW = "1600000000.1 0.3 0.05 1 0 0 0 1"


@pytest.mark.parametrize(
    "text, reason",
    [
        ("1600000000100000000.0 0 0 1 0 0 0 1\n", "stamp in nanoseconds.* divide it by 1e9"),
        ("1600000000100000 0 0 1 0 0 0 1\n", "stamp in microseconds.* divide it by 1e6"),
        ("1600000000100 0 0 1 0 0 0 1\n", "stamp in milliseconds.* divide it by 1e3"),
        (ROW + " 0.1 0.2 0.3\n", "has 11 numbers, not 8"),
        ("1 2 3\n", "has 3 numbers, not 8"),
        (ROW.replace(" ", ",") + "\n", "is separated by commas"),
        (ROW.replace(" ", ";") + "\n", "is separated by semicolons"),
        ("t,x,y,z,qx,qy,qz,qw\n" + ROW.replace(" ", ","), "is a header of a table with commas"),
        ("t x y z qx qy qz qw\n" + ROW, "no row of numbers, a header begins with #"),
        (f"{ROW}\n{ROW} 1\n", "row 2 .* has 9 numbers, and the rows before it have 8"),
        ("1 2 3 4 0 0 0 0\n", "has no unit quaternion"),
        ("1 2 3 4 2e12 0 0 0\n", "has no unit quaternion"),
        ("1 2 3 nan 0 0 0 1\n", "not finite"),
        ("1 2 3 1e12 0 0 0 1\n", "is beyond 1e[+]09 m"),
        (kitti(poses(3)).replace("0.9", "3.9"), "no times"),
        ("1 " + "2 " * 12 + "\n", "has no rotation"),
        (EUROC + "1600000000000000000,1,2,3\n", "has 4 cells, and a pose of EuRoC's csv"),
        (EUROC + "1600000000000000000,1,2,3,x,0,0,0\n", "is no row of numbers"),
        ("# nothing\n", "contains no pose"),
    ],
)
def test_each_cause_has_its_reason_in_one_line(tmp_path, text, reason):
    (tmp_path / "bad.tum").write_text(text)
    with pytest.raises(SlamError, match=reason) as caught:
        trajectory_file.read(tmp_path / "bad.tum")
    assert "bad.tum" in str(caught.value) and "\n" not in str(caught.value)


def test_coordinates_of_a_map_s_grid_are_evaluated_as_by_evo(tmp_path):
    true = poses(origin=(500_000.0, 5_400_000.0, 300.0))
    flown = true.copy()
    flown[:, 1:4] += np.random.default_rng(1).normal(scale=0.1, size=(len(true), 3))
    paths = [tmp_path / "true.tum", tmp_path / "flown.tum"]
    for path, table in zip(paths, (true, flown)):
        formats.write_tum(path, table)
    reference, estimate = map(file_interface.read_tum_trajectory_file, paths)
    estimate.align(reference)
    metric = metrics.APE(PoseRelation.translation_part)
    metric.process_data((reference, estimate))
    mine = evaluate(paths[1], paths[0]).statistics["ape_translation"]
    assert mine == pytest.approx(metric.get_all_statistics(), rel=1e-12)
    assert evaluate(paths[0], paths[0]).statistics["ape_translation"]["max"] < 1e-8


def test_euroc_s_csv_can_be_flown(tmp_path):
    (tmp_path / "a.csv").write_text(euroc(poses(start_s=1.0)))
    flown = trajectories.load(str(tmp_path / "a.csv"))
    assert flown.duration == pytest.approx(2.9)
    assert flown.at(2.9).pos == pytest.approx(poses()[-1, 1:4])


@pytest.mark.slow
@pytest.mark.parametrize("kind", pose_bags.KINDS[:-1])
def test_the_poses_of_a_bag_are_a_trajectory(tmp_path, kind):
    path = pose_bags.write(tmp_path, kind, "pose", "odometry", "tf")
    table = trajectory_file.read(f"{path}:/odometry")
    assert np.allclose(table[:, 1:4], [pose_bags.position(k) for k in range(pose_bags.COUNT)])
    with pytest.raises(
        SlamError, match=f"several poses: give {kind}:TOPIC, one of /odometry, /pose"
    ):
        trajectory_file.read(path)
    with pytest.raises(SlamError, match="no poses /x: give"):
        trajectory_file.read(f"{path}:/x")
    statistics = evaluate(f"{path}:/pose", f"{path}:/odometry", "none").statistics
    assert statistics["ape_translation"]["max"] < 1e-9


def test_a_bag_with_one_pose_or_none(tmp_path):
    one = pose_bags.write(tmp_path, "ros1.bag", "tf")
    assert len(trajectory_file.read(one)) == pose_bags.COUNT
    none = pose_bags.write(tmp_path, "ros2.mcap", "text")
    with pytest.raises(SlamError, match=r"has no poses .*: it has /text \(std_msgs/String\)"):
        trajectory_file.read(none)


def test_a_trajectory_of_a_spreadsheet_is_flown(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x,y,z,yaw,,\n0,0,0,1,0,,\n10,5,0,1,0,,\n,,,,,,\n")
    assert trajectories.load(str(path)).at(10.0).pos == pytest.approx((5, 0, 1))
    path.write_text("t;x;y;z;yaw\n0;0;0;1;0\n")
    with pytest.raises(SlamError, match="row 1 of trajectory .* separated by semicolons"):
        trajectories.load(str(path))


def test_a_straight_path_is_told_how_it_can_be_compared(tmp_path):
    (tmp_path / "line.tum").write_text("".join(f"{k} {k} 0 1 0 0 0 1\n" for k in range(6)))
    with pytest.raises(SlamError, match="straight line; give --align origin or --align none"):
        evaluate(tmp_path / "line.tum", tmp_path / "line.tum")
    found = evaluate(tmp_path / "line.tum", tmp_path / "line.tum", "none")
    assert found.statistics["ape_translation"]["max"] == 0.0


@pytest.mark.parametrize("timed", ["neither", "reference", "estimate"])
def test_kitti_s_poses_without_times_are_compared_row_by_row_as_by_evo(tmp_path, timed):
    true, flown = poses(), poses(seed=4)
    flown[:, 1:4] += np.random.default_rng(2).normal(scale=0.1, size=(len(true), 3))
    paths = []
    for name, table in (("reference", true), ("estimate", flown)):
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text(kitti(table, times=name == timed))
    found = evaluate(paths[1], paths[0], alignment="none")
    assert found.by_rows and found.pairs == len(true)
    theirs = metrics.APE(PoseRelation.translation_part)
    for path, table in zip(paths, (true, flown)):
        path.write_text(kitti(table))
    theirs.process_data(tuple(map(file_interface.read_kitti_poses_file, paths)))
    assert np.allclose(theirs.error, found.errors["ape_translation"], atol=1e-9)
    if timed == "neither":
        assert np.allclose(np.diff(found.reference[:, 0]), 0.1)
    else:
        assert found.reference[0, 0] == true[0, 0]


def test_different_counts_of_poses_without_times_are_refused(tmp_path):
    for name, count in (("a", 30), ("b", 20)):
        (tmp_path / f"{name}.txt").write_text(kitti(poses(count)))
    with pytest.raises(SlamError, match="b.txt' has 20 poses without times, and the other file 30"):
        evaluate(tmp_path / "b.txt", tmp_path / "a.txt")
    with pytest.raises(SlamError, match="b.txt' has 20 poses without times, and the other file 30"):
        evaluate(tmp_path / "a.txt", tmp_path / "b.txt")
