"""Worlds of many triangles in the embedded engine: built in a time that grows with their number."""

import time

import numpy as np
import pytest

from xtdrone_core import VehicleSpec
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.scene import mujoco_shapes
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

PERIOD_US = 4000


def tree(path, triangles):
    """An STL file of leaves: triangles that have no side in common, 6 to 10 m above the ground."""
    rng = np.random.default_rng(5)
    record = np.zeros(triangles, dtype=[("n", "<f4", 3), ("p", "<f4", (3, 3)), ("m", "<u2")])
    middle = rng.uniform((-2.0, -2.0, 6.0), (2.0, 2.0, 10.0), (triangles, 3))
    record["p"] = middle[:, None] + rng.uniform(-0.3, 0.3, (triangles, 3, 3))
    path.write_bytes(bytes(80) + np.uint32(triangles).tobytes() + record.tobytes())


def forest(folder, trees, triangles):
    """A world with trees of one mesh in a row along x, 5 m apart, and a floor."""
    tree(folder / "tree.stl", triangles)
    links = "".join(
        f'<model name="tree_{k}"><static>1</static><pose>{5 * k} 0 0 0 0 0</pose><link name="l">'
        '<collision name="c"><geometry><mesh><uri>tree.stl</uri></mesh></geometry></collision>'
        "</link></model>"
        for k in range(trees)
    )
    path = folder / "forest.world"
    path.write_text(
        f'<sdf version="1.6"><world name="forest">{links}<model name="floor"><static>1</static>'
        '<link name="l"><collision name="c"><geometry><plane><size>900 900</size></plane>'
        "</geometry></collision></link></model></world></sdf>"
    )
    return load_world(str(path))


def engine(world, x=0.0, z=0.3):
    return EmbeddedEngine(
        world, (VehicleSpec("iris", "iris_0", (x, 0.0, z)),), (load_vehicle("iris"),)
    )


def test_batches_make_the_same_scene(tmp_path, monkeypatch):
    world = forest(tmp_path, 3, 20)
    whole = engine(world).model
    monkeypatch.setattr(mujoco_shapes, "MAX_BATCH", 7)
    parts = engine(world).model

    def table(model):
        geoms = (model.geom(k) for k in range(model.ngeom))
        return {
            geom.name: (
                *geom.pos,
                *geom.quat,
                *geom.friction,
                *geom.group,
                *geom.contype,
                *geom.bodyid,
            )
            for geom in geoms
        }

    assert len(table(whole)) == whole.ngeom == parts.ngeom
    assert table(whole) == table(parts)


@pytest.mark.slow
@pytest.mark.long
def test_a_forest_of_a_hundred_thousand_triangles(tmp_path):
    world = forest(tmp_path, 150, 700)
    begin = time.process_time()
    made = engine(world, x=740.0, z=12.0)
    assert time.process_time() - begin < 14.0  # s of CPU; about 4, or 23 without batches
    assert made.model.ngeom > 100_000
    still, joints = np.zeros((1, 1, 6)), np.zeros((1, 0))
    for _ in range(400):
        made.step(still, joints, PERIOD_US)
    assert 6.0 < made.state.pos[0, 2] < 11.0  # it fell into the last tree but one
    touched = made.contacts()
    names = {touched.names[k] for pair in touched.pairs for k in pair}
    assert "tree_148" in names
