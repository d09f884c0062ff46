"""Limits of the fields of messages: whatever is beyond is refused before a handler sees it.

Integers are limited by their types. Numbers with a point can be anything, so those that a handler
uses are in LIMITED, with limits that follow from their units in the dialect. Items of missions
have limits of their own, since files bring them as well: see navigation/mission_items.py.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink

from ..navigation.mission_items import PARAM_MAX

FARTHEST = 1e6  # no position or set-point is larger than this [m, m/s, m/s^2]
# Largest value by unit; no yaw or body rate is larger than 100 rad or rad/s.
_BY_UNIT = {"m": FARTHEST, "m/s": FARTHEST, "m/s/s": FARTHEST, "rad": 100.0, "rad/s": 100.0}
_DEGREES = {"lat": 90e7, "lon": 180e7}  # limits of fields in degE7, by how their names begin
_UNIT_LENGTH = 1.1  # largest component of a quaternion
_MASK = "type_mask"


@dataclass(frozen=True)
class Limit:
    """The range of one field, or of all numbers of an array."""

    field: str
    minimum: float
    maximum: float
    may_be_unset: bool = False  # NaN says that it is not given
    ignored_by: int = 0  # bits of the type mask, each of which says that it does not count

    def allows(self, value: Any) -> bool:  # a field of a message
        """Returns whether a value, or each number of an array, is in range."""
        return all(
            self.minimum <= number <= self.maximum or (self.may_be_unset and number != number)
            for number in (value if isinstance(value, (list, tuple)) else (value,))
        )

    def __str__(self) -> str:
        span = (
            f"up to {self.maximum:g}"
            if self.minimum == -self.maximum
            else f"from {self.minimum:g} to {self.maximum:g}"
        )
        mask = ", or be ignored by the type mask" if self.ignored_by else ""
        return f"{self.field} has to be a number {span}{mask}"


def _limits(
    name: str,
    *fields: str,
    maximum: float | None = None,
    minimum: float | None = None,
    may_be_unset: bool = False,
    first_bit: int | None = None,
    bits: int = 0,
) -> Iterator[Limit]:
    """Limits of some fields of a message.

    Args:
        name: Name of the message.
        fields: Their names.
        maximum: Largest value; None = by the unit.
        minimum: Smallest; None = the largest with the other sign.
        may_be_unset: Whether they may be NaN.
        first_bit: Bit of the type mask that ignores the first of them; the others follow.
        bits: Bits of the type mask, each of which ignores all of them.
    """
    kind = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    for k, field in enumerate(fields):
        largest = maximum
        if largest is None:
            unit = kind.fieldunits_by_name[field]
            largest = _DEGREES[field[:3]] if unit == "degE7" else _BY_UNIT[unit]
        yield Limit(
            field,
            -largest if minimum is None else minimum,
            largest,
            may_be_unset,
            bits if first_bit is None else 1 << first_bit + k,
        )


def _of_position_target(name: str, *place: str) -> tuple[Limit, ...]:
    return (
        *_limits(name, *place, first_bit=0),
        *_limits(name, "vx", "vy", "vz", first_bit=3),
        *_limits(name, "afx", "afy", "afz", first_bit=6),
        *_limits(name, "yaw", "yaw_rate", first_bit=10),
    )


_PARAMS = tuple(f"param{k}" for k in range(1, 8))
_RATES = ("body_roll_rate", "body_pitch_rate", "body_yaw_rate")
THRUST_BODY, THRUST_IGNORE, ATTITUDE_IGNORE = 32, 64, 128  # type mask of attitude targets
LIMITED: dict[str, tuple[Limit, ...]] = {
    "COMMAND_LONG": (*_limits("COMMAND_LONG", *_PARAMS, maximum=PARAM_MAX, may_be_unset=True),),
    "COMMAND_INT": (
        *_limits("COMMAND_INT", *_PARAMS[:4], "z", maximum=PARAM_MAX, may_be_unset=True),
    ),
    "SET_POSITION_TARGET_LOCAL_NED": _of_position_target(
        "SET_POSITION_TARGET_LOCAL_NED", "x", "y", "z"
    ),
    "SET_POSITION_TARGET_GLOBAL_INT": _of_position_target(
        "SET_POSITION_TARGET_GLOBAL_INT", "lat_int", "lon_int", "alt"
    ),
    "SET_ATTITUDE_TARGET": (
        *_limits("SET_ATTITUDE_TARGET", *_RATES, first_bit=0),
        *_limits("SET_ATTITUDE_TARGET", "q", maximum=_UNIT_LENGTH, bits=ATTITUDE_IGNORE),
        *_limits("SET_ATTITUDE_TARGET", "thrust", maximum=1.0, bits=THRUST_BODY | THRUST_IGNORE),
    ),
    "GIMBAL_MANAGER_SET_ATTITUDE": (
        *_limits("GIMBAL_MANAGER_SET_ATTITUDE", "q", maximum=_UNIT_LENGTH, may_be_unset=True),
        *_limits(
            "GIMBAL_MANAGER_SET_ATTITUDE",
            "angular_velocity_x",
            "angular_velocity_y",
            "angular_velocity_z",
            may_be_unset=True,
        ),
    ),
    "SET_ACTUATOR_CONTROL_TARGET": (
        *_limits("SET_ACTUATOR_CONTROL_TARGET", "controls", maximum=1.0, may_be_unset=True),
    ),
    "MANUAL_CONTROL": (
        *_limits("MANUAL_CONTROL", "x", "y", "r", maximum=1000),
        *_limits("MANUAL_CONTROL", "z", minimum=0, maximum=1000),
    ),
    "VISION_POSITION_ESTIMATE": (
        *_limits("VISION_POSITION_ESTIMATE", "x", "y", "z", "roll", "pitch", "yaw"),
    ),
    "ODOMETRY": (
        *_limits("ODOMETRY", "x", "y", "z"),
        *_limits("ODOMETRY", "q", maximum=_UNIT_LENGTH),
    ),
    "FOLLOW_TARGET": (
        *_limits("FOLLOW_TARGET", "lat", "lon", "alt"),
        *_limits("FOLLOW_TARGET", "vel", may_be_unset=True),
    ),
    "LANDING_TARGET": (
        *_limits("LANDING_TARGET", "x", "y", "z", "angle_x", "angle_y", may_be_unset=True),
    ),
    "LOCAL_POSITION_NED": (*_limits("LOCAL_POSITION_NED", "x", "y", "z", "vx", "vy", "vz"),),
    "ATTITUDE_QUATERNION": (
        *_limits("ATTITUDE_QUATERNION", "q1", "q2", "q3", "q4", maximum=_UNIT_LENGTH),
        *_limits("ATTITUDE_QUATERNION", "rollspeed", "pitchspeed", "yawspeed"),
    ),
}


def fault(message: MavlinkMessage) -> str:
    """Returns what is wrong with a message: its first field out of range, or an empty string."""
    for limit in LIMITED.get(message.get_type(), ()):
        counts = not (limit.ignored_by and message.type_mask & limit.ignored_by)
        if counts and not limit.allows(getattr(message, limit.field)):
            return str(limit)
    return ""


def in_range(name: str, record: np.void) -> bool:
    """Returns whether all fields of a record of a message (see layout()) are in range."""
    return all(limit.allows(record[limit.field]) for limit in LIMITED.get(name, ()))


def given(message: MavlinkMessage, *fields: str) -> list[float]:
    """Fields of a set-point, NaN where its type mask says that they do not count."""
    limits = {limit.field: limit for limit in LIMITED[message.get_type()]}
    return [
        math.nan if message.type_mask & limits[field].ignored_by else getattr(message, field)
        for field in fields
    ]
