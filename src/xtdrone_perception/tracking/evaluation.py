"""How well targets keep their identities in a data set's sequences, by the library trackers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xtdrone_core import extras

from ..dataset.options import read_options
from ..detection.detector import Detector
from ..detection.found import Detections, overlaps
from ..detection.limits import Limits
from ..errors import PerceptionError
from .identities import ByteTrack

IDEAL = "ideal"  # boxes as they are labelled
_AT = 0.5  # intersection over union of a hit
_USUAL = Limits()


class TrackScore(NamedTuple):
    """How well the targets of a class are kept."""

    name: str
    tracks: int  # targets that count in some image
    hota: float  # higher order tracking accuracy (Luiten and others 2021)
    idf1: float  # (Ristani and others 2016), at IoU 0.5
    mota: float  # at IoU 0.5
    switches: int  # of identity, at IoU 0.5


class _Sequences(NamedTuple):
    """Lists over images, as the library takes them; identities are of no two sequences."""

    truth: list[np.ndarray]
    found: list[np.ndarray]
    overlap: list[np.ndarray]


def evaluate_tracks(
    detector: Detector | None,
    folder: Path,
    split: str,
    limits: Limits = _USUAL,
    watch: Callable[[int], object] = lambda _: None,
) -> list[TrackScore]:
    """Scores of ByteTrack on the boxes of a detector.

    Args:
        detector: None for the labelled boxes.
        folder: Data set.
        split: train, val or test.
        limits: Which boxes count; others may be found or not.
        watch: Called with 1 after each image.

    Raises:
        PerceptionError: No data set, no images, no class in common, or no library.
    """
    library: Any = extras.require(
        "trackers.eval", "the evaluation of tracks", "tracking", PerceptionError
    )
    options = read_options(folder)
    names = [name for name in options.classes if detector is None or name in detector.names]
    if not names:
        raise PerceptionError(
            f"the detector knows {', '.join(detector.names) if detector else ''} and the data set "
            f"{', '.join(options.classes)}: no class is in both"
        )
    parts = {name: _Sequences([], [], []) for name in names}
    scenes = [json.loads(path.read_text()) for path in sorted((folder / "scenes").glob("*.json"))]
    scenes = [scene for scene in scenes if scene["split"] == split]
    if not scenes:
        raise PerceptionError(f"data set '{folder}' has no images for '{split}'")
    for number, scene in enumerate(scenes):
        trackers = {name: ByteTrack(options.rate) for name in names}
        for frame in scene["frames"]:
            found = None
            if detector is not None:
                found = detector(_pixels(folder / "images" / split / f"{frame['image']}.jpg"))
            for name, tracker in trackers.items():
                labels = [label for label in frame["labels"] if label["class"] == name]
                boxes = _boxes(labels)
                given = (
                    _perfect(boxes)
                    if found is None or detector is None
                    else found.of_class(detector.names.index(name))
                )
                tracked = tracker.update(given)
                counts = np.array([limits.counts(label) for label in labels], bool)
                _add(parts[name], number, labels, boxes, counts, tracked.identities, tracked.boxes)
            watch(1)
    return [_score(name, parts[name], library) for name in names]


def lines(scores: list[TrackScore]) -> list[str]:
    """Returns the table as lines of text."""
    return [
        f"{'class':12}{'targets':>8}{'HOTA':>8}{'IDF1':>8}{'MOTA':>8}{'switches':>10}",
        *(
            f"{each.name:12}{each.tracks:8}{each.hota:8.3f}{each.idf1:8.3f}{each.mota:8.3f}"
            f"{each.switches:10}"
            for each in scores
        ),
    ]


def _pixels(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as opened:
        return np.asarray(opened.convert("RGB"))


def _boxes(labels: list[dict[str, Any]]) -> np.ndarray:  # of JSON
    boxes = np.array([label["box"] for label in labels], dtype=float).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def _perfect(boxes: np.ndarray) -> Detections:
    return Detections(boxes, np.ones(len(boxes)), np.zeros(len(boxes), dtype=int))


def _add(
    out: _Sequences,
    scene: int,
    labels: list[dict[str, Any]],  # of JSON
    boxes: np.ndarray,
    counts: np.ndarray,
    identities: np.ndarray,
    tracked: np.ndarray,
) -> None:
    """Adds an image; what is found where something does not count is left out."""
    overlap = overlaps(boxes, tracked)
    of_others = (overlap[~counts] >= _AT).any(axis=0) & ~(overlap[counts] >= _AT).any(axis=0)
    rows = np.array([label["track"] for label in labels], dtype=int)[counts]
    out.truth.append(1000 * scene + rows)
    out.found.append(100_000 * scene + identities[~of_others])
    out.overlap.append(overlap[counts][:, ~of_others])


def _score(name: str, parts: _Sequences, library: Any) -> TrackScore:  # the module
    tracks = np.unique(np.concatenate(parts.truth))
    if not len(tracks):
        return TrackScore(name, 0, 0.0, 0.0, 0.0, 0)
    numbers = [_numbered(each) for each in (parts.truth, parts.found)]
    given = (*numbers, parts.overlap)
    clear = library.compute_clear_metrics(*given, threshold=_AT)
    return TrackScore(
        name,
        len(tracks),
        float(library.compute_hota_metrics(*given)["HOTA"]),
        float(library.compute_identity_metrics(*given, threshold=_AT)["IDF1"]),
        float(clear["MOTA"]),
        int(clear["IDSW"]),
    )


def _numbered(identities: list[np.ndarray]) -> list[np.ndarray]:
    """The identities by numbers from 0 on, in each image."""
    known = np.unique(np.concatenate(identities)) if identities else np.zeros(0)
    return [np.searchsorted(known, each) for each in identities]
