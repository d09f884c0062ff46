"""A flight mode with control laws of its own for each type of vehicle."""

import math

import numpy as np

from xtdrone_autopilot.modes.flight_mode import FlightMode
from xtdrone_core.modes import Mode
from xtdrone_dynamics.compiled import Record, njit

CLIMB = 1.0  # of multicopters [m/s]
ROLL = 0.3  # of fixed wings [rad]
STEERING = 0.4  # of rovers


@njit
def climb(vehicle: Record, params: Record, estimate: Record, t_us: int, dt: float) -> None:
    """Climbs, and stands over its place."""
    for k in range(3):
        vehicle.sp_pos[k] = vehicle.sp_acc[k] = math.nan
        vehicle.sp_vel[k] = CLIMB if k == 2 else 0.0
    vehicle.sp_yaw, vehicle.sp_yaw_rate = math.nan, 0.0


@njit
def bank(
    vehicle: Record, wing: Record, params: Record, motion: np.ndarray, t_us: int, dt: float
) -> None:
    """Banks to the right."""
    wing.roll, wing.pitch, wing.throttle = ROLL, 0.05, 0.6


@njit
def circle(vehicle: Record, params: Record, estimate: Record, t_us: int, dt: float) -> None:
    """Drives a circle to the right."""
    vehicle.throttle, vehicle.steering = 0.3, STEERING


MODE = FlightMode(Mode.SPIRAL, multicopter=climb, fixed_wing=bank, rover=circle)
