"""Paparazzi's messages of hardware in the loop, in pprzlink 2.0's binary format.

A frame is the byte 0x99, its length, sender, receiver, class and component, number of the message,
payload, and two bytes of checksum over all but the first. Source: pprzlink, message_definitions/
v1.0/messages.xml and doc/messages.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

START = 0x99
TELEMETRY, DATALINK = 1, 2  # classes: from and to the flight controller
HITL_IMU = 70, struct.Struct("<9fB")  # gyro [rad/s], accelerometer [m/s^2], magnetometer; aircraft
# Latitude, longitude [degrees], height over the ellipsoid and the geoid [m], velocity ECEF [m/s],
# time [s]; fix, aircraft.
HITL_GPS = 71, struct.Struct("<8fBB")
# Pressure [Pa], airspeed [m/s], angles of attack and sideslip [rad]; which are new, aircraft.
HITL_AIR_DATA = 73, struct.Struct("<4fBB")
BARO, AIRSPEED = 1, 2  # bits of 'which are new'
MOTOR_MIXING, ROTORCRAFT_FP, ROTORCRAFT_STATUS = 112, 147, 231
MAX_PPRZ = 9600.0  # full command
_FP = struct.Struct("<14iH")  # east, north, up; their rates; roll, pitch, yaw; five more; time
_STATUS = struct.Struct("<I10BHff")  # the 7th is ap_in_flight, the 8th ap_motors_on
_METRE, _SPEED, _ANGLE = 1 << 8, 1 << 19, 1 << 12  # fixed point: a metre, a metre/s, a radian
_OVERHEAD = 8  # bytes of a frame besides its payload


class Message(NamedTuple):
    """A valid frame of the telemetry class."""

    sender: int
    number: int
    payload: bytes


class Position(NamedTuple):
    """Position ENU [m], velocity ENU [m/s], and roll, pitch, yaw from north, FRD [rad]."""

    pos: tuple[float, ...]
    vel: tuple[float, ...]
    attitude: tuple[float, ...]


def frame(
    message: tuple[int, struct.Struct], *values: float, sender: int = 0, kind: int = DATALINK
) -> bytes:
    """A message as bytes; values in the order of its structure."""
    number, layout = message
    payload = layout.pack(*values)
    return enclosed(payload, number, sender, kind)


def enclosed(payload: bytes, number: int, sender: int, kind: int) -> bytes:
    """A payload in a frame."""
    inner = bytes((_OVERHEAD + len(payload), sender, 0, kind, number)) + payload
    return bytes((START,)) + inner + _checksum(inner)


def motors(payload: bytes) -> list[float]:
    """Commands of MOTOR_MIXING, 0 to 1, clipped."""
    count = payload[0] if payload else 0
    if len(payload) != 1 + 2 * count:
        return []
    return [
        min(max(value / MAX_PPRZ, 0.0), 1.0) for value in struct.unpack(f"<{count}h", payload[1:])
    ]


def position(payload: bytes) -> Position | None:
    """A ROTORCRAFT_FP, None if it is of another length."""
    if len(payload) != _FP.size:
        return None
    values = _FP.unpack(payload)
    return Position(
        tuple(x / _METRE for x in values[:3]),
        tuple(x / _SPEED for x in values[3:6]),
        tuple(x / _ANGLE for x in values[6:9]),
    )


def status(payload: bytes) -> tuple[bool, bool] | None:
    """Decodes ROTORCRAFT_STATUS: whether the motors are on and whether it flies, or None."""
    if len(payload) != _STATUS.size:
        return None
    values = _STATUS.unpack(payload)
    return bool(values[7]), bool(values[6])


class Reader:
    """Finds frames in a byte stream that arrives in pieces.

    Attributes:
        garbage: Bytes so far that belong to no frame.
        frames: Valid frames so far.
    """

    def __init__(self) -> None:
        self._rest = b""
        self.garbage = self.frames = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """The telemetry messages that these bytes complete."""
        buffer, at = self._rest + data, 0
        while True:
            start = buffer.find(START, at)
            if start < 0:
                self.garbage += len(buffer) - at
                self._rest = b""
                return
            self.garbage += start - at
            length = buffer[start + 1] if start + 1 < len(buffer) else _OVERHEAD
            if start + length > len(buffer) and length >= _OVERHEAD:
                self._rest = buffer[start:]
                return
            inner = buffer[start + 1 : start + length - 2]
            if (
                length < _OVERHEAD
                or _checksum(inner) != buffer[start + length - 2 : start + length]
            ):
                self.garbage += 1
                at = start + 1
                continue
            at = start + length
            self.frames += 1
            if inner[3] & 0x0F == TELEMETRY:
                yield Message(inner[1], inner[4], inner[5:])


def _checksum(data: bytes) -> bytes:
    a = b = 0
    for byte in data:
        a = (a + byte) & 0xFF
        b = (b + a) & 0xFF
    return bytes((a, b))
