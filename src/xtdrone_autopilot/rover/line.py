"""L1 guidance of a rover along a line, as PX4's library l1 (ECL_L1_Pos_Controller).

S. Park, J. Deyst, J. How: A New Nonlinear Guidance Logic for Trajectory Tracking (2004).
"""

import math

from xtdrone_dynamics.compiled import Record, njit

_MIN_SPEED = 0.1  # smallest ground speed in the computation [m/s]
# Cosines of the angle to the line beyond which the vehicle is behind its start or past its end.
_COS_BEHIND_START = math.cos(math.radians(135.0))
_COS_PAST_END = math.cos(math.radians(100.0))


@njit
def lateral_acceleration(
    params: Record,
    a: tuple[float, float],
    b: tuple[float, float],
    pos: tuple[float, float],
    vel: tuple[float, float],
) -> float:
    """Returns the acceleration to the left that guides onto the line from a to b [m/s^2].

    Args:
        params: Record of the parameters, with GND_L1_PERIOD and GND_L1_DAMPING.
        a, b: Start and end of the line, (east, north) [m]; if they coincide, it guides to b.
        pos, vel: Position and velocity of the vehicle, (east, north) [m], [m/s].
    """
    speed = max(math.hypot(vel[0], vel[1]), _MIN_SPEED)
    l1_distance = params.GND_L1_DAMPING * params.GND_L1_PERIOD / math.pi * speed
    lx, ly = b[0] - a[0], b[1] - a[1]
    if math.hypot(lx, ly) < 1e-6:
        lx, ly = b[0] - pos[0], b[1] - pos[1]
    length = max(math.hypot(lx, ly), 1e-6)
    lx, ly = lx / length, ly / length
    ax, ay, bx, by = pos[0] - a[0], pos[1] - a[1], pos[0] - b[0], pos[1] - b[1]
    distance_a, distance_b = math.hypot(ax, ay), math.hypot(bx, by)
    if distance_a > l1_distance and (ax * lx + ay * ly) / max(distance_a, 1.0) < _COS_BEHIND_START:
        angle = _angle_to(-ax, -ay, vel)
    elif distance_b > 0.0 and (bx * lx + by * ly) / distance_b > _COS_PAST_END:
        angle = _angle_to(-bx, -by, vel)
    else:
        xtrack_sine = (lx * ay - ly * ax) / max(l1_distance, 0.1)  # positive to the left
        angle = _angle_to(lx, ly, vel) - math.asin(min(1.0, max(-1.0, xtrack_sine)))
    angle = min(0.5 * math.pi, max(-0.5 * math.pi, angle))
    gain = 4.0 * params.GND_L1_DAMPING * params.GND_L1_DAMPING
    return gain * speed * speed / max(l1_distance, 1e-3) * math.sin(angle)


@njit
def _angle_to(x: float, y: float, vel: tuple[float, float]) -> float:
    """Returns the angle from the velocity to a direction (x, y), positive to the left [rad]."""
    return math.atan2(vel[0] * y - vel[1] * x, vel[0] * x + vel[1] * y)
