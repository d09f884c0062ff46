"""Places of targets from boxes, their filter, and what hides them."""

import json

import numpy as np
import pytest

from sensor_models.cameras import CameraParameters
from xtdrone_core import FleetState
from xtdrone_core.command import main
from xtdrone_perception.dataset.options import Options
from xtdrone_perception.dataset.places import Places
from xtdrone_perception.detection.found import Detections, nothing
from xtdrone_perception.detection.limits import Limits
from xtdrone_perception.errors import PerceptionError
from xtdrone_perception.tracking import evaluation
from xtdrone_perception.tracking.agent import FollowAgent
from xtdrone_perception.tracking.ground_filter import GroundFilter
from xtdrone_perception.tracking.ground_tracks import KINDS, GroundTracks, Sight
from xtdrone_perception.tracking.identities import ByteTrack
from xtdrone_perception.tracking.pursuit import Pursuit, Sighting, Station
from xtdrone_perception.tracking.sight import (
    Eye,
    LevelGround,
    box_of,
    camera_of,
    corners,
    place_of,
    standing,
    vehicle_corners,
)
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

CAMERA = CameraParameters.pinhole(640, 480, 1.2)


@pytest.fixture(scope="module")
def street():
    world = load_world("street")
    return world, Places(world)


def towards(pos, point):
    """An Eye at pos that looks at a point, upright."""
    forward = (np.array(point) - pos) / np.linalg.norm(np.array(point) - pos)
    left = np.cross((0.0, 0.0, 1.0), forward)
    left /= np.linalg.norm(left)
    return Eye(
        np.array(pos, dtype=float), np.column_stack([forward, left, np.cross(forward, left)])
    )


def test_the_filter_learns_a_velocity_and_keeps_it_when_nothing_is_seen():
    rng = np.random.default_rng(0)
    spread = 0.09 * np.eye(2)
    known = GroundFilter(0, np.array([1.0, 2.0]), spread)
    for k in range(1, 60):
        known.predict(200_000 * k)
        known.update(np.array([1.0 + 0.4 * k, 2.0]) + rng.normal(0.0, 0.3, 2), spread)
    np.testing.assert_allclose(known.x[2:], (2.0, 0.0), atol=0.7)
    before = known.deviation
    last = known.x.copy()
    np.testing.assert_allclose(known.predicted(known.t_us + 1_000_000)[:2], last[:2] + last[2:])
    known.predict(known.t_us + 2_000_000)
    assert known.deviation > before
    assert known.accepts(last[:2] + 2.0 * last[2:] + (0.5, 0.5), spread)
    assert not known.accepts(last[:2] + (-30.0, 0.0), spread)
    known.predict(0)  # the past changes nothing
    np.testing.assert_allclose(known.x[2:], last[2:])


@pytest.mark.parametrize("pos", [(-4.0, -2.0, 6.0), (3.0, 8.0, 12.0), (0.0, -20.0, 3.0)])
def test_a_box_is_put_where_its_foot_stands(street, pos):
    world, places = street
    person = next(actor for actor in world.actors if actor.figure == "person")
    at = np.array(person.pose(3.0).pos)
    eye = towards(at + pos, at + (0.0, 0.0, 0.9))
    found, names = standing([person], 3.0, eye, CAMERA, places)
    if not names:
        pytest.skip("a tree stands between")
    measured = place_of(found.boxes[0], eye, CAMERA, places)
    if measured is None:
        pytest.skip("a tree hides the foot")
    place, spread = measured
    assert np.linalg.norm(place - at[:2]) < 0.6  # the foot that is nearest
    assert np.linalg.eigvalsh(spread).min() > 0.0
    far = towards(at + 3.0 * np.array(pos), at)
    assert np.trace(place_of(found.boxes[0], far, CAMERA, places)[1]) > np.trace(spread)


def test_above_the_horizon_there_is_no_place(street):
    eye = towards((0.0, 0.0, 5.0), (10.0, 0.0, 5.0))
    assert place_of(np.array([300.0, 10.0, 320.0, 60.0]), eye, CAMERA, street[1]) is None


def test_who_stands_behind_a_wall_or_the_camera_is_not_found(street):
    world, places = street
    person = next(actor for actor in world.actors if actor.figure == "person")
    points = corners(person, 0.0)
    at = points.mean(axis=0)
    assert 1.5 < np.ptp(points[:, 2]) < 2.1
    near = towards(at + (0.0, -3.0, 2.0), at)
    assert standing([person], 0.0, near, CAMERA, places)[1] == [person.name]
    behind = Eye(near.pos, near.axes * (-1, -1, 1))
    assert standing([person], 0.0, behind, CAMERA, places)[1] == []
    below = towards(at + (0.0, -3.0, -5.0), at)  # the ground is between
    assert standing([person], 0.0, below, CAMERA, places)[1] == []


