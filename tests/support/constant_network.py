"""Networks of detectors that give the same outputs for any image."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

SIDE = 64  # of the networks' images [pixels]
NAMES = {"names": "{0: 'person', 1: 'car'}"}


def save(path, outputs, metadata=NAMES, shape=(1, 3, SIDE, SIDE), kind=TensorProto.FLOAT):
    """Writes a network that always gives these arrays."""
    nodes, ports = [], []
    for name, array in outputs.items():
        array = np.asarray(array)
        nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        ports.append(helper.make_tensor_value_info(name, code, array.shape))
    image = helper.make_tensor_value_info("images", kind, shape)
    model = helper.make_model(
        helper.make_graph(nodes, "net", [image], ports), opset_imports=[helper.make_opsetid("", 13)]
    )
    model.ir_version = 8
    helper.set_model_props(model, metadata)
    path.write_bytes(model.SerializeToString())
    return path
