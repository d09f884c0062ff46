"""What a detector finds in an image, and how it is thinned out."""

from typing import NamedTuple

import numpy as np


class Detections(NamedTuple):
    """Boxes in one image, the surest first."""

    boxes: np.ndarray  # (N, 4) left, top, right, bottom [pixels], edges of pixels
    scores: np.ndarray  # (N,) 0 to 1
    classes: np.ndarray  # (N,) int

    def of_class(self, index: int) -> "Detections":
        """Those of one class."""
        own = self.classes == index
        return Detections(self.boxes[own], self.scores[own], self.classes[own])


def nothing() -> Detections:
    """No detection."""
    return Detections(np.zeros((0, 4)), np.zeros(0), np.zeros(0, dtype=int))


def overlaps(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Intersection over union (N, M) of boxes (N, 4) and (M, 4)."""
    common = _common(one, others)
    areas = [np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) for boxes in (one, others)]
    union = areas[0][:, None] + areas[1][None, :] - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0.0)


def shares(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Share (N, M) of the smaller of two boxes, of (N, 4) and (M, 4), that is in the other."""
    areas = [np.prod(boxes[:, 2:] - boxes[:, :2], axis=1) for boxes in (one, others)]
    smaller = np.minimum(areas[0][:, None], areas[1][None, :])
    common = _common(one, others)
    return np.divide(common, smaller, out=np.zeros_like(common), where=smaller > 0.0)


def _common(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Area (N, M) that boxes have in common [pixels^2]."""
    low = np.maximum(one[:, None, :2], others[None, :, :2])
    high = np.minimum(one[:, None, 2:], others[None, :, 2:])
    common: np.ndarray = np.prod(np.maximum(high - low, 0.0), axis=2)
    return common


def thinned(found: Detections, most: float, count: int, inside: float = 1.0) -> Detections:
    """Keeps the surest of boxes of one class that are of the same thing.

    Args:
        found: The boxes.
        most: Intersection over union from which two are of one thing.
        count: Most boxes that are kept.
        inside: Share of the smaller one within the other from which they are, too; 1: never.
    """
    order = np.argsort(-found.scores, kind="stable")[: 20 * count]
    boxes, classes = found.boxes[order], found.classes[order]
    kept: list[int] = []
    left = np.ones(len(order), dtype=bool)
    for k in range(len(order)):
        if not left[k]:
            continue
        kept.append(k)
        if len(kept) == count:
            break
        own = boxes[k : k + 1]
        other = (overlaps(own, boxes)[0] <= most) & (shares(own, boxes)[0] <= inside)
        left &= other | (classes != classes[k])
    rows = order[kept]
    return Detections(found.boxes[rows], found.scores[rows], found.classes[rows])
