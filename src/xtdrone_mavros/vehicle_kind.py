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
OF_VEHICLE_TYPE = {1: Kind.MULTIROTOR, 2: Kind.PLANE, 3: Kind.ROVER}  # PX4's; a VTOL changes it
_ON_WINGS = (mavlink.MAV_VTOL_STATE_TRANSITION_TO_FW, mavlink.MAV_VTOL_STATE_FW)


def kind_of(mav_type: int) -> Kind:
    """The kind of a vehicle by the type of its HEARTBEAT; unknown types are multirotors."""
    return _OF_MAV_TYPE.get(mav_type, Kind.MULTIROTOR)


def on_wings(kind: Kind, vtol_state: int) -> bool:
    """Whether a vehicle is in fixed-wing flight, or in the transition to it.

    Args:
        kind: Of the vehicle.
        vtol_state: MAV_VTOL_STATE of its EXTENDED_SYS_STATE; without effect unless it is a VTOL.
    """
    return kind is Kind.PLANE or (kind is Kind.VTOL and vtol_state in _ON_WINGS)
