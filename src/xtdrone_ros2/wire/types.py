"""Message types of ROS 2, and their serialisation: the standard ones, px4_msgs and mavros_msgs."""

import dataclasses
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from xtdrone_core import resources

DISTRIBUTIONS = {"humble": Stores.ROS2_HUMBLE, "jazzy": Stores.ROS2_JAZZY}
_PACKAGES = ("px4_msgs", "mavros_msgs", "geographic_msgs", "simulation_interfaces")  # in src/
_NAMES, _PARAMETERS = "string[] names\n---\n", "Parameter[] parameters\n---\n"
# Definitions of services that are not in src/.
_SERVICES = {
    "std_srvs": {"Empty": "---", "Trigger": "---\nbool success\nstring message"},
    "rcl_interfaces": {
        "ListParameters": "string[] prefixes\nuint64 depth\n---\nListParametersResult result",
        "GetParameters": f"{_NAMES}ParameterValue[] values",
        "GetParameterTypes": f"{_NAMES}uint8[] types",
        "DescribeParameters": f"{_NAMES}ParameterDescriptor[] descriptors",
        "SetParameters": f"{_PARAMETERS}SetParametersResult[] results",
        "SetParametersAtomically": f"{_PARAMETERS}SetParametersResult result",
    },
}
_HYPOTHESES = "ObjectHypothesisWithPose[] results"
# Messages of ROS 2 that have other fields in ROS 1, whose definitions are in src/.
_MESSAGES = {
    "vision_msgs": {
        "Point2D": "float64 x\nfloat64 y",
        "Pose2D": "Point2D position\nfloat64 theta",
        "BoundingBox2D": "Pose2D center\nfloat64 size_x\nfloat64 size_y",
        "BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
        "ObjectHypothesis": "string class_id\nfloat64 score",
        "ObjectHypothesisWithPose": "ObjectHypothesis hypothesis\n"
        "geometry_msgs/PoseWithCovariance pose",
        "Detection2D": f"std_msgs/Header header\n{_HYPOTHESES}\nBoundingBox2D bbox\nstring id",
        "Detection2DArray": "std_msgs/Header header\nDetection2D[] detections",
        "Detection3D": f"std_msgs/Header header\n{_HYPOTHESES}\nBoundingBox3D bbox\nstring id",
        "Detection3DArray": "std_msgs/Header header\nDetection3D[] detections",
    }
}
_NOTHING = [("structure_needs_at_least_one_member", (Nodetype.BASE, ("uint8", 0)))]
_ROS1_TYPES = {"VFR_HUD": "VfrHud"}  # types that have another name in ROS 2
# Fields that have another name in ROS 2.
_ROS1_NAMES = {"secs": "sec", "nsecs": "nanosec", "D": "d", "K": "k", "R": "r", "P": "p"}


# A message, which is an object of a dataclass that rosbags generates.
Message: TypeAlias = Any
# A field's type as rosbags describes it: a Nodetype, and a name or nested descriptions.
FieldType: TypeAlias = Any
Fields: TypeAlias = Mapping[str, Any]  # fields of a message by name, nested ones too


