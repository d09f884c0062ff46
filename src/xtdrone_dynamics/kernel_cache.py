"""The kernels that are kept on disk, and who compiles which of those that are not yet.

A damaged file of the cache is thrown away, and a disk that takes no more leaves kernels that are
compiled again. Processes that need the same kernel at the same time compile it once: one claims it,
the others wait and load it, or pass over it where the flight itself does not matter.
"""

import contextlib
import fcntl
import functools
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from llvmlite import binding, ir
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from . import inner_code, quick_numba

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
quick_numba.install()
_passing = False  # whether a kernel that another process compiles is passed over


class Taken(Exception):
    """Another process compiles this kernel, which is passed over meanwhile."""


@contextlib.contextmanager
def passing_over_taken() -> Iterator[None]:
    """Within it calls of a kernel that another process compiles do nothing.

    Those that return something wait for it all the same.
    """
    global _passing
    _passing = True
    try:
        yield
    finally:
        _passing = False


def cache_root() -> Path:
    """The folder of compiled kernels, below XDG_CACHE_HOME."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "xtdrone" / "kernels"


class _Locator(_CacheLocator):  # type: ignore[misc]  # Numba has no types
    """Keeps a kernel in a given folder, whose name says of which sources it is."""

    def __init__(self, folder: Path, use: str):
        self._folder, self._use = folder, use
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
        """Returns the line, which tells functions of one name apart, and the use."""
        return f"{self._line}{self._use}"


class _Inner(CompileResultCacheImpl):  # type: ignore[misc]  # as above
    """Keeps kernels that other kernels call."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:  # as Numba's
        """The kernel of what the cache has."""
        return inner_code.read(target_context, payload)


class _Standalone(CompileResultCacheImpl):  # type: ignore[misc]  # as above
    """Keeps kernels that Python calls and that no other kernel calls.

    The half of a kept kernel from which others inline it takes as long to read as the rest.
    """

    def rebuild(self, target_context: Any, payload: Any) -> Any:  # as Numba's
        """The kernel of what the cache has; of one that hashes, with the salt of this process."""
        (_, _, code), *_ = payload
        if _SALT in code[0]:
            target_context.refresh()
        return super().rebuild(target_context, payload)

    def reduce(self, result: Any) -> Any:  # as Numba's
        """What is kept of a kernel: instead of that half, one that only has its symbols."""
        (name, kind, (code, _)), description, *rest = super().reduce(result)
        return (name, kind, (code, _symbols_of(description))), description, *rest


def _symbols_of(description: Any) -> bytes:  # Numba's of a function
    """Bitcode that defines the symbols of a kernel, as functions that end the process."""
    module, nothing = ir.Module(), ir.FunctionType(ir.VoidType(), ())
    module.triple = binding.get_process_triple()
    trap = ir.Function(module, nothing, "llvm.trap")
    for name in (
        description.llvm_func_name,
        description.llvm_cpython_wrapper_name,
        description.llvm_cfunc_wrapper_name,
    ):
        builder = ir.IRBuilder(ir.Function(module, nothing, name).append_basic_block())
        builder.call(trap, ())
        builder.unreachable()
    bitcode: bytes = binding.parse_assembly(str(module)).as_bitcode()
    return bitcode


class NoCache(NullCache):  # type: ignore[misc]  # as above
    """Keeps nothing."""

    def load_overload(self, sig: Any, target_context: Any) -> None:  # as Numba's
        """Returns nothing; the kernel is compiled."""
        _load_language()

    def release(self) -> None:
        """Does nothing, since nobody waits for what is not kept."""


class KernelCache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """The cache of one kernel, which survives damaged files and a full disk.

    This one is of what other kernels call.
    """

    _keeps: type[CompileResultCacheImpl] = _Inner
    _use = "i"  # tells apart what one function is compiled for

    def __init__(self, function: Callable[..., Any], folder: Path):
        """Keeps a kernel in a folder.

        Args:
            function: What is compiled.
            folder: Of this state of its sources.
        """

        class Implementation(self._keeps):  # type: ignore[misc,name-defined]  # Numba's way
            _locator_classes = (_Locator(folder, self._use),)

        self._impl_class = Implementation
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:  # as Numba's
        """The compiled kernel, or None if it is not in the cache.

        Unlike Numba, it does not load what implements the language and NumPy first, which takes
        longer than all kernels of a flight: only a compilation needs that.
        """
        rtsys.initialize(target_context)
        found = self._read(sig, target_context)
        if found is None:
            _load_language()
        return found

    def _read(self, sig: Any, target_context: Any) -> Any:
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


class ClaimedCache(KernelCache):
    """The cache of a kernel that Python calls.

    One process compiles it for all that need it at the time.
    """

    _keeps = _Standalone
    _use = ""

    def __init__(self, function: Callable[..., Any], folder: Path):
        super().__init__(function, folder)
        self._returns = function.__annotations__.get("return", "something") is not None
        self._lock = folder / f"{self._impl.filename_base}.lock"
        self._claim: IO[bytes] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:  # as Numba's
        """The compiled kernel, or None if it is not in the cache: then it is claimed.

        Raises:
            Taken: Another process has claimed it, within passing_over_taken().
        """
        found = super().load_overload(sig, target_context)
        if found is None and self._claims():
            found = super().load_overload(sig, target_context)  # another one has compiled it
        return found

    def release(self) -> None:
        """Lets others compile or load the kernel; another thread may do so at the same time."""
        claim, self._claim = self._claim, None
        if claim is not None:
            with contextlib.suppress(OSError):
                self._lock.unlink()
            claim.close()

    def _claims(self) -> bool:
        """Claims the kernel, perhaps after another process; False where no file can say so."""
        try:
            claim = self._lock.open("wb")
        except OSError:
            return False
        try:
            passing = _passing and not self._returns
            fcntl.flock(claim, fcntl.LOCK_EX | (fcntl.LOCK_NB if passing else 0))
        except OSError as error:
            claim.close()
            if isinstance(error, BlockingIOError):
                raise Taken from None
            return False  # a disk without locks
        self._claim = claim
        return True


@functools.cache
def _load_language() -> None:
    """Loads what implements the language and NumPy, before the first compilation.

    Numba's compiler would load it after it has listed the operators that it knows. It would list
    them anew for a kernel that the first one calls, and lose what it has found out about them.
    Numbers in lanes add to these operators; a kernel from the cache that takes some would load them
    in the midst of a compilation. Loading makes further things known, which the second round loads.
    """
    from . import lane_numbers  # noqa: F401

    for _ in range(2):
        cpu_target.target_context.refresh()
        cpu_target.typing_context.refresh()


@functools.cache
def _warn(text: str) -> None:
    """A warning, once."""
    _log.warning("warning: %s", text)
