"""The pilot of Betaflight: body rates and thrust as the sticks of a transmitter, in ACRO."""

import numpy as np

from xtdrone_autopilot.state.vehicle_status import NO_SET_POINT, thrust_normalised

from .link import CHANNELS

LOW, MIDDLE, HIGH = 1000.0, 1500.0, 2000.0  # pulse widths [us]
MIN_CHECK = 1050.0  # throttle at which the motors begin to rise from idle [us]
IDLE = 0.055  # output of a motor there
RATES = 250, 250, 200  # roll, pitch and yaw rate at full stick [degrees/s]
ROLL, PITCH, THROTTLE, YAW, ARM = range(5)  # channels


def sticks(status: np.ndarray, may_lift: bool) -> np.ndarray:
    """Pulse widths (CHANNELS,) that command what the set-points of one vehicle ask [us].

    Args:
        status: (1,) record of VEHICLE_STATUS: sp_kind, sp_rates, sp_thrust, armed.
        may_lift: Whether the throttle may leave its lowest position: Betaflight arms only there.
    """
    vehicle = status[0]
    channels = np.full(CHANNELS, LOW)
    channels[[ROLL, PITCH, YAW]] = MIDDLE
    if not vehicle["armed"]:
        return channels
    channels[ARM] = HIGH
    if vehicle["sp_kind"] == NO_SET_POINT or not may_lift:
        return channels
    throttle = (float(thrust_normalised(status)[0]) - IDLE) / (1.0 - IDLE)
    channels[THROTTLE] = MIN_CHECK + min(max(throttle, 0.0), 1.0) * (HIGH - MIN_CHECK)
    # Body FLU: a stick to the right rolls to the right, one ahead pitches down, both positive
    # here, and one to the right turns clockwise.
    deflection = np.degrees(vehicle["sp_rates"]) / RATES * (1.0, 1.0, -1.0)
    channels[[ROLL, PITCH, YAW]] += (HIGH - MIDDLE) * np.clip(np.nan_to_num(deflection), -1.0, 1.0)
    return channels
