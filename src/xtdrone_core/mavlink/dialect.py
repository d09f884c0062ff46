"""The MAVLink dialect of the workspace: pymavlink's common, and what pymavlink leaves out of it.

pymavlink drops the messages that common.xml marks as work in progress, though PX4 and MAVROS use
some of them; its dialects 'development' and 'all' have three of those. They become messages of
pymavlink's module like all others. A further one is a row in LEFT_OUT, with its fields in the order
of common.xml. Of messages that pymavlink has, EXTENSIONS adds the fields that it lacks.
"""

import struct
from typing import Any, TypeAlias

from pymavlink.dialects.v20 import common as mavlink
from pymavlink.generator.mavcrc import x25crc

__all__ = ["MavlinkMessage", "mavlink"]

MavlinkMessage: TypeAlias = Any  # pymavlink's classes of messages have fields without types

LEFT_OUT = {  # name: number and fields
    "ESC_INFO": (
        290,
        "uint8_t index, uint64_t time_usec, uint16_t counter, uint8_t count, "
        "uint8_t connection_type, uint8_t info, uint16_t[4] failure_flags, "
        "uint32_t[4] error_count, int16_t[4] temperature",
    ),
    "ESC_STATUS": (
        291,
        "uint8_t index, uint64_t time_usec, int32_t[4] rpm, float[4] voltage, float[4] current",
    ),
    "PROTOCOL_VERSION": (
        300,
        "uint16_t version, uint16_t min_version, uint16_t max_version, "
        "uint8_t[8] spec_version_hash, uint8_t[8] library_version_hash",
    ),
    "CELLULAR_STATUS": (
        334,
        "uint8_t status, uint8_t failure_reason, uint8_t type, "
        "uint8_t quality, uint16_t mcc, uint16_t mnc, uint16_t lac",
    ),
    "COMPONENT_METADATA": (397, "uint32_t time_boot_ms, uint32_t file_crc, char[100] uri"),
    "PLAY_TUNE_V2": (
        400,
        "uint8_t target_system, uint8_t target_component, uint32_t format, char[248] tune",
    ),
    "EVENT": (
        410,
        "uint8_t destination_component, uint8_t destination_system, uint32_t id, "
        "uint32_t event_time_boot_ms, uint16_t sequence, uint8_t log_levels, "
        "uint8_t[40] arguments",
    ),
    "CURRENT_EVENT_SEQUENCE": (411, "uint16_t sequence, uint8_t flags"),
    "REQUEST_EVENT": (
        412,
        "uint8_t target_system, uint8_t target_component, "
        "uint16_t first_sequence, uint16_t last_sequence",
    ),
    "RESPONSE_EVENT_ERROR": (
        413,
        "uint8_t target_system, uint8_t target_component, "
        "uint16_t sequence, uint16_t sequence_oldest_available, "
        "uint8_t reason",
    ),
    "AVAILABLE_MODES": (
        435,
        "uint8_t number_modes, uint8_t mode_index, uint8_t standard_mode, "
        "uint32_t custom_mode, uint32_t properties, char[35] mode_name",
    ),
    "CURRENT_MODE": (
        436,
        "uint8_t standard_mode, uint32_t custom_mode, uint32_t intended_custom_mode",
    ),
    "AVAILABLE_MODES_MONITOR": (437, "uint8_t seq"),
}
EXTENSIONS = {  # name: fields behind those that pymavlink has, 0 where a sender leaves them out
    "MISSION_CURRENT": "uint32_t mission_id, uint32_t fence_id, uint32_t rally_points_id",
    "MISSION_COUNT": "uint32_t opaque_id",
    "MISSION_ACK": "uint32_t opaque_id",
}
_CODES = {
    "char": "s",
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
    "float": "f",
    "double": "d",
}


def _fields(text: str) -> list[tuple[str, int, str]]:
    """Type, length of the array or 0, and name of each field."""
    fields = []
    for words in text.split(", "):
        kind, field = words.split()
        kind, _, count = kind.rstrip("]").partition("[")
        fields.append((kind, int(count or 0), field))
    return fields


