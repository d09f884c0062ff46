"""Reads the small detector's network back from the ONNX that export.py wrote, to train it on."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.utils.hooks import RemovableHandle

from ..errors import PerceptionError
from .description import describe
from .network import Convolution, Network, Stage


def read_network(path: Path, classes: tuple[str, ...], images: torch.Tensor) -> Network:
    """The network of a file.

    Its normalisation is part of the weights there; it is taken out of them again by what the
    layers say of some images, so that training begins where that of the file ended.

    Args:
        path: NAME.onnx, written by `xtdrone perception train`.
        classes: That it has to know.
        images: (B, 3, H, W) float32, 0 to 1, such as it will be trained on.

    Raises:
        PerceptionError: It is another network, or of other classes.
    """
    model, network = _loaded(path), Network(len(classes))
    known = describe(path, {each.key: each.value for each in model.metadata_props}).classes
    if known != classes:
        raise PerceptionError(
            f"'{path}' knows {', '.join(known) or 'no names'}, and the data set "
            f"{', '.join(classes)}: they have to be the same"
        )
    given = {each.name: each for each in model.graph.initializer}
    given |= {each.output[0]: given[each.input[0]] for each in model.graph.node
              if each.op_type == "Cast" and each.input[0] in given}  # fmt: skip
    rows, seen = [], set()
    for node in model.graph.node:
        # The last ones, which make boxes of reaches, have no bias; the second image has the same.
        if node.op_type == "Conv" and len(node.input) == 3 and node.input[1] not in seen:
            seen.add(node.input[1])
            rows.append(
                [numpy_helper.to_array(given[name]).astype(np.float32) for name in node.input[1:]]
            )
    layers = list(_layers(network))
    shapes = [tuple(_convolution(layer).weight.shape) for layer in layers]
    if [weight.shape for weight, _ in rows] != shapes:
        raise PerceptionError(f"'{path}' is no network of `xtdrone perception train`")
    with torch.no_grad():
        hooks = [_put(layer, weight, bias) for layer, (weight, bias) in zip(layers, rows)]
        network.eval()(images)
    for hook in hooks:
        hook.remove()
    return network.train()


def _loaded(path: Path) -> onnx.ModelProto:
    try:
        return onnx.load(path)
    except Exception as error:  # protobuf's and the system's
        raise PerceptionError(
            f"'{path}' is no ONNX file that can be read: {type(error).__name__}"
        ) from None


def _layers(network: Network) -> Iterator[nn.Module]:
    """The convolutions in the order in which export.py writes them."""
    for stage in network.stages:
        assert isinstance(stage, Stage)
        yield stage.first
        yield from stage.blocks
    for group in (network.sides, network.smooth, network.towers):
        yield from group
    yield network.classes
    yield network.reaches


def _convolution(layer: nn.Module) -> nn.Conv2d:
    found = layer.conv if isinstance(layer, Convolution) else layer
    assert isinstance(found, nn.Conv2d)
    return found


def _put(layer: nn.Module, weight: np.ndarray, bias: np.ndarray) -> RemovableHandle:
    """Gives a layer its weights; its normalisation gets its own at the first image.

    Returns:
        The hook that does it.
    """
    convolution, shift = _convolution(layer), torch.from_numpy(bias.copy())
    convolution.weight.copy_(torch.from_numpy(weight.copy()))
    if not isinstance(layer, Convolution):
        assert convolution.bias is not None
        convolution.bias.copy_(shift)
        return layer.register_forward_pre_hook(lambda *_: None)
    norm = layer.norm

    def calibrate(_: nn.Module, given: tuple[torch.Tensor, ...]) -> None:
        mean, variance = given[0].mean((0, 2, 3)), given[0].var((0, 2, 3), unbiased=False)
        assert norm.running_mean is not None and norm.running_var is not None
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_(torch.sqrt(variance + norm.eps))
        norm.bias.copy_(shift + mean)

    return norm.register_forward_pre_hook(calibrate)
