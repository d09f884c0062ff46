"""Snapshots: the complete state of a simulation as plain data, stored in a file without pickle.

A part with internal state inherits from Memory and lists its attributes; snapshots of parts nest
as mappings. The file is a zip archive: snapshot.json holds the format version, the scenario and
the tree; arrays/<k>.npy holds the arrays, which the tree refers to by number.
"""

import copy
import dataclasses
import io
import json
import zipfile
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from .. import files
from ..errors import XtdroneError, shown

Value: TypeAlias = Any  # plain data: numbers, strings, arrays, and lists, sets or mappings of these
VERSION = 1  # version of the file's layout
_FORMAT = "xtdrone snapshot"
MAX_HEADER = 1_000_000  # length of the description of an array; that of all parameters is long
_PLAIN = (bool, int, float, str, type(None))


class SnapshotError(XtdroneError):
    """A snapshot that cannot be written, read, or loaded into this scenario."""


class Memory:
    """A part whose internal state is the attributes listed in MEMORY.

    They may be numbers, strings, arrays, lists, mappings, sets, deques, random generators, data
    classes of these, None, and other parts that inherit from Memory. load() and reset() overwrite
    arrays in place, so views of them stay valid.

    A class with per-vehicle arrays calls remember_start() at the end of its constructor;
    reset() then restores these values for the selected rows. A class that has to reset more
    than arrays and parts extends reset(). A class without MEMORY raises SnapshotError when it
    is saved, loaded or reset.
    """

    MEMORY: ClassVar[tuple[str, ...] | None] = None
    _remembered: dict[str, np.ndarray] | None = None

    def save(self) -> dict[str, Any]:
        """Returns copies of the attributes in MEMORY."""
        return take(self, self._memory())

    def load(self, snapshot: Mapping[str, Any]) -> None:
        """Restores a state returned by save().

        Raises:
            SnapshotError: It belongs to another scenario.
        """
        put(self, self._memory(), snapshot)

    def remember_start(self) -> None:
        """Stores copies of the arrays for reset()."""
        self._remembered = {
            name: getattr(self, name).copy()
            for name in self._memory()
            if isinstance(getattr(self, name), np.ndarray)
        }

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Restores the rows of these vehicles as of remember_start(), and resets parts likewise.

        Args:
            mask: (N,) bool; None for all.
        """
        for name in self._memory():
            value = getattr(self, name)
            if isinstance(value, Memory):
                value.reset(mask)
        for name, start in (self._remembered or {}).items():
            rows = slice(None) if mask is None else mask
            getattr(self, name)[rows] = start[rows]

    def _memory(self) -> tuple[str, ...]:
        if self.MEMORY is None:
            raise SnapshotError(
                f"{type(self).__name__} cannot be saved, loaded or reset: list its "
                "attributes in MEMORY"
            )
        return self.MEMORY


def take(part: object, names: Iterable[str]) -> dict[str, Any]:
    """Copies attributes of a part into plain data.

    Raises:
        SnapshotError: A value has a type that cannot be stored.
    """
    return {name: _plain(getattr(part, name), name) for name in names}


def put(part: object, names: Iterable[str], snapshot: Mapping[str, Any]) -> None:
    """Sets attributes of a part to the values that take() returned.

    Arrays, lists, mappings, deques and data classes are overwritten in place.

    Raises:
        SnapshotError: A name is missing, or an array has another shape or type.
    """
    missing = [name for name in names if name not in snapshot]
    if missing:
        raise SnapshotError(
            f"the snapshot lacks '{missing[0]}' of {type(part).__name__}: it is of "
            "another version or scenario"
        )
    for name in names:
        setattr(part, name, _restored(getattr(part, name), snapshot[name], name))


def _plain(value: object, name: str) -> Value:
    """A copy as types that the file can hold."""
    if isinstance(value, Memory):
        return value.save()
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.hasobject:
            raise SnapshotError(f"'{name}' is an array of objects, which a snapshot cannot hold")
        return value.copy()
    if isinstance(value, np.random.Generator):
        return copy.deepcopy(dict(value.bit_generator.state))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name), f"{name}.{field.name}")
            for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {key: _plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, deque)):
        return [_plain(item, name) for item in value]
    if isinstance(value, (tuple, set, frozenset)):
        return type(value)(_plain(item, name) for item in value)
    if isinstance(value, (*_PLAIN, bytes)):
        return value
    raise SnapshotError(f"'{name}' is a {type(value).__name__}, which a snapshot cannot hold")


def _restored(current: Any, saved: Value, name: str) -> Any:  # an attribute of a part
    """The restored value: mutable attributes are overwritten in place, others are copied."""
    if saved is None:
        return None
    if isinstance(current, Memory):
        current.load(saved)
    elif isinstance(current, np.ndarray):
        saved = np.asarray(saved)
        if saved.shape != current.shape or saved.dtype != current.dtype:
            raise SnapshotError(
                f"'{name}' of the snapshot is {saved.dtype} {saved.shape}, here it is "
                f"{current.dtype} {current.shape}: load it into the scenario of the snapshot"
            )
        current[...] = saved
    elif isinstance(current, np.random.Generator):
        current.bit_generator.state = copy.deepcopy(saved)
    elif dataclasses.is_dataclass(current) and isinstance(saved, Mapping):
        put(current, [field.name for field in dataclasses.fields(current)], saved)
    elif isinstance(current, dict) and any(isinstance(item, Memory) for item in current.values()):
        if current.keys() != saved.keys():
            raise SnapshotError(
                f"'{name}' of the snapshot has the parts {[*saved]}, here it has {[*current]}: "
                "load it into the scenario of the snapshot"
            )
        for key, item in current.items():
            item.load(saved[key])
    elif isinstance(current, dict):
        current.clear()
        current.update(copy.deepcopy(saved))
    elif isinstance(current, list) and any(isinstance(item, Memory) for item in current):
        if len(current) != len(saved):
            raise SnapshotError(
                f"'{name}' of the snapshot has {len(saved)} parts, here it has "
                f"{len(current)}: load it into the scenario of the snapshot"
            )
        for item, contents in zip(current, saved):
            item.load(contents)
    elif isinstance(current, (list, deque)):
        current.clear()
        current.extend(copy.deepcopy(saved))
    else:
        return copy.deepcopy(saved)
    return current


def write(path: Path | str, snapshot: Mapping[str, Any], scenario: Mapping[str, Any]) -> None:
    """Writes one file; an older one of that name is replaced when the new one is whole.

    Args:
        path: The file.
        snapshot: As of save().
        scenario: As of Scenario.to_dict().

    Raises:
        SnapshotError: The file cannot be written, or a value is of no kind that it can hold.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    arrays: list[np.ndarray] = []
    tree = _encode(snapshot, arrays)
    head = {"format": _FORMAT, "version": VERSION, "scenario": scenario, "tree": tree}
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("snapshot.json", json.dumps(head))
            for k, array in enumerate(arrays):
                data = io.BytesIO()
                np.save(data, array, allow_pickle=False)
                file.writestr(f"arrays/{k}.npy", data.getvalue())
        part.replace(path)
    except OSError as error:
        raise SnapshotError(
            f"cannot write snapshot '{path}': {error.strerror}; give a file in a "
            "folder that can be written"
        ) from error