class Types:
    """The types of one distribution of ROS 2.

    Attributes:
        store: Typestore of rosbags.
        distribution: Name of the distribution.
    """

    def __init__(self, distribution: str = "humble"):
        """Reads the definitions.

        Args:
            distribution: One of DISTRIBUTIONS.
        """
        self.distribution = distribution
        self.store = get_typestore(DISTRIBUTIONS[distribution])
        for package in _PACKAGES:
            self._read(package, resources.root() / "src" / package)
        for package, messages in _MESSAGES.items():
            for name, text in messages.items():
                self._add(get_types_from_msg(text, f"{package}/msg/{name}"))
        for package, services in _SERVICES.items():
            for name, text in services.items():
                self._add(_service_types(package, name, text))

    def _read(self, package: str, folder: Path) -> None:
        definitions: dict[str, FieldType] = {}
        for path in sorted(folder.glob("msg/*.msg")):
            name = ros2_name(f"{package}/{path.stem}")
            definitions.update(get_types_from_msg(path.read_text(), name))
        for path in sorted(folder.glob("srv/*.srv")):
            definitions.update(_service_types(package, path.stem, path.read_text()))
        self._add(definitions)

    def _add(self, definitions: dict[str, FieldType]) -> None:
        self.store.register(
            {
                name: fields
                for name, fields in definitions.items()
                if name not in self.store.fielddefs
            }
        )

    def blank(self, kind: str) -> Message:
        """Returns a message whose numbers are 0 and whose strings and sequences are empty.

        Args:
            kind: For example std_msgs/msg/Header.
        """
        _, fields = self.store.fielddefs[kind]
        return self.store.types[kind](**{name: self._blank(node) for name, node in fields})

    def _blank(self, node: FieldType) -> Any:  # value of the field, by its type
        form, described = node
        if form == Nodetype.NAME:
            return self.blank(described)
        if form == Nodetype.BASE:
            return {"string": "", "bool": False}.get(described[0], 0)
        element, length = described
        length = length if form == Nodetype.ARRAY else 0
        if element[0] == Nodetype.BASE and element[1][0] != "string":
            return np.zeros(length, dtype=number_of(element[1][0]))
        return [self._blank(element) for _ in range(length)]

    def message(self, kind: str, **values: Any) -> Message:  # values of the fields
        """Returns a message with some fields set: nested ones as dicts, sequences as lists.

        Args:
            kind: For example geometry_msgs/msg/PoseStamped.
            values: Fields by name.
        """
        return self._filled(self.blank(kind), values)

    def _filled(self, message: Message, values: Fields) -> Message:
        nodes: dict[str, FieldType] = dict(self.store.fielddefs[message.__msgtype__][1])
        changed: dict[str, Any] = {}
        for name, value in values.items():
            name = name if name in nodes else _ROS1_NAMES[name]
            form, described = nodes[name]
            if isinstance(value, Mapping):
                value = self._filled(getattr(message, name), value)
            elif form in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                (of, kind), _ = described
                if of == Nodetype.NAME:
                    value = [
                        self._filled(self.blank(kind), part) if isinstance(part, Mapping) else part
                        for part in value
                    ]
                elif isinstance(value, bytes):
                    value = np.frombuffer(value, dtype=number_of(kind[0]))
                elif kind[0] != "string":
                    value = np.asarray(value, dtype=number_of(kind[0]))
            changed[name] = value
        return dataclasses.replace(message, **changed)

    def serialised(self, message: Message) -> bytes:
        """Returns a message as CDR behind 4 bytes of encapsulation, padded to a multiple of 4."""
        return padded(
            bytes(self.store.serialize_cdr(message, message.__msgtype__, little_endian=True))
        )

    def from_ros1(self, data: bytes, kind: str) -> bytes:
        """Returns CDR, as serialised() does, for a message that is serialised for ROS 1.

        Args:
            data: Bytes of the message.
            kind: Type of the message, by ROS 2's name.
        """
        return padded(bytes(self.store.ros1_to_cdr(data, kind)))

    def to_ros1(self, data: bytes, kind: str) -> bytes:
        """Returns the bytes for ROS 1 of a message in CDR; kind by ROS 2's name."""
        return bytes(self.store.cdr_to_ros1(data, kind))

    def read(self, data: bytes, kind: str) -> Message:
        """Deserialises a message; raises rosbags' errors if it is none."""
        return self.store.deserialize_cdr(data, kind)


def _service_types(package: str, name: str, text: str) -> dict[str, FieldType]:
    """Returns the types of a service's request and response."""
    lines = text.splitlines()
    middle = next(k for k, line in enumerate(lines) if line.strip() == "---")
    types = {}
    for part, end in ((lines[:middle], "Request"), (lines[middle + 1 :], "Response")):
        ((constants, fields),) = get_types_from_msg(
            "\n".join(part), f"{package}/msg/{name}"
        ).values()
        types[f"{package}/srv/{name}_{end}"] = constants, fields or _NOTHING
    return types


def padded(data: bytes) -> bytes:
    """Pads bytes with zeros to a multiple of 4, as DDS requires."""
    return data + bytes(-len(data) % 4)


@cache
def number_of(base: str) -> np.dtype:
    """Returns NumPy's little-endian type for a primitive type of ROS."""
    name = {"bool": "?", "char": "u1", "byte": "u1", "octet": "u1"}.get(base, base)
    return np.dtype(name).newbyteorder("<")


def ros2_name(kind: str, folder: str = "msg") -> str:
    """Returns the name in ROS 2 (std_msgs/msg/Header) of a type of ROS 1 (std_msgs/Header)."""
    package, name = kind.split("/")
    return f"{package}/{folder}/{_ROS1_TYPES.get(name, name)}"
