"""The objects and vehicles of a batch, placed for rays."""

import numpy as np
import psutil

from xtdrone_core import FleetModel
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_sim.vehicles.mesh import MeshSource
from xtdrone_sim.vehicles.pose import body_frames

from ..arrays import BatchState
from ..errors import BatchError
from ..scenes import (
    BOX,
    CYLINDER,
    KINDS,
    MESH,
    NO_OBJECT,
    PLANE,
    SPHERE,
    Scenes,
    TriangleMesh,
    object_dtype,
)
from ..threads import Threads
from .frames import KIND, LABEL, OWNER, WHICH_MESH, Meshes, Placed
from .surfaces import AXES, HALF, OBJECT, POS, SPIN, TINT, VEL
from .tree import build, new_tree

_VEHICLE_COLOUR = 0.25, 0.27, 0.32
_THIN = 1e-3  # half thickness of a plane's box [m]


class RayScene:
    """What the cameras and lidars of a batch see, kept up to date.

    Vehicles are seen as their collision shapes, with joints at zero, in the class after the last
    of the scenes'.

    Attributes:
        placed, meshes: For the kernel of frames.
        label: Class of vehicles.
        updates: How often something was placed.
    """

    def __init__(
        self, scenes: Scenes, model: FleetModel, environments: int, threads: Threads
    ) -> None:
        """Allocates; nothing is placed before update().

        Args:
            scenes: Scenes of the batch.
            model: Model of the vehicles of one environment.
            environments: Number of environments of the batch.
            threads: Threads that place them.

        Raises:
            BatchError: It does not fit into memory.
        """
        self._scenes, self._threads = scenes, threads
        self.label = len(scenes.semantics) + 1
        mesh_list = list(scenes.meshes)
        # A vehicle on its own does not see itself, so that it is not needed.
        self._bodies = _bodies(model if model.n > 1 else None, mesh_list, self.label)
        self._vehicles = self._bodies.size > 0
        self.meshes = _meshes(mesh_list)
        self._mesh_box = np.array(
            [_extent(mesh.points) for mesh in mesh_list] or np.zeros((1, 6)), dtype=np.float32
        )
        shared = len(scenes.objects) == 1 and not self._vehicles
        self._rows = 1 if shared else environments
        self.objects = scenes.objects.shape[1] + self._bodies.size
        one = self._new(1)
        needed = self._rows * sum(array.nbytes for array in one)
        free = psutil.virtual_memory().available
        if needed > free:
            raise BatchError(
                f"the rays of {self._rows} environments of {self.objects} objects "
                f"need {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free: give "
                "fewer of either"
            )
        self.placed = self._new(self._rows)
        self._order = np.zeros((self._rows, self.objects), dtype=np.int64)
        self._stale = np.ones(self._rows, dtype=np.bool_)
        self.updates = 0

    def environment(self, e: np.ndarray) -> np.ndarray:
        """Rows of `placed` of some environments."""
        return np.minimum(e, self._rows - 1).astype(np.int32)

    def invalidate(self, mask: np.ndarray | None = None) -> None:
        """The objects of these environments (E,) bool were changed; None for all."""
        self._stale[:] |= True if mask is None or self._rows != len(mask) else mask

    def update(self, state: BatchState) -> None:
        """Places what moved or was changed since the last call.

        Args:
            state: The BatchState.
        """
        moving = self._scenes.objects["moving"].any(axis=1)
        which = np.flatnonzero(self._stale | moving | self._vehicles).astype(np.int64)
        self._stale[:] = False
        if not len(which):
            return
        self.updates += 1
        pos, quat = state.pos, state.quat
        self._threads.over(
            len(which),
            lambda first, last: _place(
                which[first:last],
                self._scenes.objects,
                self._bodies,
                self._mesh_box,
                pos,
                quat,
                state.vel,
                state.ang_vel,
                self.placed,
                self._order,
            ),
        )

    def _new(self, rows: int) -> Placed:
        return Placed(
            np.zeros((rows, self.objects, OBJECT), dtype=np.float32),
            np.zeros((rows, self.objects, 4), dtype=np.int32),
            np.zeros((rows, self.objects, 6), dtype=np.float32),
            *new_tree((rows,), self.objects),
        )


