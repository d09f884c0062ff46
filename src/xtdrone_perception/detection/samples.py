"""Crops of a data set's images to train on: scaled, mirrored, of other exposure."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..dataset.options import Options
from ..errors import PerceptionError
from .network import STRIDE

_SCALES = (0.4, 1.7)  # of a crop to the image
_CUT = 0.3  # a box of which less is in the crop is ignored
_SMALLEST = 10.0  # longer side of boxes that count, in the crop [pixels]
_VISIBLE = 0.35  # share that shows of boxes that count
_FOCUSED = 0.75  # share of crops that have something in them, if the image has
_ROOM = 6 << 30  # of images that are kept in memory [bytes]
_NEAR = 0.6  # radius of the cells that answer for a box, of a cell


class Picture(NamedTuple):
    """An image with its boxes."""

    path: Path
    boxes: np.ndarray  # (N, 4) left, top, right, bottom [pixels]
    classes: np.ndarray  # (N,) int
    counts: np.ndarray  # (N,) bool, whether it is to be found; others are ignored


class Sample(NamedTuple):
    """A crop and what the network shall say of it."""

    image: np.ndarray  # (3, H, W) uint8
    heat: np.ndarray  # (C, h, w) float32, 1 in the middle of a box and less around
    boxes: np.ndarray  # (4, h, w) float32 [pixels] of the cells that answer for a box
    inside: np.ndarray  # (h, w) bool, those cells
    ignored: np.ndarray  # (h, w) bool, cells of which nothing is said


def read_split(folder: Path, options: Options, split: str) -> list[Picture]:
    """The images of a split.

    Raises:
        PerceptionError: It has none.
    """
    pictures = []
    for path in sorted((folder / "scenes").glob("*.json")):
        record = json.loads(path.read_text())
        if record["split"] != split:
            continue
        for frame in record["frames"]:
            labels = frame["labels"]
            boxes = np.array([label["box"] for label in labels], dtype=np.float32).reshape(-1, 4)
            boxes[:, 2:] += boxes[:, :2]
            pictures.append(
                Picture(
                    folder / "images" / split / f"{frame['image']}.jpg",
                    boxes,
                    np.array(
                        [options.classes.index(label["class"]) for label in labels], dtype=int
                    ),
                    np.array([label["visible"] >= _VISIBLE for label in labels], dtype=bool),
                )
            )
    if not pictures:
        raise PerceptionError(
            f"data set '{folder}' has no images for '{split}': make it with more --images or other "
            "--shares"
        )
    return pictures


class Images:
    """The pixels of images, which stay in memory once they are read, as far as there is room."""

    def __init__(self, room: int = _ROOM) -> None:
        """Keeps at most `room` bytes."""
        self._room, self._kept = room, dict[Path, np.ndarray]()

    def __call__(self, path: Path) -> np.ndarray:
        """The image (H, W, 3) uint8 of a file."""
        from PIL import Image

        if path in self._kept:
            return self._kept[path]
        with Image.open(path) as opened:
            pixels = np.asarray(opened.convert("RGB"))
        if pixels.nbytes <= self._room:
            self._room -= pixels.nbytes
            self._kept[path] = pixels
        return pixels


def crop(
    picture: Picture,
    image: np.ndarray,
    classes: int,
    size: tuple[int, int],
    rng: np.random.Generator,
) -> Sample:
    """A random crop.

    Args:
        picture: From where.
        image: Its pixels (H, W, 3) uint8.
        classes: Number of classes.
        size: Width and height of the crop [pixels].
        rng: For all that is random.
    """
    scale = float(np.exp(rng.uniform(*np.log(_SCALES))))
    wanted = size[0] / scale, size[1] / scale
    left, top = _corner(picture, (image.shape[1], image.shape[0]), wanted, rng)
    pixels = _exposed(_cut(image, (left, top, left + wanted[0], top + wanted[1]), size), rng)
    boxes = (picture.boxes - np.array([left, top, left, top])) * scale
    if rng.random() < 0.5:
        pixels = pixels[:, ::-1]
        boxes = boxes[:, [2, 1, 0, 3]] * (-1, 1, -1, 1) + (size[0], 0, size[0], 0)
    return Sample(
        np.ascontiguousarray(pixels.transpose(2, 0, 1)),
        *targets(boxes, picture.classes, picture.counts, classes, size),
    )


def _cut(
    image: np.ndarray, box: tuple[float, float, float, float], size: tuple[int, int]
) -> np.ndarray:
    """The part (H, W, 3) of an image within a box, scaled; black where the image has no pixels."""
    from PIL import Image

    height, width = image.shape[:2]
    scale = size[0] / (box[2] - box[0]), size[1] / (box[3] - box[1])
    inner = max(box[0], 0.0), max(box[1], 0.0), min(box[2], width), min(box[3], height)
    left, top = round((inner[0] - box[0]) * scale[0]), round((inner[1] - box[1]) * scale[1])
    right, bottom = round((inner[2] - box[0]) * scale[0]), round((inner[3] - box[1]) * scale[1])
    canvas = np.zeros((size[1], size[0], 3), dtype=np.uint8)
    canvas[top:bottom, left:right] = np.asarray(
        Image.fromarray(image).resize(
            (right - left, bottom - top), Image.Resampling.BILINEAR, box=inner
        )
    )
    return canvas


def _exposed(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The crop with another gamma."""
    gamma = float(np.exp(rng.normal(0.0, 0.25)))
    levels = (255.0 * np.linspace(0.0, 1.0, 256) ** gamma + 0.5).astype(np.uint8)
    return levels[pixels]


