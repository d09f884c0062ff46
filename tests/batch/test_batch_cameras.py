"""Cameras and lidars of a batch: Embree, closed forms, the lockstep renderer, noise, refusals."""

import math
import re

import mujoco
import numpy as np
import pytest
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh as EmbreeMesh

from sensor_models.cameras import CameraParameters
from sensor_models.lens import pinhole_of, project
from sensor_models.rendered.lidar import LidarParameters, lidar_rays
from xtdrone_batch.errors import BatchError
from xtdrone_batch.rays import light, surfaces
from xtdrone_batch.rays.sensor import CHANNELS, Mounting, mounted, rosette
from xtdrone_batch.rays.surfaces import OBJECT, ROWS
from xtdrone_batch.rays.tree import LEAF, build, new_tree
from xtdrone_batch.scenes import (
    BOX,
    CYLINDER,
    KINDS,
    MESH,
    PLANE,
    SPHERE,
    Scenes,
    TriangleMesh,
    object_dtype,
)
from xtdrone_batch.simulation import BatchSimulation
from xtdrone_core.errors import XtdroneError
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_dynamics.lanes import LaneLoop, loop_in_lanes
from xtdrone_dynamics.quaternion import from_euler, rotate_array, to_matrix
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

WEDGE = TriangleMesh(
    np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.5]], dtype=float),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)
CAMERA = CameraParameters.pinhole(61, 45, 1.5, near=0.05, far=80.0)
LIDAR = LidarParameters(
    (0.0, 0.0, 0.1),
    (0.0, 0.0, 0.0, 1.0),
    10.0,
    0.0,
    0.0,
    90,
    -math.pi,
    math.pi,
    9,
    -0.6,
    0.6,
    0.2,
    40.0,
    0.0,
    0.0,
    0.0,
)
NAMES = {value: name for name, value in KINDS.items()}


def forest(environments=2, count=70, seed=0, kinds=(BOX, SPHERE, CYLINDER, MESH)):
    """Objects of all kinds, turned and scaled at random, about the origin; and a ground."""
    rng = np.random.default_rng(seed)
    found = np.zeros((environments, count + 1), dtype=object_dtype())
    things, ground = found[:, :count], found[:, count]
    lead = environments, count
    things["kind"] = rng.choice(kinds, lead)
    away, turn = rng.uniform(4.0, 18.0, lead), rng.uniform(-math.pi, math.pi, lead)
    things["pos"] = np.stack(
        [away * np.cos(turn), away * np.sin(turn), rng.uniform(0.0, 6.0, lead)], axis=-1
    )
    quat = rng.normal(size=(*lead, 4))
    things["quat"] = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
    things["size"] = rng.uniform(0.4, 1.8, (*lead, 3))
    things["colour"], things["semantic"] = rng.uniform(0.2, 1.0, (*lead, 3)), things["kind"]
    ground["kind"], ground["size"], ground["quat"] = PLANE, (60.0, 60.0, 0.0), (0, 0, 0, 1)
    ground["semantic"], ground["colour"] = PLANE, 0.4
    bounds = np.tile([[-20.0, -20.0, 0.0], [20.0, 20.0, 10.0]], (environments, 1, 1))
    return Scenes(found, bounds, (WEDGE,), tuple(NAMES[k] for k in range(1, 6)))


def batch_in(scenes, vehicles="iris@0,0,2", **options):
    return BatchSimulation(vehicles, len(scenes.objects), scenes=scenes, **options)


def look_at(batch, yaw, pitch=0.0):
    batch.state.quat[:] = from_euler(0.0, pitch, yaw)


def rays_of(batch, camera, e):
    """World start and directions, in double precision, of the pixels of environment e's camera."""
    v, u = np.indices((camera.height, camera.width))
    ray = np.stack(
        [np.ones(v.shape), -(u - camera.cx) / camera.fx, -(v - camera.cy) / camera.fy], axis=-1
    ).reshape(-1, 3)
    quat = np.broadcast_to(batch.state.quat[e, 0], (len(ray), 4))
    return batch.state.pos[e, 0], rotate_array(quat, ray)


