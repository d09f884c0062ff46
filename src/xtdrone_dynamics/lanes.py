"""Kernels in lanes: many vehicles in the registers of one core's vector unit.

A loop over lanes is compiled to vector instructions only if all that it calls is inlined, has no
branches, and computes in one type: a single 0.5 of double precision makes a loop of single
precision scalar again. The scalar functions of this package are written in double precision, to be
called one vehicle at a time; in_lanes() makes the same functions ready for such loops.
"""

import functools
import math
import platform
import types
from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types as types_of_numba
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from .compiled import Kernel, njit

LANES = 128  # vehicles in one block; their scratch stays in the first cache

# What the compiler may do to be faster. In double precision nothing: lanes and single vehicles then
# give the same bits. NaN keeps its meaning in both.
_FREEDOM: dict[Any, Any] = {
    np.float64: False,
    np.float32: {"contract", "nsz", "arcp", "reassoc", "afn"},
}


class Target:
    """Makes functions of this workspace ready for a target and one type of numbers.

    Attributes:
        real: np.float32 or np.float64.
    """

    def __init__(self, real: type):
        """real: np.float32 or np.float64."""
        self.real = real
        self._made: dict[Any, Kernel] = {}  # by Kernel, function or LaneLoop

    def inlined(self, function: Any) -> Kernel:  # a Kernel or a Python function
        """Returns the compiled function, inlined where it is called, with constants of one type.

        What it calls, of this workspace, is treated alike.

        Args:
            function: A kernel, or a Python function of kernels.
        """
        if function not in self._made:
            plain = getattr(function, "py_func", function)
            self._made[function] = self._compile(self.typed(plain))
        return self._made[function]

    def loop(self, loop: "LaneLoop") -> Kernel:
        """Returns the compiled loop over lanes."""
        if loop not in self._made:
            self._made[loop] = self._compile_loop(self.typed(loop.function))
        return self._made[loop]

    def typed(self, plain: types.FunctionType) -> types.FunctionType:
        """Returns the Python function with constants of one type, and its callees made alike."""
        names = set(plain.__code__.co_names)
        scope = dict(plain.__globals__)
        for name in names & set(scope):
            scope[name] = self._value(scope[name], names)
        closure = plain.__closure__ and tuple(
            types.CellType(self._value(cell.cell_contents, names)) for cell in plain.__closure__
        )
        constants = tuple(_constant(value, self.real) for value in plain.__code__.co_consts)
        function = types.FunctionType(
            plain.__code__.replace(co_consts=constants),
            scope,
            plain.__name__,
            plain.__defaults__,
            closure,
        )
        function.__module__ = plain.__module__
        return function

    def _compile(self, plain: types.FunctionType) -> Kernel:
        return numba.njit(error_model="numpy", forceinline=True, fastmath=_FREEDOM[self.real])(
            plain
        )

    def _compile_loop(self, plain: types.FunctionType) -> Kernel:
        return numba.njit(error_model="numpy", fastmath=_FREEDOM[self.real])(plain)

    def _value(self, value: Any, names: set[str]) -> Any:  # any global of a module
        """Returns a global of a function: kernels made alike, constants typed, modules of both."""
        if isinstance(value, Dispatcher):
            return self.inlined(value)
        if isinstance(value, LaneLoop):
            return self.loop(value)
        if isinstance(value, types.FunctionType) and value.__module__.startswith("xtdrone"):
            return self.inlined(value)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("xtdrone"):
            double = types.ModuleType(value.__name__)
            for name in names & set(vars(value)):
                setattr(double, name, self._value(getattr(value, name), names))
            return double
        if value is math:
            return self._math
        return _constant(value, self.real)

    @functools.cached_property
    def _math(self) -> types.ModuleType:
        """The module math with constants of one type, and atan2 as arithmetic."""
        module = types.ModuleType("math")
        for name in ("sqrt", "isfinite", "copysign", "sin", "cos"):
            setattr(module, name, getattr(math, name))
        for name in ("inf", "nan", "pi"):
            setattr(module, name, self.real(getattr(math, name)))
        module.atan2 = self.inlined(  # type: ignore[attr-defined]
            arctangent if self.real is np.float64 else short_arctangent
        )
        return module


