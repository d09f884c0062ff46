"""Markers: their pictures, models, detection and poses."""

import gc
import math
import sys
import types

import numpy as np
import pytest

pytest.importorskip("cv2", reason="markers need OpenCV")

from sensor_models.cameras import EQUIDISTANT, CameraParameters
from sensor_models.lens import Lens
from xtdrone_core import command
from xtdrone_dynamics.quaternion import from_euler, to_matrix
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.markers import detect, model, picture, pose, rates
from xtdrone_perception.markers.families import FAMILIES, Marker, count_of, descriptions
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

NESTED = (0, 1, 2)
CAMERA = CameraParameters.pinhole(640, 480, 1.4, near=0.02, far=200.0, noise_stddev=0.007)


def pictured(*markers, side=240):
    return np.pad(picture.draw(markers, side), 60, constant_values=255)


def nested(size=0.8, family="tag36h11"):
    return picture.nest(Marker(family, NESTED[0], size), NESTED[1:])


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_found_where_it_is_drawn(family):
    side = len(Marker(family, 3, 1.0).cells)
    image = pictured(Marker(family, 3, 1.0), side=20 * (side + 2))
    (seen,) = detect.make_detector(family).detect(image)
    first, last = 60 + 20 - 0.5, 60 + 20 * (side + 1) - 0.5
    assert seen.id == 3
    assert seen.corners == pytest.approx(
        np.array([[first, first], [last, first], [last, last], [first, last]]), abs=0.3
    )


def test_both_libraries_agree_on_corners():
    pytest.importorskip("pupil_apriltags", reason="pip install 'xtdrone[perception]'")
    image = pictured(Marker("tag36h11", 5, 1.0))
    found = [detect.make_detector("tag36h11", name).detect(image)[0] for name in detect.LIBRARIES]
    assert found[0].corners == pytest.approx(found[1].corners, abs=0.5)


def test_families_are_described_with_their_numbers():
    assert {name: f"{count_of(name)} markers" for name in FAMILIES} == {
        name: line.partition(", ")[2] for name, line in descriptions().items()
    }


def test_nested_markers_are_seen_together():
    markers = nested()
    assert [marker.size for marker in markers] == pytest.approx([0.8, 0.16, 0.032])
    image = np.pad(picture.draw(markers, 1000), 100, constant_values=255)
    seen = detect.make_detector("tag36h11", levels=3).detect(image)
    assert tuple(one.id for one in seen) == NESTED