def exact(o, start, ray):
    """Distances and normals of one plane, box, sphere or cylinder along rays, from outside."""
    m = np.array(to_matrix(*map(float, o["quat"]))).reshape(3, 3)
    p, d, size = m.T @ (start - o["pos"]), ray @ m, o["size"].astype(float)
    with np.errstate(all="ignore"):
        if o["kind"] == SPHERE:
            b, a = d @ p, (d * d).sum(axis=1)
            disc = b * b - a * (p @ p - size[0] ** 2)
            t = np.where(disc > 0.0, (-b - np.sqrt(np.abs(disc))) / a, np.inf)
            normal = (p + t[:, None] * d) / size[0]
        elif o["kind"] == PLANE:
            t = np.where(d[:, 2] < 0.0, -p[2] / d[:, 2], np.inf)
            at = p + t[:, None] * d
            t[(np.abs(at[:, :2]) > 0.5 * size[:2]).any(axis=1)] = np.inf
            normal = np.broadcast_to((0.0, 0.0, 1.0), d.shape)
        else:
            half = 0.5 * size if o["kind"] == BOX else np.array([np.inf, np.inf, 0.5 * size[1]])
            near, far = np.sort([(-half - p) / d, (half - p) / d], axis=0)
            if o["kind"] == CYLINDER:
                b, a = d[:, :2] @ p[:2], (d[:, :2] ** 2).sum(axis=1)
                disc = b * b - a * (p[:2] @ p[:2] - size[0] ** 2)
                root = np.where(disc > 0.0, np.sqrt(np.abs(disc)), np.nan)
                near[:, 0], far[:, 0], near[:, 1] = (-b - root) / a, (-b + root) / a, -np.inf
                far[:, 1] = np.inf
            t, last = near.max(axis=1), far.min(axis=1)
            t[~(t <= last)] = np.inf
            axis = np.argmax(np.nan_to_num(near, nan=-np.inf), axis=1)
            normal = -np.sign(d) * np.eye(3)[axis]
            if o["kind"] == CYLINDER:
                out = (p + t[:, None] * d) / size[0] * (1.0, 1.0, 0.0)
                normal = np.where((axis == 2)[:, None], normal, out)
    t[~(t > 0.0)] = np.inf
    return t, np.clip(np.nan_to_num(normal), -1.0, 1.0) @ m.T


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BOX, SPHERE, CYLINDER], ids=NAMES.get)
def test_primitives_are_where_their_closed_forms_say(kind):
    """In single precision, lengths to 80 m."""
    scenes = forest(1, kinds=(kind,), seed=kind)
    batch = batch_in(scenes)
    camera = batch.add_camera(CAMERA, channels=("depth", "segmentation", "normals"))
    for yaw in (0.0, 2.0, 4.0):
        look_at(batch, yaw, 0.3)
        images = camera.capture()
        start, ray = rays_of(batch, CAMERA, 0)
        found = [exact(o, start, ray) for o in scenes.objects[0]]
        t = np.array([each[0] for each in found])
        first, pixel = t.argmin(axis=0), np.arange(len(ray))
        wanted = t.min(axis=0)
        seen = images.depth.ravel()
        clear = np.isfinite(wanted) & (wanted < CAMERA.far)
        edge = np.isfinite(seen) != clear  # a ray along a silhouette
        label = scenes.objects["semantic"][0][first]
        other = clear & ~edge & (images.segmentation.ravel() != label)
        assert edge.sum() + other.sum() <= 3 and clear.mean() > 0.5
        error = np.abs(np.where(clear, wanted, 0.0) - np.where(np.isfinite(seen), seen, 0.0))
        fine = clear & ~edge & ~other & (error < 0.02)
        assert fine.sum() >= clear.sum() - 6
        assert error[fine].max() < 2e-3 and np.median(error[fine]) < 2e-5
        normal = np.array([each[1] for each in found])[first, pixel]
        apart = np.abs(images.normals.reshape(-1, 3) - normal)[fine].max(axis=1)
        assert np.sort(apart)[-6] < 5e-3  # at the edge of a box either side will do