@pytest.mark.parametrize(
    "options, said",
    [({"n": 2}, "'follow' flies one"), ({"detector": "none.onnx"}, "NAME.onnx|onnxruntime")],
)
def test_what_the_agent_refuses(options, said):
    with pytest.raises(PerceptionError, match=said):
        FollowAgent(**options)


def crossing(rng, stddev=0.1):
    """Yields time, true places (3, 2), and noisy ones, of three who meet in one place."""
    headings = np.array([(1.0, 0.0), (-0.6, 0.8), (-0.5, -0.8)])
    for k in range(40):
        true = (0.2 * k - 4.0) * 1.3 * headings
        yield 200_000 * (k + 1), true, true + rng.normal(0.0, stddev, (3, 2))


@pytest.mark.parametrize("seed", range(5))
def test_three_who_cross_keep_their_numbers(seed):
    rng = np.random.default_rng(seed)
    tracks = GroundTracks()
    for t_us, true, seen in crossing(rng):
        near = 4_600_000 > t_us > 3_800_000  # the first one hides the others
        order = [0] if near else rng.permutation(3)
        tracks.update(t_us, [Sight(seen[k], 0.06 * np.eye(2)) for k in order])
        if t_us == 2_000_000:
            before = [nearest(tracks, place) for place in true]
    assert sorted(before) == [1, 2, 3]
    assert [nearest(tracks, place) for place in true] == before


def nearest(tracks, place):
    away = [np.linalg.norm(track.motion.x[:2] - place) for track in tracks.tracks]
    return tracks.tracks[int(np.argmin(away))].number


def test_a_newcomer_does_not_take_the_place_of_a_target_that_is_seen():
    tracks = GroundTracks()
    for k in range(8):
        sights = [Sight(np.array([0.0, 0.0]), 0.2 * np.eye(2))]
        if k > 4:
            sights.insert(0, Sight(np.array([0.6, 0.0]), 0.2 * np.eye(2)))
        tracks.update(200_000 * k, sights)
    assert [track.number for track in tracks.tracks] == [1, 2]
    assert abs(tracks.tracks[0].motion.x[0]) < 0.2
    tracks.update(60_000_000, [])
    assert tracks.tracks == []


def test_a_pursuit_on_level_ground_finds_loses_and_finds_again():
    """As the node does it, without a map."""
    told = []
    pursuit = Pursuit(
        CAMERA, LevelGround(0.0), lambda t_us, name, **values: told.append((t_us, name))
    )
    pos, station = np.array([-8.0, 0.0, 6.0]), Station(8.0, 6.0, 0.0)
    for k in range(120):
        t_us, place = 200_000 * k, np.array([0.1 * k, 1.0, 0.0])
        eye = towards(pos, place)
        box = np.array([[300.0, 200.0, 320.0, 240.5]])  # its foot in the middle of the image
        seen = 40 > k or k > 100
        pursuit.put(
            Sighting(t_us + 100_000, t_us, Detections(box, np.ones(1), np.zeros(1, int)), eye)
            if seen
            else Sighting(t_us + 100_000, t_us, nothing(), eye)
        )
        pursuit.update(t_us)
        order = pursuit.order(t_us, pos, station)
        if k == 39:
            np.testing.assert_allclose(pursuit.target.motion.x, (3.9, 1.0, 0.5, 0.0), atol=0.4)
            assert order.vel[0] > 1.0  # after it
            assert abs(order.yaw - np.arctan2(1.0, 12.0)) < 0.1
        if k == 95:
            assert pursuit.target is None and not order.vel[:2].any()
    assert [name for _, name in told] == ["target", "lost", "reacquired"]
    assert told[0][0] == 500_000  # with the third image, after its latency
    assert pursuit.losses == pursuit.found_again == 1


def turning(speed, sharp):
    """Yields time and place of a car that turns left at 4 s with an acceleration [m/s^2]."""
    place, vel = np.zeros(2), np.array([speed, 0.0])
    for k in range(60):
        t_us = 200_000 * (k + 1)
        if t_us > 4_000_000 and vel[0] > 0.01:
            angle = np.arctan2(vel[1], vel[0]) + 0.2 * sharp / speed
            vel = speed * np.array([np.cos(min(angle, np.pi / 2)), np.sin(min(angle, np.pi / 2))])
        place = place + 0.2 * vel
        yield t_us, place


@pytest.mark.parametrize("kind, sharp", [("car", 2.0), ("car", 4.0), ("person", 6.0)])
def test_a_target_that_turns_is_the_same_one(kind, sharp):
    """A car as sharply as tyres let it; what turned more sharply is taken up again at once."""
    rng, told = np.random.default_rng(0), []
    speed = 4.0 if kind == "car" else 3.0
    pursuit = Pursuit(
        CAMERA, LevelGround(0.0), lambda t_us, name, **_: told.append(name), kind=KINDS[kind]
    )
    errors = []
    for t_us, place in turning(speed, sharp):
        pos = np.array([*place, 8.0]) - (9.0, 3.0, 0.0)
        foot = np.array([*place, 0.0])
        foot[:2] -= KINDS[kind].radius * np.array([9.0, 3.0]) / np.hypot(9.0, 3.0)
        eye = towards(pos, foot)
        low = 240.5 + rng.normal(0.0, 1.0)
        box = np.array([[300.0, 200.0, 340.0, low]])
        pursuit.put(Sighting(t_us, t_us, Detections(box, np.ones(1), np.zeros(1, int)), eye))
        pursuit.update(t_us)
        if pursuit.target is not None:
            errors.append(np.linalg.norm(pursuit.target.motion.predicted(t_us)[:2] - place))
    assert told == ["target"]
    assert errors[-1] < 0.5
    assert np.mean(errors) < 1.0


