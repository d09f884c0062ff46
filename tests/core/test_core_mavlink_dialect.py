"""The messages that pymavlink leaves out are those of common.xml."""

import pytest
from pymavlink.dialects.v20 import all as everything

from xtdrone_core.mavlink.dialect import EXTENSIONS, LEFT_OUT, mavlink
from xtdrone_core.mavlink.framing import frames

# CRC_EXTRA of MAVLink's C headers, over names, types and order of the fields.
CRC_EXTRA = {
    "ESC_INFO": 251,
    "ESC_STATUS": 10,
    "CELLULAR_STATUS": 72,
    "PLAY_TUNE_V2": 110,
    "AVAILABLE_MODES": 134,
    "CURRENT_MODE": 193,
    "AVAILABLE_MODES_MONITOR": 30,
    "PROTOCOL_VERSION": 217,
    "COMPONENT_METADATA": 182,
    "EVENT": 160,
    "CURRENT_EVENT_SEQUENCE": 106,
    "REQUEST_EVENT": 33,
    "RESPONSE_EVENT_ERROR": 77,
}
VALUE = {"char": b"text", "float": 0.5}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_definition(name):
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    assert kind.crc_extra == CRC_EXTRA[name]
    generated = everything.mavlink_map.get(kind.id)
    if generated is not None:
        assert kind.native_format == generated.native_format
        assert (kind.orders, kind.lengths) == (generated.orders, generated.lengths)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_message_comes_back(name):
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    lengths = dict(zip(kind.ordered_fieldnames, kind.array_lengths))
    values = {}
    for k, (field, of) in enumerate(zip(kind.fieldnames, kind.fieldtypes)):
        value = VALUE.get(of, k + 1)
        values[field] = [value] * lengths[field] if lengths[field] and of != "char" else value
    data = bytes(kind(**values).pack(mavlink.MAVLink(None, 7, 1)))
    (found,) = frames(data)
    assert (found.message_id, found.system) == (kind.id, 7)
    back = mavlink.MAVLink(None).decode(bytearray(data)).to_dict()
    assert {
        k: v.encode() if isinstance(v, str) else v for k, v in back.items() if k != "mavpackettype"
    } == values


def test_a_missing_field_is_said():
    with pytest.raises(TypeError, match="CURRENT_MODE needs standard_mode"):
        mavlink.MAVLink_current_mode_message(1)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extensions(name):
    """They come back, do not change the CRC, and are zero where a sender leaves them out."""
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    assert kind.crc_extra == everything.mavlink_map[kind.id].crc_extra
    assert kind.fieldnames[-1] == EXTENSIONS[name].split()[-1]
    values = {field: k + 1 for k, field in enumerate(kind.fieldnames)}
    for given in (
        values,
        {field: values[field] for field in everything.mavlink_map[kind.id].fieldnames},
    ):
        data = kind(**given).pack(mavlink.MAVLink(None, 7, 1))
        back = mavlink.MAVLink(None).decode(bytearray(data)).to_dict()
        assert back == {"mavpackettype": name, **dict.fromkeys(values, 0), **given}
    assert kind(*values.values()).to_dict() == {"mavpackettype": name, **values}
    of_mavlink_1 = kind(**values).pack(mavlink.MAVLink(None, 7, 1), force_mavlink1=True)
    plain = everything.mavlink_map[kind.id](
        *list(values.values())[: -len(EXTENSIONS[name].split(", "))]
    ).pack(mavlink.MAVLink(None, 7, 1), force_mavlink1=True)
    assert of_mavlink_1 == plain
