"""Voxel maps against rays cast one by one, and distance fields against all pairs."""

import numpy as np
import pytest

from xtdrone_core.runs import snapshot
from xtdrone_planning.errors import PlanningError
from xtdrone_planning.maps.distance_field import (
    FREE,
    OCCUPIED,
    UNSEEN,
    DistanceField,
    clearance_and_gradient,
)
from xtdrone_planning.maps.voxel_kernels import UNKNOWN
from xtdrone_planning.maps.voxel_map import VoxelMap

# A camera that looks along x: its optical axes (x right, y down, z forward) in the world.
AHEAD = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
LENS = (60.0, 60.0, 39.5, 29.5, 0.3, 6.0)
PLACE = np.array([0.05, 0.02, 1.5])


def wall(distance=3.0, shape=(60, 80)):
    return np.full(shape, distance, dtype=np.float32)


def seen_map(depth, size=(16, 16, 8), times=3, resolution=0.2):
    voxels = VoxelMap(size, resolution, PLACE)
    for _ in range(times):
        voxels.insert_depth(depth, LENS, PLACE, AHEAD)
    return voxels


def test_a_wall_is_occupied_and_what_is_before_it_is_free():
    voxels = seen_map(wall(3.0))
    assert voxels.at([[3.05, 0.0, 1.5]])[0] > 0
    for x in (0.5, 1.5, 2.5):
        assert voxels.at([[x, 0.0, 1.5]])[0] not in (UNKNOWN, 1)
        assert voxels.at([[x, 0.0, 1.5]])[0] <= 0
    assert voxels.at([[3.6, 0.0, 1.5]])[0] == UNKNOWN  # behind it
    assert voxels.at([[-1.0, 0.0, 1.5]])[0] == UNKNOWN  # behind the camera
    assert voxels.at([[99.0, 0.0, 1.5]])[0] == UNKNOWN  # outside of the window


def test_no_voxel_is_free_that_a_ray_of_the_image_does_not_pass():
    rng = np.random.default_rng(3)
    depth = rng.choice([1.5, 2.5, 4.0, np.inf], (60, 80)).astype(np.float32)
    depth = np.repeat(np.repeat(depth[::15, ::20], 15, axis=0), 20, axis=1)
    voxels = seen_map(depth, times=1)
    free = np.argwhere((voxels.unrolled() <= 0) & (voxels.unrolled() != UNKNOWN)) + voxels.low
    centres = (free + 0.5) * voxels.resolution - PLACE
    u = LENS[0] * -centres[:, 1] / centres[:, 0] + LENS[2]
    v = LENS[1] * -centres[:, 2] / centres[:, 0] + LENS[3]
    here = depth[np.clip(np.round(v), 0, 59).astype(int), np.clip(np.round(u), 0, 79).astype(int)]
    assert len(free) > 500
    assert (centres[:, 0] < np.minimum(here, LENS[5])).all()


def test_a_pixel_without_a_return_clears_up_to_the_range_and_one_that_is_no_number_nothing():
    assert seen_map(wall(np.inf)).at([[5.5, 0.0, 1.5]])[0] < 0
    assert seen_map(wall(np.nan)).known_volume() == (0.0, 0.0)


def test_a_near_obstacle_stays_when_it_is_too_near_to_be_seen():
    voxels = seen_map(wall(0.45))
    near = np.array([[0.45, 0.0, 1.5]])
    assert voxels.at(near)[0] > 0
    for _ in range(40):
        voxels.insert_depth(wall(np.inf), LENS, PLACE, AHEAD)
    assert voxels.at(near)[0] > 0


def test_what_has_left_is_cleared_again():
    voxels = seen_map(wall(3.0), times=10)
    for _ in range(20):
        voxels.insert_depth(wall(5.0), LENS, PLACE, AHEAD)
    assert voxels.at([[3.05, 0.0, 1.5]])[0] <= 0


def test_rays_are_those_of_a_walk_in_small_steps():
    rng = np.random.default_rng(1)
    ends = PLACE + rng.uniform(-3.0, 3.0, (60, 3))
    returned = rng.random(60) < 0.6
    voxels = VoxelMap((16, 16, 8), 0.25, PLACE)
    voxels.insert_rays(PLACE[None], ends, returned)
    hits = {tuple(np.floor(end / 0.25).astype(int)) for end in ends[returned]}
    passed = set()
    for end in ends:
        for s in np.linspace(0.0, 1.0, 4000):
            passed.add(tuple(np.floor((PLACE + s * (end - PLACE)) / 0.25).astype(int)))
    cells = voxels.unrolled()
    occupied = {tuple(row) for row in np.argwhere(cells > 0) + voxels.low}
    free = {tuple(row) for row in np.argwhere((cells <= 0) & (cells != UNKNOWN)) + voxels.low}
    assert occupied == hits
    # The walk may step over a corner that the rays pass.
    assert passed - hits - free == set()
    assert len(free - passed) <= 0.02 * len(free)
    assert set(np.unique(cells)) == {UNKNOWN, -1, 4}  # each voxel counts once in a sweep


def test_a_window_that_moves_keeps_what_stays_in_it_and_forgets_what_leaves():
    voxels = seen_map(wall(3.0))
    before = {tuple(row) for row in np.round(voxels.occupied() / 0.2 - 0.5).astype(int)}
    for x in np.arange(0.0, 6.0, 0.1):
        voxels.follow(np.array([x, 0.3 * x, 1.5]))
    low, high = voxels.low, voxels.low + voxels.shape
    kept = {row for row in before if (np.array(row) >= low).all() and (np.array(row) < high).all()}
    after = {tuple(row) for row in np.round(voxels.occupied() / 0.2 - 0.5).astype(int)}
    assert after == kept
    voxels.follow(np.array([500.0, 0.0, 1.5]))
    assert voxels.known_volume() == (0.0, 0.0)


