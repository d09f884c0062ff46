"""Families of markers and the cells of a marker, black border included."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_core import extras
from xtdrone_core.errors import shown, unknown_name

from ..errors import PerceptionError

# AprilTag's names, and OpenCV's of the same codes.
_APRILTAGS = {
    "tag16h5": "DICT_APRILTAG_16h5",
    "tag25h9": "DICT_APRILTAG_25h9",
    "tag36h11": "DICT_APRILTAG_36h11",
}
_SIDES, _COUNTS = (4, 5, 6, 7), (50, 100, 250, 1000)
_ARUCO = {
    name: name
    for name in (
        *(f"DICT_{side}X{side}_{count}" for side in _SIDES for count in _COUNTS),
        "DICT_ARUCO_ORIGINAL",
    )
}
FAMILIES: Mapping[str, str] = {**_APRILTAGS, **_ARUCO}  # name -> OpenCV's


@dataclass(frozen=True)
class Marker:
    """A marker as it lies somewhere.

    Examples:
        >>> Marker("tag36h11", 3, 0.6).cells.shape
        (8, 8)
    """

    family: str  # one of FAMILIES
    id: int
    size: float  # side of its black square [m]

    def __post_init__(self) -> None:
        count = count_of(self.family)
        if not 0 <= self.id < count:
            raise PerceptionError(
                f"marker {self.id} of {self.family} does not exist: give 0 to {count - 1}"
            )
        if not 0.005 <= self.size <= 100.0:
            raise PerceptionError(
                f"a size of {self.size:g} m of a marker is not allowed: give 0.005 to 100 m"
            )

    @property
    def cells(self) -> np.ndarray:
        """(C, C) bool, True = white: the rows of the picture from above, with the black border.

        AprilTags stand as their authors print them, on their heads for OpenCV.
        """
        codes = dictionary(self.family)
        side = codes.markerSize + 2
        picture = require_opencv().aruco.generateImageMarker(codes, self.id, side)
        cells = np.asarray(picture) > 127
        return cells[::-1, ::-1] if is_apriltag(self.family) else cells

    @property
    def cell(self) -> float:
        """Side of a cell [m]."""
        return self.size / len(self.cells)


def is_apriltag(family: str) -> bool:
    """Returns whether a family is one of AprilTag's."""
    return family in _APRILTAGS


def count_of(family: str) -> int:
    """Returns the number of markers of a family.

    Raises:
        PerceptionError: There is no such family.
    """
    return len(dictionary(family).bytesList)


def dictionary(family: str) -> Any:  # a class of OpenCV, which has no types
    """Returns OpenCV's dictionary of a family.

    Raises:
        PerceptionError: There is no such family.
    """
    if family not in FAMILIES:
        raise PerceptionError(unknown_name("family of markers", family, FAMILIES))
    aruco = require_opencv().aruco
    return aruco.getPredefinedDictionary(getattr(aruco, FAMILIES[family]))


def require_opencv() -> Any:  # a module without types
    """Returns OpenCV.

    Raises:
        PerceptionError: It is not installed.
    """
    return extras.require("cv2", "a marker", "perception", PerceptionError)


def descriptions() -> dict[str, str]:
    """Returns a line on each family, for `xtdrone list markers`."""
    return {
        name: f"{'AprilTag' if name in _APRILTAGS else 'ArUco'}, {number} markers"
        for name, number in ((name, _number(name)) for name in FAMILIES)
    }


def _number(name: str) -> int:
    known = {"tag16h5": 30, "tag25h9": 35, "tag36h11": 587, "DICT_ARUCO_ORIGINAL": 1024}
    return known.get(name) or int(name.rpartition("_")[2])


def parse(text: str) -> tuple[str, tuple[int, ...], float]:
    """Reads FAMILY:ID,...:SIZE, such as tag36h11:0,1,2:0.8.

    Returns:
        The family, the numbers from the largest marker to the smallest, and the size of the
        largest [m].

    Raises:
        PerceptionError: It is not of that form.
    """
    try:
        family, numbers, size = text.split(":")
        return family, tuple(int(number) for number in numbers.split(",")), float(size)
    except ValueError:
        raise PerceptionError(
            f"'{shown(text)}' names no markers: give FAMILY:ID,...:SIZE, such as tag36h11:0,1,2:0.8"
        ) from None
