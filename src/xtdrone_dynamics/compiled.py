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
import hashlib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite
import numba
from numba.core.registry import CPUDispatcher

from .kernel_cache import ClaimedCache, KernelCache, Taken, cache_root

Record = Any  # a NumPy record in a kernel; Numba knows its fields

Kernel = Any  # a function that Numba compiled, for which Numba has no type
Calls = Kernel | tuple[Kernel, ...] | None

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

_OPTIONS = {"nopython": True, "boundscheck": None, "error_model": "numpy"}  # as numba.njit's
SRC = Path(__file__).resolve().parents[1]  # the folder of all packages of the workspace
_IMPORT = re.compile(rb"^\s*from\s+([.\w]+)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def state_of_sources() -> str:
    """Returns a hash of every file that compiles something, and of what those import."""
    kernels = [path for path in _sources() if b"compiled import" in path.read_bytes()]
    return _digest(frozenset().union(*map(_closure, kernels)))


def stamp_of_sources() -> str:
    """Returns a hash of the place, size and time of every file; none is read, so it is quick."""
    stats = ((path, path.stat()) for path in _sources())
    text = "".join(f"{path} {stat.st_size} {stat.st_mtime_ns}\n" for path, stat in stats)
    return _digest((), text)


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
        files = [
            Path(each.__code__.co_filename).resolve()
            for each in (function, *(kernel.py_func for kernel in called))
        ]
        if numba.config.DISABLE_JIT:  # by NUMBA_DISABLE_JIT, as in a debugger
            return function
        return _Dispatcher(function, None, _OPTIONS | options, cache_root() / _folder(*files))

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
    """A compiled function as Python calls it; other kernels call its `inner`."""

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: Mapping[str, Any] | None = None,
        targetoptions: Mapping[str, Any] | None = None,
        folder: Path | None = None,  # of its cache
    ):
        super().__init__(py_func, locals, targetoptions)
        self._folder = folder
        self._claimed = None if folder is None else ClaimedCache(py_func, folder)
        if self._claimed is not None:
            self._cache = self._claimed  # as Numba's enable_caching()

    @functools.cached_property
    def inner(self) -> CPUDispatcher:
        """The same without what takes the arguments of Python apart."""
        options = {**self.targetoptions, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        inner = CPUDispatcher(self.py_func, self.locals, options)
        if self._folder is not None:
            inner._cache = KernelCache(self.py_func, self._folder, "i")
        return inner

    def get_call_template(self, args: Any, kws: Any) -> Any:  # as Numba's
        """Returns how another kernel calls it."""
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:  # as Numba's
        """Returns what another kernel calls."""
        return self.inner.get_overload(sig)

    def compile(self, sig: Any) -> Any:  # as Numba's
        """Extends Numba's: others wait no longer, compiled or not."""
        try:
            return super().compile(sig)
        finally:
            if self._claimed is not None:
                self._claimed.release()

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:  # as Numba's
        try:
            return super()._compile_for_args(*args, **kws)
        except Taken:
            return _passed_over


def _passed_over(*args: object, **kws: object) -> None:
    """Stands for a kernel that another process compiles."""


@functools.cache
def _folder(*paths: Path) -> str:
    return f"{paths[0].stem}-{_digest(frozenset().union(*map(_closure, paths)))}"


def _sources() -> list[Path]:
    """Every Python file of the workspace, which may be beside other packages."""
    packages = sorted(folder for folder in SRC.iterdir() if _is_ours(folder.name))
    return [path for folder in packages for path in sorted(folder.rglob("*.py"))]


def _is_ours(module: str) -> bool:
    """Whether a module is of the workspace, by the name of its package."""
    return module.startswith("xtdrone") or module.split(".")[0] == "sensor_models"


def _digest(paths: Iterable[Path], also: str = "") -> str:
    digest = hashlib.sha1(f"{numba.__version__} {llvmlite.__version__} {also}".encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _closure(path: Path) -> frozenset[Path]:
    """The file and all files below src/ that it imports, directly or not."""
    files: set[Path] = set()
    waiting = [path]
    while waiting:
        here = waiting.pop()
        if here not in files:
            files.add(here)
            waiting += _imports(here)
    return frozenset(files)


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    files: list[Path] = []
    for name, names in _IMPORT.findall(path.read_bytes()):
        module = name.decode()
        dots = len(module) - len(module.lstrip("."))
        if not dots and not _is_ours(module):
            continue
        base = path.parents[dots - 1] if dots else SRC
        target = base.joinpath(*filter(None, module.lstrip(".").split(".")))
        candidates = [target.with_suffix(".py")] if target != base else []
        candidates += [target / f"{name}.py" for name in re.findall(r"\w+", names.decode())]
        files += [candidate for candidate in candidates if candidate.is_file()]
    return tuple(files)
