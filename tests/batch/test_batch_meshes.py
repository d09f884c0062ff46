"""Contacts of vehicles with meshes: distances, and vehicles that rest and stop."""

import numpy as np
import pytest
from test_batch_simulation import GROUND, objects_of

from xtdrone_batch.errors import BatchError
from xtdrone_batch.physics.contacts import distance
from xtdrone_batch.physics.meshes import THICKNESS, mesh_distance, mesh_tables
from xtdrone_batch.scenes import BOX, MESH, Scenes, TriangleMesh, object_dtype
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_batch.worlds.generate import World
from xtdrone_batch.worlds.places import free_places
from xtdrone_dynamics.quaternion import from_euler

SIDES = (1.6, 1.0, 0.7)


def cube():
    """A closed cube with sides of 1 m."""
    points = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    faces = [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
    return TriangleMesh(points, np.array(faces))


def ball(rows=40, turns=60):
    """A closed sphere of radius 1 m, of thousands of triangles."""
    lift, turn = np.meshgrid(
        np.linspace(-np.pi / 2, np.pi / 2, rows),
        np.linspace(0.0, 2.0 * np.pi, turns, endpoint=False),
        indexing="ij",
    )
    points = np.stack(
        [np.cos(lift) * np.cos(turn), np.cos(lift) * np.sin(turn), np.sin(lift)], axis=-1
    ).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(turns), indexing="ij")
    a, b = (i * turns + j).ravel(), (i * turns + (j + 1) % turns).ravel()
    return TriangleMesh(
        points,
        np.concatenate(
            [np.stack([a, b, b + turns], axis=1), np.stack([a, b + turns, a + turns], axis=1)]
        ),
    )


def record(kind, size, mesh=0):
    found = np.zeros((), dtype=object_dtype(np.float64))
    found["kind"], found["size"], found["mesh"] = kind, size, mesh
    found["pos"], found["quat"] = (0.3, -0.2, 1.0), from_euler(0.4, -0.3, 1.1)
    return found[()]


@pytest.mark.parametrize("mirror", [1.0, -1.0])
def test_a_cube_of_triangles_is_a_box(mirror):
    """Outside and up to THICKNESS inside; measured difference 4e-16 m."""
    tables = mesh_tables([ball(), cube()])  # the second of two
    box, mesh = record(BOX, SIDES), record(MESH, (mirror * SIDES[0], *SIDES[1:]), 1)
    rng, inside = np.random.default_rng(0), 0
    for point in rng.uniform(-1.5, 1.5, (1500, 3)) + box["pos"]:
        wanted = distance(box, *point)
        found = mesh_distance(tables, mesh, *point, 9.0, THICKNESS)
        if wanted[0] < -THICKNESS:
            assert found[0] == pytest.approx(-wanted[0], abs=1e-12)
            continue
        inside += wanted[0] < 0.0
        assert found[0] == pytest.approx(wanted[0], abs=1e-12)
        assert np.allclose(found[1:], wanted[1:], atol=1e-9)
        near = mesh_distance(tables, mesh, *point, 0.5, THICKNESS)
        assert near == found if wanted[0] < 0.5 else near[0] == np.inf
    assert inside > 15


def test_the_tree_finds_the_nearest_of_many_triangles():
    """Against all triangles one after the other, as trees of one leaf."""
    mesh, size = ball(), (1.0, 0.8, 1.2)
    o = record(MESH, size)
    whole = mesh_tables([mesh])
    single = mesh_tables(
        [TriangleMesh(mesh.points, mesh.faces[k : k + 16]) for k in range(0, len(mesh.faces), 16)]
    )
    for point in np.random.default_rng(1).uniform(-2.0, 2.0, (30, 3)) + o["pos"]:
        found = mesh_distance(whole, o, *point, 9.0, THICKNESS)[0]
        each = [
            abs(mesh_distance(single, record(MESH, size, m), *point, 9.0, THICKNESS)[0])
            for m in range(len(single.mesh_reach))
        ]
        assert abs(found) == pytest.approx(min(each), abs=1e-12)


def scenes_with(mesh, pos, size, vel=(0.0, 0.0, 0.0)):
    scenes = objects_of(GROUND, (MESH, pos, size))
    scenes.objects["vel"][0, 1] = vel
    return Scenes(scenes.objects, scenes.bounds, (mesh,))


