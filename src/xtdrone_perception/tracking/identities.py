"""Identities of targets over the images, by ByteTrack of the library supervision."""

from typing import NamedTuple

import numpy as np

from xtdrone_core import extras

from ..detection.found import Detections
from ..errors import PerceptionError


class Tracked(NamedTuple):
    """Targets in one image."""

    identities: np.ndarray  # (N,) int
    boxes: np.ndarray  # (N, 4) left, top, right, bottom [pixels]
    classes: np.ndarray  # (N,) int


class ByteTrack:
    """Gives detections identities: by overlap with where boxes are expected, sure ones first."""

    def __init__(self, rate: float, threshold: float = 0.4, kept_s: float = 2.0) -> None:
        """Begins without targets.

        Args:
            rate: Images in a second.
            threshold: Score with which a target may begin.
            kept_s: How long a target that is not seen keeps its identity [s].

        Raises:
            PerceptionError: supervision is not installed.
        """
        self._library = extras.require("supervision", "ByteTrack", "detection", PerceptionError)
        # The library counts its buffer in images of 30 Hz.
        self._tracker = self._library.ByteTrack(
            track_activation_threshold=threshold,
            lost_track_buffer=max(1, round(30.0 * kept_s)),
            minimum_matching_threshold=0.9,
            frame_rate=max(1, round(rate)),
        )

    def update(self, found: Detections) -> Tracked:
        """The targets of the next image; it must be called for images without any, too."""
        given = self._library.Detections(
            xyxy=found.boxes.astype(np.float32).reshape(-1, 4),
            confidence=found.scores.astype(np.float32),
            class_id=found.classes.astype(int),
        )
        tracked = self._tracker.update_with_detections(given)
        if len(tracked) == 0:
            return Tracked(np.zeros(0, dtype=int), np.zeros((0, 4)), np.zeros(0, dtype=int))
        return Tracked(
            np.asarray(tracked.tracker_id, dtype=int),
            np.asarray(tracked.xyxy, dtype=float),
            np.asarray(tracked.class_id, dtype=int),
        )
