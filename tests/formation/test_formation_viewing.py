"""Geometry of the viewer, headings of recordings, and the runs that its commands take."""

import argparse
import math

import numpy as np
import pytest

from xtdrone_core.runs import run_folder
from xtdrone_formation import commands
from xtdrone_formation.viewing import geometry, recordings

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("spread", [0.0, 2.0, 200.0])
@pytest.mark.parametrize("angles", [(-65.0, 20.0), (100.0, 5.0), (10.0, 89.0)])
def test_a_camera_frames_all_points_and_no_more(spread, angles):
    points = RNG.uniform(-0.5, 0.5, (50, 3)) * spread + (10.0, -20.0, 30.0)
    middle, distance = geometry.frame(points, *angles, fov=60.0, aspect=1.3)
    right, up, back = geometry.directions(*angles) @ (points - middle).T
    slope = math.tan(math.radians(30.0))
    across = np.abs(right) / (slope * (distance - back))
    along = np.abs(up) / (slope / 1.3 * (distance - back))
    assert across.max() <= 0.9 and along.max() <= 0.9
    if spread > 10.0:  # a smaller fleet is seen from the least distance
        assert max(across.max(), along.max()) == pytest.approx(geometry._MARGIN)


def test_the_grid_is_on_the_ground_unless_the_fleet_is_far_above_it():
    points = RNG.uniform(0.0, 10.0, (9, 3))
    near = geometry.scale(points + (0.0, 0.0, 5.0), ground=0.1)
    assert near.on_ground and near.low[2] == 0.1
    far = geometry.scale(points + (0.0, 0.0, 500.0), ground=0.1)
    assert not far.on_ground and 490.0 < far.low[2] < 501.0
    assert near.step == geometry.nice(near.step)
    for grid in (near, far):
        _, labels = grid.axes(-65.0)
        assert {"x east [m]", "y north [m]", "z up [m]"} <= {text for _, text in labels}
        numbers = [float(text) for _, text in labels if text[-1] != "]"]
        assert len(numbers) >= 4 and np.allclose(np.array(numbers) / grid.step % 1.0, 0.0)


@pytest.mark.parametrize(
    "value, expected", [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (21.0, 50.0), (0.06, 0.1)]
)
def test_nice_steps(value, expected):
    assert geometry.nice(value) == pytest.approx(expected)


def test_a_drawn_vehicle_points_where_it_heads():
    body = geometry.MULTIROTOR
    for heading in (0.0, 2.0):
        corners = geometry.placed(body, np.array([[1.0, 2.0, 3.0]]), np.array([heading]), 2.0)
        nose = corners[np.flatnonzero(body.dark)].reshape(-1, 3) - (1.0, 2.0, 3.0)
        tip = nose[np.argmax(np.linalg.norm(nose, axis=1))]
        assert math.atan2(tip[1], tip[0]) == pytest.approx(heading, abs=1e-5)
    assert (
        geometry.width(5.0, 9)
        == geometry.SPAN
        < geometry.width(100.0, 1000)
        < geometry.width(100.0, 9)
    )


def test_headings_are_continuous():
    turn = np.linspace(0.0, 9.0, 50)
    quat = np.zeros((50, 2, 4))
    quat[:, :, 2], quat[:, :, 3] = np.sin(turn / 2)[:, None], np.cos(turn / 2)[:, None]
    np.testing.assert_allclose(recordings._heading(quat)[:, 1], turn, atol=1e-9)


def test_view_takes_the_name_of_a_run_and_completes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path))
    (tmp_path / "nine").mkdir()
    parser = argparse.ArgumentParser()
    commands.register(parser.add_subparsers())
    assert parser.parse_args(["formation", "view"]).of_run is None
    assert parser.parse_args(["formation", "report"]).of_run == "latest"
    assert (
        run_folder.find(parser.parse_args(["formation", "view", "nine"]).of_run)
        == tmp_path / "nine"
    )
    with pytest.raises(SystemExit):
        parser.parse_args(["formation", "view", "--follow", "me"])