def _define(name: str, number: int, text: str) -> None:
    """Makes a message class as pymavlink's generator does, and adds it to the dialect."""
    fields = _fields(text)
    ordered = sorted(fields, key=lambda f: -struct.calcsize(_CODES[f[0]]))  # the wire's order
    crc = x25crc()
    crc.accumulate_str(f"{name} ")
    for kind, length, field in ordered:
        crc.accumulate_str(f"{kind} {field} ")
        if length:
            crc.accumulate([length])
    names, wire = [f[2] for f in fields], [f[2] for f in ordered]
    layout = "<" + "".join(f"{length or ''}{_CODES[kind]}" for kind, length, _ in ordered)
    native = "<" + "".join(_CODES[kind].replace("s", "c") for kind, *_ in ordered)
    unpacker = struct.Struct(layout)

    def __init__(self: Any, *args: Any, **values: Any) -> None:  # a message's fields
        mavlink.MAVLink_message.__init__(self, number, name)
        self._fieldnames, self._instance_field, self._instance_offset = names, None, -1
        values.update(zip(names, args))
        if values.keys() != set(names):
            raise TypeError(f"{name} needs {', '.join(names)}")
        vars(self).update(values)

    def pack(self: MavlinkMessage, mav: mavlink.MAVLink, force_mavlink1: bool = False) -> bytes:
        flat = []
        for kind, length, field in ordered:
            value = getattr(self, field)
            if kind == "char":
                flat.append(value.encode() if isinstance(value, str) else value)
            else:
                flat += list(value) if length else [value]
        return self._pack(mav, self.crc_extra, unpacker.pack(*flat), force_mavlink1=force_mavlink1)

    cls = type(
        f"MAVLink_{name.lower()}_message",
        (mavlink.MAVLink_message,),
        {
            "id": number,
            "msgname": name,
            "name": name,
            "fieldnames": names,
            "ordered_fieldnames": wire,
            "fieldtypes": [f[0] for f in fields],
            "fielddisplays_by_name": {},
            "fieldenums_by_name": {},
            "fieldunits_by_name": {},
            "native_format": bytearray(native.encode()),
            "orders": [wire.index(n) for n in names],
            "lengths": [1 if kind == "char" else length or 1 for kind, length, _ in ordered],
            "array_lengths": [length for _, length, _ in ordered],
            "crc_extra": (crc.crc & 0xFF) ^ (crc.crc >> 8),
            "unpacker": unpacker,
            "instance_field": None,
            "instance_offset": -1,
            "__init__": __init__,
            "pack": pack,
        },
    )
    setattr(mavlink, f"MAVLINK_MSG_ID_{name}", number)
    setattr(mavlink, cls.__name__, cls)
    mavlink.mavlink_map[number] = cls


def _extend(name: str, text: str) -> None:
    """Adds fields to a message class; extensions leave its CRC as it is. Arrays are not for them.

    A newer pymavlink may have the fields already.
    """
    base: Any = getattr(mavlink, f"MAVLink_{name.lower()}_message")
    added = [field for field in _fields(text) if field[2] not in base.fieldnames]
    if not added:
        return
    new = [field[2] for field in added]
    names, wire = [*base.fieldnames, *new], [*base.ordered_fieldnames, *new]
    codes = "".join(_CODES[field[0]] for field in added)
    unpacker = struct.Struct(base.unpacker.format + codes)

    def __init__(self: Any, *args: Any, **values: Any) -> None:  # a message's fields
        count = len(base.fieldnames)
        given = {
            **dict.fromkeys(new, 0),
            **dict(zip(new, args[count:])),
            **{field: values.pop(field) for field in new if field in values},
        }
        base.__init__(self, *args[:count], **values)
        self._fieldnames = names
        vars(self).update(given)

    def pack(self: MavlinkMessage, mav: mavlink.MAVLink, force_mavlink1: bool = False) -> bytes:
        kind = base if force_mavlink1 else cls  # MAVLink 1 has no extensions
        values = (getattr(self, name) for name in kind.ordered_fieldnames)
        return self._pack(
            mav, self.crc_extra, kind.unpacker.pack(*values), force_mavlink1=force_mavlink1
        )

    count = len(added)
    cls: Any = type(
        base.__name__,
        (base,),
        {
            "fieldnames": names,
            "ordered_fieldnames": wire,
            "fieldtypes": [*base.fieldtypes, *(field[0] for field in added)],
            "native_format": base.native_format + codes.encode(),
            "orders": [wire.index(n) for n in names],
            "lengths": [*base.lengths, *[1] * count],
            "array_lengths": [*base.array_lengths, *[0] * count],
            "unpacker": unpacker,
            "__init__": __init__,
            "pack": pack,
        },
    )
    setattr(mavlink, cls.__name__, cls)
    mavlink.mavlink_map[base.id] = cls


for _name, (_number, _text) in LEFT_OUT.items():
    if _number not in mavlink.mavlink_map:  # a newer pymavlink may have it
        _define(_name, _number, _text)
for _name, _text in EXTENSIONS.items():
    _extend(_name, _text)
