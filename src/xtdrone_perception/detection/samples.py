"""Crops of a data set's images to train on, scaled and mirrored, on processor or card."""

import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from ..dataset.options import Options
from .network import STRIDE

_SCALES = (0.4, 1.7)  # of a crop to the image
_CUT = 0.3  # a box of which less is in the crop is ignored
_SMALLEST = 10.0  # longer side of boxes that count, in the crop [pixels]
_VISIBLE = 0.35  # share that shows of boxes that count
_FOCUSED = 0.75  # share of crops that have something in them, if the image has
ROOM = 6 << 30  # of images that are kept in memory [bytes]
_NEAR = 0.6  # radius of the cells that answer for a box, of a cell


class Picture(NamedTuple):
    """An image with its boxes."""

    path: Path
    boxes: np.ndarray  # (N, 4) left, top, right, bottom [pixels]
    classes: np.ndarray  # (N,) int
    counts: np.ndarray  # (N,) bool, whether it is to be found; others are ignored


def read_split(folder: Path, options: Options, split: str) -> list[Picture]:
    """The images of a split, none if it is empty."""
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
    return pictures


class Images:
    """The pixels of images, which stay in memory once they are read, as far as there is room."""

    def __init__(self, room: int = ROOM, device: str = "cpu") -> None:
        """Keeps at most `room` bytes on a device."""
        self._room, self._device = room, device
        self._kept = dict[Path, torch.Tensor]()

    def __call__(self, path: Path) -> torch.Tensor:
        """The image (3, H, W) uint8 of a file."""
        from PIL import Image

        if path in self._kept:
            return self._kept[path]
        with Image.open(path) as opened:
            pixels = np.asarray(opened.convert("RGB")).transpose(2, 0, 1)
        image = torch.from_numpy(np.ascontiguousarray(pixels)).to(self._device)
        if pixels.nbytes <= self._room:
            self._room -= pixels.nbytes
            self._kept[path] = image
        return image

    def read(self, paths: Sequence[Path]) -> None:
        """Reads images ahead, on all cores."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self, paths))


class Targets(NamedTuple):
    """What the network shall say of crops."""

    heat: torch.Tensor  # (B, C, h, w) float32, 1 in the middle of a box and less around
    boxes: torch.Tensor  # (B, 4, h, w) float32 [pixels] of the cells that answer for a box
    inside: torch.Tensor  # (B, h, w) bool, those cells
    ignored: torch.Tensor  # (B, h, w) bool, cells of which nothing is said


class Boxes(NamedTuple):
    """The boxes of pictures, M places each."""

    boxes: torch.Tensor  # (B, M, 4) left, top, right, bottom [pixels]
    classes: torch.Tensor  # (B, M) int
    counts: torch.Tensor  # (B, M) bool, whether it is to be found
    exists: torch.Tensor  # (B, M) bool, whether there is one

    def of(self, rows: torch.Tensor) -> "Boxes":
        """Those of some pictures."""
        return Boxes(*(each[rows] for each in self))


class Crops:
    """Draws random crops of pictures."""

    def __init__(
        self,
        pictures: Sequence[Picture],
        classes: int,
        size: tuple[int, int],
        seed: int,
        images: Images,
        device: str = "cpu",
    ) -> None:
        """Is for crops of a width and height [pixels], on a device.

        Args:
            pictures: From where.
            classes: Number of classes.
            size: Width and height.
            seed: Of all that is random.
            images: The pixels, on the same device.
            device: Of PyTorch.
        """
        self._pictures, self._classes, self._size = pictures, classes, size
        self._images, self._device = images, device
        self._random = torch.Generator(device).manual_seed(seed)
        self._boxes = packed(pictures, device)

    def draw(self, count: int) -> tuple[torch.Tensor, Targets]:
        """Crops (count, 3, H, W) float32, 0 to 255, and what the network shall say of them."""
        rows = torch.randint(
            len(self._pictures), (count,), generator=self._random, device=self._device
        )
        images = [self._images(self._pictures[row].path) for row in rows.tolist()]
        sides = torch.tensor([(each.shape[2], each.shape[1]) for each in images]).to(self._device)
        boxes = self._boxes.of(rows)
        size = torch.tensor(self._size, device=self._device, dtype=torch.float32)
        scale = math.log(_SCALES[0]) + self._even(count, 1) * math.log(_SCALES[1] / _SCALES[0])
        scale = scale.exp()
        corner = self._corner(boxes, sides.float(), size / scale)
        mirrored = self._even(count) < 0.5
        pixels = _cut(_stacked(images), corner, size / scale, self._size, mirrored)
        moved = (boxes.boxes - torch.cat([corner, corner], 1)[:, None]) * scale[:, :, None]
        flipped = torch.stack(
            [size[0] - moved[..., 2], moved[..., 1], size[0] - moved[..., 0], moved[..., 3]], -1
        )
        moved = torch.where(mirrored[:, None, None], flipped, moved)
        return pixels, targets(boxes._replace(boxes=moved), self._classes, self._size)

    def _corner(self, boxes: Boxes, sides: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Where crops begin (B, 2): often so that something is in them."""
        count = len(sides)
        low, high = (sides - wanted).clamp(max=0.0), (sides - wanted).clamp(min=0.0)
        number = boxes.exists.sum(1)
        chosen = (self._even(count) * number).long().clamp(max=boxes.exists.shape[1] - 1)
        box = boxes.boxes[torch.arange(count, device=self._device), chosen]
        middle = 0.5 * (box[:, :2] + box[:, 2:])
        focused = middle - wanted * (0.15 + 0.7 * self._even(count, 2))
        anywhere = low + (high - low) * self._even(count, 2)
        focus = (number > 0) & (self._even(count) < _FOCUSED)
        return torch.where(focus[:, None], torch.clamp(focused, low, high), anywhere)

    def _even(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self._random, device=self._device)