def _bodies(model: FleetModel | None, meshes: list, label: int) -> np.ndarray:
    """The shapes of each vehicle (V, K) in its base's frame; their meshes are appended."""
    if model is None:
        return np.zeros((1, 0), dtype=object_dtype())
    known: dict[MeshSource, int] = {}
    vehicles = []
    for vehicle in model.vehicles:
        frames, rows = body_frames(vehicle), []
        for shape in vehicle.shapes:
            if not shape.collides or shape.kind not in KINDS:
                continue
            pose = frames[shape.body].to(shape.pose) if shape.body else shape.pose
            row = np.zeros((), dtype=object_dtype())
            row["kind"], row["pos"], row["quat"] = KINDS[shape.kind], pose.pos, pose.quat
            row["size"][: len(shape.size)] = shape.size
            row["colour"], row["semantic"] = _VEHICLE_COLOUR, label
            if shape.kind == "mesh":
                if shape.mesh not in known:
                    known[shape.mesh] = len(meshes)
                    meshes.append(_whole_mesh(shape.mesh))
                row["mesh"] = known[shape.mesh]
            rows.append(row)
        vehicles.append(rows)
    bodies = np.zeros((model.n, max(map(len, vehicles))), dtype=object_dtype())
    for i, rows in enumerate(vehicles):
        bodies[i, : len(rows)] = rows
    return bodies


def _whole_mesh(mesh: MeshSource) -> TriangleMesh:
    parts = mesh.parts()
    first = np.cumsum([0, *(len(part.points) for part in parts)])
    return TriangleMesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.faces + k for part, k in zip(parts, first)]),
    )


def _extent(points: np.ndarray) -> np.ndarray:
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def _meshes(meshes: list) -> Meshes:
    """The triangles and trees of all meshes."""
    tables, first = [], np.zeros((len(meshes) + 1, 3), dtype=np.int32)
    for m, mesh in enumerate(meshes):
        corners = np.asarray(mesh.points, dtype=np.float32)[np.asarray(mesh.faces)]
        triangle = np.concatenate(
            [corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], axis=1
        )
        boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        tree = new_tree((), len(boxes))
        build(boxes, np.arange(len(boxes)), len(boxes), *tree[:4])
        tables.append((triangle, *tree[:4]))
        first[m + 1] = first[m] + (len(triangle), len(tree.node), len(tree.leaf))
    empty = (np.zeros((0, 9), dtype=np.float32), *new_tree((), 0)[:4])
    joined = [np.concatenate(arrays) for arrays in zip(*(tables or [empty]))]
    return Meshes(joined[0], first, *joined[1:])


