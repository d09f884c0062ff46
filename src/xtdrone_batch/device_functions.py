"""Functions of this workspace, compiled for a graphics card by numba-cuda."""

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from xtdrone_dynamics.compiled import Kernel
from xtdrone_dynamics.lanes import Target

from .device_array import CPU, CUDA, DeviceArray

OnDevice = Any  # an array of numba.cuda, which has no types, or a tuple of such arrays
Place = Callable[[np.ndarray], OnDevice]  # copies an array to the device
Call = tuple[Kernel, int, int, tuple]  # kernel, blocks, threads of each, arguments


def compile_for_device(plain: Callable[..., Any]) -> Kernel:
    """Compiles a function that kernels call; in the simulator, faster, it stays as it is."""
    return plain if cuda.config.ENABLE_CUDASIM else cuda.jit(device=True)(plain)


class DeviceFunctions(Target):
    """Functions of the device."""

    _math = math

    def _compile(self, plain: types.FunctionType) -> Kernel:
        return compile_for_device(plain)


def replace_range(plain: types.FunctionType, own_range: Kernel) -> None:
    """Makes the loops of a function go over own_range(count) in place of range(count)."""
    code = plain.__code__
    names = tuple("own_range" if name == "range" else name for name in code.co_names)
    plain.__code__, plain.__globals__["own_range"] = code.replace(co_names=names), own_range


def copy_arrays(arrays: Any, place: Place) -> Any:
    """Returns a named tuple of arrays, numbers and such tuples with its arrays on the device."""
    return type(arrays)(
        *(
            copy_arrays(each, place)
            if isinstance(each, tuple)
            else place(np.ascontiguousarray(each))
            if isinstance(each, np.ndarray)
            else each
            for each in arrays
        )
    )


def launch(kernel: Kernel, blocks: int, threads: int, arguments: tuple) -> None:
    """Queues a kernel with so many blocks and threads of each."""
    if cuda.config.ENABLE_CUDASIM:
        arguments = _simulated(arguments)
    kernel[blocks, threads](*arguments)


class _Record(np.record):
    """A record in the simulator: its fields go before the attributes of NumPy, such as size."""

    def __getattribute__(self, name: str) -> Any:  # a field or an attribute
        fields = np.void.__getattribute__(self, "dtype").fields
        return self[name] if name in fields else np.record.__getattribute__(self, name)


def _simulated(arguments: tuple) -> tuple:
    """Arrays in tuples, and those of records, as NumPy's: the simulator knows them only so."""

    def plain(value: Any, inside: bool) -> Any:  # an argument of a kernel
        if isinstance(value, tuple):
            return type(value)(*(plain(each, True) for each in value))
        if hasattr(value, "_ary") and value.dtype.names:
            return value._ary.view(np.dtype((_Record, value.dtype)))
        return value._ary if inside and hasattr(value, "_ary") else value

    return tuple(plain(value, False) for value in arguments)


def view(array: OnDevice) -> DeviceArray:
    """Returns an array of numba.cuda as other libraries take it."""
    if cuda.config.ENABLE_CUDASIM:
        return DeviceArray(array, array.ctypes.data, (CPU, 0))
    address = array.__cuda_array_interface__["data"][0]
    return DeviceArray(
        array, address, (CUDA, array.gpu_data.context.device.id if array.size else 0)
    )
