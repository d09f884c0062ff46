"""What users get wrong is one line that says what to give, from each command that takes it."""

import numpy as np
import pytest
from PIL import Image

from xtdrone_core.command import main
from xtdrone_perception.dataset.options import Options


@pytest.fixture
def place(tmp_path):
    """A folder with an empty data set, a damaged one, and a network of other shapes."""
    Options(images=1, frames=1).claim(tmp_path / "begun")
    Options(images=1, frames=1).claim(tmp_path / "bare")
    (tmp_path / "bare" / "scenes").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.world").write_text("<sdf>")
    Image.fromarray(np.zeros((48, 64, 3), np.uint8)).save(tmp_path / "a.png")
    return tmp_path


def refused(capsys, *arguments):
    """The line with which a command ends."""
    assert main(list(arguments)) == 1
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1, error  # beside that of kernels that are not cached yet
    return lines[0]


@pytest.mark.parametrize("more", [[], ["--tracks", "--detector", "ideal"]])
@pytest.mark.parametrize(
    "data, said",
    [("empty", "is no data set"), ("none", "is no data set"), ("begun", "images|data")],
)
def test_a_data_set_without_images_is_not_evaluated(place, capsys, data, said, more):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("trackers" if more else "pycocotools")
    line = refused(capsys, "perception", "evaluate", str(place / data), *more)
    assert any(part in line for part in said.split("|"))


@pytest.mark.parametrize(
    "data, said", [("empty", "is no data set"), ("begun", "no images for 'train'"),
                   ("bare", "no images for 'train'")]
)  # fmt: skip
def test_a_data_set_without_images_is_not_trained_on(place, capsys, data, said):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    arguments = ["perception", "train", str(place / data), "--out", str(place / "a.onnx")]
    assert said in refused(capsys, *arguments)


def test_a_detector_of_other_shapes_is_a_line(place, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from constant_network import save

    path = save(place / "net.onnx", {"x": np.zeros((1, 3, 8, 8, 7), np.float32)})
    line = refused(capsys, "perception", "detect", str(place / "a.png"), "--detector", str(path))
    assert "neither of the YOLO nor of the DETR family" in line


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["perception", "marker", "--family", "tag99h9"], "unknown family of markers 'tag99h9'"),
        (
            ["perception", "rates", "--family", "tag99h9", "--out", "b.png"],
            "unknown family of markers",
        ),
        (["fly", "marker_landing", "--set", "marker=tag99h9:0:0.5"], "tag99h9"),
        (["fly", "marker_landing", "--vehicle", "iris", "--world", "landing"], "camera"),
        (["fly", "follow", "--vehicle", "typhoon_h480", "--world", "empty"], "no person to follow"),
        (["fly", "follow", "--vehicle", "iris", "--world", "street"], "camera to follow with"),
        (["fly", "follow", "--set", "detector=none.onnx"], "none.onnx"),
    ],
)
def test_what_is_not_there_is_named(runs, place, monkeypatch, capsys, arguments, said):
    pytest.importorskip("cv2")
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(place)
    assert said in refused(capsys, *arguments)