def test_a_vehicle_lands_on_a_mesh_as_on_a_box():
    """A still iris falls from 0.3 m above a table of triangles; measured difference 1e-15 m."""
    size, pos = (2.0, 2.0, 0.8), (0.0, 0.0, 0.4)
    options = {"action": "actuator", "sub_steps": 250}
    on = [
        BatchSimulation("iris@0.1,0,1.1", scenes=scenes, **options)
        for scenes in (objects_of(GROUND, (BOX, pos, size)), scenes_with(cube(), pos, size))
    ]
    for batch in on:
        for _ in range(2):
            batch.step(np.zeros(batch.action_shape))
    box, mesh = (batch.state for batch in on)
    assert abs(mesh.vel).max() < 0.01 and mesh.contact[0, 0, 2] > 10.0
    assert 0.8 < mesh.pos[0, 0, 2] < 1.1
    assert np.allclose(mesh.pos, box.pos, atol=1e-12)


def test_a_mesh_stops_a_vehicle_and_one_that_moves_pushes_it():
    wall = scenes_with(cube(), (3.0, 0.0, 4.0), (0.5, 6.0, 6.0))
    batch = BatchSimulation("iris@0,0,4", scenes=wall)
    for _ in range(100):
        batch.step(np.broadcast_to([3.0, 0.0, 0.0, 0.0], batch.action_shape))
    assert 2.4 < batch.state.pos[0, 0, 0] < 2.75  # measured 2.54
    batch = BatchSimulation(
        "iris@0,0,4", scenes=scenes_with(cube(), (-2.0, 0.0, 4.0), (0.5, 6.0, 6.0), (2.0, 0.0, 0.0))
    )
    batch.scenes.objects["moving"][0, 1] = 1
    for _ in range(100):
        batch.step(np.zeros(batch.action_shape))
    # The wall's face has come to -2 + 4 + 0.25 m, and the vehicle is ahead of it.
    assert batch.state.pos[0, 0, 0] > 2.25
    assert np.isfinite(batch.state.pos).all()


@pytest.mark.slow
def test_free_places_keep_their_clearance():
    """From trees and from a mesh among them, and from each other."""
    forest = World("forest").generate(12, 3)
    mesh = np.zeros((12, 1), dtype=forest.objects.dtype)
    mesh["kind"], mesh["pos"], mesh["size"] = MESH, (0.0, 0.0, 2.0), (4.0, 4.0, 2.0)
    mesh["quat"] = 0.0, 0.0, 0.0, 1.0
    scenes = Scenes(np.concatenate([forest.objects, mesh], axis=1), forest.bounds, (ball(),))
    radii, region = (0.3, 0.5), [[-6.0, -6.0, 0.9], [6.0, 6.0, 4.0]]
    options = {"region": region, "clearance": 0.2}
    places = free_places(scenes, radii, seed=1, **options)
    assert (places[..., :3] >= region[0]).all() and (places[..., :3] <= region[1]).all()
    tables = mesh_tables(scenes.meshes)
    for row, two in zip(scenes.objects, places):
        for radius, (x, y, z, _) in zip(radii, two):
            assert (
                min(distance(o, x, y, z)[0] for o in row if o["kind"] not in (0, MESH))
                >= radius + 0.2
            )
            gap = mesh_distance(tables, row[-1], x, y, z, np.inf, np.inf)[0]
            assert gap >= radius + 0.2
        assert np.linalg.norm(two[0, :3] - two[1, :3]) >= 1.0
    assert mesh_distance(tables, row[-1], 0.0, 0.0, 2.0, np.inf, np.inf)[0] < -1.9  # inside
    part = Scenes(scenes.objects[5:8], scenes.bounds[5:8], scenes.meshes)
    assert np.array_equal(free_places(part, radii, seed=1, first=5, **options), places[5:8])
    assert (free_places(scenes, radii, seed=2, **options) != places).any(axis=(1, 2)).all()
    with pytest.raises(BatchError, match="environment 0 has no free place for 1 of 1 vehicles"):
        free_places(scenes, [9.0], region=[[-1, -1, 1], [1, 1, 2]])