def _corner(
    picture: Picture, image: tuple[int, int], size: tuple[float, float], rng: np.random.Generator
) -> tuple[float, float]:
    """Where a crop begins: often so that something is in it."""
    low = np.minimum(np.zeros(2), np.array(image) - size)
    high = np.maximum(np.zeros(2), np.array(image) - size)
    if len(picture.boxes) and rng.random() < _FOCUSED:
        box = picture.boxes[int(rng.integers(len(picture.boxes)))]
        middle = 0.5 * (box[:2] + box[2:])
        corner = middle - np.array(size) * rng.uniform(0.15, 0.85, 2)
        corner = np.clip(corner, low, high)
    else:
        corner = rng.uniform(low, high)
    return float(corner[0]), float(corner[1])


def targets(
    boxes: np.ndarray, classes: np.ndarray, counts: np.ndarray, number: int, size: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What the network shall say, see Sample.

    Args:
        boxes: (N, 4) in the crop [pixels], also beyond its edges.
        classes, counts: Of the boxes.
        number: Of classes.
        size: Width and height of the crop.
    """
    columns, rows = size[0] // STRIDE, size[1] // STRIDE
    heat = np.zeros((number, rows, columns), dtype=np.float32)
    reach = np.zeros((4, rows, columns), dtype=np.float32)
    inside = np.zeros((rows, columns), dtype=bool)
    ignored = np.zeros((rows, columns), dtype=bool)
    y, x = np.mgrid[:rows, :columns] + 0.5
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    cut = np.clip(boxes, 0.0, np.array([size[0], size[1]] * 2))
    sides = np.maximum(cut[:, 2:] - cut[:, :2], 0.0)
    for k in np.argsort(-area):  # the smallest last: it stands in front
        if sides[k].min() <= 1.0:
            continue
        left, top, right, bottom = cut[k] / STRIDE
        found = counts[k] and sides[k].max() >= _SMALLEST and np.prod(sides[k]) > _CUT * area[k]
        if not found:
            ignored |= (x > left - 0.5) & (x < right + 0.5) & (y > top - 0.5) & (y < bottom + 0.5)
            continue
        middle_x, middle_y = 0.5 * (left + right), 0.5 * (top + bottom)
        spread_x, spread_y = (max(0.12 * side, 0.35) for side in sides[k] / STRIDE)
        away_x, away_y = (x - middle_x) / spread_x, (y - middle_y) / spread_y
        np.maximum(heat[classes[k]], np.exp(-0.5 * (away_x**2 + away_y**2)), out=heat[classes[k]])
        own = (np.abs(x - middle_x) <= _NEAR + 0.5 * spread_x - 0.1) & (
            np.abs(y - middle_y) <= _NEAR + 0.5 * spread_y - 0.1
        )
        at = int(min(middle_y, rows - 1e-3)), int(min(middle_x, columns - 1e-3))
        own[at] = True
        heat[classes[k]][at] = 1.0
        inside |= own
        ignored &= ~own
        for j in range(4):
            reach[j][own] = cut[k, j]
    return heat, reach, inside, ignored