@functools.cache
def lanes_of(real: type) -> Target:
    """The target of lanes in the processor's vector unit."""
    return Target(real)


@intrinsic
def _load_mxcsr(context, word):  # type: ignore[no-untyped-def]
    """Sets the floating-point control register of an x86 processor; nothing on others."""

    def generate(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        if platform.machine() in ("x86_64", "AMD64"):
            place = cgutils.alloca_once_value(builder, arguments[0])
            byte = ir.IntType(8).as_pointer()
            register = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [byte]), "llvm.x86.sse.ldmxcsr"
            )
            builder.call(register, [builder.bitcast(place, byte)])
        return target.get_dummy_value()

    return types_of_numba.void(types_of_numba.uint32), generate


@njit
def flush_denormals(on: bool) -> None:
    """Sets whether numbers too small for the type become zero on this thread.

    What decays towards zero otherwise ends in numbers that take the processor a hundred times as
    long: soon in single precision.
    """
    _load_mxcsr(np.uint32(0x9FC0 if on else 0x1F80))


class LaneLoop:
    """Marks a function with a loop over lanes; only kernels of kernel_in_lanes() can call it."""

    def __init__(self, function: Callable[..., Any]):
        self.function = cast(types.FunctionType, function)

    def __call__(self, *arguments: Any) -> Any:  # as the function's
        """Runs the loop as Python, uncompiled."""
        return self.function(*arguments)


def loop_in_lanes(loop: LaneLoop, real: type) -> Kernel:
    """The compiled loop, as kernels of kernel_in_lanes() call it."""
    return lanes_of(real).loop(loop)


def kernel_in_lanes(function: Any, real: type) -> Kernel:  # each caller has another signature
    """A kernel that calls loops over lanes, compiled for one type and kept in the cache.

    Args:
        function: A Python function of arrays.
        real: np.float32 or np.float64, of all its numbers.
    """
    kernel = lanes_of(real).typed(function)
    kernel.__qualname__ = kernel.__name__ = f"{function.__name__}_{np.dtype(real).name}"
    return njit(nogil=True)(kernel)


@njit
def arctangent(y: float, x: float) -> float:
    """math.atan2(y, x) without a call, to 2e-16 of a turn in double precision.

    The rational function and its ranges are those of Moshier, Cephes (atan.c).
    """
    up, right = abs(y), abs(x)
    low, high = min(up, right), max(up, right)
    t = low / high if high > 0.0 else 0.0
    steep = t > 0.66
    u = (t - 1.0) / (t + 1.0) if steep else t
    z = u * u
    p = (
        ((-0.8750608600031904 * z - 16.157537187333652) * z - 75.00855792314705) * z
        - 122.88666844901361
    ) * z - 64.85021904942025
    q = (
        (((z + 24.858464901423062) * z + 165.02700983169885) * z + 432.88106049129027) * z
        + 485.3903996359137
    ) * z + 194.5506571482614
    angle = u + u * (z * p / q)
    angle = angle + 0.7853981633974483 if steep else angle
    angle = 1.5707963267948966 - angle if up > right else angle
    angle = 3.141592653589793 - angle if x < 0.0 else angle
    return -angle if y < 0.0 else angle


@njit
def short_arctangent(y: float, x: float) -> float:
    """math.atan2(y, x) without a call and with one division, to 2e-7: for single precision.

    The polynomial and its ranges are those of Moshier, Cephes (atanf.c).
    """
    up, right = abs(y), abs(x)
    low, high = min(up, right), max(up, right)
    steep = low > 0.41421356237309503 * high
    over = low - high if steep else low
    under = low + high if steep else high
    u = over / under if under > 0.0 else 0.0
    z = u * u
    angle = u + u * z * (
        ((0.0805374449538 * z - 0.138776856032) * z + 0.199777106478) * z - 0.333329491539
    )
    angle = angle + 0.7853981633974483 if steep else angle
    angle = 1.5707963267948966 - angle if up > right else angle
    angle = 3.141592653589793 - angle if x < 0.0 else angle
    return -angle if y < 0.0 else angle


def _constant(value: Any, real: type) -> Any:  # any global or constant of a function
    if isinstance(value, float):
        return real(value)
    if isinstance(value, tuple):
        return tuple(_constant(each, real) for each in value)
    return value
