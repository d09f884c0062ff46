"""The compiler of every kernel in the workspace: Numba with a cache that is never stale.

Numba's cache only depends on the file of the compiled function, not on its imports:
functions that it calls, constants that it freezes. So the cache folder of a file is
named by a hash of the file and of all files of the workspace that it imports, directly
or not, and by the versions of the compiler. A change recompiles what it can affect and nothing
else. The place of the files does not count, so that checkouts and environments share what they
compile.

What Python calls and what other kernels call is compiled separately: only the former gets the code
that takes Python's objects apart, which for the records of a fleet is longer than most kernels.
"""

import functools
import time
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core.registry import CPUDispatcher

from .inner_code import InnerCompiler
from .kernel_cache import ClaimedCache, KernelCache, NoCache, Taken, cache_root
from .sources import folder_of

Record = Any  # a NumPy record in a kernel; Numba knows its fields

Kernel = Any  # a function that Numba compiled, for which Numba has no type
Calls = Kernel | tuple[Kernel, ...] | None

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

_OPTIONS = {"nopython": True, "boundscheck": None, "error_model": "numpy"}  # as numba.njit's


@overload
def njit(function: _Kernel) -> _Kernel: ...
@overload
def njit(
    function: None = None,
    calls: Calls = None,
    **options: Any,  # as numba.njit's
) -> Callable[[_Kernel], _Kernel]: ...
def njit(function: Callable[..., Any] | None = None, calls: Calls = None, **options: Any) -> Kernel:
    """numba.njit with the cache on and NumPy's rules for division by zero.

    For a type checker a kernel keeps the signature of its Python function.

    Args:
        function: What is compiled.
        calls: A kernel that it calls and its file does not import, or several.
        options: As of numba.njit.
    """

    def decorate(function: Callable[..., Any]) -> Kernel:
        called = calls if isinstance(calls, tuple) else (calls,) if calls else ()
        if numba.config.DISABLE_JIT:  # by NUMBA_DISABLE_JIT, as in a debugger
            return function
        return _Dispatcher(function, None, _OPTIONS | options, called)

    return decorate if function is None else decorate(function)


def fleet_kernel(function: _Kernel, calls: Calls = None) -> _Kernel:
    """njit for a kernel that Python calls at every step, for the whole fleet.

    It runs without the interpreter's lock. It makes no arrays, so it need not count who holds
    those that it is given.
    """
    return njit(calls=calls, nogil=True, _nrt=False)(function)


def rebuilt(kernel: Kernel, calls: tuple[Kernel, ...], **functions: Kernel) -> Kernel:
    """A kernel compiled anew, with other functions in place of those of these names.

    Args:
        kernel: Kernel made by njit or fleet_kernel.
        calls: Kernels that these functions call and its file does not import.
        functions: Name in the kernel's file -> the compiled function that it calls instead.
    """
    original = kernel.py_func
    plain = types.FunctionType(original.__code__, {**original.__globals__, **functions})
    plain.__module__ = original.__module__
    plain.__name__ = "_".join([original.__name__, *(each.__name__ for each in calls)])
    plain.__qualname__ = plain.__name__
    return njit(None, calls, nogil=True)(plain)


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]  # Numba has no types
    """A compiled function as Python calls it; other kernels call its `inner`.

    Its place in the cache is found at the first call: most kernels of a process are never called.
    """

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: Mapping[str, Any] | None = None,
        targetoptions: Mapping[str, Any] | None = None,
        calls: tuple[Kernel, ...] | None = None,  # as of njit; None: its code is not kept
    ):
        super().__init__(py_func, {} if locals is None else locals, targetoptions)
        self._calls, self._made_ns = calls, time.time_ns()
        del self._cache  # Numba's, which keeps nothing

    @functools.cached_property
    def _cache(self) -> NoCache | ClaimedCache:  # as Numba's
        return NoCache() if self._folder is None else ClaimedCache(self.py_func, self._folder)

    @functools.cached_property
    def _folder(self) -> Path | None:
        """The folder of its cache; None if a source has changed since it was read."""
        if self._calls is None:
            return None
        functions = (self.py_func, *(kernel.py_func for kernel in self._calls))
        files = [Path(function.__code__.co_filename).resolve() for function in functions]
        return folder_of(cache_root(), files, self._made_ns)

    @functools.cached_property
    def inner(self) -> CPUDispatcher:
        """The same without what takes the arguments of Python apart."""
        options = {**self.targetoptions, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        inner = CPUDispatcher(self.py_func, self.locals, options, pipeline_class=InnerCompiler)
        if self._folder is not None:
            inner._cache = KernelCache(self.py_func, self._folder)
        return inner

    def get_call_template(self, args: Any, kws: Any) -> Any:  # as Numba's
        """Returns how another kernel calls it."""
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:  # as Numba's
        """Returns what another kernel calls."""
        return self.inner.get_overload(sig)

    def add_overload(self, result: Any) -> None:  # as Numba's
        """Extends Numba's: what it has taken in from other kernels finds its Python constants."""
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        super().add_overload(result)

    def compile(self, sig: Any) -> Any:  # as Numba's
        """Extends Numba's: others wait no longer, compiled or not."""
        try:
            return super().compile(sig)
        finally:
            self._cache.release()

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:  # as Numba's
        try:
            return super()._compile_for_args(*args, **kws)
        except Taken:
            return _passed_over


def _passed_over(*args: object, **kws: object) -> None:
    """Stands for a kernel that another process compiles."""
