"""Arrays on a graphics card, offered to other libraries without a copy."""

import ctypes
import importlib.util
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import extras

from .errors import BatchError

OnDevice = Any  # an array of numba.cuda, which has no types
CPU, CUDA = 1, 2  # values of DLPack's DLDeviceType
_CODES = {"i": 0, "u": 1, "f": 2}  # values of DLPack's DLDataTypeCode
_NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_lent: dict[int, tuple] = {}  # what consumers still hold, by the address of its _Managed


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _give_back(address: int) -> None:
    _lent.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _drop(capsule: int) -> None:
    """Drops a capsule that no one has taken."""
    if ctypes.pythonapi.PyCapsule_IsValid(ctypes.c_void_p(capsule), _NAME):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
        _lent.pop(pointer(capsule, _NAME), None)


class DeviceArray:
    """A contiguous array on the device. Reading it as a NumPy array copies it.

    Attributes:
        on_device: The array of numba.cuda.
    """

    def __init__(self, on_device: OnDevice, address: int, device: tuple[int, int]) -> None:
        """A view.

        Args:
            on_device: The array of numba.cuda.
            address: Address of its first number.
            device: (CPU or CUDA, number of the device); the simulator's arrays lie on the CPU.
        """
        self.on_device = on_device
        self._address, self._device = address, device

    @property
    def shape(self) -> tuple[int, ...]:
        """Sides."""
        return tuple(self.on_device.shape)

    @property
    def dtype(self) -> np.dtype:
        """Type of the numbers."""
        return self.on_device.dtype

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "version": 3,
            "strides": None,
            "data": (self._address, False),
        }

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """A copy on the CPU."""
        host = self.on_device.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        """(kind of device, its number), by DLPack."""
        return self._device

    def __dlpack__(self, **_: object) -> Any:  # a PyCapsule, which has no type
        """A capsule of DLPack (before its version 1), which shares the memory.

        What reads it on another stream than the default one waits for that one itself.
        """
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        managed = _Managed(
            _Tensor(
                self._address,
                *self._device,
                len(self.shape),
                _CODES[self.dtype.kind],
                8 * self.dtype.itemsize,
                1,
                shape,
                None,
                0,
            ),
            None,
            ctypes.cast(_give_back, ctypes.c_void_p),
        )
        address = ctypes.addressof(managed)
        _lent[address] = managed, shape, self
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(address, _NAME, ctypes.cast(_drop, ctypes.c_void_p))


def check_device() -> None:
    """Raises BatchError where numba-cuda or a GPU is missing."""
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    if not simulated and importlib.util.find_spec("numba_cuda") is None:
        raise BatchError(
            f"device='cuda' needs numba-cuda: {extras.install('cuda')}, or use device='cpu'"
        )
    from numba import cuda  # slow to import

    if not cuda.is_available():
        raise BatchError(
            "device='cuda' finds no GPU that works: use device='cpu', or install an NVIDIA driver"
        )
