"""Failsafe conditions: each is one class, listed in CONDITIONS.

A new failsafe is a new class here. It defines when it holds, the action (by one of PX4's
parameters), the message, and the arming checks that go with it; failsafes.py does it, `xtdrone
doctor` reports it, and arming_checks.py, which lists the checks in order, tells ground stations.
"""

from .attitude import AttitudeFailure
from .battery_level import BatteryCritical, BatteryEmergency, BatteryLow
from .condition import PERIOD_US, Action, Condition, Watched, sticks_held
from .estimation import EstimatorFailure, PositionLost
from .flight_time import FlightTime
from .geofence import Geofence
from .links import DataLink, Sticks
from .quadchute import Quadchute
from .rotor import RotorFailure
from .wind import WindHigh, WindWarning

__all__ = [
    "CONDITIONS",
    "PERIOD_US",
    "Action",
    "AttitudeFailure",
    "BatteryCritical",
    "BatteryEmergency",
    "BatteryLow",
    "Condition",
    "DataLink",
    "FlightTime",
    "Geofence",
    "RotorFailure",
    "Watched",
    "WindHigh",
    "WindWarning",
    "sticks_held",
]

CONDITIONS = (
    DataLink,
    Sticks,
    BatteryLow,
    BatteryCritical,
    BatteryEmergency,
    Geofence,
    WindWarning,
    WindHigh,
    FlightTime,
    Quadchute,
    PositionLost,
    AttitudeFailure,
    EstimatorFailure,
    RotorFailure,
)
