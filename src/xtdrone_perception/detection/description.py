"""What a detector's network expects and says: from its file's metadata, or a YAML beside it."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name

from ..errors import PerceptionError

YOLO, END_TO_END, DETR = "yolo", "end_to_end", "detr"
FAMILIES = {
    YOLO: "(1, 4 + C, N), (1, N, 4 + C), or with objectness (1, N, 5 + C); middle, size [pixels]",
    END_TO_END: "(1, N, 6): left, top, right, bottom, score, class",
    DETR: "logits (1, N, C + 1) and boxes (1, N, 4), or (1, N, 4 + C); middle and size, 0 to 1",
}
_KEYS = (
    "family",
    "classes",
    "threshold",
    "overlap",
    "inside",
    "mean",
    "std",
    "letterbox",
    "largest",
)
_MOST_CLASSES = 10_000


@dataclass(frozen=True)
class Description:
    """How a network is used."""

    family: str = ""  # of FAMILIES; empty: by the shapes of its outputs
    classes: tuple[str, ...] = ()  # empty: numbers
    threshold: float = 0.4  # least score
    overlap: float = 0.5  # intersection over union from which the less sure box is dropped
    inside: float = 1.0  # share of the smaller box within the other from which, too; 1: never
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)  # subtracted from levels 0 to 1
    std: tuple[float, ...] = (1.0, 1.0, 1.0)  # and divided by
    letterbox: bool = True  # whether images keep their shape, with borders
    largest: int = 640  # longer side of images, where the network takes any size [pixels]

    def __post_init__(self) -> None:
        if self.family and self.family not in FAMILIES:
            raise PerceptionError(unknown_name("family of detectors", self.family, FAMILIES))
        for name in ("threshold", "overlap", "inside"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
                raise PerceptionError(f"{name} {shown(value)} of a detector: give 0 to 1")
        for name in ("mean", "std"):
            values = getattr(self, name)
            if len(values) != 3 or not all(isinstance(x, (int, float)) for x in values):
                raise PerceptionError(f"{name} {shown(values)} of a detector: give three numbers")
        if min(self.std) <= 0.0:
            raise PerceptionError(f"std {shown(self.std)} of a detector: give numbers above 0")
        if not isinstance(self.largest, int) or not 32 <= self.largest <= 4096:
            raise PerceptionError(f"largest {shown(self.largest)} of a detector: give 32 to 4096")


def describe(path: Path, metadata: Mapping[str, str]) -> Description:
    """The description of a network.

    Args:
        path: NAME.onnx; a NAME.yaml beside it goes before the metadata.
        metadata: Of the file. Names of classes are those of Ultralytics: {0: 'person', ...}.

    Raises:
        PerceptionError: A value is not allowed, or the YAML is damaged.
    """
    given: dict[str, Any] = {}  # values of YAML
    if "names" in metadata:
        given["classes"] = _names(metadata["names"], f"metadata of '{shown(path)}'")
    beside = path.with_suffix(".yaml")
    if files.is_file(beside):
        declared = files.read_yaml(beside, "description of a detector", error=PerceptionError)
        if not isinstance(declared, dict):
            raise PerceptionError(f"'{shown(beside)}': give keys of {', '.join(_KEYS)}")
        for key in declared:
            if key not in _KEYS:
                raise PerceptionError(f"'{shown(beside)}': {unknown_name('key', key, _KEYS)}")
        given |= declared
        if "classes" in declared:
            given["classes"] = _names(declared["classes"], f"'{shown(beside)}'")
    for key in ("mean", "std"):
        if isinstance(given.get(key), list):
            given[key] = tuple(given[key])
    return Description(**given)


def _names(given: object, where: str) -> tuple[str, ...]:
    """Names of classes, from a list or a mapping of their numbers, or either as text."""
    if isinstance(given, str):
        words = given
        try:
            given = ast.literal_eval(words)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            given = words.split(",")
    if isinstance(given, Mapping):
        numbers = sorted(given, key=str)
        if all(isinstance(k, int) and 0 <= k < _MOST_CLASSES for k in given):
            numbers = list(range(max(given, default=-1) + 1))
        given = [given.get(k, str(k)) for k in numbers]
    if not isinstance(given, Sequence) or not given:
        raise PerceptionError(f"{where}: classes {shown(given)}: give a list of names")
    return tuple(str(name) for name in given)
