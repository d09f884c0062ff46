"""A free rigid body: its equations, and two methods to integrate them.

step() is the classical Runge-Kutta method of fourth order, for closed-form tests. accelerate() and
displace() are the semi-implicit method of MuJoCo and of Gazebo's ODE, for batches. A state is a
tuple of 13 numbers: position of the centre of gravity (3, world), quaternion xyzw (4), velocity (3,
world), angular velocity (3, body). A symmetric matrix is a tuple (xx, yy, zz, xy, xz, yz).
"""

from .compiled import njit
from .quaternion import multiply, normalize
from .shapes import State, Symmetric, Vector


@njit
def symmetric_product(m: Symmetric, x: float, y: float, z: float) -> Vector:
    """Product of a symmetric matrix m and the vector (x, y, z).

    Returns:
        (x, y, z).
    """
    return (
        m[0] * x + m[3] * y + m[4] * z,
        m[3] * x + m[1] * y + m[5] * z,
        m[4] * x + m[5] * y + m[2] * z,
    )


@njit
def symmetric_inverse(m: Symmetric) -> Symmetric:
    """Inverse of a symmetric positive definite matrix.

    Returns:
        (xx, yy, zz, xy, xz, yz).
    """
    xx, yy, zz, xy, xz, yz = m
    cxx, cxy, cxz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    scale = 1.0 / (xx * cxx + xy * cxy + xz * cxz)
    return (
        cxx * scale,
        (xx * zz - xz * xz) * scale,
        (xx * yy - xy * xy) * scale,
        cxy * scale,
        cxz * scale,
        (xy * xz - xx * yz) * scale,
    )


@njit
def angular_acceleration(
    inertia: Symmetric,
    inverse: Symmetric,
    wx: float,
    wy: float,
    wz: float,
    tx: float,
    ty: float,
    tz: float,
) -> Vector:
    """Euler's equation: J^-1 (tau - omega x J omega); XTDrone (2), Pegasus (3).

    Args:
        inertia, inverse: J and its inverse, body frame [kg m^2].
        wx, wy, wz: Angular velocity, body frame [rad/s].
        tx, ty, tz: Torque about the centre of gravity, body frame [N m].

    Returns:
        (x, y, z) [rad/s^2], body frame.
    """
    gx, gy, gz = gyroscopic_torque(inertia, wx, wy, wz)
    return symmetric_product(inverse, tx + gx, ty + gy, tz + gz)


@njit
def gyroscopic_torque(inertia: Symmetric, wx: float, wy: float, wz: float) -> Vector:
    """Gyroscopic torque -omega x J omega; Pegasus (3).

    Args:
        inertia: J, body frame [kg m^2].
        wx, wy, wz: Angular velocity, body frame [rad/s].

    Returns:
        (x, y, z) [N m], body frame.
    """
    hx, hy, hz = symmetric_product(inertia, wx, wy, wz)
    return wz * hy - wy * hz, wx * hz - wz * hx, wy * hx - wx * hy


@njit
def mean_gyroscopic_torque(
    inertia: Symmetric,
    inverse: Symmetric,
    wx: float,
    wy: float,
    wz: float,
    tx: float,
    ty: float,
    tz: float,
    dt: float,
) -> Vector:
    """Mean of the gyroscopic torque over a step, by Runge-Kutta of fourth order.

    Args:
        inertia, inverse: J and its inverse, body frame [kg m^2].
        wx, wy, wz: Angular velocity at the start, body frame [rad/s].
        tx, ty, tz: Torque, constant in the body frame [N m].
        dt: Length of the step [s].

    Returns:
        (x, y, z) [N m], body frame.
    """
    ax, ay, az = gyroscopic_torque(inertia, wx, wy, wz)
    sx, sy, sz = symmetric_product(inverse, tx + ax, ty + ay, tz + az)
    h = 0.5 * dt
    bx, by, bz = gyroscopic_torque(inertia, wx + h * sx, wy + h * sy, wz + h * sz)
    sx, sy, sz = symmetric_product(inverse, tx + bx, ty + by, tz + bz)
    cx, cy, cz = gyroscopic_torque(inertia, wx + h * sx, wy + h * sy, wz + h * sz)
    sx, sy, sz = symmetric_product(inverse, tx + cx, ty + cy, tz + cz)
    dx, dy, dz = gyroscopic_torque(inertia, wx + dt * sx, wy + dt * sy, wz + dt * sz)
    return (
        (ax + 2.0 * (bx + cx) + dx) / 6.0,
        (ay + 2.0 * (by + cy) + dy) / 6.0,
        (az + 2.0 * (bz + cz) + dz) / 6.0,
    )


