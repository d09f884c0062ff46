"""The example of a system of one's own is good where it is meant to be: in the hall."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("evo")

from scipy.spatial.transform import Rotation

from drawing import draws
from slam_hall import record_hall
from xtdrone_slam.benchmark import adapters
from xtdrone_slam.datasets import formats
from xtdrone_slam.evaluation import metrics, verdict

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_slam"
PAIRS = 40


@pytest.mark.slow
@draws
@pytest.mark.parametrize(
    "seed, begin_s",
    [
        (1, 6.0),
        pytest.param(2, 20.0, marks=pytest.mark.long),
        pytest.param(3, 30.0, marks=pytest.mark.long),
    ],
)
def test_example_is_good_in_the_hall(tmp_path, seed, begin_s):
    """Near 3 s and 1.5 m each, in which the camera turns fast."""
    dataset = record_hall(tmp_path / "hall", seed, begin_s, PAIRS)
    spec = importlib.util.spec_from_file_location("my_slam", EXAMPLE / "my_slam.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    system = example.MySlam(dataset.calibration, **adapters.load(str(EXAMPLE)).parameters)
    rows, lost = [], 0
    for index, t_us in enumerate(dataset.times_us):
        pose, _ = system.step(*dataset.pair(index))
        if pose is None:
            lost += 1
        else:
            rows.append([1e-6 * t_us, *pose[:3, 3], *Rotation.from_matrix(pose[:3, :3]).as_quat()])
    formats.write_tum(tmp_path / "estimate.tum", np.array(rows))
    result = metrics.evaluate(tmp_path / "estimate.tum", dataset.folder / "groundtruth.tum")
    outcome = {
        "reason": "",
        "frames": len(dataset),
        "answers": len(dataset),
        "dropped": 0,
        "lost": lost,
    }
    assert len(dataset) >= PAIRS and result.path_m > 1.0
    found = verdict.judge(outcome, result, verdict.DEFAULTS)
    assert found.word == "good", found
