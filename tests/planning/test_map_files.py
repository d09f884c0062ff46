"""Maps that a flight is given: what files of each kind know, and what a map takes of it."""

import struct

import numpy as np
import pytest

from xtdrone_planning.agent import NavigateAgent
from xtdrone_planning.errors import PlanningError
from xtdrone_planning.maps import map_files
from xtdrone_planning.maps.voxel_kernels import UNKNOWN
from xtdrone_planning.maps.voxel_map import VoxelMap
from xtdrone_slam.lidar.map_files import write_octomap, write_ply

POST = np.array([[1.05, 0.45, z] for z in np.arange(0.1, 2.0, 0.2)])


def taken(path, resolution=0.2):
    voxels = VoxelMap((8, 8, 4), resolution, (0, 0, 1))
    voxels.insert_boxes(*map_files.read(path))
    return voxels


def ascii_ply(points):
    rows = "\n".join(f"7 {x} {y} {z}" for x, y, z in points)
    return (
        f"ply\nformat ascii 1.0\ncomment made by hand\nelement vertex {len(points)}\n"
        "property uchar red\nproperty double x\nproperty double y\nproperty double z\n"
        f"element face 0\nproperty list uchar int vertex_indices\nend_header\n{rows}\n"
    ).encode()


def big_ply(points):
    head = (
        f"ply\nformat binary_big_endian 1.0\nelement vertex {len(points)}\n"
        "property float x\nproperty float y\nproperty float z\nproperty uchar seen\nend_header\n"
    )
    return head.encode() + b"".join(struct.pack(">fffB", *row, 1) for row in points)


@pytest.mark.parametrize("resolution", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("kind", ["npz", "bt", "ply", "ascii", "big"])
def test_a_post_of_each_kind_of_file_stands_in_the_map(tmp_path, kind, resolution):
    path = tmp_path / f"map.{kind if kind in ('npz', 'bt') else 'ply'}"
    if kind == "npz":
        voxels = VoxelMap((4, 4, 3), 0.2, (1, 0, 1))
        voxels.insert_boxes(POST, np.full(len(POST), 1e-6), np.ones(len(POST), dtype=bool))
        voxels.write(path)
    elif kind == "bt":
        write_octomap(path, POST, 0.2)
    elif kind == "ply":
        write_ply(path, POST)
    else:
        path.write_bytes(ascii_ply(POST) if kind == "ascii" else big_ply(POST))
    found = taken(path, resolution)
    assert (found.at(POST) > 0).all()
    assert (found.at(POST + [0.0, 0.8, 0.0]) == UNKNOWN).all()
    # No further than the voxels of the file and of the map are large.
    assert np.abs(found.occupied()[:, :2] - POST[0, :2]).max() < 0.2 + resolution


def test_what_a_flight_knows_to_be_free_is_free_and_what_is_seen_already_stays(tmp_path):
    first = VoxelMap((6, 6, 4), 0.2, (0, 0, 1))
    first.insert_rays(np.array([[0.1, 0.1, 1.1]]), np.array([[2.1, 0.1, 1.1]]), np.array([True]))
    first.write(tmp_path / "map.npz")
    voxels = VoxelMap((8, 8, 4), 0.2, (0.5, 0, 1))
    voxels.set_free(np.array([2.1, 0.1, 1.1]), 0.15)
    voxels.insert_boxes(*map_files.read(tmp_path / "map.npz"))
    free, occupied = voxels.at([[1.1, 0.1, 1.1], [2.1, 0.1, 1.1]])
    assert UNKNOWN < free < 0
    assert UNKNOWN < occupied <= 0  # it was seen to be free now


def test_a_tree_of_octomap_has_free_space_and_large_leaves(tmp_path):
    # The root has one inner child; each below, too, but for the last, whose children are leaves.
    nodes = [3 << 14] + [3 << 0] * 12 + [1 << 0 | 2 << 14]
    head = b"# Octomap OcTree binary file\nid OcTree\nsize 17\nres 0.25\ndata\n"
    path = tmp_path / "map.bt"
    path.write_bytes(head + np.array(nodes, "<u2").tobytes())
    boxes = map_files.read(path)
    assert boxes.sides.tolist() == [1.0, 1.0]
    assert boxes.corners.tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert boxes.occupied.tolist() == [False, True]
    voxels = taken(path, 0.25)
    assert voxels.known_volume() == (1.0, 1.0)


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("map.pcd", b"", "give a file that ends with .npz, .ply, .bt"),
        ("map.ply", b"nonsense", "does not begin as a PLY"),
        ("map.ply", ascii_ply(POST)[:-20], "cannot be read"),
        ("map.ply", big_ply(POST)[:-20], "cannot be read"),
        ("map.ply", big_ply(POST).replace(b"float x", b"float u"), "no x, y, z"),
        ("map.ply", big_ply(POST).replace(b"uchar", b"list8"), "cannot be read"),
        ("map.bt", b"# Octomap OcTree file\n", "not .ot"),
        ("map.bt", b"# Octomap OcTree binary file\nres 0.1\ndata\n\xff\xff", "cannot be read"),
        ("map.bt", b"# Octomap OcTree binary file\nres nan\ndata\n", "resolution is nan"),
        ("map.npz", b"nonsense", "is no map"),
    ],
)
def test_refusals_are_one_line(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(PlanningError, match=message) as error:
        NavigateAgent(1, map=str(path))
    assert "\n" not in str(error.value)
    with pytest.raises(PlanningError):
        NavigateAgent(1, map=str(tmp_path / "missing.ply"))