def corners(o):
    """A box's or mesh's triangles (T, 3, 3) in the world."""
    if o["kind"] == BOX:
        points = np.array(
            [[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
        )
        faces = np.array(
            [
                [0, 1, 3],
                [0, 3, 2],
                [4, 6, 7],
                [4, 7, 5],
                [0, 4, 5],
                [0, 5, 1],
                [2, 3, 7],
                [2, 7, 6],
                [0, 2, 6],
                [0, 6, 4],
                [1, 5, 7],
                [1, 7, 3],
            ]
        )
    else:
        points, faces = WEDGE.points, WEDGE.faces
    m = np.array(to_matrix(*map(float, o["quat"]))).reshape(3, 3)
    return (points * o["size"] @ m.T + o["pos"])[faces]


def test_boxes_and_meshes_are_where_embree_sees_them():
    scenes = forest(3, kinds=(BOX, MESH), count=150, seed=5)
    scenes.objects[:, -1]["kind"] = 0
    batch = batch_in(scenes)
    camera = batch.add_camera(CAMERA, channels=("depth", "segmentation"))
    lidar = batch.add_lidar(LIDAR)
    look_at(batch, 0.7, -0.2)
    images, scans = camera.capture(), lidar.scan()
    for e in range(3):
        peer, labels = rtcore_scene.EmbreeScene(), []
        for o in scenes.objects[e][:-1]:
            EmbreeMesh(peer, corners(o).astype(np.float32))  # the scene keeps it
            labels.append(o["semantic"])
        for start, ray, seen in (
            (*rays_of(batch, CAMERA, e), images.depth[e].ravel()),
            (*lidar_start(batch, e), scans.ranges[e].ravel()),
        ):
            hit = peer.run(
                np.broadcast_to(start, ray.shape).astype(np.float32),
                ray.astype(np.float32),
                output=1,
            )
            # What is nearer than the lidar's shortest distance, or beyond its longest, is the same.
            wanted = np.where((hit["geomID"] >= 0) & (hit["tfar"] < 39.0), hit["tfar"], 39.0)
            assert (wanted < 39.0).sum() > 200
            # No ray differs here; one along an edge may miss it in either.
            assert (np.abs(np.clip(seen, None, 39.0) - wanted) > 1e-3).mean() < 1e-3
        labelled = images.segmentation[e].ravel()
        hit = peer.run(
            np.broadcast_to(rays_of(batch, CAMERA, e)[0], (61 * 45, 3)).astype("f4"),
            rays_of(batch, CAMERA, e)[1].astype("f4"),
            output=1,
        )
        wanted = np.where(hit["geomID"] >= 0, np.array(labels)[hit["geomID"]], 0)
        assert (labelled != wanted).mean() < 1e-3


def lidar_start(batch, e):
    rays = lidar_rays(LIDAR).reshape(-1, 3)
    quat = np.broadcast_to(batch.state.quat[e, 0], (len(rays), 4))
    arm = rotate_array(quat[:1], np.array([LIDAR.pos]))[0]
    return batch.state.pos[e, 0] + arm, rotate_array(quat, rays)


WORLD = """<sdf version="1.6"><world name="w"><model name="ground"><static>1</static><link name="l">
<collision name="c"><geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>
</collision><visual name="v"><geometry><plane><normal>0 0 1</normal><size>100 100</size></plane>
</geometry></visual></link></model>{models}</world></sdf>"""
MODEL = """<model name="m{i}"><static>1</static><pose>{pose}</pose><link name="l">
<collision name="c">{form}</collision><visual name="v">{form}</visual></link></model>"""
FORMS = (
    "<geometry><box><size>1 2 1.5</size></box></geometry>",
    "<geometry><sphere><radius>0.8</radius></sphere></geometry>",
    "<geometry><cylinder><radius>0.5</radius><length>3</length></cylinder></geometry>",
)


def test_images_agree_with_the_lockstep_renderer(tmp_path):
    """The same SDF world, drawn by OpenGL: depth, and what each pixel shows."""
    rng = np.random.default_rng(4)
    models = "".join(
        MODEL.format(
            i=i,
            form=FORMS[i % 3],
            pose=" ".join(
                map(
                    str,
                    (
                        rng.uniform(4, 14),
                        rng.uniform(-6, 6),
                        rng.uniform(0.5, 3),
                        *rng.uniform(-1, 1, 3),
                    ),
                )
            ),
        )
        for i in range(24)
    )
    path = tmp_path / "w.world"
    path.write_text(WORLD.format(models=models))
    world = load_world(str(path))
    solid = [shape for shape in world.shapes if shape.collides]
    objects = np.zeros((1, len(solid)), dtype=object_dtype())
    for o, shape in zip(objects[0], solid):
        o["kind"], o["pos"], o["quat"] = KINDS[shape.kind], shape.pose.pos, shape.pose.quat
        o["size"][: len(shape.size)], o["semantic"] = shape.size, KINDS[shape.kind]
    batch = BatchSimulation("iris@0,0,1.7", 1, scenes=Scenes(objects, np.zeros((1, 2, 3))))
    camera_parameters = CameraParameters.pinhole(160, 120, 1.3, near=0.1, far=60.0)
    camera = batch.add_camera(camera_parameters, channels=("depth", "segmentation"))
    images = camera.capture()
    scene = RenderedScene(world, parse_vehicles("iris@-50,0,5"), [load_vehicle("iris")], (160, 120))
    try:
        _, depth = scene.draw(
            batch.state.pos[0, 0],
            batch.state.quat[0, 0],
            pinhole_of(camera_parameters),
            0.1,
            60.0,
            depth=True,
        )
    finally:
        scene.close()
    depth = depth[::-1]
    ours = images.depth[0, 0]
    both = np.isfinite(ours) & (depth < 50.0) & (ours < 50.0)
    # OpenGL draws round things with facets, and a pixel on a silhouette may show either side.
    assert both.mean() > 0.5
    assert (np.abs(ours - depth)[both] < 0.02 * ours[both]).mean() > 0.985
    assert np.median(np.abs(ours - depth)[both] / ours[both]) < 1e-3
    start, ray = rays_of(batch, camera_parameters, 0)
    ids, distances = np.zeros(len(ray), dtype=np.int32), np.zeros(len(ray))
    unit = ray / np.linalg.norm(ray, axis=1, keepdims=True)
    groups = np.array([0, 0, 0, 1, 0, 0], dtype=np.uint8)
    data = mujoco.MjData(scene.model)
    mujoco.mj_kinematics(scene.model, data)
    mujoco.mj_multiRay(
        scene.model,
        data,
        start,
        unit.ravel(),
        groups,
        True,
        -1,
        ids,
        distances,
        None,
        len(ray),
        100.0,
    )
    kinds = {
        int(getattr(mujoco.mjtGeom, f"mjGEOM_{name.upper()}")): kind for name, kind in KINDS.items()
    }
    wanted = np.array([kinds[scene.model.geom_type[i]] if i >= 0 else 0 for i in ids])
    wanted[np.isinf(images.depth.ravel())] = 0  # beyond the camera's far plane
    assert (images.segmentation.ravel() == wanted).mean() > 0.999


def test_vehicles_see_each_other_and_not_themselves():
    batch = BatchSimulation("iris@0,0,50; iris@3,0,50", 2)
    camera = batch.add_camera(CAMERA, channels=("depth", "segmentation"), vehicle=0)
    images = camera.capture()
    vehicle = images.segmentation == batch.rays.label
    assert 3 < vehicle[0].sum() < 30 and images.segmentation.max() == batch.rays.label
    assert images.depth[vehicle].min() == pytest.approx(2.8, abs=0.2)
    batch.state.pos[1, 1, 1] += 40.0
    assert not (camera.capture().segmentation[1] == batch.rays.label).any()
    assert (images.segmentation[0] == batch.rays.label).sum() == vehicle[0].sum()


def test_flow_is_where_points_go():
    """Seen points, moved for 10 ms with their objects and seen from the moved camera."""
    scenes = forest(1, seed=8)
    rng = np.random.default_rng(2)
    scenes.objects["moving"][:] = rng.random(scenes.objects.shape) < 0.5
    scenes.objects["vel"][:] = rng.normal(size=(*scenes.objects.shape, 3))
    scenes.objects["ang_vel"][:] = rng.normal(size=(*scenes.objects.shape, 3))
    scenes.objects["semantic"][:] = np.arange(1, scenes.objects.shape[1] + 1)
    batch = batch_in(scenes)
    camera = batch.add_camera(CAMERA, channels=CHANNELS)
    look_at(batch, 0.4)
    batch.state.vel[:], batch.state.ang_vel[:] = (1.5, -0.7, 0.4), (0.3, -0.5, 0.8)
    images = camera.capture()
    dt, state, o = 1e-2, batch.state, scenes.objects[0]
    start, ray = rays_of(batch, CAMERA, 0)
    label = images.segmentation.ravel()
    seen = label > 0
    point = start + ray[seen] * images.depth.ravel()[seen, None]
    what = o[label[seen] - 1]
    speed = (what["vel"] + np.cross(what["ang_vel"], point - what["pos"])) * what["moving"][:, None]
    m = np.array(to_matrix(*state.quat[0, 0])).reshape(3, 3)
    pixels = []
    for side in (-0.5, 0.5):
        w = side * dt * state.ang_vel[0, 0]
        turned = m @ (np.eye(3) + np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]))
        local = (point + side * dt * speed - start - side * dt * state.vel[0, 0]) @ turned
        pixels.append(project(CAMERA, np.stack([-local[:, 1], -local[:, 2], local[:, 0]], axis=1)))
    wanted = (pixels[1] - pixels[0]) / dt
    apart = np.abs(images.flow.reshape(-1, 2)[seen] - wanted)
    assert np.abs(wanted).max() > 50.0 and apart.max() < 0.01 * np.abs(wanted).max() + 0.1


