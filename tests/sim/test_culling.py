"""Images are drawn without what lies beside them, and are the same to the last bit."""

import numpy as np
import pytest

from drawing import draws
from physics import state_of
from sensor_models.lens import Pinhole
from xtdrone_core import VehicleSpec
from xtdrone_dynamics.quaternion import to_matrix
from xtdrone_sim.rendering.culling import in_view
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.viewing.scene import FlightScene
from xtdrone_sim.world import load_world

NEAR, FAR = 0.1, 40.0
VIEW = Pinhole(-0.8, 0.6, -0.5, 0.7, 140, 120)


def poses(count, seed):
    rng = np.random.default_rng(seed)
    pos = rng.uniform((-15, -15, 0.3), (15, 15, 8), (count, 3))
    quat = rng.normal(size=(count, 4)) * (0.3, 0.3, 1.0, 1.0)
    return pos, quat / np.linalg.norm(quat, axis=1, keepdims=True)


def test_no_sphere_with_a_point_in_the_view_is_left_out():
    rng = np.random.default_rng(1)
    pos, quat = poses(50, 2)
    left_out = 0
    for eye, q in zip(pos, quat):
        axes = np.array(to_matrix(*q)).reshape(3, 3)
        depth = rng.uniform(NEAR, FAR, 200)  # points in the view
        right = rng.uniform(VIEW.left, VIEW.right, 200) * depth
        down = rng.uniform(VIEW.top, VIEW.bottom, 200) * depth
        seen = eye + np.stack([depth, -right, -down], axis=1) @ axes.T
        radius = rng.uniform(0.01, 5.0, 200)
        outwards = rng.normal(size=(200, 3))
        outwards /= np.linalg.norm(outwards, axis=1, keepdims=True)
        centre = seen + outwards * radius[:, None] * rng.uniform(0, 1, (200, 1))
        assert in_view(centre, radius, eye, axes, VIEW, NEAR, FAR).all()
        anywhere = rng.uniform(-60, 60, (200, 3))
        left_out += (~in_view(anywhere, radius, eye, axes, VIEW, NEAR, FAR)).sum()
    assert left_out > 8000  # the view is a small part of the world


def scene_of(world, vehicle, n):
    """A scene, and the state in which the vehicles are in it."""
    specs = tuple(VehicleSpec(vehicle, f"v{k}", (2.0 * k, 1.0 * k, 1.0), 0.5 * k) for k in range(n))
    models = [load_vehicle(vehicle)] * n
    scene = RenderedScene(load_world(world), specs, models, (VIEW.width, VIEW.height))
    state = state_of(models)
    state.pos[:] = [spec.pos for spec in specs]
    state.quat[:] = 0.0, 0.0, 0.0, 1.0
    return scene, state


@draws
@pytest.mark.parametrize("world, vehicle", [("outdoor", "iris_stereo"), ("street", "typhoon_h480")])
def test_images_and_distances_are_the_same(world, vehicle):
    scene, state = scene_of(world, vehicle, 5)
    scene.place(state)
    drawn: list[bytes] = []
    try:
        for pos, quat in zip(*poses(12, 3)):
            images = []
            for scene.culls in (False, True):
                images.append(scene.draw(pos, quat, VIEW, NEAR, FAR, True))
                scene.place(state)
            for whole, culled in zip(*images, strict=True):
                np.testing.assert_array_equal(culled, whole)
            drawn.append(images[0][0].tobytes())
    finally:
        scene.close()
    assert len(set(drawn)) == 12


@draws
def test_what_is_left_out_is_measured_by_rays_all_the_same():
    scene, state = scene_of("hall", "iris", 1)
    rays = np.random.default_rng(4).normal(size=(300, 3))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    scene.place(state)
    try:
        before = scene.cast(0, (1.0, 1.0, 1.0), rays, 50.0)
        scene.draw((1.0, 1.0, 1.0), (0, 0, 0, 1), VIEW, NEAR, FAR)
        np.testing.assert_array_equal(scene.cast(0, (1.0, 1.0, 1.0), rays, 50.0), before)
    finally:
        scene.close()


def test_views_with_shadows_are_drawn_whole():
    assert RenderedScene.culls and not FlightScene.culls
