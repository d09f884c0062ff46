"""Geometric control of Aerial Gym (1)-(9), after Lee, Leok and McClamroch (2010).

Scalar functions without branches or trigonometry, so that they run in lanes. The gains k_r and k_w
act on angular acceleration, so that they fit vehicles of any inertia; yaw gets a fraction of them.
"""

import math

from xtdrone_dynamics import quaternion, rigid_body
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.shapes import Symmetric, Vector

# Aerial Gym names no gains: here those of the flight stack's loops.
K_P, K_V = 0.95, 1.8  # position to velocity, velocity to acceleration [1/s]
K_R, K_W = 200.0, 20.0  # errors of attitude and of body rates to acceleration [1/s^2], [1/s]
YAW_R, YAW_W = 0.2, 0.5  # fractions of these for yaw
TAN_TILT = 1.0  # tangent of the largest tilt
MIN_LIFT = 0.1  # smallest vertical acceleration that the rotors give, over gravity


@njit
def desired_acceleration(
    vx: float, vy: float, vz: float, wx: float, wy: float, wz: float, gravity: float
) -> Vector:
    """Returns the acceleration set-point of the rotors, (6), within the tilt limit.

    Args:
        vx, vy, vz: Velocity, world [m/s].
        wx, wy, wz: Velocity set-point, world [m/s].
        gravity: [m/s^2].

    Returns:
        (x, y, z) world [m/s^2].
    """
    ax, ay = K_V * (wx - vx), K_V * (wy - vy)
    az = max(K_V * (wz - vz) + gravity, MIN_LIFT * gravity)
    scale = min(1.0, az * TAN_TILT / math.sqrt(max(ax * ax + ay * ay, 1e-12)))
    return scale * ax, scale * ay, az


@njit
def attitude_control(
    ax: float,
    ay: float,
    az: float,
    cy: float,
    sy: float,
    yaw_rate: float,
    qx: float,
    qy: float,
    qz: float,
    qw: float,
    wx: float,
    wy: float,
    wz: float,
    mass: float,
    inertia: Symmetric,
) -> tuple[float, float, float, float]:
    """Collective thrust and torque for an acceleration and a heading, (1)-(5) and (7)-(9).

    Args:
        ax, ay, az: Acceleration set-point of the rotors, world [m/s^2].
        cy, sy: Cosine and sine of the yaw set-point.
        yaw_rate: Its rate [rad/s].
        qx, qy, qz, qw: Attitude, body to world.
        wx, wy, wz: Angular velocity, body [rad/s].
        mass: [kg].
        inertia: Packed, body [kg m^2].

    Returns:
        (thrust [N], torque x, y, z [N m], body).
    """
    # (7): the part of the acceleration along the body's z axis.
    _, _, along = quaternion.rotate_inverse(qx, qy, qz, qw, ax, ay, az)
    thrust = max(mass * along, 0.0)
    # (8), (9): pitch and roll of the attitude whose z axis lies along it.
    forward, left = cy * ax + sy * ay, cy * ay - sy * ax
    lean = math.sqrt(forward * forward + az * az)
    size = math.sqrt(left * left + lean * lean)
    cp, sp, cr, sr = az / lean, forward / lean, lean / size, -left / size
    # (1): its axes, in the body's frame; R^T R_d.
    xx, xy, xz = quaternion.rotate_inverse(qx, qy, qz, qw, cy * cp, sy * cp, -sp)
    zx, zy, zz = quaternion.rotate_inverse(
        qx, qy, qz, qw, cy * sp * cr + sy * sr, sy * sp * cr - cy * sr, cp * cr
    )
    yx, _, yz = zy * xz - zz * xy, zz * xx - zx * xz, zx * xy - zy * xx
    # (3), and (4) with (2).
    ex, ey, ez = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    rx, ry, rz = quaternion.rotate_inverse(qx, qy, qz, qw, 0.0, 0.0, yaw_rate)
    tx, ty, tz = rigid_body.symmetric_product(
        inertia,
        -K_R * ex - K_W * (wx - rx),
        -K_R * ey - K_W * (wy - ry),
        -YAW_R * K_R * ez - YAW_W * K_W * (wz - rz),
    )
    # (5)
    gx, gy, gz = rigid_body.gyroscopic_torque(inertia, wx, wy, wz)
    return thrust, tx - gx, ty - gy, tz - gz


@njit
def rotate_heading(cy: float, sy: float, angle: float) -> tuple[float, float]:
    """Cosine and sine of a yaw that has grown by a small angle [rad]."""
    x = angle * angle
    cosine = 1.0 - x * (0.5 - x * (1.0 / 24.0 - x / 720.0))
    sine = angle * (1.0 - x * (1.0 / 6.0 - x * (1.0 / 120.0 - x / 5040.0)))
    scale = 1.0 / math.sqrt(cy * cy + sy * sy)
    return scale * (cy * cosine - sy * sine), scale * (sy * cosine + cy * sine)