def test_a_distorted_lens_sees_what_it_projects():
    scenes = forest(1, count=0)
    far = CameraParameters.pinhole(80, 60, 1.4)
    bent = type(far)(**{**vars(far), "k1": -0.15, "k2": 0.03, "p1": 0.002})
    batch = batch_in(scenes)
    look_at(batch, 0.0, 0.5)
    images = batch.add_camera(bent).capture()
    start = batch.state.pos[0, 0]
    m = np.array(to_matrix(*batch.state.quat[0, 0])).reshape(3, 3)
    for v, u in ((50, 10), (40, 70), (58, 40)):
        t = float(images.depth[0, 0, v, u])
        # The pixel of the point of the ground at this depth is the pixel that saw it.
        x = np.linspace(-2.0, 2.0, 2001)
        down = (-start[2] / t - m[2, 0] - m[2, 1] * -x) / -m[2, 2]
        pixels = project(bent, np.stack([x, down, np.ones_like(x)], axis=1) * t)
        assert np.linalg.norm(pixels - (u, v), axis=1).min() < 0.1


@pytest.mark.parametrize("threads", [1, 2])
def test_environments_see_the_same_bytes_alone_and_together(threads):
    mounting = Mounting((0.1, 0.1, 0.1), (0.2, 0.2, 0.2))
    noisy = CameraParameters.pinhole(33, 20, 1.2, noise_stddev=0.02)
    whole = forest(5, seed=1)
    together = batch_in(whole, threads=threads)
    camera = together.add_camera(noisy, channels=CHANNELS, mounting=mounting)
    images = camera.capture()
    last = Scenes(whole.objects[3:], whole.bounds[3:], whole.meshes, whole.semantics)
    alone = (
        batch_in(last, threads=1, first=3)
        .add_camera(noisy, channels=CHANNELS, mounting=mounting)
        .capture()
    )
    for ours, theirs in zip(images, alone, strict=True):
        assert ours[3:].tobytes() == theirs.tobytes()
    kept = camera.mount_pos.copy()
    together.reset(np.array([True, False, False, False, True]))
    changed = (camera.mount_pos != kept).any(axis=(1, 2))
    assert changed.tolist() == [True, False, False, False, True]
    assert np.abs(camera.mount_pos).max() <= 0.1