def read(path: Path | str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The snapshot of a file, and its scenario as plain data for Scenario.from_dict().

    Raises:
        SnapshotError: No such file, not a snapshot, or of another version.
    """
    try:
        with files.open_zip(path, "snapshot", error=SnapshotError) as file:
            head = json.loads(file.read("snapshot.json"))  # NaN stands in it, too
            if head["format"] != _FORMAT:
                raise ValueError("it holds something else")
            if head["version"] != VERSION:
                raise SnapshotError(
                    f"snapshot '{path}' has version {head['version']}, this "
                    f"program reads {VERSION}: save it anew by the same program"
                )
            names = [name for name in file.namelist() if name.startswith("arrays/")]
            arrays = [
                np.load(  # type: ignore[call-arg]  # NumPy's annotations lack max_header_size
                    io.BytesIO(file.read(f"arrays/{k}.npy")),
                    allow_pickle=False,
                    max_header_size=MAX_HEADER,
                )
                for k in range(len(names))
            ]
            return _decode(head["tree"], arrays), head["scenario"]
    except (AttributeError, RecursionError, *files.DAMAGED) as error:
        raise SnapshotError(
            f"cannot read snapshot '{shown(path)}': {shown(error)}; give a file "
            "that Simulation.save() wrote"
        ) from error


def _encode(value: Value, arrays: list[np.ndarray]) -> Value:
    """Plain data as JSON; what JSON does not know becomes {"kind": contents}."""
    if isinstance(value, (np.ndarray, np.generic)):
        arrays.append(np.asarray(value))
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: len(arrays) - 1}
    if isinstance(value, Mapping):
        return {
            "map": [[_encode(key, arrays), _encode(item, arrays)] for key, item in value.items()]
        }
    if isinstance(value, (list, deque)):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": [_encode(item, arrays) for item in sorted(value)]}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, _PLAIN):
        return value
    raise SnapshotError(f"a {type(value).__name__} cannot be stored in a snapshot")


def _decode(value: Value, arrays: list[np.ndarray]) -> Value:
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, body),) = value.items()
    if kind == "map":
        return {_decode(key, arrays): _decode(item, arrays) for key, item in body}
    if kind == "array":
        return arrays[body]
    if kind == "scalar":
        return arrays[body][()]
    if kind == "bytes":
        return bytes.fromhex(body)
    items = (_decode(item, arrays) for item in body)
    return tuple(items) if kind == "tuple" else set(items)


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Maps the rows of a fleet that has grown or shrunk to the rows that it had before."""

    before: int  # number of vehicles
    source: np.ndarray  # (N,) int, the former row of each vehicle; -1: it is new

    @classmethod
    def of(cls, before: Sequence[Hashable], after: Sequence[Hashable]) -> "Rows":
        """Matches vehicles by their names, or by any other values that identify them."""
        at = {value: row for row, value in enumerate(before)}
        return cls(len(before), np.array([at.get(value, -1) for value in after], dtype=np.int64))

    @property
    def after(self) -> int:
        """Number of vehicles."""
        return len(self.source)

    @property
    def new(self) -> np.ndarray:
        """(N,) bool, the vehicles that were not there."""
        return self.source < 0

    @property
    def kept(self) -> dict[int, int]:
        """The new row of each former one that is still there."""
        return {int(old): row for row, old in enumerate(self.source) if old >= 0}


def take_over(part: Memory, before: Memory, rows: Rows) -> None:
    """Loads the state of the vehicles that were in the former fleet, too; see regrouped().

    Args:
        part: Part of the new fleet; new vehicles keep the state that they have in it.
        before: The same kind of part of the former fleet.
        rows: Where the vehicles were; their number is another one.
    """
    part.load(regrouped(before.save(), part.save(), rows))


def regrouped(saved: Value, fresh: Value, rows: Rows) -> Value:
    """A snapshot for a fleet that has grown or shrunk.

    Arrays and lists with a row for each vehicle have another length in the two snapshots; mappings
    with whole numbers as keys, and sets of tuples that begin with one, go by vehicle. All else is
    taken from the saved one.

    Args:
        saved: Snapshot of a part of the former fleet.
        fresh: Snapshot of the same part of the new fleet, which gives the rows of new vehicles.
        rows: Where the vehicles were; their number is another one.
    """
    if isinstance(saved, Mapping) and isinstance(fresh, Mapping):
        if saved and all(isinstance(key, int) for key in saved):
            saved = {rows.kept[key]: value for key, value in saved.items() if key in rows.kept}
            fresh = {key: value for key, value in fresh.items() if rows.new[key]}
        return {
            **fresh,
            **{
                key: regrouped(value, fresh[key], rows) if key in fresh else value
                for key, value in saved.items()
            },
        }
    if isinstance(saved, np.ndarray) and isinstance(fresh, np.ndarray):
        return _regrouped_array(saved, fresh, rows)
    if isinstance(saved, (list, tuple)) and isinstance(fresh, (list, tuple)):
        if len(saved) == len(fresh):
            return type(saved)(regrouped(one, other, rows) for one, other in zip(saved, fresh))
        if (len(saved), len(fresh)) == (rows.before, rows.after):
            return type(saved)(
                [saved[old] if old >= 0 else fresh[row] for row, old in enumerate(rows.source)]
            )
    if isinstance(saved, set) and any(
        isinstance(item, tuple) and item and isinstance(item[0], int) for item in saved
    ):
        return {(rows.kept[first], *rest) for first, *rest in saved if first in rows.kept}
    return saved


def _regrouped_array(saved: np.ndarray, fresh: np.ndarray, rows: Rows) -> np.ndarray:
    """The same of an array; other axes may have grown or shrunk, too, as that of the actuators."""
    if saved.shape == fresh.shape or not saved.shape:
        return saved
    array = fresh.copy()
    both: tuple[Any, ...] = tuple(
        slice(min(one, other)) for one, other in zip(saved.shape, fresh.shape)
    )
    if (len(saved), len(fresh)) == (rows.before, rows.after):
        kept = ~rows.new
        array[(kept, *both[1:])] = saved[(rows.source[kept], *both[1:])]
    else:
        array[both] = saved[both]
    return array
