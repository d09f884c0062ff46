"""Networks of each family give the same boxes; what is none of them is refused in a line."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import TensorProto  # noqa: E402

from constant_network import SIDE, save  # noqa: E402
from xtdrone_core.command import main  # noqa: E402
from xtdrone_perception.detection.description import Description, describe  # noqa: E402
from xtdrone_perception.detection.detector import OWN, Detector  # noqa: E402
from xtdrone_perception.detection.found import Detections, overlaps, thinned  # noqa: E402
from xtdrone_perception.errors import PerceptionError  # noqa: E402

# A box in the middle of an image of 200 x 100, whose letterbox has 16 grey pixels above and below.
BOX, MIDDLE = (16.0, 24.0, 48.0, 40.0), (32.0, 32.0, 32.0, 16.0)
WANTED = (50.0, 25.0, 150.0, 75.0)
SCORE = 0.8
LOGIT = float(np.log(SCORE / (1.0 - SCORE)))


def f4(*rows):
    return np.array([rows], dtype=np.float32)


YOLO8 = f4(*np.array([(*MIDDLE, 0.1, SCORE), *[(9, 9, 4, 4, 0.01, 0.0)] * 20], dtype=float).T)
RELATIVE = np.array(MIDDLE) / SIDE
OUTPUTS = {
    "yolo8": {"output0": YOLO8},
    "yolo8 transposed": {"output0": YOLO8.transpose(0, 2, 1)},
    "yolo5": {"output0": f4((*MIDDLE, 0.9, 0.1, SCORE / 0.9), *[(9, 9, 4, 4, 0.01, 1, 1)] * 9)},
    "end to end": {"output0": f4((*BOX, SCORE, 1), (1, 1, 2, 2, 0.02, 0))},
    "rt-detr": {"output0": f4((*RELATIVE, 0.1, SCORE), *[(0.1, 0.1, 0.1, 0.1, 0, 0)] * 8)},
    "detr": {"logits": f4((-9, LOGIT, 0), (-9, -9, 9)), "pred_boxes": f4(RELATIVE, RELATIVE)},
    "rt-detr logits": {"logits": f4((-9, LOGIT), (-9, -9)), "pred_boxes": f4(RELATIVE, RELATIVE)},
    "rt-detr export": {
        "labels": np.array([[1, 0]], dtype=np.int64),
        "boxes": f4(BOX, BOX),
        "scores": np.array([[SCORE, 0.1]], dtype=np.float32),
    },
}


@pytest.mark.parametrize("family", OUTPUTS)
def test_each_family_gives_the_same_box(tmp_path, family):
    path = save(tmp_path / "net.onnx", OUTPUTS[family])
    if family == "rt-detr":  # its shape is that of YOLO, too
        path.with_suffix(".yaml").write_text("family: detr")
    detector = Detector(path)
    found = detector(np.zeros((100, 200, 3), dtype=np.uint8))
    np.testing.assert_allclose(found.boxes, [WANTED], atol=1e-3)
    np.testing.assert_allclose(found.scores, [SCORE], atol=1e-4)
    assert [detector.name_of(k) for k in found.classes] == ["car"]


def test_without_a_letterbox_an_image_is_stretched(tmp_path):
    path = save(tmp_path / "net.onnx", OUTPUTS["yolo8"])
    path.with_suffix(".yaml").write_text("letterbox: false\nclasses: [cat, dog]\nthreshold: 0.5")
    detector = Detector(path)
    found = detector(np.zeros((100, 200), dtype=np.uint8))
    np.testing.assert_allclose(found.boxes, [(50.0, 37.5, 150.0, 62.5)], atol=1e-3)
    assert detector.names == ("cat", "dog")
    assert len(Detector(path, threshold=0.9)(np.zeros((100, 200, 3), dtype=np.uint8)).scores) == 0


@pytest.mark.parametrize(
    "outputs, said",
    [
        ({"x": f4(*[(1.0, 2.0, 3.0)] * 3)}, "which is neither of the YOLO nor of the DETR family"),
        ({"x": np.zeros((1, 7), dtype=np.float32)}, "neither"),
        ({"x": np.zeros((2, 6, 50), dtype=np.float32)}, "neither"),
        ({"x": np.zeros((1, 30, 50), dtype=np.float32)}, "for 2 classes"),
        ({"x": np.zeros((1, 3, 8, 8, 7), dtype=np.float32)}, "neither"),
    ],
)
def test_other_outputs_are_refused(tmp_path, outputs, said):
    detector = Detector(save(tmp_path / "net.onnx", outputs))
    with pytest.raises(PerceptionError, match=said):
        detector(np.zeros((100, 200, 3), dtype=np.uint8))


@pytest.mark.parametrize(
    "options, said",
    [
        ({"shape": (1, 3, SIDE)}, "has to take one image"),
        ({"shape": (1, 4, SIDE, SIDE)}, "has to take one image"),
        ({"kind": TensorProto.UINT8}, "has to take tensor"),
        ({"metadata": {"names": "{}"}}, "give a list of names"),
    ],
)
def test_other_inputs_and_metadata_are_refused(tmp_path, options, said):
    with pytest.raises(PerceptionError, match=said):
        Detector(save(tmp_path / "net.onnx", OUTPUTS["yolo8"], **options))


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x08\x08" * 100])
def test_a_damaged_file_is_refused_in_a_line(tmp_path, capsys, data):
    path, picture = tmp_path / "net.onnx", tmp_path / "a.png"
    path.write_bytes(data)
    picture.write_bytes(b"no picture")
    assert main(["perception", "detect", str(picture), "--detector", str(path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(PerceptionError, match="is no network"):
        Detector(path)
    with pytest.raises(PerceptionError, match="give a file NAME.onnx"):
        Detector(tmp_path / "none.onnx")


@pytest.mark.parametrize(
    "words, said",
    [
        ("familly: yolo", "did you mean 'family'"),
        ("family: yol", "did you mean 'yolo'"),
        ("threshold: 2", "give 0 to 1"),
        ("threshold: high", "give 0 to 1"),
        ("std: [1, 0, 1]", "above 0"),
        ("mean: [1, 2]", "three numbers"),
        ("classes: 7", "give a list of names"),
        ("[1, 2]", "give keys of"),
        ("largest: 5", "give 32 to 4096"),
    ],
)
def test_a_wrong_description_is_refused(tmp_path, words, said):
    (tmp_path / "net.yaml").write_text(words)
    with pytest.raises(PerceptionError, match=said):
        describe(tmp_path / "net.onnx", {})


@pytest.mark.parametrize(
    "given",
    ["{0: 'person', 1: 'car'}", "['person', 'car']", "person,car", "{1: 'car', 0: 'person'}"],
)
def test_names_of_classes_are_read(tmp_path, given):
    assert describe(tmp_path / "net.onnx", {"names": given}) == Description(
        classes=("person", "car")
    )


def test_of_boxes_that_overlap_the_surest_is_kept():
    boxes = np.array([(0, 0, 10, 10), (1, 0, 11, 10), (1, 0, 11, 10), (30, 0, 40, 10)], dtype=float)
    found = Detections(boxes, np.array([0.6, 0.9, 0.5, 0.4]), np.array([0, 0, 1, 0]))
    kept = thinned(found, 0.5, 10)
    assert kept.scores.tolist() == [0.9, 0.5, 0.4]
    assert thinned(found, 0.5, 1).scores.tolist() == [0.9]
    assert overlaps(boxes[:1], boxes)[0, 1] == pytest.approx(90.0 / 110.0)


def test_a_box_within_a_surer_one_is_dropped_where_that_is_asked_for():
    boxes = np.array([(0, 0, 100, 60), (10, 10, 60, 58), (20, 20, 40, 40), (90, 0, 140, 60)], float)
    found = Detections(boxes, np.array([0.9, 0.8, 0.7, 0.6]), np.array([0, 0, 1, 0]))
    assert len(thinned(found, 0.5, 10).scores) == 4
    assert thinned(found, 0.5, 10, inside=0.8).scores.tolist() == [0.9, 0.7, 0.6]


@pytest.mark.skipif(OWN.is_file(), reason="the project has a detector")
def test_without_a_detector_it_says_how_to_get_one():
    with pytest.raises(PerceptionError, match="train it by xtdrone perception train"):
        Detector()


@pytest.mark.skipif(not OWN.is_file(), reason="the project's own detector is not there")
def test_the_projects_own_detector_is_small_and_runs():
    detector = Detector()
    assert detector.names == ("person", "car")
    assert OWN.stat().st_size <= 2 << 20
    assert len(detector(np.full((480, 640, 3), 90, dtype=np.uint8)).scores) == 0
