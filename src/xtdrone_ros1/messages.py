"""Generated classes of ROS messages and services: by name, of bytes, and filled from dicts.

What genpy keeps in attributes that begin with an underscore is read here alone.
"""

import importlib
from collections.abc import Mapping
from typing import Any, TypeAlias

# A generated class of genpy, which has no types, and one of its objects.
MessageClass: TypeAlias = Any
Message: TypeAlias = Any
Fields: TypeAlias = Mapping[str, Any]  # fields of a message by name, nested ones too

_BYTES: dict[MessageClass, MessageClass] = {}


def ros_class(kind: str, folder: str = "msg") -> MessageClass:
    """Returns the class of a type, for example std_msgs/Float64; folder: msg or srv."""
    package, name = kind.split("/")
    return getattr(importlib.import_module(f"{package}.{folder}"), name)


def request(service: MessageClass) -> Message:
    """Returns an empty request of a service's class."""
    return service._request_class()


def response(service: MessageClass) -> Message:
    """Returns an empty response of a service's class."""
    return service._response_class()


def has_header(cls: MessageClass) -> bool:
    """Returns whether a message begins with a std_msgs/Header."""
    return cls._has_header


def md5sum(cls: MessageClass) -> str:
    """Returns the MD5 sum of a message's type."""
    return cls._md5sum


def definition(cls: MessageClass) -> str:
    """Returns the definition of a message's type with all that it contains."""
    return cls._full_text


def field_types(message: Message) -> dict[str, str]:
    """Returns the type of each field of a message, for example geometry_msgs/Point[]."""
    return dict(zip(message.__slots__, message._slot_types))


def fill(message: Message, fields: Fields) -> Message:
    """Sets the fields of a message, nested ones too; a list of dicts becomes one of messages."""
    types = field_types(message)
    for name, value in fields.items():
        if isinstance(value, Mapping):
            fill(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            cls = ros_class(types[name].removesuffix("[]"))
            setattr(message, name, [fill(cls(), part) for part in value])
        else:
            setattr(message, name, value)
    return message


def bytes_class(kind: str) -> MessageClass:
    """Returns a message class of bytes, with the name and MD5 sum of kind."""
    base = ros_class(kind)
    if base not in _BYTES:
        _BYTES[base] = type(
            base.__name__,
            (base,),
            {
                "__slots__": ["data_bytes"],
                "_has_header": False,
                "__init__": lambda self, data=b"": setattr(self, "data_bytes", data),
                "serialize": lambda self, buffer: buffer.write(self.data_bytes),
            },
        )
    return _BYTES[base]


def lazy_class(kind: str) -> MessageClass:
    """Returns a message class that is not deserialised, with the name and MD5 sum of kind."""
    base = ros_class(kind)

    def keep(self: Message, data: bytes) -> Message:
        self.data_bytes = data
        return self

    return type(base.__name__, (base,), {"__slots__": ["data_bytes"], "deserialize": keep})
