"""Writes the small detector as ONNX, in the layout of YOLOv8: (1, 4 + C, N).

The network looks at the image and at the image of half its size, so that what is near is found as
what is far: N is the number of cells of both.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from ..errors import PerceptionError
from .network import COARSEST, STRIDE, Convolution, Network, Stage

_OPSET = 13
_IR = 8  # that onnxruntime 1.12 and later read
_GREY = 114.0 / 255.0  # of the border of the smaller image, as of letterboxes
_LEAST, _MOST = -4.0, 5.0  # logarithm of a reach, as of network.boxes_of()


class _Graph:
    """Nodes and weights of a network."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._of_module: dict[nn.Module, list[str]] = {}

    def constant(self, values: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def weight(self, values: np.ndarray) -> str:
        """Numbers of 16 bits, half the size of the file; they are widened as it is loaded."""
        return self.add("Cast", self.constant(values.astype(np.float16)), to=TensorProto.FLOAT)

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:  # of ONNX
        name = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def convolve(self, module: nn.Module, x: str) -> str:
        if isinstance(module, Convolution):
            weight, bias, stride = module.layer()
        else:
            assert isinstance(module, nn.Conv2d) and module.bias is not None
            weight, bias, stride = module.weight, module.bias, 1
        side = weight.shape[2]
        if module not in self._of_module:  # both images have the same weights
            self._of_module[module] = [
                self.weight(weight.detach().numpy()),
                self.constant(bias.detach().numpy()),
            ]
        return self.add(
            "Conv",
            x,
            *self._of_module[module],
            kernel_shape=[side, side],
            strides=[stride, stride],
            pads=[side // 2] * 4,
        )

    def doubled(self, x: str) -> str:
        scales = self.constant(np.array([1.0, 1.0, 2.0, 2.0], dtype=np.float32))
        return self.add(
            "Resize", x, "", scales, mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip


def write(path: Path, network: Network, classes: tuple[str, ...], size: tuple[int, int]) -> None:
    """Writes a network with names of its classes in the metadata, as Ultralytics has them.

    Args:
        path: The file.
        network: A trained network.
        classes: Names.
        size: Width and height of its images [pixels].

    Raises:
        PerceptionError: A side is no multiple of 32.
    """
    width, height = size
    if width % COARSEST or height % COARSEST:
        raise PerceptionError(f"size {width}x{height}: give multiples of {COARSEST} pixels")
    graph = _Graph()
    smaller, inner = _halved(graph, width, height)
    levels = [_level(graph, network, "images", size, 1), _level(graph, network, smaller, inner, 2)]
    graph.nodes.append(helper.make_node("Concat", levels, ["output0"], axis=2))
    _save(path, graph, classes, size, (width * height + inner[0] * inner[1]) // STRIDE**2)


def _halved(graph: _Graph, width: int, height: int) -> tuple[str, tuple[int, int]]:
    """The image of half the size, with a border below and to the right, and its size."""
    half = graph.add("AveragePool", "images", kernel_shape=[2, 2], strides=[2, 2])
    size = COARSEST * -(-width // (2 * COARSEST)), COARSEST * -(-height // (2 * COARSEST))
    border = np.array([0] * 6 + [size[1] - height // 2, size[0] - width // 2], dtype=np.int64)
    grey = graph.constant(np.array(_GREY, dtype=np.float32))
    return graph.add("Pad", half, graph.constant(border), grey, mode="constant"), size


def _level(graph: _Graph, network: Network, x: str, size: tuple[int, int], scale: int) -> str:
    """What the network says of one image (1, 4 + C, cells), boxes in pixels of the first."""
    maps = []
    for stage in network.stages:
        assert isinstance(stage, Stage)
        x = graph.add("Relu", graph.convolve(stage.first, x))
        for block in stage.blocks:
            x = graph.add("Relu", graph.add("Add", x, graph.convolve(block, x)))
        maps.append(x)
    fine, middle, coarse = (
        graph.convolve(side, each) for side, each in zip(network.sides, maps[2:])
    )
    joined = graph.add("Add", middle, graph.doubled(coarse))
    middle = graph.add("Relu", graph.convolve(network.smooth[0], joined))
    joined = graph.add("Add", fine, graph.doubled(middle))
    fine = graph.add("Relu", graph.convolve(network.smooth[1], joined))
    what, where = (graph.add("Relu", graph.convolve(tower, fine)) for tower in network.towers)
    scores = graph.add("Sigmoid", graph.convolve(network.classes, what))
    boxes = _boxes(graph, graph.convolve(network.reaches, where), size, scale)
    both = graph.add("Concat", boxes, scores, axis=1)
    shape = graph.constant(np.array([1, 4 + network.classes.out_channels, -1], dtype=np.int64))
    return graph.add("Reshape", both, shape)


def _save(
    path: Path, graph: _Graph, classes: tuple[str, ...], size: tuple[int, int], cells: int
) -> None:
    width, height = size
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "detector",
            [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, height, width])],
            [
                helper.make_tensor_value_info(
                    "output0", TensorProto.FLOAT, [1, 4 + len(classes), cells]
                )
            ],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        producer_name="xtdrone",
    )
    model.ir_version = _IR
    helper.set_model_props(
        model,
        {
            "names": repr(dict(enumerate(classes))),
            "imgsz": repr([height, width]),
            "stride": str(STRIDE),
            "task": "detect",
        },
    )
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


def _boxes(graph: _Graph, reaches: str, size: tuple[int, int], scale: int) -> str:
    """Middle x, middle y, width and height (1, 4, h, w) of the map of reaches, times a scale."""
    low, high = (graph.constant(np.array(x, dtype=np.float32)) for x in (_LEAST, _MOST))
    reach = graph.add("Exp", graph.add("Clip", reaches, low, high))
    # From left, top, right, bottom: middle = cell + (right - left) / 2, side = left + right.
    mixing = 0.5 * np.array([[-1, 0, 1, 0], [0, -1, 0, 1], [2, 0, 2, 0], [0, 2, 0, 2]])
    pixels = scale * STRIDE
    mixed = graph.constant((pixels * mixing).astype(np.float32)[:, :, None, None])
    grid = np.zeros((1, 4, size[1] // STRIDE, size[0] // STRIDE), dtype=np.float32)
    y, x = np.mgrid[: grid.shape[2], : grid.shape[3]] + 0.5
    grid[0, 0], grid[0, 1] = pixels * x, pixels * y
    return graph.add("Add", graph.add("Conv", reach, mixed), graph.constant(grid))
