"""A policy as two files: NAME.onnx, the network, and NAME.json, what it observes and commands.

The network takes observations in the task's units, and where it is recurrent its memory; it gives
actions of which 0 is a hover and -1 and 1 are the task's bounds (see learning/scaling.py), and the
next memory. Nothing in the two files is executed but the operators of ALLOWED.
"""

import dataclasses
import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from xtdrone_core import extras, files, outputs
from xtdrone_core.errors import one_line, shown

from ..errors import LearningError

FORMAT = 1
ALLOWED = frozenset(
    {
        "Add",
        "Concat",
        "Div",
        "Elu",
        "Gemm",
        "MatMul",
        "Mul",
        "Relu",
        "Sigmoid",
        "Slice",
        "Split",
        "Sub",
        "Tanh",
    }
)
PRODUCER = "xtdrone"
ANY = "any"  # vehicle of a policy for all multirotors
_MAX = 64 * files.MB


@dataclasses.dataclass(frozen=True)
class Description:
    """The JSON of a policy."""

    task: str  # its name, or module:TASK
    vehicle: str  # vehicle that it was trained with, or ANY
    action: str  # level, of xtdrone_batch.levels.LEVELS
    actions: tuple[str, ...]  # names of an action's numbers
    centre: tuple[float, ...]  # action of an output of 0, for the vehicle that it was trained with
    half: tuple[float, ...]  # change of the action for an output of 1
    period_us: int
    observation: tuple[tuple[str, int], ...]  # name and numbers of each part
    history: int  # earlier observations that follow
    memory: int  # numbers of a recurrent policy's memory; 0 = not recurrent
    randomisation: dict[str, Any]
    realism: dict[str, Any]
    training: dict[str, Any]  # steps, seconds, success, seed, settings
    sha256: str = ""  # SHA-256 of the network's file
    format: int = FORMAT

    @property
    def inputs(self) -> int:
        """Numbers of an observation with its history."""
        return (self.history + 1) * sum(count for _, count in self.observation)


