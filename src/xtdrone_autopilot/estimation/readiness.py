"""Says which source of the position a vehicle lacks, and the parameter that says so."""

from xtdrone_dynamics.compiled import Record

from .gnss import GPS_POSITION
from .state import EV_POSITION

_HEARD_STEPS = 25  # readings of the IMU within which the magnetometer gives one


def why_no_attitude(state: Record) -> str:
    """Why a vehicle has not been aligned; state is its FILTER."""
    if state["samples"] > _HEARD_STEPS and state["field_samples"] == 0:
        return "no reading of the magnetometer has come, which gives the first heading"
    return "it must rest a moment to find its attitude, with a magnetometer"


def why_no_source(tuning: Record, params: Record, readings: Record, has_gps: bool) -> str:
    """Why neither GPS nor vision gives a position.

    Args:
        tuning: The EkfParameters of the vehicle.
        params: Its parameters.
        readings: Its SENSORS, of the last step.
        has_gps: Whether it carries a receiver.
    """
    if not has_gps:
        return f"it has no GPS, and {_vision(params)}"
    used = int(params["EKF2_GPS_CTRL"])
    if not used & GPS_POSITION:
        lacks = "" if used == 0 else ", 1 is for the position"
        return f"GPS is not used: EKF2_GPS_CTRL is {used}{lacks}, and {_vision(params)}"
    if readings["gps_fix"] < 3:
        return "no GPS fix has come"
    for name, error, maximum, parameter in (
        ("horizontal", readings["gps_eph"], tuning["max_eph"], "EKF2_REQ_EPH"),
        ("vertical", readings["gps_epv"], tuning["max_epv"], "EKF2_REQ_EPV"),
    ):
        if not error <= maximum:
            return (
                f"no GPS fix is good enough: its {name} error is {error:.1f} m, "
                f"{maximum:.1f} m are allowed by {parameter} {params[parameter]:g}"
            )
    return ""


def _vision(params: Record) -> str:
    used = int(params["EKF2_EV_CTRL"])
    if used & EV_POSITION:
        return f"no vision pose has come (EKF2_EV_CTRL {used})"
    lacks = "" if used == 0 else ", 1 is for the position"
    return f"vision is not used either: EKF2_EV_CTRL is {used}{lacks}"