@pytest.mark.parametrize(
    "family, ids, said",
    [
        ("DICT_4X4_50", (0, 1), "not found with 1 in its middle"),
        ("DICT_5X5_50", (0, 1), "odd number of cells"),
        ("tag36h11", (0, 1, 0), "nested twice"),
        ("tag36h11", (0, 587), "give 0 to 586"),
    ],
)
def test_what_cannot_be_nested_is_refused(family, ids, said):
    with pytest.raises(PerceptionError, match=said):
        detect.check_nested(picture.nest(Marker(family, ids[0], 1.0), ids[1:]))


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--family", "tag99h9"], "unknown family of markers 'tag99h9'"),
        (["--id", "587"], "give 0 to 586"),
        (["--on", "zeppelin"], "unknown place of a marker 'zeppelin'"),
    ],
)
def test_the_command_refuses_in_a_line(arguments, said, tmp_path, capsys):
    assert command.main(["perception", "marker", "--out", str(tmp_path), *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_another_library_is_refused():
    with pytest.raises(PerceptionError, match="unknown library of markers 'dlib'"):
        detect.make_detector("tag36h11", "dlib")
    with pytest.raises(PerceptionError, match="does not know DICT_4X4_50"):
        detect.make_detector("DICT_4X4_50", "apriltag")


def lens_of(kind):
    if kind == "pinhole":
        return CAMERA
    from dataclasses import replace

    if kind == "distorted":
        return replace(CAMERA, k1=-0.2, k2=0.03, p1=0.001, p2=-0.002)
    return replace(CAMERA, distortion_model=EQUIDISTANT, k1=0.02, k2=-0.003)


def corners_of(markers, camera, matrix, pos):
    """Corners of markers as a camera sees them, by OpenCV, with matrix and pos of its frame."""
    import cv2

    optical = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    rotation, place = cv2.Rodrigues(optical @ matrix)[0], optical @ pos
    found = []
    for marker in markers:
        square = 0.5 * marker.size * np.array([[-1.0, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0]])
        k = np.array(camera.camera_matrix)
        if camera.is_fisheye:
            coefficients = np.array(camera.fisheye_distortion)
            pixels, _ = cv2.fisheye.projectPoints(square[:, None], rotation, place, k, coefficients)
        else:
            coefficients = np.array(camera.distortion)
            pixels, _ = cv2.projectPoints(square, rotation, place, k, coefficients)
        found.append(detect.Seen(marker.family, marker.id, pixels.reshape(4, 2)))
    return found


def facing(roll=0.2, pitch=-0.3):
    """Rotation of a marker that faces the camera, but for small angles."""
    towards = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    return towards @ np.array(to_matrix(*from_euler(roll, pitch, 0.5))).reshape(3, 3)


@pytest.mark.parametrize("kind", ["pinhole", "distorted", "fisheye"])
def test_the_pose_is_that_of_the_projection(kind):
    camera, pos = lens_of(kind), np.array([2.0, 0.3, -0.2])
    markers = nested()
    found = pose.estimate(markers, corners_of(markers, camera, facing(), pos), camera)
    assert found.ids == NESTED
    assert found.pos == pytest.approx(pos, abs=1e-4)
    assert found.rotation == pytest.approx(facing(), abs=1e-3)
    assert found.error < 0.01


def test_the_covariance_is_that_of_many_noisy_corners():
    rng, pos, stddev = np.random.default_rng(3), np.array([3.0, 0.2, -0.4]), 0.3
    markers = [Marker("tag36h11", 0, 0.6)]
    (exact,) = corners_of(markers, CAMERA, facing(), pos)
    errors, covariances = [], []
    for _ in range(300):
        noisy = detect.Seen(exact.family, 0, exact.corners + rng.normal(0, stddev, (4, 2)))
        found = pose.estimate(markers, [noisy], CAMERA, stddev)
        turn = found.rotation @ facing().T
        angle = 0.5 * np.array(
            [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        )
        errors.append([*(found.pos - pos), *angle])
        covariances.append(np.diag(found.covariance))
    ratio = np.std(errors, axis=0) / np.sqrt(np.mean(covariances, axis=0))
    assert ratio == pytest.approx(np.ones(6), abs=0.25)


def test_nothing_seen_is_no_pose():
    other = detect.Seen("tag36h11", 7, np.zeros((4, 2)))
    assert pose.estimate(nested(), [other], CAMERA) is None


def photograph(world, height):
    lens = Lens(CAMERA, 1, 0, 200)
    scene = RenderedScene(world, (), (), (lens.pinhole.width, lens.pinhole.height))
    quat = from_euler(0.05, 0.5 * math.pi, 0.3)
    image = lens.image(scene.draw((0, 0, height), quat, lens.pinhole, CAMERA.near, CAMERA.far))
    scene.close()
    return image


@pytest.mark.slow
@pytest.mark.parametrize("height, ids", [(0.15, 2), (1.0, 1), (4.0, 0)])
def test_the_renderer_shows_a_pad_whose_pose_is_found(height, ids, tmp_path, monkeypatch):
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path))
    model.write(nested(), model.Place(model.PAD), tmp_path, "pad")
    path = tmp_path / "pad.world"
    path.write_text(
        '<sdf version="1.6"><world name="pad"><include><uri>model://pad</uri></include>'
        "</world></sdf>"
    )
    image = photograph(load_world(str(path)), height)
    seen = detect.make_detector("tag36h11", levels=3).detect(image)
    found = pose.estimate(nested(), seen, CAMERA)
    assert ids in found.ids
    assert found.pos[0] * math.cos(0.05) == pytest.approx(height - 0.02, rel=0.03)
    assert abs(found.pos[1:]).max() < 0.06 * height


@pytest.mark.slow
@pytest.mark.parametrize("place", ["box", "wall", "boat"])
def test_a_model_is_read_as_what_it_is_mounted_on(place, tmp_path, monkeypatch):
    monkeypatch.setenv("GAZEBO_MODEL_PATH", str(tmp_path))
    folder = model.write(
        [Marker("DICT_4X4_50", 1, 0.4)], model.Place(place, (0, 0, 1.33)), tmp_path
    )
    assert {path.suffix for path in folder.glob(f"{folder.name}.*")} == {".png", ".pdf"}
    if place == "boat":
        assert load_vehicle(str(folder)).mass > load_vehicle("boat").mass
        assert (folder / "vehicle.params").is_file()
        return
    path = tmp_path / "a.world"
    path.write_text(
        f'<sdf version="1.6"><world name="a"><include><uri>model://{folder.name}</uri></include>'
        "</world></sdf>"
    )
    assert len(load_world(str(path)).models) == 1


def test_the_printed_picture_has_the_size_of_the_marker(tmp_path):
    from PIL import Image

    folder = model.write([Marker("tag36h11", 1, 0.16)], model.Place(model.PAD), tmp_path)
    with Image.open(folder / f"{folder.name}.png") as image:
        inches = image.width / image.info["dpi"][0]
    assert inches * 0.0254 == pytest.approx(0.16 * 10 / 8, rel=1e-3)


@pytest.mark.slow
def test_rates_fall_with_the_distance_and_the_error_is_as_said():
    marker, camera = Marker("tag36h11", 0, 0.4), rates.Camera.of(320, 240, 1.4)
    detector, rng = detect.make_detector("tag36h11"), np.random.default_rng(0)
    with rates.scene_of(marker, camera) as scene:
        near, far = (
            rates.rate(scene, camera, marker, detector, rng, rates.Condition(distance), images=6)
            for distance in (1.5, 15.0)
        )
    assert near.found == 1.0 and near.error < 5 * near.stddev
    assert far.found == 0.0 and math.isnan(far.error)


def test_the_detector_of_apriltags_authors_is_made_once_and_not_destroyed(monkeypatch):
    """It would free memory twice."""
    made, ended = [], []

    class Detector:
        def __init__(self, families, **options):
            made.append(families)

        def __del__(self):
            ended.append(self)

        def detect(self, image):
            return []

    library = types.SimpleNamespace(Detector=Detector)
    monkeypatch.setitem(sys.modules, "pupil_apriltags", library)
    detect.lasting_detector.cache_clear()
    for _ in range(3):
        assert detect.make_detector("tag16h5", "apriltag").detect(np.zeros((4, 4), np.uint8)) == []
    detect.lasting_detector.cache_clear()
    gc.collect()
    assert made == ["tag16h5"] and ended == []


@pytest.mark.parametrize("make", [detect.make_detector, lambda family: Marker(family, 0, 1.0)])
def test_a_marker_of_an_unknown_family_is_a_line(make):
    with pytest.raises(PerceptionError, match="family of markers 'tag36h12'.*'tag36h11'") as error:
        make("tag36h12")
    assert "\n" not in str(error.value)