def test_distances_are_those_to_the_nearest_of_all_occupied_voxels():
    rng = np.random.default_rng(5)
    voxels = VoxelMap((6, 5, 4), 0.25, (0, 0, 0))
    voxels.cells[:] = np.where(rng.random(voxels.cells.shape) < 0.006, 5, -3)
    field = DistanceField((5, 4, 3), 0.25, 1.5)
    field.update(voxels, (0.1, -0.2, 0.3))
    numbers = np.argwhere(np.ones(field.state.shape)) + field.low
    inside = np.round(voxels.occupied() / 0.25 - 0.5).astype(int)
    inside = inside[((inside >= field.low) & (inside < field.low + field.state.shape)).all(axis=1)]
    squares = ((numbers[:, None] - inside[None]) ** 2).sum(axis=-1).min(axis=1)
    reach = round(field.reach / 0.25)
    assert (field.square.ravel() == np.minimum(squares, reach**2)).all()
    assert (field.state == OCCUPIED).sum() == len(inside) > 3


def test_a_place_has_a_distance_and_a_state():
    field = DistanceField((12, 12, 6), 0.2, 1.4)
    field.update(seen_map(wall(3.0)), PLACE)
    assert field.distance((2.0, 0.0, 1.5)) == pytest.approx(1.0, abs=0.2)
    assert field.is_known((2.0, 0.0, 1.5))
    assert not field.is_known((4.0, 0.0, 1.5))
    assert not field.is_known((400.0, 0.0, 1.5))
    assert {FREE, UNSEEN, OCCUPIED} == set(np.unique(field.state))


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_distance_from_a_flat_wall_is_exact_everywhere_and_grows_away_from_it(axis, side):
    voxels = VoxelMap((4.0, 4.0, 4.0), 0.2)
    voxels.cells.fill(-4)
    np.moveaxis(voxels.cells, axis, 0)[0] = 9  # from 0 to 0.2 m
    field = DistanceField((3.6, 3.6, 3.6), 0.2, 1.4)
    field.update(voxels, (0.0, 0.0, 0.0))
    outward = side * np.eye(3)[axis]
    for place in np.random.default_rng(2).uniform(-1.5, 1.5, (50, 3)):
        gap = 0.1 + 1.1 * abs(place[axis]) / 1.5  # beyond the centres, within the reach
        place[axis] = (0.2 if side > 0 else 0.0) + side * gap
        found, *gradient = clearance_and_gradient(field.square, field.low, 0.2, *place)
        assert field.distance(place) == found == pytest.approx(gap)
        assert gradient == pytest.approx(outward)


def test_the_gradient_of_the_distance_is_that_of_finite_differences():
    rng = np.random.default_rng(4)
    voxels = VoxelMap((4.0, 4.0, 4.0), 0.2)
    voxels.cells[:] = np.where(rng.random(voxels.cells.shape) < 0.01, 9, -4)
    field = DistanceField((3.6, 3.6, 3.6), 0.2, 1.4)
    field.update(voxels, (0.0, 0.0, 0.0))
    for number in rng.integers(-7, 7, (50, 3)):
        place = (number + 0.5 + rng.uniform(0.1, 0.9, 3)) * 0.2  # between the same eight centres
        _, *gradient = clearance_and_gradient(field.square, field.low, 0.2, *place)
        steps = 1e-4 * np.eye(3)
        slopes = [(field.distance(place + s) - field.distance(place - s)) / 2e-4 for s in steps]
        assert gradient == pytest.approx(slopes, abs=1e-6)


def test_a_map_survives_files_and_a_snapshot(tmp_path):
    voxels = seen_map(wall(3.0))
    voxels.follow(np.array([4.0, 1.0, 2.0]))
    voxels.write(tmp_path / "map.npz")
    read = VoxelMap.read(tmp_path / "map.npz")
    assert (read.cells == voxels.cells).all()
    assert (read.low == voxels.low).all()
    voxels.write(tmp_path / "map.ply")
    assert (
        f"element vertex {len(voxels.occupied())}\n".encode() in (tmp_path / "map.ply").read_bytes()
    )
    other = VoxelMap((16, 16, 8), 0.2)
    snapshot.write(tmp_path / "snapshot", {"map": voxels.save()}, {})
    other.load(snapshot.read(tmp_path / "snapshot")[0]["map"])
    assert (other.cells == voxels.cells).all()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: VoxelMap((1, 2), 0.1), "3 positive sides"),
        (lambda path: VoxelMap((1, 2, -3), 0.1), "3 positive sides"),
        (lambda path: VoxelMap((1, 1, 1), 0.0), "resolution of 0 m"),
        (lambda path: VoxelMap((1, 1, 1), 0.1).write(path / "map.pcd"), "NAME.npz or NAME.ply"),
        (lambda path: VoxelMap((1, 1, 1), 0.1).write(path / "no" / "map.npz"), "cannot write"),
        (lambda path: VoxelMap.read(path / "no.npz"), "there is no map"),
        (lambda path: VoxelMap.read(__file__), "is no map"),
        (lambda path: DistanceField((1, 1, 1), 0.1, 50.0), "reach of 50 m"),
    ],
)
def test_refusals_are_one_line(make, message, tmp_path):
    with pytest.raises(PlanningError, match=message) as error:
        make(tmp_path)
    assert "\n" not in str(error.value)
