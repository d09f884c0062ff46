"""Openings from their corners, the way through them, and flights by what a camera shows."""

import json

import numpy as np
import pytest

from sensor_models.cameras import CameraParameters
from xtdrone_core.command import main
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.servoing import chase
from xtdrone_perception.servoing.agent import OpeningsAgent
from xtdrone_perception.servoing.openings import OpeningFinder
from xtdrone_perception.servoing.passage import Passages
from xtdrone_perception.tracking.sight import Eye

cv2 = pytest.importorskip("cv2")

CAMERA = CameraParameters.pinhole(640, 360, 1.4)


def eye_at(pos, yaw=0.0, pitch=0.0, roll=0.0):
    """A camera at a place; pitch is upwards, roll to the right."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_euler("ZYX", [yaw, -pitch, roll]).as_matrix()
    return Eye(np.array(pos, dtype=float), turn)


def draw(eye, middle, yaw, size, frame=0.15, colours=((60, 120, 60), (240, 110, 30))):
    """An image (H, W, 3) of an upright frame, before one colour below a horizon and a sky."""
    image = np.full((CAMERA.height, CAMERA.width, 3), colours[0], np.uint8)
    image[: CAMERA.height // 2] = (150, 190, 230)
    left = np.array([-np.sin(yaw), np.cos(yaw), 0.0])

    def project(half):
        corners = [(1, 1), (-1, 1), (-1, -1), (1, -1)]
        points = [np.array(middle) + a * half[0] * left + (0, 0, b * half[1]) for a, b in corners]
        seen = (np.array(points) - eye.pos) @ eye.axes
        x = CAMERA.cx - CAMERA.fx * seen[:, 1] / seen[:, 0]
        y = CAMERA.cy - CAMERA.fy * seen[:, 2] / seen[:, 0]
        return np.column_stack([x, y])

    inner = project(0.5 * np.array(size))
    share = covered(project(0.5 * np.array(size) + frame)) - covered(inner)
    image = share * np.array(colours[1]) + (1.0 - share) * image
    return np.round(image).astype(np.uint8), inner


def covered(corners):
    """Share (H, W, 1) of each pixel that a convex polygon, clockwise on the image, covers."""
    y, x = np.mgrid[: CAMERA.height, : CAMERA.width]
    inside = np.full(x.shape, np.inf)
    for a, b in zip(corners, np.roll(corners, -1, axis=0)):
        along = (b - a) / np.linalg.norm(b - a)
        inside = np.minimum(inside, along[0] * (y - a[1]) - along[1] * (x - a[0]))
    return np.clip(inside + 0.5, 0.0, 1.0)[..., None]


@pytest.mark.parametrize("size", [(1.8, 1.8), (1.0, 1.6)])
@pytest.mark.parametrize(
    "pos, yaw, pitch, roll",
    [((0, 0, 2), 0, 0, 0), ((1, 2, 1.2), -0.3, 0.1, 0.15), ((-2, -1, 3), 0.1, -0.1, -0.2)],
)
def test_an_opening_is_placed_by_its_corners(size, pos, yaw, pitch, roll):
    eye = eye_at(pos, yaw, pitch, roll)
    image, corners = draw(eye, (6.0, 0.5, 2.2), 0.2, size)
    (found,) = OpeningFinder(CAMERA, *size)(image, eye)
    np.testing.assert_allclose(found.corners, corners, atol=1.0)
    assert np.linalg.norm(found.pos - (6.0, 0.5, 2.2)) < 0.2
    assert found.normal @ (np.cos(0.2), np.sin(0.2)) > np.cos(0.2)
    error = found.pos - (6.0, 0.5, 2.2)
    assert error @ np.linalg.solve(found.spread, error) < 16.3


@pytest.mark.parametrize("colours", [((60, 120, 60), (235, 235, 240)), ((200,) * 3, (40, 40, 60))])
def test_frames_of_other_colours_are_seen(colours):
    eye = eye_at((0, 0, 2))
    image, _ = draw(eye, (5.0, 0.0, 2.0), 0.0, (1.8, 1.8), colours=colours)
    (found,) = OpeningFinder(CAMERA, 1.8, 1.8)(image, eye)
    assert np.linalg.norm(found.pos - (5.0, 0.0, 2.0)) < 0.2


def test_what_lies_has_another_shape_or_is_cut_off_is_no_opening():
    finder, eye = OpeningFinder(CAMERA, 1.8, 1.8), eye_at((0, 0, 2))
    image, _ = draw(eye, (5.0, 0.0, 2.0), 0.0, (3.6, 1.2))  # too wide
    assert finder(image, eye) == []
    image, _ = draw(eye, (2.0, 1.6, 2.0), 0.0, (1.8, 1.8))  # beyond the edge
    assert finder(image, eye) == []
    image, _ = draw(eye, (5.0, 0.0, 2.0), 0.0, (1.8, 1.8))
    assert finder(image, eye_at((0, 0, 2), pitch=-1.2)) == []  # lying on the ground
    assert finder(np.full((360, 640, 3), 90, np.uint8), eye) == []


def fly(passages, openings, pos, seconds, rng):
    """Moves a point as it is told, with noisy sights of the openings ahead; returns its way."""
    heading, way = np.array([1.0, 0.0]), []
    finder_spread = 0.05**2 * np.eye(3)
    from xtdrone_perception.servoing.openings import Opening

    for k in range(round(seconds / 0.05)):
        t_us = 50_000 * k
        seen = [
            Opening(np.zeros((4, 2)), middle + rng.normal(0, 0.05, 3), finder_spread, normal, 0.5)
            for middle, normal in openings
            if 0.5 < (middle[:2] - pos[:2]) @ heading < 9.0
        ]
        passages.see(t_us, seen)
        passages.choose(pos, heading)
        if passages.next is not None:
            velocity, look, _ = passages.fly(pos)
            heading = look / np.linalg.norm(look)
            pos = pos + 0.05 * velocity
        way.append(pos)
    return np.array(way)


def test_openings_are_passed_on_their_axes_one_after_another():
    openings = [
        (np.array([6.0, 1.0, 2.0]), np.array([1.0, 0.0])),
        (np.array([11.0, -1.0, 2.5]), np.array([-np.cos(0.4), -np.sin(0.4)])),  # seen from behind
    ]
    passages = Passages(1.5)
    way = fly(passages, openings, np.array([0.0, 0.0, 1.5]), 20.0, np.random.default_rng(0))
    assert len(passages.passed) == 2
    for middle, normal in openings:
        along = (way[:, :2] - middle[:2]) @ normal
        k = int(np.argmin(np.abs(along)))
        assert np.linalg.norm(way[k] - middle) < 0.25


def test_what_the_agent_refuses():
    with pytest.raises(PerceptionError, match="'openings' flies one"):
        OpeningsAgent(n=2)


WALL = """<sdf version="1.7"><world name="house">
<include><uri>model://ground_plane</uri></include><include><uri>model://sun</uri></include>
<model name="wall"><static>1</static><link name="link">{}</link></model></world></sdf>"""
SHAPE = "<pose>{1} {2} {3} 0 0 0</pose><geometry><box><size>{4} {5} {6}</size></box></geometry>"
PART = f"""<collision name="c{{0}}">{SHAPE}</collision><visual name="v{{0}}">{SHAPE}<material>
<ambient>{{7}}</ambient><diffuse>{{7}}</diffuse></material></visual>"""
PLASTER = "0.75 0.68 0.6 1"


def wall_with_a_window(x, y, z, width, height):
    """A wall of 8 x 4 m at x with a window whose middle is at (y, z)."""
    left, right = 4.0 - (y + 0.5 * width), 4.0 + (y - 0.5 * width)
    low, high = z - 0.5 * height, 4.0 - (z + 0.5 * height)
    parts = [
        (x, 4.0 - 0.5 * left, 2.0, 0.2, left, 4.0),
        (x, -4.0 + 0.5 * right, 2.0, 0.2, right, 4.0),
        (x, y, 0.5 * low, 0.2, width, low),
        (x, y, 4.0 - 0.5 * high, 0.2, width, high),
    ]
    return WALL.format("".join(PART.format(k, *part, PLASTER) for k, part in enumerate(parts)))


def test_a_width_gives_a_place_and_what_is_cut_off_none():
    eye = eye_at((1, 2, 5), 0.3, -0.2)
    at = np.array([7.0, 3.0, 4.5])
    depth, left, up = (at - eye.pos) @ eye.axes
    across, down = CAMERA.cx - CAMERA.fx * left / depth, CAMERA.cy - CAMERA.fy * up / depth
    half = 0.5 * CAMERA.fx * 0.6 / depth
    box = np.array([across - half, down - 10, across + half, down + 10]) + 0.5
    place, spread = chase.place_of(box, eye, CAMERA, 0.6)
    np.testing.assert_allclose(place, at, atol=0.15)
    assert (place - at) @ np.linalg.solve(spread, place - at) < 16.3
    assert (
        chase.place_of(box - (across + half - 10, 0, across + half - 10, 0), eye, CAMERA, 1) is None
    )
    assert chase.place_of(np.array([9.0, 9.0, 12.0, 12.0]), eye, CAMERA, 0.6) is None


@pytest.mark.parametrize(
    "options, said",
    [({"n": 1}, "1 vehicle: 'chase' flies two"), ({"detector": "none.onnx"}, "NAME.onnx|onnxrun")],
)
def test_what_a_chase_refuses(options, said):
    with pytest.raises(PerceptionError, match=said):
        chase.ChaseAgent(**options)


@pytest.mark.slow
def test_a_vehicle_follows_another_by_camera(runs):
    arguments = ["fly", "chase", "--vehicles", "iris@6,0; typhoon_h480", "--speed", "0"]
    arguments += ["--gps", "rtk", "--name", "run", "--set", "duration=15"]
    assert main(arguments) == 0
    summary = json.loads((runs / "run" / "summary.json").read_text())
    assert summary["chase_losses"] == 0 and summary["chase_s"] > 13.0
    assert summary["chase_distance_error_m"] < 1.5
    assert summary["chase_place_error_m"] < 1.0


@pytest.mark.long
def test_a_vehicle_flies_through_a_window_that_it_has_not_known(runs):
    world = runs / "house.world"
    world.write_text(wall_with_a_window(6.0, 1.2, 2.2, 1.4, 1.2))
    arguments = ["fly", "openings", "--vehicle", "typhoon_h480", "--world", str(world)]
    arguments += ["--speed", "0", "--gps", "rtk", "--name", "run", "--set", "width=1.4"]
    assert main([*arguments, "--set", "tall=1.2"]) == 0
    rows = [json.loads(row) for row in (runs / "run" / "events.jsonl").read_text().splitlines()]
    events = [row["event"] for row in rows]
    assert "passed" in events and "collision" not in events and "landed" in events
    (seen,) = (row for row in rows if row["event"] == "opening")
    assert abs(seen["north"] - 1.2) < 0.3 and abs(seen["up"] - 2.2) < 0.3
