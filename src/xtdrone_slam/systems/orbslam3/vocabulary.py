"""Trains the bag-of-words vocabulary that ORB-SLAM3 needs; the package contains none.

The vocabulary is a tree of ORB descriptors in DBoW2's text format: a line `k L scoring weighting`,
then for each node, in the order of the node numbers, its parent, whether it is a leaf, 32 bytes
and its weight. It is trained on seeded synthetic images: noise, polygons and letters.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import cv2
import numpy as np

BRANCHES, LEVELS = 10, 4
# Parent, whether it is a leaf, descriptor (32,) uint8, weight.
Node = tuple[int, int, np.ndarray, float]
_IMAGES, _FEATURES = 80, 1500
_SIZE = 752, 480
_TF_IDF, _L1 = 0, 0  # DBoW2's enumerators of weighting and scoring


def draw(rng: np.random.Generator) -> np.ndarray:
    """Draws a synthetic image (H, W) uint8 with many kinds of corners."""
    width, height = _SIZE
    image = np.full((height, width), 128.0, np.float32)
    for cells in (12, 40, 120, 376):
        grain = rng.normal(0.0, 1.0, (cells * height // width, cells)).astype(np.float32)
        image += 22.0 * cv2.resize(grain, _SIZE, interpolation=cv2.INTER_CUBIC)
    for _ in range(60):
        corners = rng.integers(0, _SIZE, 2) + rng.integers(-60, 60, (rng.integers(3, 7), 2))
        cv2.fillPoly(image, [corners.astype(np.int32)], float(rng.uniform(0, 255)))
        origin = tuple(int(x) for x in rng.integers(0, _SIZE, 2))
        cv2.putText(
            image,
            chr(rng.integers(33, 127)),
            origin,
            cv2.FONT_HERSHEY_SIMPLEX,
            float(rng.uniform(0.5, 2.5)),
            float(rng.uniform(0, 255)),
            2,
        )
    return cv2.GaussianBlur(np.clip(image, 0, 255), (0, 0), 0.7).astype(np.uint8)


def train(
    images: Sequence[np.ndarray], branches: int = BRANCHES, levels: int = LEVELS
) -> list[Node]:
    """Clusters the descriptors of images into a tree.

    Args:
        images: (H, W) uint8 each.
        branches: Children of a node.
        levels: Levels below the root.

    Returns:
        Rows (parent, is leaf, (32,) uint8, weight), in the order of the node numbers 1, 2, ...;
        the weight of a leaf is ln(images / images that contain it).
    """
    cv2.setRNGSeed(1)
    orb = cv2.ORB_create(_FEATURES)
    descriptors = [orb.detectAndCompute(image, None)[1] for image in images]
    source = np.concatenate([np.full(len(each), i) for i, each in enumerate(descriptors)])
    bits = np.unpackbits(np.concatenate(descriptors), axis=1).astype(np.float32)
    nodes: list[Node] = []
    level = [(0, np.arange(len(bits)))]  # parents, and the descriptors below them
    for depth in range(1, levels + 1):
        below = []
        for parent, members in level:
            for part in _split(bits, members, branches):
                centre = np.packbits(bits[part].mean(axis=0) > 0.5)
                seen = len(np.unique(source[part]))
                # A cluster too small to split becomes a leaf above the last level.
                leaf = depth == levels or len(part) <= branches
                nodes.append((parent, int(leaf), centre, float(np.log(len(images) / seen))))
                if not leaf:
                    below.append((len(nodes), part))
        level = below
    return nodes


def _split(bits: np.ndarray, members: np.ndarray, branches: int) -> list[np.ndarray]:
    """Returns the members in k-means clusters, without empty ones."""
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 8, 1.0)
    _, labels, _ = cv2.kmeans(bits[members], branches, None, criteria, 1, cv2.KMEANS_PP_CENTERS)
    parts = (members[labels.ravel() == label] for label in range(branches))
    return [part for part in parts if len(part)]


def write(
    path: Path, nodes: Iterable[Node], branches: int = BRANCHES, levels: int = LEVELS
) -> None:
    """Writes DBoW2's text format, without a final newline, which would be read as another node."""
    lines = [f"{branches} {levels} {_L1} {_TF_IDF}"]
    lines += [
        f"{parent} {leaf} {' '.join(map(str, centre))} {weight:.6f}"
        for parent, leaf, centre, weight in nodes
    ]
    Path(path).write_text("\n".join(lines))


def main() -> int:
    """Writes a vocabulary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    write(args.path, train([draw(rng) for _ in range(_IMAGES)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