@njit(nogil=True)
def _place(
    which: np.ndarray,
    objects: np.ndarray,
    bodies: np.ndarray,
    mesh_box: np.ndarray,
    pos: np.ndarray,
    quat: np.ndarray,
    vel: np.ndarray,
    ang_vel: np.ndarray,
    placed: Placed,
    order: np.ndarray,
) -> None:
    """Places the objects and vehicles of some environments, and builds their trees."""
    still = objects.shape[1]
    for e in which:
        scene = objects[min(e, objects.shape[0] - 1)]
        count = 0
        for i in range(still):
            obj = scene[i]
            _set(
                placed.number[e, i],
                obj.pos[0],
                obj.pos[1],
                obj.pos[2],
                obj.quat[0],
                obj.quat[1],
                obj.quat[2],
                obj.quat[3],
                obj,
            )
            for k in range(3):
                placed.number[e, i, VEL + k] = obj.vel[k] if obj.moving else 0.0
                placed.number[e, i, SPIN + k] = obj.ang_vel[k] if obj.moving else 0.0
            _name(placed.kind[e, i], obj.kind, obj.mesh, obj.semantic, -1)
        for v in range(bodies.shape[0]):
            for j in range(bodies.shape[1]):
                obj, i = bodies[v, j], still + v * bodies.shape[1] + j
                q, w = quat[e, v], ang_vel[e, v]
                x, y, z = quaternion.rotate(
                    q[0], q[1], q[2], q[3], obj.pos[0], obj.pos[1], obj.pos[2]
                )
                a, b, c, d = quaternion.multiply(
                    q[0], q[1], q[2], q[3], obj.quat[0], obj.quat[1], obj.quat[2], obj.quat[3]
                )
                number = placed.number[e, i]
                _set(number, x + pos[e, v, 0], y + pos[e, v, 1], z + pos[e, v, 2], a, b, c, d, obj)
                sx, sy, sz = quaternion.rotate(q[0], q[1], q[2], q[3], w[0], w[1], w[2])
                number[SPIN], number[SPIN + 1], number[SPIN + 2] = sx, sy, sz
                # Of the shape's own origin.
                number[VEL] = vel[e, v, 0] + sy * z - sz * y
                number[VEL + 1] = vel[e, v, 1] + sz * x - sx * z
                number[VEL + 2] = vel[e, v, 2] + sx * y - sy * x
                _name(placed.kind[e, i], obj.kind, obj.mesh, obj.semantic, v)
        for i in range(placed.kind.shape[1]):
            if placed.kind[e, i, KIND] != NO_OBJECT:
                _enclose(placed.number[e, i], placed.kind[e, i], mesh_box, placed.box[e, i])
                order[e, count] = i
                count += 1
        placed.nodes[e] = build(
            placed.box[e],
            order[e],
            count,
            placed.node[e],
            placed.info[e],
            placed.leaf[e],
            placed.item[e],
        )


@njit
def _name(kind: np.ndarray, which: int, mesh: int, label: int, owner: int) -> None:
    kind[KIND], kind[WHICH_MESH], kind[LABEL], kind[OWNER] = which, mesh, label, owner


@njit
def _set(
    number: np.ndarray,
    x: float,
    y: float,
    z: float,
    qx: float,
    qy: float,
    qz: float,
    qw: float,
    obj: Record,
) -> None:
    """Pose, size and colour of an object."""
    number[POS], number[POS + 1], number[POS + 2] = x, y, z
    matrix = quaternion.to_matrix(qx, qy, qz, qw)
    for k in range(9):
        number[AXES + k] = matrix[k]
    a, b, c = obj.size[0], obj.size[1], obj.size[2]
    if obj.kind == BOX or obj.kind == PLANE:
        a, b, c = 0.5 * a, 0.5 * b, 0.5 * c
    elif obj.kind == CYLINDER:
        b = 0.5 * b
    number[HALF], number[HALF + 1], number[HALF + 2] = a, b, c
    for k in range(3):
        number[TINT + k] = obj.colour[k]


@njit
def _enclose(number: np.ndarray, kind: np.ndarray, mesh_box: np.ndarray, box: np.ndarray) -> None:
    """The box around an object, along the world's axes."""
    for k in range(3):
        a, b, c = number[AXES + 3 * k], number[AXES + 3 * k + 1], number[AXES + 3 * k + 2]
        sx, sy, sz = number[HALF], number[HALF + 1], number[HALF + 2]
        middle, half = number[POS + k], 0.0
        if kind[KIND] == BOX:
            half = abs(a) * sx + abs(b) * sy + abs(c) * sz
        elif kind[KIND] == PLANE:
            half = abs(a) * sx + abs(b) * sy + _THIN
        elif kind[KIND] == SPHERE:
            half = sx
        elif kind[KIND] == CYLINDER:
            half = sx * max(1.0 - c * c, 0.0) ** 0.5 + abs(c) * sy
        elif kind[KIND] == MESH:
            extent = mesh_box[kind[WHICH_MESH]]
            middle += 0.5 * (
                a * sx * (extent[0] + extent[3])
                + b * sy * (extent[1] + extent[4])
                + c * sz * (extent[2] + extent[5])
            )
            half = (
                0.5
                * (
                    abs(a * sx) * (extent[3] - extent[0])
                    + abs(b * sy) * (extent[4] - extent[1])
                    + abs(c * sz) * (extent[5] - extent[2])
                )
                + _THIN
            )
        box[k], box[k + 3] = middle - half, middle + half