@njit
def accelerate(
    vx: float,
    vy: float,
    vz: float,
    wx: float,
    wy: float,
    wz: float,
    force: Vector,
    torque: Vector,
    mass: float,
    inertia: Symmetric,
    inverse: Symmetric,
    gravity: float,
    dt: float,
) -> tuple[float, float, float, float, float, float]:
    """Velocities after a step under a constant force and torque.

    The first half of a semi-implicit step, as MuJoCo's for a free body. The gyroscopic torque is
    its mean over the step, because at its start value a tumbling body would gain energy.

    Args:
        vx, vy, vz: Velocity of the centre of gravity, world frame [m/s].
        wx, wy, wz: Angular velocity, body frame [rad/s].
        force: (x, y, z) world frame, without gravity [N].
        torque: (x, y, z) body frame, about the centre of gravity [N m].
        mass, inertia, inverse, gravity, dt: As in step().

    Returns:
        (vx, vy, vz, wx, wy, wz) at the end of the step.
    """
    gx, gy, gz = mean_gyroscopic_torque(
        inertia, inverse, wx, wy, wz, torque[0], torque[1], torque[2], dt
    )
    ax, ay, az = symmetric_product(inverse, torque[0] + gx, torque[1] + gy, torque[2] + gz)
    return (
        vx + dt * (force[0] / mass),
        vy + dt * (force[1] / mass),
        vz + dt * (force[2] / mass - gravity),
        wx + dt * ax,
        wy + dt * ay,
        wz + dt * az,
    )


@njit
def displace(
    px: float,
    py: float,
    pz: float,
    qx: float,
    qy: float,
    qz: float,
    qw: float,
    vx: float,
    vy: float,
    vz: float,
    wx: float,
    wy: float,
    wz: float,
    dt: float,
) -> tuple[float, float, float, float, float, float, float]:
    """Position and attitude after a step at constant velocities: the second half of the step.

    Sine and cosine of the half angle are power series, exact to rounding up to 2 rad in a step.

    Args:
        px, py, pz: Position, world frame [m].
        qx, qy, qz, qw: Attitude, body to world.
        vx, vy, vz, wx, wy, wz: Velocities at the end of the step, as accelerate() gives them.
        dt: Length of the step [s].

    Returns:
        (px, py, pz, qx, qy, qz, qw), with a unit quaternion.
    """
    h = 0.5 * dt
    ax, ay, az = h * wx, h * wy, h * wz
    x = ax * ax + ay * ay + az * az
    sinc = 1.0 - x / 6.0 * (
        1.0
        - x
        / 20.0
        * (
            1.0
            - x
            / 42.0
            * (1.0 - x / 72.0 * (1.0 - x / 110.0 * (1.0 - x / 156.0 * (1.0 - x / 210.0))))
        )
    )
    cosine = 1.0 - x / 2.0 * (
        1.0
        - x
        / 12.0
        * (
            1.0
            - x
            / 30.0
            * (
                1.0
                - x
                / 56.0
                * (1.0 - x / 90.0 * (1.0 - x / 132.0 * (1.0 - x / 182.0 * (1.0 - x / 240.0))))
            )
        )
    )
    q = multiply(qx, qy, qz, qw, sinc * ax, sinc * ay, sinc * az, cosine)
    qx, qy, qz, qw = normalize(q[0], q[1], q[2], q[3])
    return px + dt * vx, py + dt * vy, pz + dt * vz, qx, qy, qz, qw