class Policy:
    """A policy that was read from its files.

    Attributes:
        description: Its Description.
        path: Path of the network.
    """

    def __init__(self, path: str | Path):
        """Reads and checks a policy.

        Args:
            path: Path of NAME.onnx or NAME.json.

        Raises:
            LearningError: A file is missing, damaged, too large or does not fit the other.
        """
        self.path = Path(path).with_suffix(".onnx")
        self.description = _read_description(self.path.with_suffix(".json"))
        network = files.read_bytes(self.path, "policy", _MAX, LearningError)
        if hashlib.sha256(network).hexdigest() != self.description.sha256:
            raise _unfit(self.path, "it is not the network that its JSON describes (sha256)")
        _check_network(self.path, network, self.description)
        self._session = _session(self.path, network)
        self._names = ["action", "next_memory"][: 1 + bool(self.description.memory)]

    def first_memory(self, rows: int) -> np.ndarray:
        """Returns the memory (R, H) of new episodes."""
        return np.zeros((rows, self.description.memory), dtype=np.float32)

    def act(self, observation: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (R, K) about -1..1, and the next memory (R, H).

        Args:
            observation: (R, N) float32, with its history, in the task's units.
            memory: (R, H) float32.
        """
        if not self.description.memory:
            return self._session.run(self._names, {"observation": observation})[0], memory
        action, memory = self._session.run(
            self._names, {"observation": observation, "memory": memory}
        )
        return action, memory


def write(path: str | Path, network: bytes, description: Description) -> Path:
    """Writes NAME.onnx and NAME.json; returns the path of the network.

    Raises:
        LearningError: Something else is there, or it cannot be written.
    """
    path = outputs.free_for(
        Path(path).with_suffix(".onnx"),
        "policy",
        lambda ends: PRODUCER.encode() in ends,
        LearningError,
    )
    text = json.dumps(
        dataclasses.asdict(
            dataclasses.replace(description, sha256=hashlib.sha256(network).hexdigest())
        ),
        indent=1,
    )
    try:
        path.write_bytes(network)
        path.with_suffix(".json").write_text(text + "\n")
    except OSError as error:
        raise outputs.cannot_write(path, error, LearningError) from error
    return path


def _read_description(path: Path) -> Description:
    data = files.read_json(path, "description of a policy", files.MB, LearningError)
    names = [field.name for field in dataclasses.fields(Description)]
    files.check_keys(data, f"description of a policy '{shown(path)}'", names, LearningError)
    try:
        description = Description(
            **{
                **data,
                "observation": tuple((str(name), int(n)) for name, n in data["observation"]),
                **{name: tuple(data[name]) for name in ("actions", "centre", "half")},
            }
        )
        sizes = (
            description.format,
            description.period_us,
            description.history,
            description.memory,
            description.inputs,
        )
        numbers = np.array([*description.centre, *description.half], dtype=float)
    except (TypeError, ValueError) as error:
        raise _unfit(path, one_line(str(error))) from error
    if description.format != FORMAT:
        raise _unfit(
            path, f"its format is {shown(description.format)} and this program reads {FORMAT}"
        )
    if not (
        all(isinstance(size, int) for size in sizes)
        and isinstance(description.task, str)
        and description.period_us > 0
        and 0 <= description.history <= 64
        and 0 <= description.memory <= 4096
        and description.inputs > 0
        and len(description.actions) == len(description.centre) == len(description.half)
        and np.isfinite(numbers).all()
    ):
        raise _unfit(path, "a number in it is not allowed")
    return description


def _check_network(path: Path, network: bytes, description: Description) -> None:
    """Refuses what is not a plain network of the described size with finite weights."""
    onnx = _library("onnx")
    try:
        model = onnx.load_model_from_string(network)
        graph = model.graph
    except Exception as error:  # protobuf raises anything, as the bytes may be anything
        raise _unfit(path, "it is not an ONNX file") from error
    if model.functions or any(entry.domain not in ("", "ai.onnx") for entry in model.opset_import):
        raise _unfit(path, "it defines operators of its own")
    for node in graph.node:
        if node.op_type not in ALLOWED or node.domain not in ("", "ai.onnx"):
            raise _unfit(
                path,
                f"operator '{shown(node.op_type)}' is not allowed: it may have "
                f"{', '.join(sorted(ALLOWED))}",
            )
    for weight in graph.initializer:
        if weight.external_data or weight.data_location == onnx.TensorProto.EXTERNAL:
            raise _unfit(path, "its weights lie in another file")
    try:
        onnx.checker.check_model(model, full_check=True)
        weights = {weight.name: onnx.numpy_helper.to_array(weight) for weight in graph.initializer}
    except Exception as error:
        raise _unfit(path, one_line(str(error))) from error
    for name, array in weights.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise _unfit(path, f"weights '{shown(name)}' are not finite")
    memory = description.memory
    wanted = {
        "observation": description.inputs,
        **({"memory": memory} if memory else {}),
        "action": len(description.actions),
        **({"next_memory": memory} if memory else {}),
    }
    shapes = {
        value.name: value.type.tensor_type.shape.dim[-1].dim_value
        for value in (*graph.input, *graph.output)
        if value.type.tensor_type.shape.dim
    }
    if shapes != wanted:
        raise _unfit(path, f"inputs and outputs are {shown(shapes)} and its JSON wants {wanted}")


def _session(path: Path, network: bytes) -> Any:  # an InferenceSession of the optional ONNX Runtime
    runtime = _library("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # small: threads cost more
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its own classes
        raise _unfit(path, one_line(str(error))) from error


def _library(name: str) -> ModuleType:
    return extras.require(name, "a policy", "policy", LearningError)


def _unfit(path: Path, why: str) -> LearningError:
    return LearningError(f"policy '{shown(path)}' cannot be flown: {why}")