def test_bytetrack_keeps_identities_of_people_that_pass():
    pytest.importorskip("supervision")
    tracker = ByteTrack(rate=5.0)
    tracks = []
    for k in range(12):
        boxes = np.array([(10 + 6 * k, 50, 40 + 6 * k, 120), (200 - 6 * k, 150, 230 - 6 * k, 220)])
        found = Detections(boxes.astype(float), np.array([0.9, 0.8]), np.zeros(2, dtype=int))
        tracks.append(tracker.update(found if k not in (5, 6) else nothing()))
    last = tracks[-1]
    assert len(set(last.identities)) == 2
    order = np.argsort(last.boxes[:, 1])
    first = tracks[3]
    np.testing.assert_array_equal(
        last.identities[order], first.identities[np.argsort(first.boxes[:, 1])]
    )


@pytest.mark.parametrize("rate, wanted", [(5.0, 200_000), (8.0, 120_000), (25.0, 40_000)])
def test_images_come_at_multiples_of_the_cameras_period(rate, wanted):
    camera = camera_of(load_vehicle("typhoon_h480"))  # 25 Hz
    assert camera.image_us(rate) == wanted


def test_the_vehicle_itself_is_seen_as_a_box():
    vehicle = load_vehicle("iris")
    state = FleetState.zeros(1, len(vehicle.actuators), bodies=len(vehicle.bodies))
    state.body_pos[0] = [np.array(body.pos) + (0.0, 0.0, 5.0) for body in vehicle.bodies]
    state.body_quat[..., 3] = 1.0
    eye = towards((-4.0, 0.0, 5.5), (0.0, 0.0, 5.0))
    left, top, right, bottom = box_of(vehicle_corners(vehicle, state, 0), eye, CAMERA)
    assert abs(0.5 * (left + right) - 320) < 5 and abs(0.5 * (top + bottom) - 240) < 12
    assert 0.4 < (right - left) * 4.0 / CAMERA.fx < 0.9
    behind = Eye(eye.pos, eye.axes * (-1, -1, 1))
    assert box_of(vehicle_corners(vehicle, state, 0), behind, CAMERA) is None


def sequence(folder, swapped_from=99):
    """A data set of one scene in which two people walk past each other; boxes of 20 x 40."""
    Options(classes=("person",), images=8, frames=8, shares=(0, 0, 1), rate=5.0).claim(folder)
    (folder / "scenes").mkdir()
    frames = []
    for k in range(8):
        labels = [
            {
                "box": [x, y, 20, 40],
                "class": "person",
                "visible": 1.0,
                "truncated": 0.0,
                "track": track,
            }
            for track, (x, y) in enumerate(((100 + 6 * k, 80), (180 - 6 * k, 200)))
        ]
        if k >= swapped_from:
            labels[0]["track"], labels[1]["track"] = 1, 0
        frames.append({"image": f"{k}", "labels": labels})
    record = {"scene": 0, "split": "test", "frames": frames}
    (folder / "scenes" / "000000.json").write_text(json.dumps(record))
    return folder


def test_tracks_are_scored_by_the_library(tmp_path):
    pytest.importorskip("supervision")
    pytest.importorskip("trackers.eval")
    kept = evaluation.evaluate_tracks(None, sequence(tmp_path / "kept"), "test")[0]
    assert (kept.name, kept.tracks, kept.switches) == ("person", 2, 0)
    assert kept.idf1 > 0.9 and kept.hota > 0.8
    swapped = evaluation.evaluate_tracks(None, sequence(tmp_path / "swapped", 4), "test")[0]
    assert swapped.switches == 2 and swapped.idf1 < 0.75
    small = evaluation.evaluate_tracks(None, tmp_path / "kept", "test", Limits(smallest=100))[0]
    assert small.tracks == 0
    assert evaluation.lines([kept])[0].split()[1:3] == ["targets", "HOTA"]


@pytest.mark.parametrize(
    "arguments, said", [([], "is no data set"), (["--split", "a"], "give one")]
)
def test_what_the_evaluation_of_tracks_refuses(tmp_path, capsys, arguments, said):
    words = ["perception", "evaluate", str(tmp_path), "--tracks", "--detector", "ideal"]
    assert main([*words, *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error or "needs a Python package" in error
