"""A learned actor as an ONNX network, written node by node."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from ..policy.policy_file import PRODUCER
from ..scaling import Scaling
from .ppo import Actor

OPSET, IR = 17, 8


class _Graph:
    """Nodes and weights of a network under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, array: np.ndarray) -> str:
        """Adds a constant; returns its name."""
        self.weights.append(
            numpy_helper.from_array(np.ascontiguousarray(array), f"w{len(self.weights)}")
        )
        return self.weights[-1].name

    def add(self, kind: str, *inputs: str, outputs: tuple[str, ...] = (), **options: int) -> str:
        """Adds a node; returns the name of its first output."""
        outputs = outputs or (f"x{len(self.nodes)}",)
        node = helper.make_node(kind, inputs, outputs, **options)  # type: ignore[arg-type]
        self.nodes.append(node)
        return outputs[0]

    def linear(self, x: str, layer: torch.nn.Linear, output: str = "") -> str:
        """Adds a linear layer."""
        return self.affine(x, layer.weight, layer.bias, output)

    def affine(self, x: str, weight: torch.Tensor, bias: torch.Tensor, output: str = "") -> str:
        """Adds weight x + bias."""
        return self.add(
            "Gemm",
            x,
            *(self.weight(p.detach().numpy()) for p in (weight, bias)),
            outputs=(output,) if output else (),
            transB=1,
        )


def network(actor: Actor, scaling: Scaling) -> bytes:
    """Returns an actor's mean action, with the scaling of observations, as an ONNX file."""
    graph, size, memory = _Graph(), len(scaling.scale), actor.recurrent
    x = graph.add("Div", "observation", graph.weight(scaling.scale.astype(np.float32)))
    if memory:
        x = _gru(graph, x, actor.cell)
    *hidden, last = actor.mean
    assert isinstance(last, torch.nn.Linear)
    for part in hidden:
        x = graph.linear(x, part) if isinstance(part, torch.nn.Linear) else graph.add("Relu", x)
    graph.linear(x, last, "action")
    outputs = last.out_features

    def port(name: str, width: int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width])

    ports_in = [port("observation", size)] + [port("memory", memory)] * bool(memory)
    ports_out = [port("action", outputs)] + [port("next_memory", memory)] * bool(memory)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "policy", ports_in, ports_out, graph.weights),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name=PRODUCER,
    )
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def _gru(graph: _Graph, x: str, cell: torch.nn.GRUCell) -> str:
    """Adds a gated recurrent unit as PyTorch has it: r, z, n of input and memory."""
    parts = [(f"{side}r", f"{side}z", f"{side}n") for side in "im"]
    for source, weight, bias, names in (
        (x, cell.weight_ih, cell.bias_ih, parts[0]),
        ("memory", cell.weight_hh, cell.bias_hh, parts[1]),
    ):
        graph.add("Split", graph.affine(source, weight, bias), outputs=names, axis=1)
    r = graph.add("Sigmoid", graph.add("Add", "ir", "mr"))
    z = graph.add("Sigmoid", graph.add("Add", "iz", "mz"))
    n = graph.add("Tanh", graph.add("Add", "in", graph.add("Mul", r, "mn")))
    kept = graph.add("Mul", z, graph.add("Sub", "memory", n))
    return graph.add("Add", n, kept, outputs=("next_memory",))
