"""Distance of points from triangle meshes, by a tree of boxes over their triangles."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import Record, njit

from ..arrays import Records
from ..rays.tree import LEAF, build, new_tree
from ..scenes import TriangleMesh

THICKNESS = 0.05  # thickness of the body behind a triangle, as in the embedded engine [m]
_TIE = 1e-9  # relative difference of squared distances that counts as none


class MeshTables(NamedTuple):
    """All meshes, one after the other; never empty, for graphics cards."""

    mesh_first: np.ndarray  # (M + 1, 3) i8 where each mesh's triangles, nodes and leaves begin
    mesh_reach: np.ndarray  # (M,) radius about its origin [m]
    mesh_triangle: np.ndarray  # (T, 9) corners [m]
    mesh_node: np.ndarray  # (N, 6) as in rays.tree.Tree
    mesh_info: np.ndarray  # (N, 2)
    mesh_item: np.ndarray  # (B, LEAF)


def mesh_tables(meshes: Sequence[TriangleMesh]) -> MeshTables:
    """Returns the tables of meshes."""
    tables = []
    first = np.zeros((len(meshes) + 1, 3), dtype=np.int64)
    for m, mesh in enumerate(meshes):
        corners = np.asarray(mesh.points, dtype=float)[np.asarray(mesh.faces)]
        boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        tree = new_tree((), len(boxes))
        # Outwards to the next single, so that a box never cuts its triangle.
        boxes = np.concatenate(
            [
                np.nextafter(np.float32(boxes[:, :3]), np.float32(-np.inf)),
                np.nextafter(np.float32(boxes[:, 3:]), np.float32(np.inf)),
            ],
            axis=1,
        )
        build(boxes, np.arange(len(boxes)), len(boxes), *tree[:4])
        reach = np.array([np.linalg.norm(corners, axis=-1).max()])
        tables.append((reach, corners.reshape(-1, 9), tree.node, tree.info, tree.item))
        first[m + 1] = first[m] + (len(corners), len(tree.node), len(tree.item))
    empty = (
        np.zeros(1),
        np.zeros((1, 9)),
        *(getattr(new_tree((), 1), name) for name in ("node", "info", "item")),
    )
    return MeshTables(first, *(np.concatenate(arrays) for arrays in zip(*(tables or [empty]))))


@njit
def mesh_distance(
    tables: "MeshTables | Records",
    obj: Record,
    x: float,
    y: float,
    z: float,
    max_distance: float,
    deepest: float,
) -> tuple[float, float, float, float]:
    """Distance of a point from an object's mesh and the normal there, as contacts.distance().

    Behind a triangle it is negative down to -deepest. Deeper points are free, as meshes may be
    open: for contacts those beyond THICKNESS.

    Args:
        tables: Has the fields of MeshTables.
        obj: Record of the object.
        x, y, z: The point, world [m].
        max_distance: Surfaces further away are ignored [m].
        deepest: [m].

    Returns:
        (distance [m], inf where nothing is within max_distance; normal xyz, world).
    """
    qx, qy, qz, qw = obj.quat[0], obj.quat[1], obj.quat[2], obj.quat[3]
    px, py, pz = quaternion.rotate_inverse(
        qx, qy, qz, qw, x - obj.pos[0], y - obj.pos[1], z - obj.pos[2]
    )
    sx, sy, sz = obj.size[0], obj.size[1], obj.size[2]
    side = -1.0 if sx * sy * sz < 0.0 else 1.0  # a mirrored mesh is turned inside out
    mesh = obj.mesh
    triangles, nodes = tables.mesh_first[mesh, 0], tables.mesh_first[mesh, 1]
    leaves, node_count = tables.mesh_first[mesh, 2], tables.mesh_first[mesh + 1, 1] - nodes
    best, facing, n = max_distance * max_distance, 0.0, 0
    nx, ny, nz, hit = 0.0, 0.0, 1.0, False
    while n < node_count:
        b = tables.mesh_node[nodes + n]
        dx = _outside(px, sx * b[0], sx * b[3])
        dy = _outside(py, sy * b[1], sy * b[4])
        dz = _outside(pz, sz * b[2], sz * b[5])
        if dx * dx + dy * dy + dz * dz > best * (1.0 + _TIE):
            n = tables.mesh_info[nodes + n, 1]
            continue
        leaf = tables.mesh_info[nodes + n, 0]
        n += 1
        if leaf < 0:
            continue
        for j in range(LEAF):
            t = tables.mesh_triangle[triangles + tables.mesh_item[leaves + leaf, j]]
            ax, ay, az = sx * t[0], sy * t[1], sz * t[2]
            ux, uy, uz = sx * t[3] - ax, sy * t[4] - ay, sz * t[5] - az
            vx, vy, vz = sx * t[6] - ax, sy * t[7] - ay, sz * t[8] - az
            wx, wy, wz = px - ax, py - ay, pz - az
            p, q = _nearest(ux, uy, uz, vx, vy, vz, wx, wy, wz)
            dx, dy = wx - p * ux - q * vx, wy - p * uy - q * vy
            dz = wz - p * uz - q * vz
            square = dx * dx + dy * dy + dz * dz
            if not square <= best * (1.0 + _TIE):  # NaN for a triangle without area
                continue
            fx, fy, fz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            area = math.sqrt(fx * fx + fy * fy + fz * fz)
            if area == 0.0:
                continue
            scale = side / area
            fx, fy, fz = fx * scale, fy * scale, fz * scale
            # Of several triangles that meet there the one that faces the point most decides.
            far = math.sqrt(square)
            cosine = (dx * fx + dy * fy + dz * fz) / far if far > 0.0 else 0.0
            if not hit or square < best * (1.0 - _TIE) or abs(cosine) > abs(facing):
                hit, facing = True, cosine
                if far > 1e-9:
                    turn = -1.0 / far if cosine < 0.0 else 1.0 / far
                    nx, ny, nz = turn * dx, turn * dy, turn * dz
                else:
                    nx, ny, nz = fx, fy, fz
            best = min(best, square)
    if not hit:
        return math.inf, 0.0, 0.0, 1.0
    gap = math.sqrt(best)
    if facing < 0.0:
        if gap <= deepest:
            gap = -gap
        else:
            nx, ny, nz = -nx, -ny, -nz
    nx, ny, nz = quaternion.rotate(qx, qy, qz, qw, nx, ny, nz)
    return gap, nx, ny, nz


@njit
def _outside(x: float, a: float, b: float) -> float:
    """Returns the distance of a number from the interval between two others."""
    return max(min(a, b) - x, x - max(a, b), 0.0)


@njit
def _nearest(
    ux: float,
    uy: float,
    uz: float,
    vx: float,
    vy: float,
    vz: float,
    wx: float,
    wy: float,
    wz: float,
) -> tuple[float, float]:
    """Returns the coordinates (p, q) along a triangle's sides u and v of its nearest point to w.

    After Ericson, "Real-Time Collision Detection", 2005, 5.1.5.
    """
    uu, uv, vv = (
        ux * ux + uy * uy + uz * uz,
        ux * vx + uy * vy + uz * vz,
        vx * vx + vy * vy + vz * vz,
    )
    uw, vw = ux * wx + uy * wy + uz * wz, vx * wx + vy * wy + vz * wz
    if uw <= 0.0 and vw <= 0.0:
        return 0.0, 0.0
    ub, vb = uw - uu, vw - uv  # seen from the second corner
    if ub >= 0.0 and vb <= ub:
        return 1.0, 0.0
    third = uw * vb - ub * vw
    if third <= 0.0 and uw >= 0.0 and ub <= 0.0:
        return uw / (uw - ub), 0.0
    uc, vc = uw - uv, vw - vv  # from the third
    if vc >= 0.0 and uc <= vc:
        return 0.0, 1.0
    second = uc * vw - uw * vc
    if second <= 0.0 and vw >= 0.0 and vc <= 0.0:
        return 0.0, vw / (vw - vc)
    first = ub * vc - uc * vb
    if first <= 0.0 and vb - ub >= 0.0 and uc - vc >= 0.0:
        fraction = (vb - ub) / ((vb - ub) + (uc - vc))
        return 1.0 - fraction, fraction
    whole = first + second + third
    return second / whole, third / whole