def packed(pictures: Sequence[Picture], device: str) -> Boxes:
    """The boxes of pictures on a device."""
    most = max(1, *(len(each.boxes) for each in pictures))
    boxes = np.zeros((len(pictures), most, 4), dtype=np.float32)
    classes = np.zeros((len(pictures), most), dtype=np.int64)
    counts, exists = (np.zeros((len(pictures), most), dtype=bool) for _ in range(2))
    for k, each in enumerate(pictures):
        number = len(each.boxes)
        boxes[k, :number], classes[k, :number] = each.boxes, each.classes
        counts[k, :number], exists[k, :number] = each.counts, True
    return Boxes(*(torch.from_numpy(x).to(device) for x in (boxes, classes, counts, exists)))


def _stacked(images: Sequence[torch.Tensor]) -> torch.Tensor:
    """Images as one tensor (B, 3, H, W) float32; smaller ones have black to the right and below."""
    height, width = (max(each.shape[side] for each in images) for side in (1, 2))
    whole = [functional.pad(each, (0, width - each.shape[2], 0, height - each.shape[1]))
             if each.shape[1:] != (height, width) else each for each in images]  # fmt: skip
    return torch.stack(whole).float()


def _cut(
    images: torch.Tensor,
    corner: torch.Tensor,
    wanted: torch.Tensor,
    size: tuple[int, int],
    mirrored: torch.Tensor,
) -> torch.Tensor:
    """Parts (B, 3, H, W) of images, scaled; black where an image has no pixels.

    Args:
        images: (B, 3, ...).
        corner: (B, 2) left and top of the parts.
        wanted: (B, 2) width and height of the parts.
        size: Width and height that they get.
        mirrored: (B,) which are mirrored.
    """
    device = images.device
    # Four samples to a pixel, so that fine patterns do not become others when they are scaled.
    u, v = ((torch.arange(2 * side, device=device) + 0.5) / (2 * side) for side in size)
    u = torch.where(mirrored[:, None], 1.0 - u, u)
    x = (corner[:, :1] + u * wanted[:, :1]) * (2.0 / images.shape[3]) - 1.0
    y = (corner[:, 1:] + v * wanted[:, 1:]) * (2.0 / images.shape[2]) - 1.0
    shape = (len(images), 2 * size[1], 2 * size[0])
    grid = torch.stack([x[:, None, :].expand(shape), y[:, :, None].expand(shape)], dim=-1)
    return functional.avg_pool2d(functional.grid_sample(images, grid, align_corners=False), 2)


def targets(given: Boxes, classes: int, size: tuple[int, int]) -> Targets:
    """What the network shall say.

    Args:
        given: In the crops [pixels], also beyond their edges.
        classes: Number of classes.
        size: Width and height of the crops.
    """
    device = given.boxes.device
    columns, rows = size[0] // STRIDE, size[1] // STRIDE
    x = (torch.arange(columns, device=device) + 0.5)[None, None, None, :]
    y = (torch.arange(rows, device=device) + 0.5)[None, None, :, None]
    area = (given.boxes[..., 2:] - given.boxes[..., :2]).prod(-1)
    edges = torch.tensor([size[0], size[1]] * 2, device=device, dtype=torch.float32)
    cut = torch.minimum(given.boxes.clamp(min=0.0), edges)
    sides = (cut[..., 2:] - cut[..., :2]).clamp(min=0.0)
    valid = given.exists & (sides.amin(-1) > 1.0)
    found = valid & given.counts & (sides.amax(-1) >= _SMALLEST) & (sides.prod(-1) > _CUT * area)
    left, top, right, bottom = (each[..., None, None] for each in (cut / STRIDE).unbind(-1))
    hidden = (x > left - 0.5) & (x < right + 0.5) & (y > top - 0.5) & (y < bottom + 0.5)
    ignored = (hidden & (valid & ~found)[..., None, None]).any(1)
    spread_x, spread_y = (
        (0.12 * side / STRIDE).clamp(min=0.35)[..., None, None] for side in sides.unbind(-1)
    )
    away_x, away_y = x - 0.5 * (left + right), y - 0.5 * (top + bottom)
    near = torch.exp(-0.5 * ((away_x / spread_x) ** 2 + (away_y / spread_y) ** 2))
    middle = (x - 0.5 == (0.5 * (left + right)).clamp(max=columns - 1e-3).floor()) & (
        y - 0.5 == (0.5 * (top + bottom)).clamp(max=rows - 1e-3).floor()
    )
    near = torch.where(middle, 1.0, near) * found[..., None, None]
    of_class = functional.one_hot(given.classes, classes).bool()[..., None, None]
    heat = torch.stack([(near * of_class[:, :, k]).amax(1) for k in range(classes)], dim=1)
    own = (away_x.abs() <= _NEAR + 0.5 * spread_x - 0.1) & (
        away_y.abs() <= _NEAR + 0.5 * spread_y - 0.1
    )
    own = (own | middle) & found[..., None, None]
    inside = own.any(1)
    # Of boxes that share a cell, the smallest stands in front.
    front = torch.where(own, area[..., None, None], torch.inf).argmin(1)
    boxes = cut[torch.arange(len(cut), device=device)[:, None, None], front].permute(0, 3, 1, 2)
    return Targets(heat, boxes, inside, ignored & ~inside)
