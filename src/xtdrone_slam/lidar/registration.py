"""Distances of a scan's points from the planes of a voxel map, as the equations of a pose."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from .voxel_map import NEIGHBOURS, nearest_points

_FLAT = 0.03  # largest variance across a plane, as a share of that along it
_THIN = 0.03  # smallest variance along a plane, as a share of the largest: below it is a line


@njit
def plane_through(found: np.ndarray, normal: np.ndarray) -> float:
    """Fits a plane to points (K, 3).

    Args:
        found: The points [m].
        normal: (3,) of unit length; written.

    Returns:
        The share of the variance across the plane in the next larger one; 1 for points in a line.
    """
    mean, scatter = np.zeros(3), np.zeros(6)
    for k in range(len(found)):
        for axis in range(3):
            mean[axis] += found[k, axis] / len(found)
    for k in range(len(found)):
        x, y, z = found[k, 0] - mean[0], found[k, 1] - mean[1], found[k, 2] - mean[2]
        scatter[0] += x * x
        scatter[1] += x * y
        scatter[2] += x * z
        scatter[3] += y * y
        scatter[4] += y * z
        scatter[5] += z * z
    xx, xy, xz, yy, yz, zz = scatter
    third = (xx + yy + zz) / 3.0
    square = ((xx - third) ** 2 + (yy - third) ** 2 + (zz - third) ** 2) / 6.0
    square += (xy * xy + xz * xz + yz * yz) / 3.0
    if square < 1e-18:
        return 1.0
    size = math.sqrt(square)
    a, b, c = (xx - third) / size, (yy - third) / size, (zz - third) / size
    d, e, f = xy / size, xz / size, yz / size
    half = 0.5 * (a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e))
    angle = math.acos(min(max(half, -1.0), 1.0)) / 3.0
    smallest = third + 2.0 * size * math.cos(angle + 2.0 * math.pi / 3.0)
    largest = third + 2.0 * size * math.cos(angle)
    middle = 3.0 * third - smallest - largest
    # The normal is orthogonal to two rows of scatter - smallest * identity: the longest product.
    rows = ((xx - smallest, xy, xz), (xy, yy - smallest, yz), (xz, yz, zz - smallest))
    longest = 0.0
    for i in range(3):
        first, second = rows[i], rows[(i + 1) % 3]
        nx = first[1] * second[2] - first[2] * second[1]
        ny = first[2] * second[0] - first[0] * second[2]
        nz = first[0] * second[1] - first[1] * second[0]
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        if length > longest:
            longest = length
            normal[0], normal[1], normal[2] = nx / length, ny / length, nz / length
    if longest == 0.0 or middle < _THIN * largest:
        return 1.0
    return max(smallest, 0.0) / middle


@njit
def equations(
    points: np.ndarray,
    rotation: np.ndarray,
    position: np.ndarray,
    keys: np.ndarray,
    counts: np.ndarray,
    cells: np.ndarray,
    side: float,
    reach: float,
    width: float,
    matrix: np.ndarray,
    vector: np.ndarray,
) -> int:
    """Adds up the normal equations of a pose from point-to-plane distances.

    Args:
        points: (M, 3) of a scan, body [m].
        rotation, position: (3, 3) and (3,), the pose.
        keys, counts, cells, side: The map, see VoxelMap.
        reach: Longest distance of a point from those of its plane [m].
        width: Of the Huber kernel [m].
        matrix, vector: (6, 6) J^T W J and (6,) J^T W r, with a turn in the body's frame first
            and then a shift in the world's; written.

    Returns:
        The number of points used.
    """
    matrix[:], vector[:] = 0.0, 0.0
    found, distances = np.empty((NEIGHBOURS, 3)), np.empty(NEIGHBOURS)
    normal, row = np.empty(3), np.empty(6)
    used = 0
    for i in range(len(points)):
        px, py, pz = points[i, 0], points[i, 1], points[i, 2]
        x = rotation[0, 0] * px + rotation[0, 1] * py + rotation[0, 2] * pz + position[0]
        y = rotation[1, 0] * px + rotation[1, 1] * py + rotation[1, 2] * pz + position[1]
        z = rotation[2, 0] * px + rotation[2, 1] * py + rotation[2, 2] * pz + position[2]
        number = nearest_points(x, y, z, keys, counts, cells, side, found, distances)
        if number < NEIGHBOURS or distances[NEIGHBOURS - 1] > reach * reach:
            continue
        if plane_through(found, normal) > _FLAT:
            continue
        offset = 0.0
        for k in range(NEIGHBOURS):
            offset += (
                normal[0] * (x - found[k, 0])
                + normal[1] * (y - found[k, 1])
                + normal[2] * (z - found[k, 2])
            ) / NEIGHBOURS
        size = abs(offset)
        weight = 1.0 if size <= width else width / size
        bx = rotation[0, 0] * normal[0] + rotation[1, 0] * normal[1] + rotation[2, 0] * normal[2]
        by = rotation[0, 1] * normal[0] + rotation[1, 1] * normal[1] + rotation[2, 1] * normal[2]
        bz = rotation[0, 2] * normal[0] + rotation[1, 2] * normal[1] + rotation[2, 2] * normal[2]
        row[0], row[1], row[2] = py * bz - pz * by, pz * bx - px * bz, px * by - py * bx
        row[3], row[4], row[5] = normal[0], normal[1], normal[2]
        for a in range(6):
            vector[a] += weight * row[a] * offset
            for b in range(a, 6):
                matrix[a, b] += weight * row[a] * row[b]
        used += 1
    for a in range(6):
        for b in range(a):
            matrix[a, b] = matrix[b, a]
    return used
