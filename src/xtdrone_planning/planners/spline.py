"""Uniform cubic B-splines that keep clear of obstacles and within limits.

The spline with control points Q_0 ... Q_M-1 and knots every h seconds is at (Q_i + 4 Q_i+1 + Q_i+2)
/ 6 at knot i. Cost of the control points, in metres, as of Zhou and others, "Robust and Efficient
Quadrotor Trajectory Generation for Fast Autonomous Flight", RA-L 2019, with the distance field's
gradient: third differences (jerk), clearance at knots and between them, first differences over
the speed, second ones over the acceleration, heights, the end. It is minimised by L-BFGS.

Clearance counts along the way and not over time, as of Zucker and others, "CHOMP: Covariant
Hamiltonian Optimization for Motion Planning", IJRR 2013: else it pays to wait before a narrow gap
and to rush through it, and who plans anew all the time waits for ever.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..maps.distance_field import clearance_and_gradient
from .guard import BODY, DOUBT
from .planner import STEP_S

JERK, CLEAR, SPEED, ACCELERATION, HEIGHT, END = 1.0, 6.0, 8.0, 8.0, 8.0, 0.3  # weights
_SLOWEST = 0.3  # part of the speed; who is slower is as near to obstacles for as long as this
_MEMORY = 6  # pairs of L-BFGS
_FORESEEN_S = 3.0  # what moves is predicted for so long [s]
_FIXED = 3  # control points that the start determines


@njit
def start_points(
    pos: np.ndarray, vel: np.ndarray, acc: np.ndarray, h: float, out: np.ndarray
) -> None:
    """Writes the first three control points, which have a position, velocity and acceleration."""
    for k in range(3):
        middle = pos[k] - acc[k] * h * h / 6.0
        out[1, k] = middle
        out[0, k] = middle + 0.5 * acc[k] * h * h - h * vel[k]
        out[2, k] = middle + 0.5 * acc[k] * h * h + h * vel[k]


@njit
def guess(
    path: np.ndarray,
    speed_now: float,
    speed: float,
    acceleration: float,
    h: float,
    ends: bool,
    out: np.ndarray,
) -> int:
    """Writes control points along a path, from the fourth on; returns how many there are in all.

    Args:
        path: (P, 3) corners, from the start [m].
        speed_now, speed: At the start, and wanted [m/s].
        acceleration: Along the path [m/s^2].
        h: Between knots [s].
        ends: The vehicle rests at the path's end.
        out: (M, 3), of which the first three are given.
    """
    total = 0.0
    for p in range(path.shape[0] - 1):
        total += _apart(path[p], path[p + 1])
    count, s, v = _FIXED, max(speed_now, 0.0) * h, max(speed_now, 0.0)
    most = out.shape[0] - 3
    while count < most:
        left = max(total - s, 0.0)
        allowed = speed
        if ends:
            allowed = min(speed, math.sqrt(2.0 * acceleration * left) + 1e-3)
        v = (
            min(v + acceleration * h, allowed)
            if v <= allowed
            else max(v - acceleration * h, allowed)
        )
        s += max(v, 0.05) * h
        if s >= total - 1e-6:
            break
        _along(path, s, out[count])
        count += 1
    if ends:
        for _ in range(3):
            out[count, :] = path[path.shape[0] - 1]
            count += 1
    elif s >= total - 1e-6 or count < _FIXED + 3:
        for _ in range(max(1, _FIXED + 3 - count)):
            _along(path, total, out[count])
            count += 1
    return count


@njit
def _apart(a: np.ndarray, b: np.ndarray) -> float:
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    return math.sqrt(x * x + y * y + z * z)


@njit
def _along(path: np.ndarray, s: float, out: np.ndarray) -> None:
    """Writes the place at a length along a path."""
    for p in range(path.shape[0] - 1):
        length = _apart(path[p], path[p + 1])
        if s <= length or p == path.shape[0] - 2:
            part = min(s / max(length, 1e-9), 1.0)
            for k in range(3):
                out[k] = path[p, k] + part * (path[p + 1, k] - path[p, k])
            return
        s -= length


@njit
def _cost(
    points: np.ndarray,
    count: int,
    fixed_end: int,
    target: np.ndarray,
    h: float,
    limits: np.ndarray,
    square: np.ndarray,
    low: np.ndarray,
    resolution: float,
    others: np.ndarray,
    moving: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """Returns the cost and writes its gradient; of fixed points that is 0."""
    speed, acceleration, radius, wanted, lowest, highest = (
        limits[0],
        limits[1],
        limits[2],
        limits[3],
        limits[4],
        limits[5],
    )
    gradient[:count] = 0.0
    total = 0.0
    for i in range(count - 3):
        for k in range(3):
            d = points[i + 3, k] - 3.0 * points[i + 2, k] + 3.0 * points[i + 1, k] - points[i, k]
            total += JERK * d * d
            g = 2.0 * JERK * d
            gradient[i + 3, k] += g
            gradient[i + 2, k] -= 3.0 * g
            gradient[i + 1, k] += 3.0 * g
            gradient[i, k] -= g
    for i in range(count - 1):
        first = second = 0.0
        for k in range(3):
            d = points[i + 1, k] - points[i, k]
            first += d * d
            if i < count - 2:
                e = points[i + 2, k] - 2.0 * points[i + 1, k] + points[i, k]
                second += e * e
        over = math.sqrt(first) - speed * h
        if over > 0.0:
            total += SPEED * over * over
            for k in range(3):
                g = 2.0 * SPEED * over * (points[i + 1, k] - points[i, k]) / math.sqrt(first)
                gradient[i + 1, k] += g
                gradient[i, k] -= g
        over = math.sqrt(second) - acceleration * h * h
        if over > 0.0:
            total += ACCELERATION * over * over
            for k in range(3):
                e = points[i + 2, k] - 2.0 * points[i + 1, k] + points[i, k]
                g = 2.0 * ACCELERATION * over * e / math.sqrt(second)
                gradient[i + 2, k] += g
                gradient[i + 1, k] -= 2.0 * g
                gradient[i, k] += g
    for i in range(count - 2):
        for half in range(2):
            w0, w1, w2, w3 = 1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0, 0.0
            r0, r1, r2, r3 = -0.5, 0.0, 0.5, 0.0  # of the velocity
            if half == 1:
                if i + 3 >= count:
                    continue
                w0, w1, w2, w3 = 1.0 / 48.0, 23.0 / 48.0, 23.0 / 48.0, 1.0 / 48.0
                r0, r1, r2, r3 = -0.125, -0.625, 0.625, 0.125
            last = min(i + 3, count - 1)
            x = w0 * points[i, 0] + w1 * points[i + 1, 0] + w2 * points[i + 2, 0]
            y = w0 * points[i, 1] + w1 * points[i + 1, 1] + w2 * points[i + 2, 1]
            z = w0 * points[i, 2] + w1 * points[i + 1, 2] + w2 * points[i + 2, 2]
            x, y, z = (x + w3 * points[last, 0], y + w3 * points[last, 1], z + w3 * points[last, 2])
            room, gx, gy, gz = clearance_and_gradient(square, low, resolution, x, y, z)
            fx = fy = fz = 0.0
            lack = wanted - room
            if lack > 0.0:
                a = r0 * points[i, 0] + r1 * points[i + 1, 0] + r2 * points[i + 2, 0]
                b = r0 * points[i, 1] + r1 * points[i + 1, 1] + r2 * points[i + 2, 1]
                c = r0 * points[i, 2] + r1 * points[i + 1, 2] + r2 * points[i + 2, 2]
                a, b, c = (
                    a + r3 * points[last, 0],
                    b + r3 * points[last, 1],
                    c + r3 * points[last, 2],
                )
                longest = speed * h
                part = math.sqrt(_SLOWEST**2 + (a * a + b * b + c * c) / (longest * longest))
                weight = CLEAR if room > radius else 4.0 * CLEAR
                total += weight * lack * lack * part
                g = -2.0 * weight * lack * part
                fx, fy, fz = g * gx, g * gy, g * gz
                g = weight * lack * lack / (part * longest * longest)
                for j in range(4):
                    if i + j >= count:
                        break
                    r = r0 if j == 0 else r1 if j == 1 else r2 if j == 2 else r3
                    gradient[i + j, 0] += r * g * a
                    gradient[i + j, 1] += r * g * b
                    gradient[i + j, 2] += r * g * c
            if z < lowest:
                total += HEIGHT * (lowest - z) ** 2
                fz -= 2.0 * HEIGHT * (lowest - z)
            elif z > highest:
                total += HEIGHT * (z - highest) ** 2
                fz += 2.0 * HEIGHT * (z - highest)
            for o in range(others.shape[0]):
                n = min(2 * i + half, others.shape[1] - 1)
                dx, dy = x - others[o, n, 0], y - others[o, n, 1]
                dz = z - others[o, n, 2]
                apart = math.sqrt(dx * dx + dy * dy + dz * dz) + 1e-9
                lack = 4.0 * radius + 0.5 * wanted - apart
                if lack > 0.0:
                    total += 2.0 * CLEAR * lack * lack
                    g = -4.0 * CLEAR * lack / apart
                    fx, fy, fz = fx + g * dx, fy + g * dy, fz + g * dz
            t = (i + 0.5 * half) * h
            for p in range(moving.shape[0]):
                dx = x - moving[p, 0] - t * moving[p, 2]
                dy = y - moving[p, 1] - t * moving[p, 3]
                apart = math.sqrt(dx * dx + dy * dy) + 1e-9
                lack = BODY + wanted + DOUBT * t - apart
                if lack > 0.0 and t < _FORESEEN_S:
                    total += 2.0 * CLEAR * lack * lack
                    g = -4.0 * CLEAR * lack / apart
                    fx, fy = fx + g * dx, fy + g * dy
            for j in range(4):
                if i + j >= count:
                    break
                w = w0 if j == 0 else w1 if j == 1 else w2 if j == 2 else w3
                gradient[i + j, 0] += w * fx
                gradient[i + j, 1] += w * fy
                gradient[i + j, 2] += w * fz
    if fixed_end == 0:
        for k in range(3):
            d = points[count - 1, k] - target[k]
            total += END * d * d
            gradient[count - 1, k] += 2.0 * END * d
    gradient[:_FIXED] = 0.0
    gradient[count - fixed_end : count] = 0.0
    return total


@njit(nogil=True)
def optimise(
    points: np.ndarray,
    count: int,
    ends: bool,
    target: np.ndarray,
    h: float,
    limits: np.ndarray,
    square: np.ndarray,
    low: np.ndarray,
    resolution: float,
    others: np.ndarray,
    moving: np.ndarray,
    rounds: int,
) -> float:
    """Minimises the cost of the control points in place; returns it.

    Args:
        points: (M, 3), of which the first `count` count.
        count: How many.
        ends: The last three are given, too: the vehicle rests there.
        target: (3,) where the last one should be if it is not given.
        h: Between knots [s].
        limits: (6,) of Limits.
        square, low, resolution: Of the DistanceField.
        others: (V, T, 3) places of other vehicles every h / 2.
        moving: (P, 4) of Situation.
        rounds: Steps of L-BFGS.
    """
    fixed_end = 3 if ends else 0
    n = count * 3
    x, g = points[:count].copy(), np.zeros((count, 3))
    new, new_g = np.zeros((count, 3)), np.zeros((count, 3))
    s_kept, y_kept = np.zeros((_MEMORY, n)), np.zeros((_MEMORY, n))
    rho, alpha = np.zeros(_MEMORY), np.zeros(_MEMORY)
    f = _cost(x, count, fixed_end, target, h, limits, square, low, resolution, others, moving, g)
    kept = 0
    for _ in range(rounds):
        d = g.copy().reshape(n)
        for m in range(min(kept, _MEMORY)):
            q = (kept - 1 - m) % _MEMORY
            alpha[q] = rho[q] * np.dot(s_kept[q], d)
            d -= alpha[q] * y_kept[q]
        if kept:
            q = (kept - 1) % _MEMORY
            d /= rho[q] * np.dot(y_kept[q], y_kept[q])
        else:
            d *= 0.05 / max(np.sqrt(np.dot(d, d)), 1e-9)
        for m in range(min(kept, _MEMORY) - 1, -1, -1):
            q = (kept - 1 - m) % _MEMORY
            d += (alpha[q] - rho[q] * np.dot(y_kept[q], d)) * s_kept[q]
        slope = np.dot(g.reshape(n), d)
        if slope <= 1e-12:
            break
        longest = np.abs(d).max()
        step = min(1.0, 0.6 / max(longest, 1e-9))
        better = False
        for _ in range(12):
            new[:] = x - step * d.reshape((count, 3))
            value = _cost(
                new,
                count,
                fixed_end,
                target,
                h,
                limits,
                square,
                low,
                resolution,
                others,
                moving,
                new_g,
            )
            if value <= f - 1e-4 * step * slope:
                better = True
                break
            step *= 0.5
        if not better:
            break
        q = kept % _MEMORY
        s_kept[q] = (new - x).reshape(n)
        y_kept[q] = (new_g - g).reshape(n)
        curvature = np.dot(s_kept[q], y_kept[q])
        gain = f - value
        x[:], g[:], f = new, new_g, value
        if curvature > 1e-10:
            rho[q] = 1.0 / curvature
            kept += 1
        if gain < 1e-5 * max(f, 1e-3):
            break
    points[:count] = x
    return f


@njit(nogil=True)
def sample(points: np.ndarray, count: int, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns position, velocity and acceleration every STEP_S, (K, 3) each."""
    steps = int((count - 3) * h / STEP_S)
    pos, vel, acc = np.empty((steps + 1, 3)), np.empty((steps + 1, 3)), np.empty((steps + 1, 3))
    for n in range(steps + 1):
        i = min(int(n * STEP_S / h), count - 4)
        u = n * STEP_S / h - i
        for k in range(3):
            a, b = points[i, k], points[i + 1, k]
            c, d = points[i + 2, k], points[i + 3, k]
            pos[n, k] = (
                a * (1.0 - u) ** 3
                + b * (3.0 * u**3 - 6.0 * u * u + 4.0)
                + c * (-3.0 * u**3 + 3.0 * u * u + 3.0 * u + 1.0)
                + d * u**3
            ) / 6.0
            vel[n, k] = (
                -a * (1.0 - u) ** 2
                + b * (3.0 * u * u - 4.0 * u)
                + c * (-3.0 * u * u + 2.0 * u + 1.0)
                + d * u * u
            ) / (2.0 * h)
            acc[n, k] = (a * (1.0 - u) + b * (3.0 * u - 2.0) + c * (1.0 - 3.0 * u) + d * u) / (
                h * h
            )
    return pos, vel, acc