def test_noise_is_that_of_the_sensor_models():
    scenes = forest(1, count=0)
    batch = batch_in(scenes)
    look_at(batch, 0.0, math.pi / 2)
    clean = CameraParameters.pinhole(200, 200, 1.0, noise_stddev=0.0, format="mono8")
    noisy = type(clean)(**{**vars(clean), "noise_stddev": 0.03, "noise_mean": 0.01})
    still = batch.add_camera(clean, channels=("depth", "image")).capture()
    found = batch.add_camera(noisy, channels=("depth", "image")).capture()
    error = found.depth - still.depth
    assert still.depth.std() < 1e-5
    assert error.mean() == pytest.approx(0.01, abs=1e-3)
    assert error.std() == pytest.approx(0.03, rel=0.03)
    error = (found.image.astype(float) - still.image) / 255.0
    assert error.mean() == pytest.approx(0.01, abs=1e-3)
    assert error.std() == pytest.approx(0.03, rel=0.03)
    lidar = type(LIDAR)(
        **{**vars(LIDAR), "noise_stddev": 0.05, "minimum": 2.5, "maximum": 4.0, "resolution": 0.01}
    )
    look_at(batch, 0.0)
    ranges = batch.add_lidar(lidar, beams=rosette(20000, 1.2)).scan().ranges.ravel()
    assert np.isposinf(ranges).mean() > 0.5  # the sky, and the ground far away
    look_at(batch, 0.0, math.pi / 2)
    ranges = batch.add_lidar(lidar, beams=rosette(20000, 1.2)).scan().ranges.ravel()
    assert np.isneginf(ranges).any() and np.isfinite(ranges).any()
    whole = ranges[np.isfinite(ranges)] / 0.01
    assert np.abs(whole - np.round(whole)).max() < 1e-3


