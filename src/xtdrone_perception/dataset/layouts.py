"""The layouts that detectors and trackers read: COCO, YOLO and KITTI's tracking."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_dynamics.quaternion import to_matrix

from .options import SPLITS, Options
from .shooting import record_of

_KITTI = {"person": "Pedestrian", "car": "Car"}  # KITTI's names of classes; others are Misc
_VISIBLE, _LARGELY = 0.9, 0.5  # shares of a box that show for KITTI's occlusion 0 and 1
_FORWARD_TO_OPTICAL = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])


def read_records(folder: Path, options: Options) -> list[dict[str, Any]]:
    """The labels of all scenes, in order."""
    return [json.loads(record_of(folder, scene).read_text()) for scene in range(options.scenes)]


def write_all(folder: Path, options: Options, records: Iterable[dict[str, Any]]) -> None:
    """Writes all layouts beside the images."""
    records = list(records)
    for split in SPLITS:
        own = [record for record in records if record["split"] == split]
        path = folder / "annotations" / f"instances_{split}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(coco(own, options)))
        _write_yolo(folder / "labels" / split, own, options)
        _write_kitti(folder / "kitti" / split, folder / "images" / split, own)
    _write_yolo_file(folder, options)


def coco(records: Iterable[dict[str, Any]], options: Options) -> dict[str, Any]:
    """COCO's annotations; masks as uncompressed run lengths, tracks and the share that shows.

    An image's `file_name` is relative to images/SPLIT.
    """
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    size = [options.height, options.width]
    for record in records:
        for index, frame in enumerate(record["frames"]):
            number = record["scene"] * options.frames + index + 1
            images.append(
                {
                    "id": number,
                    "file_name": f"{frame['image']}.jpg",
                    "width": options.width,
                    "height": options.height,
                    "scene": record["scene"],
                    "frame": index,
                    "camera": {"pos": frame["pos"], "quat": frame["quat"]},
                }
            )
            for label in frame["labels"]:
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": number,
                        "category_id": options.classes.index(label["class"]) + 1,
                        "bbox": label["box"],
                        "area": label["pixels"],
                        "iscrowd": 0,
                        "segmentation": {"size": size, "counts": label["runs"]},
                        "track_id": label["track"],
                        "visible": label["visible"],
                        "truncated": label["truncated"],
                    }
                )
    return {
        "info": {"description": "xtdrone perception dataset", "seed": options.seed},
        "images": images,
        "annotations": annotations,
        "categories": [{"id": k + 1, "name": name} for k, name in enumerate(options.classes)],
    }


def _write_yolo(folder: Path, records: Iterable[dict[str, Any]], options: Options) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for record in records:
        for frame in record["frames"]:
            lines = []
            for label in frame["labels"]:
                left, top, width, height = label["box"]
                lines.append(
                    f"{options.classes.index(label['class'])}"
                    f" {(left + 0.5 * width) / options.width:.6f}"
                    f" {(top + 0.5 * height) / options.height:.6f}"
                    f" {width / options.width:.6f} {height / options.height:.6f}\n"
                )
            (folder / f"{frame['image']}.txt").write_text("".join(lines))


def _write_yolo_file(folder: Path, options: Options) -> None:
    import yaml

    described = {
        "path": ".",
        **{split: f"images/{split}" for split in SPLITS},
        "names": dict(enumerate(options.classes)),
    }
    (folder / "dataset.yaml").write_text(yaml.safe_dump(described, sort_keys=False))


def _write_kitti(folder: Path, images: Path, records: Iterable[dict[str, Any]]) -> None:
    """A sequence for each scene; image_02 has links to the images."""
    for kind in ("label_02", "calib", "poses"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for record in records:
        name = f"{record['scene']:04}"
        sequence = folder / "image_02" / name
        sequence.mkdir(parents=True, exist_ok=True)
        rows, poses = [], []
        for k, frame in enumerate(record["frames"]):
            link = sequence / f"{k:06}.jpg"
            target = os.path.relpath(images / f"{frame['image']}.jpg", sequence)
            if not link.is_symlink():
                link.symlink_to(target)
            rows += [_kitti_row(k, label) for label in frame["labels"]]
            poses.append(_kitti_pose(frame))
        (folder / "label_02" / f"{name}.txt").write_text("".join(rows))
        (folder / "poses" / f"{name}.txt").write_text("".join(poses))
        fx, fy, cx, cy = record["intrinsics"][:4]
        (folder / "calib" / f"{name}.txt").write_text(f"P2: {fx} 0 {cx} 0 0 {fy} {cy} 0 0 0 1 0\n")


def _kitti_row(frame: int, label: dict[str, Any]) -> str:
    left, top, width, height = label["box"]
    occluded = 0 if label["visible"] > _VISIBLE else 1 if label["visible"] > _LARGELY else 2
    length, across, tall = label["size"]
    numbers = (
        *(left, top, left + width - 1, top + height - 1),
        *(tall, across, length),
        *label["location"],
        label["rotation_y"],
    )
    kind = _KITTI.get(label["class"], "Misc")
    return (
        f"{frame} {label['track']} {kind} {label['truncated']:.2f} {occluded} {label['alpha']:.4f} "
        + " ".join(f"{x:g}" for x in numbers)
        + "\n"
    )


def _kitti_pose(frame: dict[str, Any]) -> str:
    """A line of KITTI's odometry: camera (x right, y down, z forward) to world, (3, 4) by rows."""
    turn = np.array(to_matrix(*frame["quat"])).reshape(3, 3) @ _FORWARD_TO_OPTICAL.T
    matrix = np.column_stack([turn, frame["pos"]])
    return " ".join(f"{x:.6g}" for x in matrix.ravel()) + "\n"