@njit
def _derivative(
    state: State,
    ax: float,
    ay: float,
    az: float,
    torque: Vector,
    inertia: Symmetric,
    inverse: Symmetric,
) -> State:
    qx, qy, qz, qw = state[3], state[4], state[5], state[6]
    wx, wy, wz = state[10], state[11], state[12]
    alpha = angular_acceleration(inertia, inverse, wx, wy, wz, torque[0], torque[1], torque[2])
    return (
        state[7],
        state[8],
        state[9],
        0.5 * (qw * wx + qy * wz - qz * wy),
        0.5 * (qw * wy + qz * wx - qx * wz),
        0.5 * (qw * wz + qx * wy - qy * wx),
        -0.5 * (qx * wx + qy * wy + qz * wz),
        ax,
        ay,
        az,
        alpha[0],
        alpha[1],
        alpha[2],
    )


@njit
def _advance(state: State, d: State, h: float) -> State:
    return (
        state[0] + h * d[0],
        state[1] + h * d[1],
        state[2] + h * d[2],
        state[3] + h * d[3],
        state[4] + h * d[4],
        state[5] + h * d[5],
        state[6] + h * d[6],
        state[7] + h * d[7],
        state[8] + h * d[8],
        state[9] + h * d[9],
        state[10] + h * d[10],
        state[11] + h * d[11],
        state[12] + h * d[12],
    )


@njit
def _mean(a: State, b: State, c: State, d: State, i: int) -> float:
    return (a[i] + 2.0 * (b[i] + c[i]) + d[i]) / 6.0


@njit
def step(
    state: State,
    force: Vector,
    torque: Vector,
    mass: float,
    inertia: Symmetric,
    inverse: Symmetric,
    gravity: float,
    dt: float,
) -> State:
    """One step under a constant force and torque; XTDrone (1)(2), Pegasus (2)-(4).

    Args:
        state: Tuple of 13 numbers, see the module docstring.
        force: (x, y, z) world frame, without gravity [N].
        torque: (x, y, z) body frame, about the centre of gravity [N m].
        mass: [kg].
        inertia, inverse: J and its inverse, tuples of 6, body frame [kg m^2].
        gravity: Gravitational acceleration, downwards [m/s^2].
        dt: Length of the step [s].

    Returns:
        The state after the step, with a unit quaternion.
    """
    ax, ay, az = force[0] / mass, force[1] / mass, force[2] / mass - gravity
    a = _derivative(state, ax, ay, az, torque, inertia, inverse)
    b = _derivative(_advance(state, a, 0.5 * dt), ax, ay, az, torque, inertia, inverse)
    c = _derivative(_advance(state, b, 0.5 * dt), ax, ay, az, torque, inertia, inverse)
    d = _derivative(_advance(state, c, dt), ax, ay, az, torque, inertia, inverse)
    mean = (
        _mean(a, b, c, d, 0),
        _mean(a, b, c, d, 1),
        _mean(a, b, c, d, 2),
        _mean(a, b, c, d, 3),
        _mean(a, b, c, d, 4),
        _mean(a, b, c, d, 5),
        _mean(a, b, c, d, 6),
        _mean(a, b, c, d, 7),
        _mean(a, b, c, d, 8),
        _mean(a, b, c, d, 9),
        _mean(a, b, c, d, 10),
        _mean(a, b, c, d, 11),
        _mean(a, b, c, d, 12),
    )
    s = _advance(state, mean, dt)
    q = normalize(s[3], s[4], s[5], s[6])
    return s[:3] + q + s[7:]
