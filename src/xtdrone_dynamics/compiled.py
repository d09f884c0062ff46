"""The compiler of every kernel in the workspace: Numba with a cache that is never stale.

Numba's cache only depends on the file of the compiled function, not on its imports:
functions that it calls, constants that it freezes. So the cache folder of a file is
named by a hash of the file and of all files of the workspace that it imports, directly
or not, and by the versions of the compiler. A change recompiles what it can affect and nothing
else. The place of the files does not count, so that checkouts and environments share what they
compile. A damaged file of the cache is thrown away, and a disk that takes no more leaves
kernels that are compiled again.
"""

import functools
import hashlib
import logging
import os
import pickle
import re
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, overload

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.runtime import rtsys

Record = Any  # a NumPy record in a kernel; Numba knows its fields

Kernel = Any  # a function that Numba compiled, for which Numba has no type
Calls = Kernel | tuple[Kernel, ...] | None

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

_DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ImportError,
    MemoryError,
)  # what damaged pickles raise
_SALT = b"_numba_hashsecret"  # symbols of Python's hash function in compiled code
_log = logging.getLogger(__name__)
SRC = Path(__file__).resolve().parents[1]  # the folder of all packages of the workspace
_IMPORT = re.compile(rb"^\s*from\s+([.\w]+)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def cache_root() -> Path:
    """The folder of compiled kernels, below XDG_CACHE_HOME."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "xtdrone" / "kernels"


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
        kernel = numba.njit(error_model="numpy", **options)(function)
        # As numba.njit(cache=True) does.
        kernel._cache = _Cache(function, cache_root() / _folder(*files))
        return kernel

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


class _Locator(_CacheLocator):  # type: ignore[misc]  # Numba has no types
    """Keeps a kernel in a given folder, whose name says of which sources it is."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._line = 0

    def from_function(self, function: Callable[..., Any], file: str) -> "_Locator":
        """Returns this locator, for a function of a file."""
        self._line = function.__code__.co_firstlineno
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            pass  # what cannot be written is reported when a kernel is to be kept
        return self

    def get_cache_path(self) -> str:
        """Returns the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Returns nothing more, since a change of the sources changes the folder."""
        return ""

    def get_disambiguator(self) -> str:
        """Returns the line, which tells functions of one name apart."""
        return str(self._line)


class _Kept(CompileResultCacheImpl):  # type: ignore[misc]  # as above
    """Reads compiled kernels."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:  # as Numba's
        """The kernel of what the cache has; of one that hashes, with the salt of this process."""
        (_, _, code), *_ = payload
        if _SALT in code[0]:
            target_context.refresh()
        return super().rebuild(target_context, payload)


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """The cache of one kernel, which survives damaged files and a full disk."""

    def __init__(self, function: Callable[..., Any], folder: Path):
        class Implementation(_Kept):
            _locator_classes = (_Locator(folder),)

        self._impl_class = Implementation
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:  # as Numba's
        """The compiled kernel, or None if it is not in the cache.

        Unlike Numba, it does not load what implements the language and NumPy first, which takes
        longer than all kernels of a flight: only a compilation needs that, and loads it itself.
        """
        rtsys.initialize(target_context)
        try:
            return self._load_overload(sig, target_context)
        except OSError:  # it is no folder, or not ours to read
            return None
        except _DAMAGED:
            _warn(
                f"the cache of compiled kernels in {cache_root()} is damaged: what cannot be "
                "read is compiled again"
            )
            self.save(self.flush)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:  # as Numba's
        """Adds a compiled kernel."""
        self.save(functools.partial(super().save_overload, sig, data))

    def save(self, write: Callable[[], None]) -> None:
        """Calls write(), which the disk may not allow."""
        try:
            write()
        except OSError as error:
            _warn(
                f"compiled kernels cannot be kept in {cache_root()}: {error.strerror}; they are "
                "compiled again at each start"
            )


@functools.cache
def _warn(text: str) -> None:
    """A warning, once."""
    _log.warning("warning: %s", text)


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