def test_a_change_of_the_objects_is_seen_after_invalidate():
    scenes = forest(2, count=1, seed=3)
    scenes.objects["kind"][:, 0], scenes.objects["size"][:, 0] = SPHERE, 1.0
    scenes.objects["pos"][:, 0] = 5.0, 0.0, 2.0
    batch = batch_in(scenes)
    look_at(batch, 0.0)
    camera = batch.add_camera(CAMERA)
    row, column = CAMERA.height // 2, CAMERA.width // 2
    assert camera.capture().depth[:, 0, row, column] == pytest.approx([4.0, 4.0], abs=0.01)
    scenes.objects["pos"][:, 0, 0] = 9.0
    batch.rays.invalidate(np.array([False, True]))
    assert camera.capture().depth[:, 0, row, column] == pytest.approx([4.0, 8.0], abs=0.01)


@pytest.mark.parametrize("count", [0, 1, LEAF, LEAF + 1, 1000])
def test_trees_hold_every_box_once(count):
    rng = np.random.default_rng(count)
    low = rng.normal(size=(max(count, 1), 3))
    boxes = np.hstack([low, low + rng.uniform(0.0, 1.0, low.shape)]).astype(np.float32)
    tree = new_tree((), count)
    nodes = build(boxes, np.arange(len(boxes)), count, *tree[:4])
    held, n = [], 0
    while n < nodes:
        leaf, after = tree.info[n]
        assert n < after <= nodes
        if leaf >= 0:
            real = tree.leaf[leaf, 0] < 1e8
            held += tree.item[leaf][real].tolist()
            inside = boxes[tree.item[leaf][real]]
            assert (tree.node[n, :3] == inside[:, :3].min(axis=0)).all()
            assert (tree.node[n, 3:] == inside[:, 3:].max(axis=0)).all()
        n += 1
    assert sorted(held) == list(range(count))


