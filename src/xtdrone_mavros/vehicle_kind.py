"""Kinds of vehicles, which differ in how they are commanded."""

from enum import Enum

from xtdrone_core.mavlink.dialect import mavlink


class Kind(Enum):
    """Kinds of vehicles, under the names of XTDrone's scripts."""

    MULTIROTOR = "multirotor"
    PLANE = "plane"
    VTOL = "VTOL"
    ROVER = "rover"
    BOAT = "boat"


GROUND = (Kind.ROVER, Kind.BOAT)  # move forward and steer
_OF_MAV_TYPE = {
    mavlink.MAV_TYPE_FIXED_WING: Kind.PLANE,
    mavlink.MAV_TYPE_GROUND_ROVER: Kind.ROVER,
    mavlink.MAV_TYPE_SURFACE_BOAT: Kind.BOAT,
    **dict.fromkeys(
        range(mavlink.MAV_TYPE_VTOL_DUOROTOR, mavlink.MAV_TYPE_VTOL_RESERVED5 + 1), Kind.VTOL
    ),
}
# By PX4's vehicle_type, which changes in flight for a VTOL.
OF_VEHICLE_TYPE = {1: Kind.MULTIROTOR, 2: Kind.PLANE, 3: Kind.ROVER}
_ON_WINGS = (mavlink.MAV_VTOL_STATE_TRANSITION_TO_FW, mavlink.MAV_VTOL_STATE_FW)


def kind_of(mav_type: int) -> Kind:
    """Returns the kind for the MAV_TYPE of a HEARTBEAT; unknown types are multirotors."""
    return _OF_MAV_TYPE.get(mav_type, Kind.MULTIROTOR)


def on_wings(kind: Kind, vtol_state: int) -> bool:
    """Returns whether a vehicle is in fixed-wing flight, or in the transition to it.

    Args:
        kind: Kind of vehicle.
        vtol_state: MAV_VTOL_STATE of its EXTENDED_SYS_STATE, which counts for a VTOL only.
    """
    return kind is Kind.PLANE or (kind is Kind.VTOL and vtol_state in _ON_WINGS)
