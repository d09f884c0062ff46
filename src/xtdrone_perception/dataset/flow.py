"""Where points are in an image, and where the pixels of one image are in the next: kernels."""

import numpy as np

from xtdrone_dynamics.compiled import njit


@njit
def pixel_of(x: float, y: float, lens: tuple) -> tuple[float, float]:
    """Pixel of a point (x right, y down) at unit distance.

    `lens` is fx, fy, cx, cy, then k1, k2, p1, p2, k3 of Brown and Conrady.
    """
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = lens
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    u = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)
    v = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y
    return fx * u + cx, fy * v + cy


@njit(nogil=True)
def pixels_of(points: np.ndarray, eye: np.ndarray, axes: np.ndarray, lens: tuple) -> np.ndarray:
    """Pixels and distances along the axis (M, 3) of points (M, 3) in the world.

    Args:
        points: [m].
        eye: (3,) of the camera [m].
        axes: (3, 3) forward, left and up as columns, world.
        lens: See pixel_of().
    """
    out = np.empty((points.shape[0], 3))
    for k in range(points.shape[0]):
        dx, dy, dz = points[k, 0] - eye[0], points[k, 1] - eye[1], points[k, 2] - eye[2]
        forward = axes[0, 0] * dx + axes[1, 0] * dy + axes[2, 0] * dz
        left = axes[0, 1] * dx + axes[1, 1] * dy + axes[2, 1] * dz
        up = axes[0, 2] * dx + axes[1, 2] * dy + axes[2, 2] * dz
        out[k, 2] = forward
        out[k, 0], out[k, 1] = pixel_of(-left / forward, -up / forward, lens)
    return out


@njit(nogil=True)
def flow_of(
    depth: np.ndarray,
    body: np.ndarray,
    motion: np.ndarray,
    rays: np.ndarray,
    eye: np.ndarray,
    axes: np.ndarray,
    next_eye: np.ndarray,
    next_axes: np.ndarray,
    lens: tuple,
) -> np.ndarray:
    """Optical flow (H, W, 2) to the next image [pixels]; NaN where nothing is.

    Args:
        depth: (H, W) along the axis [m], inf for nothing.
        body: (H, W) row of each pixel's body in motion.
        motion: (B, 3, 4) a point of the body in the world, to the same point at the next image.
        rays: (H, W, 2) each pixel at unit distance, right and down.
        eye, axes: Camera now, see pixels_of().
        next_eye, next_axes: Camera at the next image.
        lens: See pixel_of().
    """
    rows, columns = depth.shape
    out = np.empty((rows, columns, 2), dtype=np.float32)
    point, moved = np.empty(3), np.empty(3)
    for v in range(rows):
        for u in range(columns):
            d = depth[v, u]
            if not np.isfinite(d):
                out[v, u, 0] = out[v, u, 1] = np.nan
                continue
            right, down = d * rays[v, u, 0], d * rays[v, u, 1]
            for i in range(3):
                point[i] = eye[i] + axes[i, 0] * d - axes[i, 1] * right - axes[i, 2] * down
            turn = motion[body[v, u]]
            for i in range(3):
                moved[i] = (
                    turn[i, 0] * point[0] + turn[i, 1] * point[1] + turn[i, 2] * point[2]
                    + turn[i, 3] - next_eye[i]
                )  # fmt: skip
            forward = (
                next_axes[0, 0] * moved[0] + next_axes[1, 0] * moved[1] + next_axes[2, 0] * moved[2]
            )
            if forward <= 0.0:
                out[v, u, 0] = out[v, u, 1] = np.nan
                continue
            left = (
                next_axes[0, 1] * moved[0] + next_axes[1, 1] * moved[1] + next_axes[2, 1] * moved[2]
            )
            up = (
                next_axes[0, 2] * moved[0] + next_axes[1, 2] * moved[1] + next_axes[2, 2] * moved[2]
            )
            a, b = pixel_of(-left / forward, -up / forward, lens)
            out[v, u, 0], out[v, u, 1] = a - u, b - v
    return out


@njit(nogil=True)
def boxes_of(instance: np.ndarray, count: int) -> np.ndarray:
    """Boxes (count, 5) of instances 1 to count of a map (H, W): left, top, right, bottom, pixels.

    Right and bottom are the last pixel's; an instance that is not seen has 0 pixels.
    """
    out = np.zeros((count, 5), dtype=np.int32)
    out[:, 0] = instance.shape[1]
    out[:, 1] = instance.shape[0]
    for v in range(instance.shape[0]):
        for u in range(instance.shape[1]):
            k = np.int64(instance[v, u]) - 1
            if k >= 0:
                out[k, 0] = min(out[k, 0], u)
                out[k, 1] = min(out[k, 1], v)
                out[k, 2] = max(out[k, 2], u)
                out[k, 3] = max(out[k, 3], v)
                out[k, 4] += 1
    return out


@njit(nogil=True)
def runs_of(instance: np.ndarray, which: int, box: np.ndarray) -> np.ndarray:
    """Lengths of runs of an instance's mask by columns, as COCO counts them: the first is of zeros.

    Args:
        instance: (H, W) map.
        which: The instance.
        box: Its row of boxes_of().
    """
    rows, columns = instance.shape
    runs = np.empty(2 * int(box[4]) + 2, dtype=np.int32)
    count, inside, last = 0, False, 0
    for u in range(box[0], box[2] + 1):
        for v in range(rows):
            if (instance[v, u] == which) != inside:
                place = u * rows + v
                runs[count] = place - last
                count, last, inside = count + 1, place, not inside
    end = (box[2] + 1) * rows
    if inside:
        runs[count] = end - last
        count, last = count + 1, end
    if last < rows * columns:
        runs[count] = rows * columns - last
        count += 1
    return runs[:count]