def numbers_for(loop):
    """Arguments of a loop over lanes, by their names."""
    given = {
        "packet": np.ones(ROWS, np.float32),
        "obj": np.ones(OBJECT, np.float32),
        "triangle": np.ones(9, np.float32),
        "matrix": np.ones(9, np.float32),
        "rays": np.ones((3, surfaces.R), np.float32),
        "boxes": np.ones((6, LEAF), np.float32),
        "beam": np.ones(surfaces.BEAM, np.float32),
        "entry_lengths": np.ones(LEAF, np.float32),
    }
    code = loop.function.__code__
    return [given.get(name, np.float32(1.0)) for name in code.co_varnames[: code.co_argcount]]


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        f"{module.__name__.rsplit('.', 1)[1]}.{name}"
        for module in (surfaces, light)
        for name, value in vars(module).items()
        if isinstance(value, LaneLoop)
        and value.function.__module__ == module.__name__
        and name not in ("any_beyond", "met", "semantic", "plane_normals")
    ],
)  # these do not multiply
def test_loops_are_vector_instructions(name):
    module, function = name.split(".")
    given = getattr({"surfaces": surfaces, "light": light}[module], function)
    loop = loop_in_lanes(given, np.float32)
    loop(*numbers_for(given))
    (assembly,) = loop.inspect_asm().values()
    packed, scalar, double = (
        len(re.findall(rf"\bv?(?:mul|fn?m\w+?){kind}\b", assembly))
        for kind in ("ps", "ss", "[ps]d")
    )
    # A loop over two arrays has a scalar twin for arrays that overlap.
    assert packed >= max(1, 0.5 * scalar) and double == 0


REFUSED = [
    (lambda b: b.add_camera(CAMERA, channels=("depht",)), "unknown channel 'depht'"),
    (lambda b: b.add_camera(CAMERA, channels=()), "no channel is asked for"),
    (lambda b: b.add_camera(CAMERA, vehicle=1), "vehicle 1 is not in an environment: give 0"),
    (
        lambda b: b.add_camera(type(CAMERA)(**{**vars(CAMERA), "k1": 0.1}), channels=("flow",)),
        "optical flow needs a camera without distortion",
    ),
    (lambda b: b.add_lidar(LIDAR, beams=np.zeros((1, 3, 3))), "a beam without a direction"),
    (lambda b: b.add_lidar(LIDAR, beams=np.zeros((4, 3))), r"beams of shape \(4, 3\)"),
    (lambda b: Mounting((0.1, -1.0, 0.0)), "pos = .* of the mounting is not allowed"),
    (lambda b: CameraParameters.pinhole(10, 10, 4.0), "horizontal_fov 4 of a camera"),
    (lambda b: mounted(b, "stereo"), "unknown camera or lidar of 'iris'"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[each[1][:25] for each in REFUSED])
def test_what_is_refused_is_named(call, message):
    with pytest.raises(XtdroneError, match=message):
        call(batch_in(forest(1, count=1)))


def test_images_that_do_not_fit_are_refused():
    batch = BatchSimulation("iris", 60_000)
    with pytest.raises(BatchError, match="60000 sensors of 129600 rays need"):
        batch.add_camera(CameraParameters.pinhole(480, 270, 1.4), channels=CHANNELS)


def test_a_sensor_of_the_model_is_mounted():
    batch = BatchSimulation("iris_stereo", 2)
    names = [block.name for block in batch.model.vehicles[0].sensors if block.kind == "camera"]
    cameras = mounted(batch, names[0])
    assert len(cameras) == 2
    left, right = (
        batch.add_camera(camera, channels=("image",)).capture().image for camera in cameras
    )
    assert left.shape[:2] == (2, 1) and left.shape == right.shape
