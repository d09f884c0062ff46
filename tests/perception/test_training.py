"""The small detector: what it is taught, and that its ONNX says what the network says."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from PIL import Image  # noqa: E402

from constant_network import save  # noqa: E402
from xtdrone_core.command import main  # noqa: E402
from xtdrone_perception.dataset.options import Options  # noqa: E402
from xtdrone_perception.detection import export, samples  # noqa: E402
from xtdrone_perception.detection.detector import Detector  # noqa: E402
from xtdrone_perception.detection.light import Light  # noqa: E402
from xtdrone_perception.detection.network import Network, boxes_of  # noqa: E402
from xtdrone_perception.detection.reading import read_network  # noqa: E402
from xtdrone_perception.detection.training import Plan, train  # noqa: E402
from xtdrone_perception.errors import PerceptionError  # noqa: E402

pytestmark = pytest.mark.slow


def data_set(folder, classes=("person", "car"), scenes=3):
    """A data set of red and blue rectangles, one scene in each split."""
    options = Options(classes=classes, images=scenes, frames=1, width=160, height=128)
    options.claim(folder)
    rng = np.random.default_rng(1)
    (folder / "scenes").mkdir()
    for scene, split in enumerate(("train", "val", "test")[:scenes]):
        pixels = rng.integers(90, 110, (128, 160, 3)).astype(np.uint8)
        pixels[40:80, 30:50] = 200, 20, 20
        pixels[60:90, 90:140] = 20, 20, 200
        labels = [
            {
                "box": box,
                "class": name,
                "visible": 1.0,
                "truncated": 0.0,
                "runs": [],
                "pixels": 100,
                "track": 0,
            }
            for box, name in (([30, 40, 20, 40], classes[0]), ([90, 60, 50, 30], classes[-1]))
        ]
        frame = {"image": f"{scene}", "labels": labels, "pos": [0, 0, 0], "quat": [0, 0, 0, 1]}
        record = {"scene": scene, "split": split, "frames": [frame]}
        (folder / "scenes" / f"{scene:06}.json").write_text(json.dumps(record))
        (folder / "images" / split).mkdir(parents=True)
        Image.fromarray(pixels).save(folder / "images" / split / f"{scene}.jpg")
    return folder


def test_the_onnx_says_what_the_network_says_of_the_image_and_of_half_of_it(tmp_path):
    torch.manual_seed(0)
    network = Network(3).train()
    for _ in range(2):  # so that its normalisation is not the identity
        network(torch.rand(2, 3, 64, 96) * 3.0)
    network.eval()
    path = tmp_path / "net.onnx"
    export.write(path, network, ("a", "b", "c"), (96, 64))
    assert len(onnx.load(path).graph.initializer) < 80  # each weight is there once
    image = np.random.default_rng(0).integers(0, 255, (64, 96, 3)).astype(np.uint8)
    detector = Detector(path, threshold=0.0, overlap=1.0)
    assert detector.names == ("a", "b", "c")
    found = detector(image)
    pixels = torch.from_numpy(image.transpose(2, 0, 1)[None] / 255.0).float()
    half = torch.full((1, 3, 32, 64), 114.0 / 255.0)
    half[:, :, :, :48] = torch.nn.functional.avg_pool2d(pixels, 2)
    scores, boxes = [], []
    with torch.no_grad():
        for level, scale in ((pixels, 1.0), (half, 2.0)):
            logits, reaches = network(level)
            scores.append(torch.sigmoid(logits)[0].reshape(3, -1).max(0).values.numpy())
            boxes.append(scale * boxes_of(reaches)[0].reshape(4, -1).T.numpy())
    wanted = np.clip(np.concatenate(boxes), 0, (96, 64, 96, 64))
    scores = np.concatenate(scores)
    inside = (wanted[:, 2:] > wanted[:, :2]).all(axis=1)
    order = np.argsort(-scores[inside], kind="stable")
    np.testing.assert_allclose(found.scores, scores[inside][order], atol=1e-4)
    np.testing.assert_allclose(found.boxes[:10], wanted[inside][order][:10], atol=0.05)


def test_a_network_is_read_back_and_goes_on(tmp_path):
    network = Network(2).train()
    for _ in range(2):
        network(torch.rand(2, 3, 64, 96) * 3.0)
    path = tmp_path / "net.onnx"
    export.write(path, network.eval(), ("person", "car"), (96, 64))
    images = torch.rand(16, 3, 64, 96)
    back = read_network(path, ("person", "car"), images)
    assert back.training
    with torch.no_grad():
        wanted = network(images)
        for mode in (back.eval(), back.train()):  # both kinds of normalisation agree on these
            for one, other in zip(mode(images), wanted):
                torch.testing.assert_close(one, other, atol=2e-3, rtol=1e-3)
    with pytest.raises(PerceptionError, match="have to be the same"):
        read_network(path, ("car",), images)
    (tmp_path / "none.onnx").write_bytes(b"nonsense")
    with pytest.raises(PerceptionError, match="no ONNX file"):
        read_network(tmp_path / "none.onnx", ("car",), images)
    other = save(tmp_path / "other.onnx", {"output0": np.zeros((1, 6, 9), np.float32)})
    with pytest.raises(PerceptionError, match="is no network of"):
        read_network(other, ("person", "car"), images)
    folder = data_set(tmp_path / "data")
    done = train(
        Plan((folder,), 0.3, size=(160, 128), begin=path, held_out=8), tmp_path / "more.onnx"
    )
    assert done.images > 0
    assert Detector(tmp_path / "more.onnx").names == ("person", "car")


def test_the_size_is_in_multiples_of_32(tmp_path):
    with pytest.raises(PerceptionError, match="multiples of 32"):
        export.write(tmp_path / "net.onnx", Network(1), ("a",), (100, 64))


def pictures_of(boxes, classes, counts):
    return [samples.Picture(None, np.array(boxes, np.float32), np.array(classes), counts)]


def test_the_cells_of_a_box_are_taught_its_edges_and_what_is_hidden_is_ignored():
    boxes = [(16, 16, 48, 32), (-40, 40, 4, 56), (60, 40, 64, 44)]
    given = samples.packed(pictures_of(boxes, [1, 0, 0], np.array([True] * 3)), "cpu")
    heat, reach, inside, ignored = (each[0].numpy() for each in samples.targets(given, 2, (96, 64)))
    rows, columns = np.nonzero(inside)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (2, 3, 3, 4)
    assert (reach[:, inside].T == (16, 16, 48, 32)).all()
    assert heat[1].max() == 1.0
    assert heat[0].max() == 0.0  # nearly out of the image, and too small
    assert ignored[5, 0]
    assert ignored[5, 7]
    assert not ignored[3, 3]


def test_where_two_boxes_overlap_the_smaller_one_is_in_front():
    boxes = [(0, 0, 64, 64), (24, 24, 44, 44)]
    given = samples.packed(pictures_of(boxes, [1, 0], np.array([True] * 2)), "cpu")
    _, reach, inside, _ = (each[0].numpy() for each in samples.targets(given, 2, (64, 64)))
    assert inside[4, 4]
    assert tuple(reach[:, 4, 4]) == (24, 24, 44, 44)


def test_crops_show_what_is_said_of_them(tmp_path):
    folder = data_set(tmp_path / "data")
    pictures = samples.read_split(folder, Options(classes=("person", "car")), "train")
    crops = samples.Crops(pictures, 2, (96, 64), 3, samples.Images())
    pixels, wanted = crops.draw(24)
    assert pixels.shape == (24, 3, 64, 96)
    assert wanted.inside.any(2).any(1).float().mean() > 0.5
    for k, row, column in wanted.inside.nonzero():
        left, top, right, bottom = wanted.boxes[k, :, row, column]
        red, _, blue = pixels[k, :, int((top + bottom) / 2), int((left + right) / 2)]
        kind = wanted.heat[k, :, row, column].argmax()
        assert (red > blue) == (kind == 0)


def test_images_of_several_sizes_are_cut_alike(tmp_path):
    image = np.random.default_rng(0).integers(0, 255, (40, 60, 3)).astype(np.uint8)
    paths = [tmp_path / "small.png", tmp_path / "large.png"]
    Image.fromarray(image).save(paths[0])
    Image.fromarray(np.pad(image, ((0, 24), (0, 36), (0, 0)))).save(paths[1])
    one, both = (
        [
            samples.Picture(path, np.zeros((0, 4), np.float32), np.zeros(0, int), np.zeros(0, bool))
            for path in some
        ]
        for some in (paths[1:], paths)
    )
    wanted, _ = samples.Crops(one, 1, (96, 64), 0, samples.Images()).draw(1)
    given, said = samples.Crops(both, 1, (96, 64), 0, samples.Images()).draw(8)
    assert wanted.shape[1:] == given.shape[1:]
    assert not said.inside.any()


def test_images_stay_in_memory_as_far_as_there_is_room(tmp_path):
    folder = data_set(tmp_path / "data")
    paths = [folder / "images" / split / f"{k}.jpg" for k, split in enumerate(("train", "val"))]
    images = samples.Images(room=70_000)  # of 128 x 160 x 3 bytes, one
    images.read(paths[:1])
    kept, other = map(images, paths)
    assert images(paths[0]) is kept
    assert images(paths[1]) is not other


def test_other_light_is_of_each_image_and_no_image_is_alike():
    light = Light(seed=3)
    given = torch.full((6, 3, 64, 96), 128.0)
    lit = light(given)
    assert lit.shape == given.shape
    assert 0.0 <= float(lit.min()) and float(lit.max()) <= 1.0
    means = lit.mean(dim=(1, 2, 3))
    assert len({round(float(mean), 4) for mean in means}) == 6
    assert not torch.equal(lit, light(given))
    assert torch.equal(lit, Light(seed=3)(given))


def test_a_training_and_its_evaluation(tmp_path, capsys):
    folder = data_set(tmp_path / "data")
    steps = []
    done = train(
        Plan((folder,), 0.5, size=(160, 128), held_out=8), tmp_path / "net.onnx", steps.append
    )
    assert steps
    assert done.images == 8 * len(steps)
    assert done.held_out > 0.0  # it has a validation split
    assert not list(tmp_path.glob("*.part"))
    assert Detector(tmp_path / "net.onnx").names == ("person", "car")
    other = data_set(tmp_path / "other", ("car",))
    with pytest.raises(PerceptionError, match="sets of the same classes"):
        train(Plan((folder, other), 0.5), tmp_path / "net.onnx")
    arguments = ["perception", "evaluate", str(folder), "--detector", str(tmp_path / "net.onnx")]
    pytest.importorskip("pycocotools")
    assert main(arguments) == 1
    assert "finish the data set" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--size", "640", "--out", "a.onnx"], "as in 640x480"),
        (["--minutes", "0", "--out", "a.onnx"], "give a number above 0"),
        (["--out", "a.pt"], "give NAME.onnx"),
        (["--begin", "none.onnx", "--out", "a.onnx"], "there is no such file"),
        (["--out", "a.onnx"], "is no data set"),
        (["--device", "cuda", "--out", "a.onnx"], "no graphics card here"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert main(["perception", "train", str(tmp_path), *arguments]) == 1
    assert said in capsys.readouterr().err


def test_scores_are_those_of_cocos_code(tmp_path):
    pytest.importorskip("pycocotools")
    from xtdrone_perception.dataset import layouts
    from xtdrone_perception.detection.evaluation import evaluate
    from xtdrone_perception.detection.found import Detections

    folder = data_set(tmp_path / "data")
    options = Options(classes=("person", "car"), images=3, frames=1, width=160, height=128)
    records = [json.loads(path.read_text()) for path in sorted((folder / "scenes").glob("*"))]
    (folder / "annotations").mkdir()
    for record in records:
        path = folder / "annotations" / f"instances_{record['split']}.json"
        path.write_text(json.dumps(layouts.coco([record], options)))

    class Half:
        """Finds the person twice, once elsewhere, and no car."""

        names = ("person", "car")

        def __call__(self, image):
            boxes = np.array([(30, 40, 50, 80), (0, 0, 20, 40)], dtype=float)
            return Detections(boxes, np.array([0.9, 0.6]), np.array([0, 0]))

        def name_of(self, index):
            return self.names[index]

    person, car = evaluate(Half(), folder, "test", 0.5)
    assert (person.recall, person.precision, person.wanted) == (1.0, 0.5, 1)
    assert person.ap50 == pytest.approx(1.0)
    assert (car.recall, car.wanted) == (0.0, 1)
    assert evaluate(Half(), folder, "test", 0.7)[0].precision == 1.0
