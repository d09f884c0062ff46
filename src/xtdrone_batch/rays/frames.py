"""The kernel that takes the images and scans of many sensors."""

from typing import Any, NamedTuple

import numpy as np

from xtdrone_dynamics.lanes import kernel_in_lanes

from ..scenes import BOX, CYLINDER, PLANE, SPHERE
from . import light
from .pattern import TILE, Pattern
from .surfaces import (
    AXES,
    BEAM,
    COLOUR,
    FAR,
    FLOW,
    HALF,
    NORMAL,
    POS,
    ROWS,
    SEMANTIC,
    R,
    aim,
    any_beyond,
    entries,
    entry_of_node,
    meet_box,
    meet_cylinder,
    meet_plane,
    meet_sphere,
    meet_triangle,
    met,
    start,
    turn_into,
)
from .tree import LEAF, NOWHERE, leaves_of

ZERO, ONE, TWO, THREE = map(np.uintp, range(4))  # unsigned: no index counts from the end
KIND, WHICH_MESH, LABEL, OWNER = range(4)  # columns of Placed.kind


class Placed(NamedTuple):
    """The objects of E environments as rays meet them; vehicles are objects too."""

    number: np.ndarray  # (E, S, OBJECT) f4
    kind: np.ndarray  # (E, S, 4) i4: kind, mesh, class, vehicle that it belongs to or -1
    box: np.ndarray  # (E, S, 6) f4 corners, world [m]
    node: np.ndarray  # trees over them, see tree.Tree
    info: np.ndarray
    leaf: np.ndarray
    item: np.ndarray
    nodes: np.ndarray


class Meshes(NamedTuple):
    """All meshes, one after the other."""

    triangle: np.ndarray  # (T, 9) f4 first corner, and the edges from there to the others [m]
    first: np.ndarray  # (M + 1, 3) i4 where each mesh's triangles, nodes and leaves begin
    node: np.ndarray  # (N, 6) as in tree.Tree; leaves and nodes count from the mesh's first
    info: np.ndarray
    leaf: np.ndarray
    item: np.ndarray


class Poses(NamedTuple):
    """Where F sensors are."""

    environment: np.ndarray  # (F,) i4 of Placed
    owner: np.ndarray  # (F,) i4 the vehicle that carries it, which it does not see
    pos: np.ndarray  # (F, 3) f4 world [m]
    matrix: np.ndarray  # (F, 9) f4 sensor to world
    vel: np.ndarray  # (F, 3) f4 world [m/s]
    spin: np.ndarray  # (F, 3) f4 angular velocity, sensor frame [rad/s]


class Frames(NamedTuple):
    """What F sensors of N rays see; arrays of size (F, 0) are not wanted."""

    distance: np.ndarray  # (F, N) f4 in units of the ray's direction; inf = nothing
    colour: np.ndarray  # (F, 3 N) u1, or (F, N) brightness
    segmentation: np.ndarray  # (F, N) i4
    normal: np.ndarray  # (F, 3 N) f4 world
    flow: np.ndarray  # (F, 2 N) f4 [pixels/s]


class Scratch(NamedTuple):
    """Scratch arrays of one thread."""

    packet: np.ndarray  # (ROWS,) f4
    beam: np.ndarray  # (2, BEAM) f4: of the sensor, of a mesh
    entry: np.ndarray  # (LEAF,) f4 entry() of the boxes of a leaf
    candidate: np.ndarray  # (S,) i4
    near: np.ndarray  # (B LEAF,) f4
    box: np.ndarray  # (B, 6, LEAF) f4 of the candidates
    met: np.ndarray  # (S,) i4
    turn: np.ndarray  # (2, 9) f4: world to mesh, sensor to mesh


def new_scratch(objects: int) -> Scratch:
    """Returns scratch arrays for at most so many objects in an environment."""
    blocks = leaves_of(objects)
    return Scratch(
        np.zeros(ROWS, dtype=np.float32),
        np.zeros((2, BEAM), dtype=np.float32),
        np.zeros(LEAF, dtype=np.float32),
        np.zeros(objects, dtype=np.int32),
        np.zeros(blocks * LEAF, dtype=np.float32),
        np.zeros((blocks, 6, LEAF), dtype=np.float32),
        np.zeros(objects, dtype=np.int32),
        np.zeros((2, 9), dtype=np.float32),
    )


