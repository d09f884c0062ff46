"""APE and RPE against evo's own command line, to the last digit that it prints."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from waiting import LIMIT_S

pytest.importorskip("evo")

from xtdrone_slam import SlamError
from xtdrone_slam.datasets import formats, trajectory_file
from xtdrone_slam.evaluation.conventions import ALIGNMENTS
from xtdrone_slam.evaluation.metrics import METRICS, evaluate

_OPTIONS = {
    "se3": ["--align"],
    "sim3": ["--align", "--correct_scale"],
    "origin": ["--align_origin"],
    "none": [],
}
_PARTS = {"translation": "trans_part", "rotation": "angle_deg"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A true trajectory, and an estimate in another frame and scale, with noise and gaps."""
    folder = tmp_path_factory.mktemp("trajectories")
    rng = np.random.default_rng(5)
    t = 10.0 + 0.08 * np.arange(300)
    place = np.column_stack([4 * np.cos(0.25 * t), 3 * np.sin(0.25 * t), 1.5 + 0.3 * np.sin(t)])
    turn = Rotation.from_rotvec(np.outer(0.25 * t + 1.5 * np.sin(0.8 * t), [0, 0, 1]))
    formats.write_tum(folder / "truth.tum", np.column_stack([t, place, turn.as_quat()]))
    frame = Rotation.from_euler("xyz", [0.1, -0.2, 2.0])
    noisy = frame.apply(place * 1.03 + rng.normal(0, 0.02, place.shape)) + [1.0, 2.0, 3.0]
    turned = frame * turn * Rotation.from_rotvec(rng.normal(0, 0.01, place.shape))
    table = np.column_stack([t + 0.002, noisy, turned.as_quat()])
    formats.write_tum(folder / "estimate.tum", np.delete(table, slice(50, 70), axis=0))
    return folder / "estimate.tum", folder / "truth.tum"


def evo_says(metric, alignment, estimate, truth, home):
    """The statistics that evo's command line prints."""
    kind, _, part = metric.partition("_")
    command = [
        Path(sys.executable).with_name(f"evo_{kind}"),
        "tum",
        str(truth),
        str(estimate),
        "-r",
        _PARTS[part],
        *_OPTIONS[alignment],
    ]
    if kind == "rpe":
        command += ["--delta", "0.5", "--delta_unit", "m"]
    said = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
        env={**os.environ, "HOME": str(home), "MPLBACKEND": "Agg"},
    ).stdout
    rows = (line.split() for line in said.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2 and row[0].isalpha()}


@pytest.mark.parametrize(
    "metric, alignment",
    [
        ("ape_translation", "se3"),
        ("ape_translation", "sim3"),
        ("ape_translation", "none"),
        ("ape_rotation", "origin"),
        ("rpe_translation", "se3"),
        ("rpe_translation", "sim3"),
        ("rpe_rotation", "se3"),
        ("ape_rotation", "se3"),
    ],
)
def test_equals_the_command_line(files, tmp_path, metric, alignment):
    printed = evo_says(metric, alignment, *files, tmp_path)
    ours = {
        name: f"{value:.6f}"
        for name, value in evaluate(*files, alignment).statistics[metric].items()
    }
    assert set(ours) == {"rmse", "mean", "median", "std", "min", "max", "sse"}
    assert ours == printed


@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_perfect_estimate_has_no_error(files, alignment):
    result = evaluate(files[1], files[1], alignment)
    for metric in METRICS:
        # The angle of a rotation that is nearly none is the root of its rounding error.
        assert result.statistics[metric]["max"] < 1e-4, metric


def test_alignment_removes_frame_and_scale(files):
    rmse = {
        name: evaluate(*files, name).statistics["ape_translation"]["rmse"] for name in ALIGNMENTS
    }
    assert rmse["sim3"] < rmse["se3"] < rmse["origin"] < rmse["none"]
    assert rmse["sim3"] == pytest.approx(0.02 * np.sqrt(3), rel=0.1)  # the noise that was put in


def test_what_cannot_be_compared_is_said(files, tmp_path):
    late = trajectory_file.read(files[0])
    late[:, 0] += 1000.0
    formats.write_tum(tmp_path / "late.tum", late)
    with pytest.raises(SlamError, match="late.tum"):
        evaluate(tmp_path / "late.tum", files[1])
    with pytest.raises(SlamError, match="missing.tum"):
        evaluate(tmp_path / "missing.tum", files[1])
    with pytest.raises(SlamError, match="alignment"):
        evaluate(*files, "se4")
