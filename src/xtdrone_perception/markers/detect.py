"""Detection of markers in an image: corners of each that is seen."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from xtdrone_core import extras
from xtdrone_core.errors import unknown_name

from ..errors import PerceptionError
from .families import FAMILIES, Marker, dictionary, is_apriltag, require_opencv
from .picture import draw

OPENCV, APRILTAG = "opencv", "apriltag"
LIBRARIES = (OPENCV, APRILTAG)
_COARSEST, _FINEST = 47, 7  # windows of the adaptive threshold [pixels]
_APRILTAG_ORDER = (3, 2, 1, 0)  # its corners begin at the lower left, counter-clockwise
_MOST_WRONG_BITS = 2
# Bits that a family corrects, half of its Hamming distance; OpenCV does not say it of AprilTags.
_CORRECTED = {"tag16h5": 2, "tag25h9": 4, "tag36h11": 5}
_QUIET, _PAINTED = 1.12, 1.2  # middle of the quiet zone, and its end, by the black square's size
_TRIED = (400, 120)  # sides of the pictures in which nested markers have to be found [pixels]


@dataclass(frozen=True)
class Seen:
    """A marker in an image."""

    family: str
    id: int
    corners: np.ndarray  # (4, 2) upper left, then clockwise as printed [pixels, centres are whole]


class Detector(Protocol):
    """Finds the markers of one family."""

    def detect(self, image: np.ndarray) -> list[Seen]:
        """Returns what is seen in an image (H, W) or (H, W, 3) uint8, by number."""


def make_detector(family: str, library: str = OPENCV, levels: int = 1) -> Detector:
    """Returns a detector of a family.

    Args:
        family: One of FAMILIES.
        library: "opencv", or "apriltag": that of AprilTag's authors, for their families.
        levels: How many markers are nested in each other.

    Raises:
        PerceptionError: No such family or library, one that cannot find it, or is not installed.
    """
    if library not in LIBRARIES:
        raise PerceptionError(unknown_name("library of markers", library, LIBRARIES))
    if library == OPENCV:
        return OpencvDetector(family, levels)
    return AprilTagDetector(family)


class OpencvDetector:
    """OpenCV's detector, for ArUco and AprilTag.

    It leaves out markers that others are nested in, so what is found is painted over, and the image
    is looked at again.
    """

    def __init__(self, family: str, levels: int = 1) -> None:
        """Takes a family, and how many markers are nested in each other.

        Raises:
            PerceptionError: As make_detector().
        """
        codes = dictionary(family)
        codes.maxCorrectionBits = max(codes.maxCorrectionBits, _CORRECTED.get(family, 0))
        aruco = require_opencv().aruco
        parameters = aruco.DetectorParameters()
        parameters.cornerRefinementMethod = aruco.CORNER_REFINE_SUBPIX
        parameters.adaptiveThreshWinSizeMin = _FINEST
        parameters.adaptiveThreshWinSizeMax = _COARSEST
        parameters.minMarkerPerimeterRate = 0.01
        self._family, self._levels = family, levels
        self._detector = aruco.ArucoDetector(codes, parameters)

    def detect(self, image: np.ndarray) -> list[Seen]:
        """Returns what is seen in an image (H, W) or (H, W, 3) uint8, by number."""
        grey, found = _grey(image), dict[int, Seen]()
        for level in range(self._levels):
            new = [seen for seen in self._look(grey) if seen.id not in found]
            found |= {seen.id: seen for seen in new}
            if not new:
                break
            if level + 1 < self._levels:
                grey = _painted_over(grey, new)
        return [found[number] for number in sorted(found)]

    def _look(self, grey: np.ndarray) -> list[Seen]:
        corners, numbers, _ = self._detector.detectMarkers(grey)
        if numbers is None:
            return []
        first = 2 if is_apriltag(self._family) else 0
        return [
            Seen(self._family, int(number), np.roll(np.asarray(four[0], float), -first, axis=0))
            for number, four in zip(numbers.ravel(), corners)
        ]


def _painted_over(grey: np.ndarray, found: Sequence[Seen]) -> np.ndarray:
    """Returns a copy of an image (H, W) in which markers are as light as what is around them."""
    out = grey.copy()
    for seen in found:
        middle = seen.corners.mean(axis=0)
        quiet = middle + _QUIET * (seen.corners - middle)
        x, y = np.clip(np.rint(quiet).astype(int), 0, np.array(grey.shape[::-1]) - 1).T
        light = int(grey[y, x].max())
        area = middle + _PAINTED * (seen.corners - middle)
        require_opencv().fillConvexPoly(out, np.rint(area).astype(np.int32), light)
    return out


class AprilTagDetector:
    """The detector of AprilTag's authors, which sees smaller markers than OpenCV's."""

    def __init__(self, family: str) -> None:
        """Raises PerceptionError as make_detector()."""
        dictionary(family)
        if not is_apriltag(family):
            names = ", ".join(filter(is_apriltag, FAMILIES))
            raise PerceptionError(
                f"the library apriltag does not know {family}: give {names}, or the library opencv"
            )
        self._family = family
        self._detector = lasting_detector(family)

    def detect(self, image: np.ndarray) -> list[Seen]:
        """Returns what is seen in an image (H, W) or (H, W, 3) uint8, by number."""
        found = [
            Seen(self._family, int(tag.tag_id), tag.corners[list(_APRILTAG_ORDER)] - 0.5)
            for tag in self._detector.detect(np.ascontiguousarray(_grey(image)))
            if tag.hamming <= _MOST_WRONG_BITS
        ]
        return sorted(found, key=lambda seen: seen.id)


@functools.cache
def lasting_detector(family: str) -> Any:  # of a library without types
    """Returns the library's detector of a family, one for all, which is never destroyed.

    The library frees its families before the detector, which then frees what hangs on them: from
    the second detector on the heap can be damaged.
    """
    library: Any = extras.require(
        "pupil_apriltags", "the library apriltag", "perception", PerceptionError
    )
    lasting = type("Lasting", (library.Detector,), {"__del__": lambda self: None})
    return lasting(families=family, nthreads=1, quad_decimate=1.0)


def check_nested(markers: Sequence[Marker]) -> None:
    """Refuses nested markers that hide each other.

    Raises:
        PerceptionError: One of them is not found in their picture.
    """
    if len(markers) < 2:
        return
    detector = OpencvDetector(markers[0].family, 2)
    for k, marker in enumerate(markers[:-1]):
        for side in _TRIED:
            picture = np.pad(draw(markers[k : k + 2], side), side // 4, constant_values=255)
            if marker.id not in (seen.id for seen in detector.detect(picture)):
                raise PerceptionError(
                    f"marker {marker.id} of {marker.family} is not found with "
                    f"{markers[k + 1].id} in its middle: give other numbers"
                )


def _grey(image: np.ndarray) -> np.ndarray:
    if image.ndim == 2:
        return image
    cv2 = require_opencv()
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
