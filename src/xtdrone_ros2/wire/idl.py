"""ROS 2's types as Cyclone DDS describes them to other participants."""

from functools import cache
from typing import Any

from cyclonedds.idl import IdlStruct, make_idl_struct, types as dds
from rosbags.interfaces import Nodetype

from .types import FieldType, Types

_NUMBERS = {
    name: getattr(dds, name)
    for name in (
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
    )
} | {"bool": bool, "char": dds.uint8, "byte": dds.uint8, "octet": dds.uint8, "string": str}


def dds_name(kind: str) -> str:
    """Returns the name of a type on the wire: pkg::msg::dds_::Name_ for pkg/msg/Name."""
    package, folder, name = kind.split("/")
    return f"{package}::{folder}::dds_::{name}_"


@cache
def struct(types: Types, kind: str) -> type[IdlStruct]:
    """Returns Cyclone's class of a type. Messages are written as bytes, without its objects."""
    fields = {name: _field(types, node) for name, node in types.store.fielddefs[kind][1]}
    if "/srv/" in kind:  # rmw_cyclonedds puts these before a request or a response
        fields = {"client_guid": dds.uint64, "sequence_number": dds.int64, **fields}
    return make_idl_struct(kind.rpartition("/")[2], dds_name(kind).replace("::", "."), fields)


def _field(types: Types, node: FieldType) -> Any:  # Cyclone has no common type of fields
    form, described = node
    if form == Nodetype.NAME:
        return struct(types, described)
    if form == Nodetype.BASE:
        return _NUMBERS[described[0]]
    element, length = described
    inner = _field(types, element)
    if form == Nodetype.ARRAY:
        return dds.array[inner, length]  # type: ignore[misc]  # a metaclass makes it a type
    sequence: Any = dds.sequence
    return sequence[inner, length] if length else sequence[inner]
