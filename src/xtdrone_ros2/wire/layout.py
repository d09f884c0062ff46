"""Messages of a whole fleet as NumPy records over their serialised bytes.

A template is serialised once by rosbags. As long as its strings and lengths stay the same, so do
the places of all numbers, and a message is the template's bytes with other numbers.
Writing those of nine vehicles takes one assignment for each field.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from rosbags.interfaces import Nodetype

from .types import FieldType, Message, Types, number_of

_HEADER = 4  # length of the encapsulation, behind which fields are aligned [bytes]


class Layout:
    """Places of the numbers of one template.

    Attributes:
        template: Bytes of the template, encapsulation and padding included.
        dtype: Type of a record over them. Fields are named by their path, for example
            `pose.position.x`; `pose.position` is all its numbers, where they have one type and
            no gaps, and `transforms.0.transform` the same within a sequence.
    """

    def __init__(self, types: Types, template: Message):
        """Finds the places.

        Args:
            types: Types of the distribution.
            template: Message of rosbags.
        """
        self._types = types
        self._places: dict[str, tuple[np.dtype, int, int]] = {}  # path -> type, count, offset
        self._single: list[tuple[np.dtype, int, int]] = []  # likewise, for each field of numbers
        self.template = types.serialised(template)
        self._struct(template, "", 0)
        names, places = list(self._places), list(self._places.values())
        self.dtype = np.dtype(
            {
                "names": names,
                "itemsize": len(self.template),
                "formats": [kind if count == 1 else (kind, (count,)) for kind, count, _ in places],
                "offsets": [_HEADER + at for _, _, at in places],
            }
        )

    def records(self, n: int) -> np.ndarray:
        """Returns n records that hold the template."""
        return np.frombuffer(bytearray(self.template * n), dtype=self.dtype)

    def _struct(self, message: Message, path: str, at: int) -> int:
        """Stores the places of a message that begins at or behind `at`; returns its end."""
        first = len(self._single)
        for name, node in self._types.store.fielddefs[message.__msgtype__][1]:
            at = self._field(node, getattr(message, name), f"{path}.{name}".lstrip("."), at)
        inner = self._single[first:]
        if path and len(inner) > 1 and len({kind for kind, _, _ in inner}) == 1:
            kind, _, begin = inner[0]
            count = (at - begin) // kind.itemsize
            if count == sum(part[1] for part in inner):
                self._places[path] = kind, count, begin
        return at

    def _field(self, node: FieldType, value: Any, path: str, at: int) -> int:  # value: the field's
        form, described = node
        if form == Nodetype.NAME:
            return self._struct(value, path, at)
        if form == Nodetype.BASE:
            if described[0] == "string":
                return _aligned(at, 4) + 4 + len(value.encode()) + 1
            return self._numbers(described[0], 1, path, at)
        if form == Nodetype.SEQUENCE:
            at = _aligned(at, 4) + 4
        (of, kind), _ = described
        if of == Nodetype.BASE and kind[0] != "string":
            return self._numbers(kind[0], len(value), path, at)
        for k, part in enumerate(value):
            at = self._field((of, kind), part, f"{path}.{k}", at)
        return at

    def _numbers(self, base: str, count: int, path: str, at: int) -> int:
        if count == 0:
            return at
        kind = number_of(base)
        at = _aligned(at, kind.itemsize)
        self._places[path] = kind, count, at
        self._single.append((kind, count, at))
        return at + count * kind.itemsize


def _aligned(at: int, size: int) -> int:
    return at + -at % size


class Batch:
    """One message for each vehicle of a fleet, whose numbers are set for all of them at once.

    Vehicles whose strings differ in length have records of their own.
    """

    def __init__(self, types: Types, templates: Sequence[Message]):
        """Takes one message for each vehicle as its template."""
        layouts = [Layout(types, template) for template in templates]
        groups: dict[str, list[int]] = {}
        for i, layout in enumerate(layouts):
            groups.setdefault(str(layout.dtype.fields), []).append(i)
        self._groups: list[tuple[np.ndarray, np.ndarray]] = []  # vehicles, records
        self._place: list[tuple[np.ndarray, int]] = [(np.empty(0), 0)] * len(layouts)
        for members in groups.values():
            records = np.frombuffer(
                bytearray(b"".join(layouts[i].template for i in members)),
                dtype=layouts[members[0]].dtype,
            )
            self._groups.append((np.array(members), records))
            for k, i in enumerate(members):
                self._place[i] = records, k

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        """Sets a number of all messages.

        Args:
            name: Path of the field, see Layout.dtype.
            values: One for all, or (N,) or (N, k).
        """
        values = np.asarray(values)
        for members, records in self._groups:
            records[name] = (
                values if values.ndim == 0 or len(self._groups) == 1 else values[members]
            )

    def stamp(self, t_us: int | np.ndarray) -> None:
        """Sets the time of the header of all messages [us]."""
        self["header.stamp.sec"] = t_us // 1_000_000
        self["header.stamp.nanosec"] = t_us % 1_000_000 * 1000

    def data(self, i: int) -> bytes:
        """Returns the bytes of vehicle i's message."""
        records, k = self._place[i]
        return records[k].tobytes()
