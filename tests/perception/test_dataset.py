"""Labels agree with the images: boxes, masks, depth and flow; a data set goes on after a kill."""

import json

import numpy as np
import pytest

from drawing import draws
from xtdrone_perception.dataset import layouts, making, png
from xtdrone_perception.dataset.options import Options
from xtdrone_perception.dataset.page import mask_of
from xtdrone_perception.dataset.shooting import Shoot, record_of

pytestmark = [pytest.mark.slow, draws]
LENSES = {"pinhole": (), "barrel": (-0.25, 0.07, 0.001, -0.001, 0.0)}


@pytest.fixture(scope="module", params=LENSES)
def shots(request):
    """Two successive shots of each of three scenes."""
    options = Options(width=480, height=360, frames=4, lens=LENSES[request.param], seed=5)
    taken = []
    for scene in range(3):
        shoot = Shoot(options, scene)
        taken.append((shoot.shot(0), shoot.shot(1), shoot.record["intrinsics"]))
        shoot.close()
    return taken


def test_boxes_are_the_projection_of_the_meshes_within_a_pixel(shots):
    compared = 0
    for shot in [shot for pair in shots for shot in pair[:2]]:
        for label in shot.record["labels"]:
            if label["visible"] < 0.995 or label["truncated"] > 0.0:
                continue  # hidden in part
            seen, whole = np.array(label["box"], dtype=float), np.array(label["whole_box"])
            seen[2:] += seen[:2]
            whole[2:] += whole[:2]
            assert np.abs(seen - whole).max() < 1.05, label
            compared += 1
    assert compared >= 5


def test_without_distances_images_and_labels_are_the_same():
    shots = []
    for outputs in ((), ("depth",)):
        options = Options(images=2, frames=1, width=160, height=120, seed=4, outputs=outputs)
        shoot = Shoot(options, 1)
        shots.append(shoot.shot(0))
        shoot.close()
    first, second = shots
    assert first.depth is None and second.depth is not None
    np.testing.assert_array_equal(first.image, second.image)
    np.testing.assert_array_equal(first.instance, second.instance)
    assert first.record == second.record and first.record["labels"]


def test_masks_are_the_segmentation(shots):
    for shot in [shot for pair in shots for shot in pair[:2]]:
        for label in shot.record["labels"]:
            mask = mask_of(label["runs"], *shot.instance.shape)
            np.testing.assert_array_equal(mask, shot.instance == label["track"] + 1)
            rows, columns = np.nonzero(mask)
            left, top, width, height = label["box"]
            assert (columns.min(), rows.min()) == (left, top)
            assert (columns.max() - left + 1, rows.max() - top + 1) == (width, height)
            assert mask.sum() == label["pixels"]


def test_flow_leads_to_the_same_point_of_the_next_image(shots):
    """The distance of what a pixel shows, by the next image's camera, is that of where it went."""
    for first, second, intrinsics in shots:
        fx, fy, cx, cy, k1 = intrinsics[:5]
        if k1:  # its rays are those of the lens, which the boxes test
            continue
        rows, columns = np.indices(first.depth.shape)
        known = np.isfinite(first.depth) & (first.instance == 0) & (first.depth < 60.0)
        to = np.round(np.stack([columns, rows], axis=2) + np.nan_to_num(first.flow)).astype(int)
        inside = (to >= 0).all(axis=2) & (to[:, :, 0] < columns.shape[1])
        known &= inside & (to[:, :, 1] < rows.shape[0])
        d = first.depth[known]
        point = np.stack([d, -(columns[known] - cx) / fx * d, -(rows[known] - cy) / fy * d], axis=1)
        world = point @ _axes(first).T + first.record["pos"]
        ahead = (world - second.record["pos"]) @ _axes(second)
        found = second.depth[to[known][:, 1], to[known][:, 0]]
        same = np.abs(found - ahead[:, 0]) < 0.03 * ahead[:, 0] + 0.05
        assert known.sum() > 1000
        assert same.mean() > 0.9


def _axes(shot):
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(shot.record["quat"]).as_matrix()


def test_depth_and_flow_are_read_as_kitti_writes_them(tmp_path):
    cv2 = pytest.importorskip("cv2")
    depth = np.array([[0.5, 17.25, np.inf]], dtype=np.float32)
    png.write_depth(tmp_path / "d.png", depth)
    levels = cv2.imread(str(tmp_path / "d.png"), cv2.IMREAD_UNCHANGED)
    assert (levels / 256.0).tolist() == [[0.5, 17.25, 0.0]]
    flow = np.array([[[1.5, -2.0], [np.nan, np.nan]]], dtype=np.float32)
    png.write_flow(tmp_path / "f.png", flow)
    blue, green, red = cv2.split(cv2.imread(str(tmp_path / "f.png"), cv2.IMREAD_UNCHANGED))
    assert ((red[0, 0] - 32768.0) / 64.0, (green[0, 0] - 32768.0) / 64.0) == (1.5, -2.0)
    assert blue.tolist() == [[1, 0]]


@pytest.mark.long
def test_a_data_set_goes_on_and_its_layouts_agree(tmp_path):
    options = Options(width=160, height=120, images=6, frames=2, seed=2, shares=(0.4, 0.3, 0.3))
    seen = []
    made = making.make(tmp_path, options, workers=1, watch=seen.append)
    assert (made.images, sum(seen)) == (6, 6)
    whole = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.*")) if path.is_file()}
    record_of(tmp_path, 1).unlink()  # as if it had been killed in this scene
    again = making.make(tmp_path, options, workers=1)
    assert again.images == 2
    for path, data in whole.items():
        if path.name != "statistics.png":
            assert path.read_bytes() == data, path
    scenes = {}
    for split in ("train", "val", "test"):
        coco = json.loads((tmp_path / "annotations" / f"instances_{split}.json").read_text())
        scenes[split] = {image["scene"] for image in coco["images"]}
        boxes = {image["id"]: 0 for image in coco["images"]}
        for annotation in coco["annotations"]:
            boxes[annotation["image_id"]] += 1
        for image in coco["images"]:
            stem = image["file_name"].removesuffix(".jpg")
            lines = (tmp_path / "labels" / split / f"{stem}.txt").read_text().splitlines()
            assert len(lines) == boxes[image["id"]]
            sequence = tmp_path / "kitti" / split
            link = sequence / "image_02" / f"{image['scene']:04}" / f"{image['frame']:06}.jpg"
            assert link.resolve() == (tmp_path / "images" / split / f"{stem}.jpg").resolve()
            rows = (sequence / "label_02" / f"{image['scene']:04}.txt").read_text().splitlines()
            own = [row for row in rows if row.split()[0] == str(image["frame"])]
            assert len(own) == boxes[image["id"]]
            assert all(len(row.split()) == 17 for row in own)
    assert scenes == {"train": {0, 2}, "val": {1}, "test": set()} or not (
        scenes["train"] & scenes["val"] | scenes["train"] & scenes["test"]
    )
    assert sum(map(len, scenes.values())) == 3


def test_coco_reads_the_annotations(shots):
    pycocotools = pytest.importorskip("pycocotools.mask")
    options = Options(width=480, height=360, frames=4, seed=7)
    shot = shots[0][0]
    frame = shot.record | {"image": "a"}
    for annotation in layouts.coco([{"scene": 0, "frames": [frame]}], options)["annotations"]:
        encoded = pycocotools.frPyObjects(annotation["segmentation"], 360, 480)
        assert pycocotools.area(encoded) == annotation["area"]
        assert pycocotools.toBbox(encoded).tolist() == annotation["bbox"]
