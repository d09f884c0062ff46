"""Guidance of a rover along a line by L1, as PX4's library l1 (ECL_L1_Pos_Controller).

S. Park, J. Deyst, J. How: A New Nonlinear Guidance Logic for Trajectory Tracking (2004).
"""

import math
from typing import Any

from xtdrone_dynamics.compiled import njit

_SLOWEST = 0.1  # ground speed that it counts with at least [m/s]
_BEHIND = math.cos(math.radians(135.0))
_PAST = math.cos(math.radians(100.0))


@njit
def lateral_acceleration(
    q: Any,
    a: tuple[float, float],
    b: tuple[float, float],
    pos: tuple[float, float],
    vel: tuple[float, float],
) -> float:
    """Acceleration to the left that leads to the line from a to b [m/s^2].

    Args:
        q: Record of parameters: GND_L1_PERIOD and GND_L1_DAMPING.
        a, b: Ends of the line; where they coincide, straight to b [m].
        pos, vel: Of the vehicle, east and north [m], [m/s].
    """
    speed = max(math.hypot(vel[0], vel[1]), _SLOWEST)
    ahead = q.GND_L1_DAMPING * q.GND_L1_PERIOD / math.pi * speed
    lx, ly = b[0] - a[0], b[1] - a[1]
    if math.hypot(lx, ly) < 1e-6:
        lx, ly = b[0] - pos[0], b[1] - pos[1]
    length = max(math.hypot(lx, ly), 1e-6)
    lx, ly = lx / length, ly / length
    ax, ay, bx, by = pos[0] - a[0], pos[1] - a[1], pos[0] - b[0], pos[1] - b[1]
    out_a, out_b = math.hypot(ax, ay), math.hypot(bx, by)
    if out_a > ahead and (ax * lx + ay * ly) / max(out_a, 1.0) < _BEHIND:
        angle = _angle_to(-ax, -ay, vel)
    elif out_b > 0.0 and (bx * lx + by * ly) / out_b > _PAST:
        angle = _angle_to(-bx, -by, vel)
    else:
        beside = (lx * ay - ly * ax) / max(ahead, 0.1)  # to the left of the line
        angle = _angle_to(lx, ly, vel) - math.asin(min(1.0, max(-1.0, beside)))
    angle = min(0.5 * math.pi, max(-0.5 * math.pi, angle))
    gain = 4.0 * q.GND_L1_DAMPING * q.GND_L1_DAMPING
    return gain * speed * speed / max(ahead, 1e-3) * math.sin(angle)


@njit
def _angle_to(x: float, y: float, vel: tuple[float, float]) -> float:
    """Angle from the velocity to a direction, positive to the left [rad]."""
    return math.atan2(vel[0] * y - vel[1] * x, vel[0] * x + vel[1] * y)
