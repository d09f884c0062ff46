"""The sources of kernels: a hash of each file and of what it imports names its folder in the cache.

Reading them takes longer than loading the kernels, so an index in the cache says what the folders
are, for one state of all sources: their places, sizes and times.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import llvmlite
import numba

SRC = Path(__file__).resolve().parents[1]  # the folder of all packages of the workspace
_IMPORT = re.compile(rb"^\s*from\s+([.\w]+)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_SETTLED_NS = 1_000_000_000  # what changed before that has another time if it changes once more


def state_of_sources() -> str:
    """Returns a hash of every file that compiles something, and of what those import."""
    kernels = [path for path in _sources() if b"compiled import" in path.read_bytes()]
    return _digest(closure(*kernels))


def stamp_of_sources() -> str:
    """Returns a hash of the place, size and time of every file; none is read, so it is quick."""
    paths = (
        os.path.join(folder, name)
        for package in _packages()
        for folder, _, names in os.walk(package)
        for name in names
        if name.endswith(".py")
    )
    stats = ((path, os.stat(path)) for path in paths)
    found = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats]
    return _digest((), "\n".join(sorted(found)))


def folder_of(root: Path, paths: Sequence[Path], read_ns: int) -> Path | None:
    """Returns the folder of a file's kernels in the cache.

    Args:
        root: Folder of the whole cache.
        paths: The file, and those of other kernels that it calls.
        read_ns: When Python had read them [ns since 1970].

    Returns:
        The folder; None if one of the files, or of those that they import, has changed since.
    """
    index = _index(root) if all(map(_is_of_workspace, paths)) else None
    name = None if index is None else index.find(paths, read_ns)
    if name is None:
        files = closure(*paths)
        changed_ns = _changed_ns(map(str, files))
        if changed_ns > read_ns:
            return None
        name = f"{paths[0].stem}-{_digest(files)}"
        if index is not None and changed_ns < index.made_ns - _SETTLED_NS:
            index.add(paths, name, files)
    return root / name


def closure(*paths: Path) -> frozenset[Path]:
    """Returns the files and all files of the workspace that they import, directly or not."""
    return frozenset().union(*map(_closure, paths))


class _Index:
    """The folders of files for the present state of all sources.

    Attributes:
        made_ns: When the sources were looked at [ns since 1970].
    """

    def __init__(self, root: Path) -> None:
        self.made_ns = time.time_ns()
        self._path = root / f"folders-{stamp_of_sources()}.json"
        self._known: dict[str, tuple[str, list[str]]] = {}  # files: folder, all that it depends on
        with contextlib.suppress(OSError, ValueError):
            self._known = dict(json.loads(self._path.read_text()))

    def find(self, paths: Sequence[Path], read_ns: int) -> str | None:
        """Returns the name of the folder, if it is known and nothing has changed since."""
        name, files = self._known.get(_key(paths), (None, []))
        return None if _changed_ns(files) > min(read_ns, self.made_ns) else name

    def add(self, paths: Sequence[Path], name: str, files: Iterable[Path]) -> None:
        """Adds a folder, on disk as well."""
        self._known[_key(paths)] = (name, sorted(map(str, files)))
        with contextlib.suppress(OSError):  # a cache that cannot be written is none
            self._path.parent.mkdir(parents=True, exist_ok=True)
            number, draft = tempfile.mkstemp(dir=self._path.parent, prefix="folders-")
            with open(number, "w") as file:
                json.dump(self._known, file)
            os.replace(draft, self._path)


@functools.cache
def _index(root: Path) -> _Index:
    return _Index(root)


def _key(paths: Sequence[Path]) -> str:
    return "\n".join(map(str, paths))


def _changed_ns(paths: Iterable[str]) -> int:
    """When one of these files has last changed [ns since 1970]; unlike st_mtime, nobody sets it."""
    return max((os.stat(path).st_ctime_ns for path in paths), default=0)


def _sources() -> list[Path]:
    """Every Python file of the workspace, which may be beside other packages."""
    return [path for folder in _packages() for path in sorted(folder.rglob("*.py"))]


def _packages() -> list[Path]:
    return sorted(folder for folder in SRC.iterdir() if _is_ours(folder.name))


def _is_ours(module: str) -> bool:
    """Whether a module is of the workspace, by the name of its package."""
    return module.startswith("xtdrone") or module.split(".")[0] == "sensor_models"


def _is_of_workspace(path: Path) -> bool:
    return path.is_relative_to(SRC) and _is_ours(path.relative_to(SRC).parts[0])


def _digest(paths: Iterable[Path], also: str = "") -> str:
    digest = hashlib.sha1(f"{numba.__version__} {llvmlite.__version__} {also}".encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _closure(path: Path) -> frozenset[Path]:
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
