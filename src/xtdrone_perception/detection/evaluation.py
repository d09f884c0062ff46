"""How good a detector is on a data set, by COCO's own code."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xtdrone_core import extras

from ..dataset.options import read_options
from ..errors import PerceptionError
from .detector import Detector
from .limits import Limits

_LEAST = 0.01  # scores below this do not count for the mean precision
_AT = 0.5  # intersection over union of a hit
_USUAL = Limits()


class Score(NamedTuple):
    """How well one class is found."""

    name: str
    wanted: int  # boxes that count
    recall: float  # at the threshold
    precision: float  # at the threshold
    ap50: float  # mean precision with hits from IoU 0.5
    ap: float  # mean over IoU 0.5 to 0.95


def evaluate(
    detector: Detector,
    folder: Path,
    split: str,
    threshold: float,
    limits: Limits = _USUAL,
    watch: Callable[[int], object] = lambda _: None,
) -> list[Score]:
    """Scores of the classes that detector and data set have in common.

    Args:
        detector: Its own threshold should be low.
        folder: Data set.
        split: train, val or test.
        threshold: Score from which recall and precision count.
        limits: Which boxes count; others may be found or not, and what is found without a label
            and lower than those is not counted either, as KITTI does.
        watch: Called with 1 after each image.

    Raises:
        PerceptionError: No data set, no images, or no class in common.
    """
    module = extras.require("pycocotools.coco", "the evaluation", "detection", PerceptionError)
    annotations, categories = _annotations(folder, split, limits)
    common = {name: number for number, name in categories.items() if name in detector.names}
    if not common:
        raise PerceptionError(
            f"the detector knows {', '.join(detector.names) or 'no names'} and the data set "
            f"{', '.join(categories.values())}: no class is in both"
        )
    found = []
    for image in annotations["images"]:
        found += _results(detector, folder / "images" / split, image, common)
        watch(1)
    with contextlib.redirect_stdout(io.StringIO()):
        truth = module.COCO()
        truth.dataset = annotations
        truth.createIndex()
        return _scores(truth, found, common, threshold, limits.smallest)


def _annotations(folder: Path, split: str, limits: Limits) -> tuple[dict[str, Any], dict[int, str]]:
    read_options(folder)
    path = folder / "annotations" / f"instances_{split}.json"
    if not path.is_file():
        raise PerceptionError(f"'{path}' is missing: finish the data set, or give another --split")
    annotations: dict[str, Any] = json.loads(path.read_text())
    if not annotations["images"]:
        raise PerceptionError(f"data set '{folder}' has no images for '{split}'")
    for each in annotations["annotations"]:
        # What COCO calls a crowd may be found or not; its ranges of areas are of heights here.
        each["iscrowd"] = int(not limits.counts(each))
        each["area"] = _area(each)
    return annotations, {row["id"]: row["name"] for row in annotations["categories"]}


def _area(box: dict[str, Any]) -> float:
    """What COCO's code compares with ranges of areas: the squared height."""
    return float(box["bbox"][3]) ** 2


def _results(
    detector: Detector, images: Path, image: dict[str, Any], common: dict[str, int]
) -> list[dict[str, Any]]:
    from PIL import Image

    with Image.open(images / image["file_name"]) as opened:
        found = detector(np.asarray(opened.convert("RGB")))
    rows = []
    for box, score, index in zip(*found):
        name = detector.name_of(int(index))
        if name in common:
            left, top, right, bottom = map(float, box)
            rows.append(
                {
                    "image_id": image["id"],
                    "category_id": common[name],
                    "bbox": [left, top, right - left, bottom - top],
                    "score": float(score),
                }
            )
    return rows


def _scores(
    truth: Any,  # pycocotools' COCO
    found: list[dict[str, Any]],
    common: dict[str, int],
    threshold: float,
    smallest: int,
) -> list[Score]:
    module = extras.require("pycocotools.cocoeval", "the evaluation", "detection", PerceptionError)
    counted = dict.fromkeys(common.values(), 0)
    for each in truth.dataset["annotations"]:
        if each["category_id"] in counted and not each["iscrowd"]:
            counted[each["category_id"]] += 1
    if not found:
        return [Score(name, counted[k], 0.0, 1.0, 0.0, 0.0) for name, k in common.items()]
    results = truth.loadRes(found)
    for each in results.dataset["annotations"]:
        each["area"] = _area(each)
    evaluation = module.COCOeval(truth, results, "bbox")
    evaluation.params.catIds = list(common.values())
    evaluation.params.areaRng, evaluation.params.areaRngLbl = [[smallest**2, np.inf]], ["counted"]
    evaluation.evaluate()
    evaluation.accumulate()
    precision = evaluation.eval["precision"]  # (T, R, K, A, M)
    scores = []
    for index, (name, number) in enumerate(common.items()):
        own = precision[:, :, index, 0, -1]
        curves = [float(each[each > -1.0].mean()) if (each > -1.0).any() else 0.0
                  for each in (own[0], own)]  # fmt: skip
        hits, given = _at_threshold(evaluation, number, threshold)
        scores.append(
            Score(
                name, counted[number], hits / max(counted[number], 1), hits / max(given, 1), *curves
            )
        )
    return scores


def _at_threshold(evaluation: Any, category: int, threshold: float) -> tuple[int, int]:
    """Hits and detections from a score on, by COCO's matching at IoU 0.5, of all sizes."""
    hits = given = 0
    whole = evaluation.params.areaRng[0]
    for image in evaluation.evalImgs:
        if image is None or image["category_id"] != category or image["aRng"] != whole:
            continue
        sure = np.array(image["dtScores"]) >= threshold
        counts = sure & ~np.asarray(image["dtIgnore"][0], dtype=bool)
        given += int(counts.sum())
        hits += int((counts & (np.asarray(image["dtMatches"][0]) > 0)).sum())
    return hits, given


def lines(scores: list[Score], threshold: float) -> list[str]:
    """Returns the table as lines of text."""
    head = (
        f"{'class':12}{'boxes':>7}{'recall':>9}{'precision':>11}{'AP50':>8}{'AP':>8}"
        f"   (recall and precision at score {threshold:g}, IoU {_AT:g})"
    )
    return [
        head,
        *(
            f"{each.name:12}{each.wanted:7}{each.recall:9.3f}{each.precision:11.3f}"
            f"{each.ap50:8.3f}{each.ap:8.3f}"
            for each in scores
        ),
    ]


def opened(path: str | None) -> Detector:
    """The detector of a command, or our own, with all that it finds."""
    return Detector(threshold=_LEAST) if path is None else Detector(path, threshold=_LEAST)
