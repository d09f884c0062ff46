"""Runs a detector's network on images, by onnxruntime."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xtdrone_core import extras, files
from xtdrone_core.errors import one_line, shown

from ..errors import PerceptionError
from .description import DETR, END_TO_END, YOLO, Description, describe
from .found import Detections, thinned

OWN = Path(__file__).with_name("person_car.onnx")  # taken where none is given, if it is there
_GREY = 114  # of the borders of a letterbox, as Ultralytics has it
_MULTIPLE = 32  # of the sides of images, where the network takes any size [pixels]
_MOST = 300  # detections in an image
_LARGEST_FILE = 2 << 30  # bytes
_SIZES = "orig_target_sizes"  # input of RT-DETR's own exports


class _Fit(NamedTuple):
    """How an image became the network's."""

    scale: np.ndarray  # (2,) across and down
    offset: np.ndarray  # (2,) [pixels]


class Detector:
    """A detector of the YOLO or DETR family.

    Attributes:
        names: Names of its classes, or their numbers.
    """

    def __init__(self, path: Path | str = OWN, threads: int = 1, **changes: Any) -> None:
        """Loads a network.

        Args:
            path: NAME.onnx.
            threads: Of the network.
            changes: Of its Description, such as threshold.

        Raises:
            PerceptionError: onnxruntime is not installed, or the file is no such network.
        """
        runtime = extras.require("onnxruntime", "a detector", "detection", PerceptionError)
        self.path = path = Path(path).expanduser()
        if path == OWN and not files.is_file(path):
            raise PerceptionError(
                "this project comes without a trained detector: give one, NAME.onnx, or train it "
                "by xtdrone perception train"
            )
        if not files.is_file(path):
            raise PerceptionError(f"no detector '{shown(path)}': give a file NAME.onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        try:
            self._session = runtime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's own classes, one for each status
            raise PerceptionError(
                f"'{shown(path)}' is no network that onnxruntime runs: {one_line(str(error))[:200]}"
            ) from None
        metadata = self._session.get_modelmeta().custom_metadata_map
        self.description = Description(**(vars(describe(path, metadata)) | changes))
        self._input, self._size, self._sized = self._inputs()
        self.names = self.description.classes

    def _inputs(self) -> tuple[str, tuple[int, int] | None, bool]:
        """Name of the image, its width and height or None for any, whether it takes sizes, too."""
        inputs = {each.name: each for each in self._session.get_inputs()}
        sized = inputs.pop(_SIZES, None) is not None
        inputs.pop("pixel_mask", None)
        (image,) = inputs.values() if len(inputs) == 1 else [None]
        shape = [] if image is None else list(image.shape)
        if image is None or len(shape) != 4 or shape[1] not in (3, "channels", None):
            if image is None or len(shape) != 4 or isinstance(shape[1], int):
                given = {each.name: each.shape for each in self._session.get_inputs()}
                raise PerceptionError(
                    f"detector '{shown(self.path)}' takes {shown(given)}: it has to take one image "
                    "(1, 3, height, width)"
                )
        if image.type != "tensor(float)":
            raise PerceptionError(
                f"detector '{shown(self.path)}' takes {image.type}: it has to take tensor(float)"
            )
        height, width = shape[2:]
        fixed = isinstance(height, int) and isinstance(width, int)
        return image.name, (width, height) if fixed else None, sized

    def __call__(self, image: np.ndarray) -> Detections:
        """What an image shows.

        Args:
            image: (H, W, 3) uint8, or (H, W) grey.

        Raises:
            PerceptionError: The network fails, or its outputs have other shapes than its family's.
        """
        pixels, fit, inner = self._fitted(image)
        feed = {self._input: pixels}
        size = pixels.shape[3], pixels.shape[2]
        if self._sized:
            feed[_SIZES] = np.array([size[::-1]], dtype=np.int64)
        for each in self._session.get_inputs():
            if each.name == "pixel_mask":
                feed[each.name] = np.ones((1, *pixels.shape[2:]), dtype=np.int64)
        try:
            outputs = self._session.run(None, feed)
        except Exception as error:  # as above
            raise PerceptionError(
                f"detector '{shown(self.path)}' fails on an image of {inner[0]}x{inner[1]}: "
                f"{one_line(str(error))[:200]}"
            ) from None
        found = self._decoded(outputs, size)
        boxes = (found.boxes - np.tile(fit.offset, 2)) / np.tile(fit.scale, 2)
        height, width = image.shape[:2]
        boxes = np.clip(boxes, 0.0, (width, height, width, height))
        whole = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        found = Detections(boxes[whole], found.scores[whole], found.classes[whole])
        return thinned(found, self.description.overlap, _MOST, self.description.inside)

    def name_of(self, index: int) -> str:
        """Name of a class."""
        return self.names[index] if index < len(self.names) else str(index)

    def _fitted(self, image: np.ndarray) -> tuple[np.ndarray, _Fit, tuple[int, int]]:
        """The network's image (1, 3, h, w) float32."""
        from PIL import Image

        height, width = image.shape[:2]
        if image.ndim == 2:
            image = np.repeat(image[:, :, None], 3, axis=2)
        size = self._size or self._own_size(width, height)
        scale = np.array(size) / (width, height)
        if self.description.letterbox:
            scale[:] = scale.min()
        inner = max(1, round(width * scale[0])), max(1, round(height * scale[1]))
        offset = (np.array(size) - inner) // 2
        canvas = np.full((size[1], size[0], 3), _GREY, dtype=np.uint8)
        scaled = image
        if inner != (width, height):
            scaled = np.asarray(Image.fromarray(image).resize(inner, Image.Resampling.BILINEAR))
        canvas[offset[1] : offset[1] + inner[1], offset[0] : offset[0] + inner[0]] = scaled
        levels = canvas.astype(np.float32) * np.float32(1.0 / 255.0)
        description = self.description
        if any(description.mean) or description.std != (1.0, 1.0, 1.0):
            levels = (levels - np.array(description.mean, dtype=np.float32)) / np.array(
                description.std, dtype=np.float32
            )
        pixels = np.ascontiguousarray(levels.transpose(2, 0, 1)[None], dtype=np.float32)
        return pixels, _Fit(np.array(inner) / (width, height), offset.astype(float)), inner

    def _own_size(self, width: int, height: int) -> tuple[int, int]:
        scale = min(1.0, self.description.largest / max(width, height))
        columns, rows = (
            max(_MULTIPLE, _MULTIPLE * -int(-side * scale // _MULTIPLE)) for side in (width, height)
        )
        return columns, rows

    def _decoded(self, outputs: list[np.ndarray], size: tuple[int, int]) -> Detections:
        """Detections [pixels of the network's image] that reach the threshold."""
        shapes = [np.shape(output) for output in outputs]
        family = self.description.family or _family_of(outputs)
        decode = {YOLO: _of_yolo, END_TO_END: _of_end_to_end, DETR: _of_detr}.get(family)
        found = None
        if decode is not None and all(shape and shape[0] == 1 for shape in shapes):
            found = decode([np.asarray(each[0]) for each in outputs], len(self.names), size)
        if found is None:
            raise PerceptionError(
                f"detector '{shown(self.path)}' gives {shown(shapes)} for {len(self.names)} "
                "classes, which is neither of the YOLO nor of the DETR family: name its family and "
                f"classes in '{shown(self.path.with_suffix('.yaml').name)}' (docs/perception.md)"
            )
        sure = found.scores >= self.description.threshold
        return Detections(found.boxes[sure], found.scores[sure], found.classes[sure])


def _family_of(outputs: list[np.ndarray]) -> str:
    shapes = [np.shape(output) for output in outputs]
    if len(shapes) >= 2 and any(len(shape) == 3 and shape[2] == 4 for shape in shapes):
        return DETR
    if not shapes or len(shapes[0]) != 3:
        return ""
    rows = outputs[0][0]
    if rows.shape[1] == 6 and (rows[:, 5] == np.round(rows[:, 5])).all():  # numbers of classes
        return END_TO_END
    return YOLO


def _of_yolo(outputs: list[np.ndarray], classes: int, size: tuple[int, int]) -> Detections | None:
    """YOLOv8 and later (4 + C, N); YOLOv5 to v7 (N, 5 + C); or either transposed."""
    rows = outputs[0]
    if rows.ndim != 2:
        return None
    widths = (4 + classes, 5 + classes) if classes else ()
    if rows.shape[1] not in widths and (rows.shape[0] in widths or rows.shape[0] < rows.shape[1]):
        rows = rows.T
    if (classes and rows.shape[1] not in widths) or rows.shape[1] < 5:
        return None
    scores = rows[:, 4:]
    if classes and rows.shape[1] == 5 + classes:
        scores = rows[:, 5:] * rows[:, 4:5]
    return _picked(_from_middles(rows[:, :4]), scores)


def _of_end_to_end(
    outputs: list[np.ndarray], classes: int, size: tuple[int, int]
) -> Detections | None:
    rows = outputs[0]
    if rows.ndim != 2 or rows.shape[1] != 6:
        return None
    return Detections(rows[:, :4], rows[:, 4], rows[:, 5].astype(int))


def _of_detr(outputs: list[np.ndarray], classes: int, size: tuple[int, int]) -> Detections | None:
    """DETR's logits with 'nothing' as the last class, RT-DETR's scores, or its exports' labels."""
    pixels = np.array([*size, *size], dtype=float)
    if len(outputs) == 1:
        rows = outputs[0]
        if rows.ndim != 2 or rows.shape[1] != 4 + classes:
            return None
        return _picked(_from_middles(rows[:, :4]) * pixels, rows[:, 4:])
    boxes = next((each for each in outputs if each.ndim == 2 and each.shape[1] == 4), None)
    flat = [each for each in outputs if each.ndim == 1 and boxes is not None
            and len(each) == len(boxes)]  # fmt: skip
    if boxes is not None and len(flat) == 2:  # labels and scores; boxes are in pixels
        labels, scores = flat if np.issubdtype(flat[0].dtype, np.integer) else flat[::-1]
        return Detections(boxes.astype(float), scores.astype(float), labels.astype(int))
    logits = next((each for each in outputs if each is not boxes and each.ndim == 2), None)
    if boxes is None or logits is None or len(logits) != len(boxes):
        return None
    if classes and logits.shape[1] not in (classes, classes + 1):
        return None
    if classes and logits.shape[1] == classes:
        scores = 1.0 / (1.0 + np.exp(-logits.astype(float)))
    else:
        grown = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores = (grown / grown.sum(axis=1, keepdims=True))[:, :-1]
    return _picked(_from_middles(boxes) * pixels, scores)


def _from_middles(rows: np.ndarray) -> np.ndarray:
    middle, half = rows[:, :2].astype(float), 0.5 * rows[:, 2:4]
    return np.concatenate([middle - half, middle + half], axis=1)


def _picked(boxes: np.ndarray, scores: np.ndarray) -> Detections:
    best = scores.argmax(axis=1)
    return Detections(boxes, scores[np.arange(len(best)), best].astype(float), best)
