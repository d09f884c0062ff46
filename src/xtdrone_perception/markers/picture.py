"""Pictures of markers, with smaller ones nested in their middle for a camera that comes near."""

from collections.abc import Sequence

import numpy as np

from ..errors import PerceptionError
from .families import Marker, parse

QUIET = 1  # white cells around the black square, which detectors need
PIXELS = 1000  # side of a texture, a whole number for each cell; the renderer shows up to 1024
_FILLED = 2  # cells of an outer marker, each way, that a nested one takes with its quiet zone


def nest(outer: Marker, inner_ids: Sequence[int]) -> list[Marker]:
    """Returns a marker and those nested in its middle, each in the one before.

    A nested marker covers the four cells in the middle of the one around it. Both are found where
    the outer one's family corrects what the inner one changes; detect.check_nested() tells.

    Args:
        outer: The largest.
        inner_ids: Of the same family, from the larger to the smaller.

    Raises:
        PerceptionError: A number does not exist or is used twice, or the middle is not free.
    """
    markers = [outer]
    for number in inner_ids:
        around = markers[-1]
        count = len(around.cells)
        if count % 2:
            raise PerceptionError(
                f"{outer.family} has an odd number of cells, so that nothing can be nested in its "
                "middle: give tag36h11, tag16h5 or a DICT_ of 4X4 or 6X6"
            )
        if number in (marker.id for marker in markers):
            raise PerceptionError(f"marker {number} is nested twice: give each another number")
        size = _FILLED * around.cell * count / (count + 2 * QUIET)
        markers.append(Marker(outer.family, number, size))
    return markers


def board_size(marker: Marker) -> float:
    """Returns the side of a marker with its quiet zone [m]."""
    return marker.size + 2 * QUIET * marker.cell


def draw(markers: Sequence[Marker], pixels: int = PIXELS) -> np.ndarray:
    """Draws nested markers.

    Args:
        markers: Concentric, the largest first.
        pixels: Side of the picture.

    Returns:
        (pixels, pixels) uint8: the largest with its quiet zone.
    """
    side = board_size(markers[0])
    centres = (np.arange(pixels) + 0.5) / pixels * side - 0.5 * side
    picture = np.full((pixels, pixels), 255, dtype=np.uint8)
    for marker in markers:
        cells = np.pad(marker.cells, QUIET, constant_values=True)
        place = np.floor((centres + 0.5 * board_size(marker)) / marker.cell).astype(int)
        within = np.flatnonzero((place >= 0) & (place < len(cells)))
        picture[np.ix_(within, within)] = 255 * cells[np.ix_(place[within], place[within])]
    return picture


def nested_of(text: str) -> list[Marker]:
    """Returns the nested markers that FAMILY:ID,...:SIZE names, see families.parse().

    Raises:
        PerceptionError: It is not of that form, or there are no such markers.
    """
    family, numbers, size = parse(text)
    return nest(Marker(family, numbers[0], size), numbers[1:])