def _take(
    first: int,
    last: int,
    pattern: Pattern,
    placed: Placed,
    meshes: Meshes,
    poses: Poses,
    near: np.float32,
    far: np.float32,
    fx: np.float32,
    fy: np.float32,
    frames: Frames,
    scratch: Scratch,
) -> None:
    """Takes frames first..last-1, of what is between near and far along the rays."""
    coloured, labelled = frames.colour.shape[1] > 0, frames.segmentation.shape[1] > 0
    flowing = frames.flow.shape[1] > 0
    normals = coloured or frames.normal.shape[1] > 0
    painted = normals or labelled or flowing
    beam = scratch.beam[0]
    for f in range(first, last):
        e, owner = poses.environment[f], poses.owner[f]
        x, y, z = poses.pos[f, 0], poses.pos[f, 1], poses.pos[f, 2]
        matrix = poses.matrix[f]
        number, kind = placed.number[e], placed.kind[e]
        for tile in range(pattern.tile.shape[0]):
            aim(beam, pattern.tile[tile], matrix, x, y, z)
            count = _candidates(placed, e, owner, beam, far, scratch)
            for p in range(TILE * tile, min(TILE * (tile + 1), pattern.packet.shape[0])):
                start(scratch.packet, pattern.ray[p], matrix, far)
                if painted:
                    light.sky(scratch.packet)
                if flowing:
                    light.sky_flow(
                        scratch.packet,
                        pattern.ray[p],
                        poses.spin[f, 0],
                        poses.spin[f, 1],
                        poses.spin[f, 2],
                        fx,
                        fy,
                    )
                aim(beam, pattern.packet[p], matrix, x, y, z)
                for block in range((count + LEAF - 1) // LEAF):
                    entries(
                        scratch.box[block],
                        beam,
                        far,
                        scratch.near[block * LEAF : (block + 1) * LEAF],
                    )
                seen = 0
                for j in range(count):
                    i = scratch.candidate[j]
                    if (
                        scratch.near[j] < NOWHERE
                        and any_beyond(scratch.packet, scratch.near[j])
                        and meet(
                            number[i],
                            kind[i],
                            i,
                            meshes,
                            pattern.packet[p],
                            matrix,
                            x,
                            y,
                            z,
                            near,
                            far,
                            scratch,
                        )
                    ):
                        scratch.met[seen] = i
                        seen += 1
                if painted:
                    for j in range(seen):
                        i = scratch.met[j]
                        paint(number[i], kind[i], i, meshes, x, y, z, normals, scratch)
                        if flowing:
                            obj = number[i]
                            light.add_flow(
                                scratch.packet,
                                obj,
                                pattern.ray[p],
                                matrix,
                                x - obj[POS],
                                y - obj[POS + 1],
                                z - obj[POS + 2],
                                poses.vel[f, 0],
                                poses.vel[f, 1],
                                poses.vel[f, 2],
                                fx,
                                fy,
                                np.float32(i),
                            )
                light.finish(scratch.packet)
                write(scratch.packet, pattern.pixel[p], pattern.pixels, frames, f)


def _candidates(
    placed: Placed, e: int, owner: int, beam: np.ndarray, far: np.float32, scratch: Scratch
) -> int:
    """Writes the objects that a beam may meet, the nearest first; returns their number."""
    count, n = 0, 0
    while n < placed.nodes[e]:
        if entry_of_node(placed.node[e, n], beam, far) == NOWHERE:
            n = placed.info[e, n, 1]
            continue
        leaf = placed.info[e, n, 0]
        if leaf >= 0:
            entries(placed.leaf[e, leaf], beam, far, scratch.entry)
            for k in range(LEAF):
                i = placed.item[e, leaf, k]
                if scratch.entry[k] < NOWHERE and placed.kind[e, i, OWNER] != owner:
                    j = count
                    while j > 0 and scratch.near[j - 1] > scratch.entry[k]:
                        scratch.near[j], scratch.candidate[j] = (
                            scratch.near[j - 1],
                            scratch.candidate[j - 1],
                        )
                        j -= 1
                    scratch.near[j], scratch.candidate[j] = scratch.entry[k], i
                    count += 1
        n += 1
    for j in range(count):
        box = placed.box[e, scratch.candidate[j]]
        for k in range(6):
            scratch.box[j // LEAF, k, j % LEAF] = box[k]
    return count


def _local(obj: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Returns a point in an object's frame."""
    dx, dy, dz = x - obj[POS], y - obj[POS + 1], z - obj[POS + 2]
    return (
        obj[3] * dx + obj[6] * dy + obj[9] * dz,
        obj[4] * dx + obj[7] * dy + obj[10] * dz,
        obj[5] * dx + obj[8] * dy + obj[11] * dz,
    )


def meet(
    obj: np.ndarray,
    kind: np.ndarray,
    i: int,
    meshes: Meshes,
    box: np.ndarray,
    matrix: np.ndarray,
    x: float,
    y: float,
    z: float,
    near: np.float32,
    far: np.float32,
    scratch: Scratch,
) -> bool:
    """Meets an object; returns whether it is the first on some ray of the packet."""
    who = np.float32(i)
    px, py, pz = _local(obj, x, y, z)
    if kind[KIND] == BOX:
        meet_box(scratch.packet, obj, px, py, pz, near, who)
    elif kind[KIND] == CYLINDER:
        meet_cylinder(scratch.packet, obj, px, py, pz, near, who)
    elif kind[KIND] == SPHERE:
        meet_sphere(
            scratch.packet, obj, x - obj[POS], y - obj[POS + 1], z - obj[POS + 2], near, who
        )
    elif kind[KIND] == PLANE:
        meet_plane(scratch.packet, obj, px, py, pz, near, who)
    else:
        _meet_mesh(obj, kind[WHICH_MESH], who, meshes, box, matrix, px, py, pz, near, far, scratch)
    return met(scratch.packet, who) > 0


def _meet_mesh(
    obj: np.ndarray,
    mesh: int,
    who: np.float32,
    meshes: Meshes,
    box: np.ndarray,
    matrix: np.ndarray,
    px: float,
    py: float,
    pz: float,
    near: np.float32,
    far: np.float32,
    scratch: Scratch,
) -> None:
    """Meets the triangles of a mesh."""
    into, turn, beam = scratch.turn[0], scratch.turn[1], scratch.beam[1]
    for j in range(3):
        scale = np.float32(1.0) / obj[HALF + j]
        for k in range(3):
            into[3 * j + k] = obj[AXES + 3 * k + j] * scale
    for j in range(3):
        for k in range(3):
            turn[3 * j + k] = (
                into[3 * j] * matrix[k]
                + into[3 * j + 1] * matrix[3 + k]
                + into[3 * j + 2] * matrix[6 + k]
            )
    px, py, pz = px / obj[HALF], py / obj[HALF + 1], pz / obj[HALF + 2]
    turn_into(scratch.packet, into)
    aim(beam, box, turn, px, py, pz)
    triangles, nodes, leaves = meshes.first[mesh]
    last = meshes.first[mesh + 1, 1]
    n = nodes
    while n < last:
        if entry_of_node(meshes.node[n], beam, far) == NOWHERE:
            n = nodes + meshes.info[n, 1]
            continue
        leaf = meshes.info[n, 0]
        if leaf >= 0:
            leaf += leaves
            entries(meshes.leaf[leaf], beam, far, scratch.entry)
            for k in range(LEAF):
                if scratch.entry[k] < NOWHERE and any_beyond(scratch.packet, scratch.entry[k]):
                    part = meshes.item[leaf, k]
                    meet_triangle(
                        scratch.packet,
                        meshes.triangle[triangles + part],
                        px,
                        py,
                        pz,
                        near,
                        who,
                        np.float32(part),
                    )
        n += 1


def paint(
    obj: np.ndarray,
    kind: np.ndarray,
    i: int,
    meshes: Meshes,
    x: float,
    y: float,
    z: float,
    normals: bool,
    scratch: Scratch,
) -> None:
    """Writes class, normal and colour where an object is the first on a ray."""
    who = np.float32(i)
    light.semantic(scratch.packet, who, np.float32(kind[LABEL]))
    if not normals:
        return
    px, py, pz = _local(obj, x, y, z)
    if kind[KIND] == BOX:
        light.box_normals(scratch.packet, obj, px, py, pz, who)
    elif kind[KIND] == CYLINDER:
        light.cylinder_normals(scratch.packet, obj, px, py, pz, who)
    elif kind[KIND] == SPHERE:
        light.sphere_normals(
            scratch.packet, obj, x - obj[POS], y - obj[POS + 1], z - obj[POS + 2], who
        )
    elif kind[KIND] == PLANE:
        light.plane_normals(scratch.packet, obj, who)
    else:
        light.mesh_normals(
            scratch.packet, obj, meshes.triangle, meshes.first[kind[WHICH_MESH], 0], who
        )
    light.shade(scratch.packet, obj, who)


def write(packet: np.ndarray, index: np.ndarray, pixels: int, frames: Frames, f: int) -> None:
    """Writes a packet's lanes to their pixels."""
    if frames.distance.shape[1] > 0:
        _scatter_row(packet, FAR, index, frames.distance[f], ONE, ZERO)
    if frames.segmentation.shape[1] > 0:
        _scatter_row(packet, SEMANTIC, index, frames.segmentation[f], ONE, ZERO)
    if frames.colour.shape[1] == pixels:
        light.grey(packet)
        _scatter_row(packet, COLOUR, index, frames.colour[f], ONE, ZERO)
    elif frames.colour.shape[1] > 0:
        for c in range(3):
            _scatter_row(packet, COLOUR + c * R, index, frames.colour[f], THREE, np.uintp(c))
    if frames.normal.shape[1] > 0:
        for c in range(3):
            _scatter_row(packet, NORMAL + c * R, index, frames.normal[f], THREE, np.uintp(c))
    if frames.flow.shape[1] > 0:
        for c in range(2):
            _scatter_row(packet, FLOW + c * R, index, frames.flow[f], TWO, np.uintp(c))


def _scatter_row(
    packet: np.ndarray,
    row: int,
    index: np.ndarray,
    out: np.ndarray,
    stride: np.uintp,
    offset: np.uintp,
) -> None:
    """Writes one row of the scratch to the pixels of a frame, `stride` numbers for each."""
    for k in range(R):
        out[index[k] * stride + offset] = packet[row + k]


take: Any = kernel_in_lanes(_take, np.float32)
