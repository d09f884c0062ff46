"""Maps of laser SLAM: pose graph, occupancy grid, SLAM in the plane, files."""

import math

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from xtdrone_slam import SlamError
from xtdrone_slam.lidar import map_files
from xtdrone_slam.lidar.grid import FREE, OCCUPIED, UNKNOWN, grid_of
from xtdrone_slam.lidar.planar import PlanarSlam, line_equations, match
from xtdrone_slam.lidar.pose_graph import Edge, between, optimised, weight_of
from xtdrone_slam.lidar.voxel_map import VoxelMap

GRAVITY = 9.80665


def test_a_loop_closure_spreads_the_drift_over_a_pose_graph():
    angles = np.linspace(0.0, 2.0 * np.pi, 41)
    true = np.column_stack([5 * np.sin(angles), 5 - 5 * np.cos(angles), angles])
    edges, drifted = [], [true[0]]
    for k in range(40):
        step = between(true[k], true[k + 1]) + [0.005, 0.0, 0.004]
        edges.append(Edge(k, k + 1, step, np.diag([50.0, 50.0, 100.0])))
        c, s = math.cos(drifted[-1][2]), math.sin(drifted[-1][2])
        shift = np.array([[c, -s], [s, c]]) @ step[:2]
        drifted.append(np.array([*(drifted[-1][:2] + shift), drifted[-1][2] + step[2]]))
    drifted = np.array(drifted)
    assert np.linalg.norm(drifted[-1, :2]) > 0.2
    edges.append(Edge(0, 40, np.zeros(3), np.diag([100.0, 100.0, 200.0])))
    solved = optimised(drifted, edges)
    assert np.linalg.norm(solved[-1, :2]) < 0.03
    assert np.linalg.norm(solved[:, :2] - true[:, :2], axis=1).max() < 0.12


def test_a_loop_moves_poses_only_where_its_match_says_something():
    steps = np.array([1.0, 0.0, 0.0])
    poses = np.column_stack([np.arange(4.0), np.zeros(4), np.zeros(4)])
    edges = [Edge(k, k + 1, steps, np.diag([50.0, 50.0, 200.0])) for k in range(3)]
    turn = Rotation.from_euler("z", 30.0, degrees=True).as_matrix()
    covariance = turn @ np.diag([25.0, 4e-4, 1e-4]) @ turn.T  # along a corridor at 30 degrees
    wrong = np.array([3.0, 0.0, 0.0]) + turn @ [0.8, 0.1, 0.0]
    edges.append(Edge(0, 3, wrong, weight_of(covariance)))
    off = turn.T @ (optimised(poses, edges)[-1] - poses[-1])
    assert abs(off[0]) < 0.02 < off[1] < 0.1


def wall(y, x=(-3.0, 3.0), spacing=0.1):
    """Points (M, 3) on a wall along x."""
    along = np.arange(*x, spacing)
    return np.column_stack([along, np.full(len(along), y), np.zeros(len(along))])


def test_a_match_along_two_walls_says_nothing_about_the_way_between_them():
    table = VoxelMap(0.5)
    table.add(np.vstack([wall(2.0, (-9.0, 9.0)), wall(-2.0, (-9.0, 9.0))]))
    scan = np.vstack([wall(1.95), wall(-2.05)])[:, :2]
    pose, used, information = match(scan, np.zeros(3), table, (1.0, 1.0, 0.2))
    assert used == len(scan) and pose[1] == pytest.approx(0.05, abs=5e-3)
    assert information[0, 0] < 1e-3 * information[1, 1]


@pytest.mark.parametrize(("thickness", "used"), [(0.05, True), (0.2, False)])
def test_the_other_face_of_a_wall_is_not_taken_for_it(thickness, used):
    table, points = VoxelMap(0.5), wall(2.0 + thickness)
    table.add(wall(2.0))
    matrix, vector = np.empty((6, 6)), np.empty(6)
    count = line_equations(
        points, np.eye(3), np.zeros(3), table.keys, table.counts, table.cells, table.side, 0.15,
        matrix, vector,
    )  # fmt: skip
    assert count > 0.9 * len(points) if used else count == 0


def room(pose, half=(4.0, 3.0), rays=360):
    """Ends (M, 2) of the rays of a scan in a rectangular room, in the scanner's frame."""
    azimuth = np.linspace(-np.pi, np.pi, rays, endpoint=False)
    world = np.column_stack([np.cos(azimuth + pose[2]), np.sin(azimuth + pose[2])])
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.nanmin((np.sign(world) * half - pose[:2]) / world, axis=1)
    return np.column_stack([np.cos(azimuth), np.sin(azimuth)]) * reach[:, None]


