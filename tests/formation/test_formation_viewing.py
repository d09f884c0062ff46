"""Shapes of the viewer, headings of recordings, and the runs that its commands take."""

import argparse
import math

import numpy as np
import pytest

from xtdrone_core.runs import run_folder
from xtdrone_formation import commands
from xtdrone_formation.evaluation import recordings
from xtdrone_formation.viewing import geometry


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
    np.testing.assert_allclose(recordings.headings(quat)[:, 1], turn, atol=1e-9)


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
