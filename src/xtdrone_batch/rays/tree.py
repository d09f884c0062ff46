"""A hierarchy of bounding boxes whose leaves hold as many boxes as one loop over lanes tests.

The nodes lie in the order of a walk. A node that is missed is left by its `skip`, so that a walk
needs no stack. Splits are at whole leaves: n boxes always make the same tree of nodes.
"""

from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit

LEAF = 16  # boxes of a leaf, tested together
NOWHERE = 1e9  # corners of a box that no ray meets [m]
_DEPTH = 64


class Tree(NamedTuple):
    """Trees, with the boxes that they hold; leading axes are the caller's."""

    node: np.ndarray  # (..., N, 6) f4 lowest and highest corner
    info: np.ndarray  # (..., N, 2) i4 leaf (-1 = none), next node for a walk that misses this one
    leaf: np.ndarray  # (..., B, 6, LEAF) f4 corners
    item: np.ndarray  # (..., B, LEAF) i4 which box
    nodes: np.ndarray  # (...,) i4 how many nodes there are


def leaves_of(items: int) -> int:
    """Leaves of a tree of so many boxes."""
    return max(1, -(-items // LEAF))


def new_tree(lead: tuple[int, ...], items: int) -> Tree:
    """Empty trees for so many boxes each."""
    leaves = leaves_of(items)
    return Tree(
        np.zeros((*lead, 2 * leaves - 1, 6), dtype=np.float32),
        np.zeros((*lead, 2 * leaves - 1, 2), dtype=np.int32),
        np.zeros((*lead, leaves, 6, LEAF), dtype=np.float32),
        np.zeros((*lead, leaves, LEAF), dtype=np.int32),
        np.zeros(lead, dtype=np.int32),
    )


@njit
def _divide(
    boxes: np.ndarray, order: np.ndarray, first: int, last: int, middle: int, axis: int
) -> None:
    """Puts the boxes with the lower centres along an axis before `middle` (Hoare's quickselect)."""
    while last - first > 1:
        pivot = (
            boxes[order[(first + last) // 2], axis] + boxes[order[(first + last) // 2], axis + 3]
        )
        i, j = first, last - 1
        while i <= j:
            while boxes[order[i], axis] + boxes[order[i], axis + 3] < pivot:
                i += 1
            while boxes[order[j], axis] + boxes[order[j], axis + 3] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j + 1
        elif middle >= i:
            first = i
        else:
            return


@njit
def build(
    boxes: np.ndarray,
    order: np.ndarray,
    count: int,
    node: np.ndarray,
    info: np.ndarray,
    leaf: np.ndarray,
    item: np.ndarray,
) -> int:
    """Builds one tree.

    Args:
        boxes: (S, 6) corners.
        order: (S,) of which the first `count` are in the tree; rearranged.
        count: How many.
        node, info, leaf, item: As in Tree, without leading axes; overwritten.

    Returns:
        How many nodes there are.
    """
    if count == 0:
        return 0
    waiting = np.empty((_DEPTH, 2), dtype=np.int64)
    waiting[0, 0], waiting[0, 1] = 0, count
    top, n, leaves = 1, 0, 0
    while top:
        top -= 1
        first, last = waiting[top, 0], waiting[top, 1]
        for k in range(3):
            low, high = boxes[order[first], k], boxes[order[first], k + 3]
            for j in range(first + 1, last):
                low = min(low, boxes[order[j], k])
                high = max(high, boxes[order[j], k + 3])
            node[n, k], node[n, k + 3] = low, high
        blocks = (last - first + LEAF - 1) // LEAF
        info[n, 1] = n + 2 * blocks - 1
        if blocks == 1:
            info[n, 0] = leaves
            for j in range(LEAF):
                inside = first + j < last
                item[leaves, j] = order[first + j] if inside else 0
                for k in range(3):
                    leaf[leaves, k, j] = NOWHERE
                    leaf[leaves, k + 3, j] = -NOWHERE
                    if inside:
                        leaf[leaves, k, j] = boxes[order[first + j], k]
                        leaf[leaves, k + 3, j] = boxes[order[first + j], k + 3]
            leaves += 1
        else:
            info[n, 0] = -1
            axis = 0
            for k in range(1, 3):
                if node[n, k + 3] - node[n, k] > node[n, axis + 3] - node[n, axis]:
                    axis = k
            middle = first + LEAF * ((blocks + 1) // 2)
            _divide(boxes, order, first, last, middle, axis)
            waiting[top, 0], waiting[top, 1] = middle, last
            waiting[top + 1, 0], waiting[top + 1, 1] = first, middle
            top += 2
        n += 1
    return n