def test_a_grid_is_free_inside_walls_and_unknown_outside(tmp_path):
    poses = np.array([[0.3, 0.2, 0.5], [-1.0, 0.5, 2.0]])
    grid = grid_of(poses, [room(pose) for pose in poses], 0.1)

    def cell(x, y):
        column, row = ((np.array([x, y]) - grid.origin) / grid.resolution).astype(int)
        return grid.cells[row, column]

    assert cell(0.0, 0.0) == cell(3.5, -2.5) == FREE
    assert cell(4.02, 0.3) == cell(-0.5, -2.98) == OCCUPIED or cell(-0.5, -3.02) == OCCUPIED
    assert cell(4.6, 0.0) == cell(0.0, 3.6) == UNKNOWN

    grid.save(tmp_path / "map")
    values = yaml.safe_load((tmp_path / "map.yaml").read_text())
    assert values["image"] == "map.pgm" and values["resolution"] == 0.1 and values["negate"] == 0
    head, size, most, pixels = (tmp_path / "map.pgm").read_bytes().split(b"\n", 3)
    columns, rows = map(int, size.split())
    assert (head, most, len(pixels)) == (b"P5", b"255", rows * columns)
    image = np.frombuffer(pixels, np.uint8).reshape(rows, columns)[::-1]  # the top row comes first
    assert set(np.unique(image)) == {0, 205, 254}
    np.testing.assert_array_equal(image == 0, grid.cells == OCCUPIED)

    message = grid.message(3, 5)
    assert message["info"]["width"] * message["info"]["height"] == len(message["data"])
    assert message["info"]["origin"]["position"] == {"x": grid.origin[0], "y": grid.origin[1]}


def test_a_grid_without_scans_or_too_large_is_refused():
    with pytest.raises(SlamError, match="a map needs a scan"):
        grid_of(np.zeros((0, 3)), [])
    with pytest.raises(SlamError, match="give a larger resolution"):
        grid_of(np.zeros((1, 3)), [np.array([[1e5, 1e5]])], 0.05)


def read_octomap(path):
    """Centres (M, 3) of the occupied voxels of a .bt file."""
    head, tree = path.read_bytes().split(b"data\n", 1)
    lines = dict(line.split(" ", 1) for line in head.decode().splitlines()[1:] if " " in line)
    resolution, at, out, nodes = float(lines["res"]), 0, [], 0

    def node(corner, level):
        nonlocal at, nodes
        nodes += 1
        kinds = int.from_bytes(tree[at : at + 2], "little")
        at += 2
        for child in range(8):
            kind = kinds >> (2 * child) & 3
            place = corner + (np.array([child, child >> 1, child >> 2]) & 1) * (1 << level)
            if kind == 3:
                node(place, level - 1)
            elif kind:
                nodes += 1
                assert level == 0
                out.append((place - (1 << 15) + 0.5) * resolution)

    node(np.zeros(3, dtype=int), 15)
    assert at == len(tree) and nodes == int(lines["size"]) and lines["id"] == "OcTree"
    return np.array(out)


def test_maps_in_space_are_written(tmp_path):
    points = np.random.default_rng(1).uniform(-5.0, 5.0, (200, 3))
    map_files.write_octomap(tmp_path / "map.bt", points, 0.5)
    expected = np.unique(np.floor(points / 0.5), axis=0) * 0.5 + 0.25
    found = read_octomap(tmp_path / "map.bt")
    np.testing.assert_allclose(found[np.lexsort(found.T[::-1])], expected)
    with pytest.raises(SlamError, match="give a larger"):
        map_files.write_octomap(tmp_path / "far.bt", points * 1e5, 0.5)
    map_files.write_ply(tmp_path / "map.ply", points)
    head, data = (tmp_path / "map.ply").read_bytes().split(b"end_header\n")
    assert b"element vertex 200\n" in head
    np.testing.assert_allclose(np.frombuffer(data, "<f4").reshape(-1, 3), points, rtol=1e-6)


def test_slam_in_the_plane_follows_a_tilting_scanner_and_draws_the_room():
    slam, errors = PlanarSlam(), []

    def place(t):
        return np.array([1.5 * math.sin(0.8 * t), 1.0 - math.cos(0.8 * t), 0.6 * math.sin(t)])

    for k in range(251):
        t = 0.02 * k
        tilt = Rotation.from_rotvec([0.0, 0.05 * math.sin(2 * t), 0.0])
        slam.imu(t, np.array([0.0, 0.1 * math.cos(2 * t), 0.6 * math.cos(t)]),
                 tilt.inv().apply([0.0, 0.0, GRAVITY]))  # fmt: skip
        if k % 5 == 0:
            level = np.column_stack([room(place(t), rays=720), np.zeros(720)])
            slam.scan(t, tilt.inv().apply(level), np.zeros(720))
            errors.append(np.linalg.norm(slam.pose[:2] - place(t)[:2]))
    assert max(errors) < 0.1 and abs(slam.pose[2] - place(5.0)[2]) < 0.03
    grid = slam.grid(0.1)
    assert 0.7 * 48.0 < (grid.cells == FREE).sum() * 0.01 < 1.1 * 48.0  # square metres
