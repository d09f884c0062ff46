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
    """Of one thread."""

    packet: np.ndarray  # (ROWS,) f4
    beam: np.ndarray  # (2, BEAM) f4: of the sensor, of a mesh
    found: np.ndarray  # (LEAF,) f4
    candidate: np.ndarray  # (S,) i4
    near: np.ndarray  # (B LEAF,) f4
    box: np.ndarray  # (B, 6, LEAF) f4 of the candidates
    met: np.ndarray  # (S,) i4
    turn: np.ndarray  # (2, 9) f4: world to mesh, sensor to mesh


def new_scratch(objects: int) -> Scratch:
    """For at most so many objects in an environment."""
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
    s: Scratch,
) -> None:
    """Takes frames first..last-1, of what is between near and far along the rays."""
    coloured, labelled = frames.colour.shape[1] > 0, frames.segmentation.shape[1] > 0
    flowing = frames.flow.shape[1] > 0
    normals = coloured or frames.normal.shape[1] > 0
    painted = normals or labelled or flowing
    beam = s.beam[0]
    for f in range(first, last):
        e, owner = poses.environment[f], poses.owner[f]
        x, y, z = poses.pos[f, 0], poses.pos[f, 1], poses.pos[f, 2]
        m = poses.matrix[f]
        number, kind = placed.number[e], placed.kind[e]
        for tile in range(pattern.tile.shape[0]):
            aim(beam, pattern.tile[tile], m, x, y, z)
            count = _candidates(placed, e, owner, beam, far, s)
            for p in range(TILE * tile, min(TILE * (tile + 1), pattern.packet.shape[0])):
                start(s.packet, pattern.ray[p], m, far)
                if painted:
                    light.sky(s.packet)
                if flowing:
                    light.sky_flow(
                        s.packet,
                        pattern.ray[p],
                        poses.spin[f, 0],
                        poses.spin[f, 1],
                        poses.spin[f, 2],
                        fx,
                        fy,
                    )
                aim(beam, pattern.packet[p], m, x, y, z)
                for block in range((count + LEAF - 1) // LEAF):
                    entries(s.box[block], beam, far, s.near[block * LEAF : (block + 1) * LEAF])
                seen = 0
                for j in range(count):
                    i = s.candidate[j]
                    if (
                        s.near[j] < NOWHERE
                        and any_beyond(s.packet, s.near[j])
                        and _meet(
                            number[i],
                            kind[i],
                            i,
                            meshes,
                            pattern.packet[p],
                            m,
                            x,
                            y,
                            z,
                            near,
                            far,
                            s,
                        )
                    ):
                        s.met[seen] = i
                        seen += 1
                if painted:
                    for j in range(seen):
                        i = s.met[j]
                        _paint(number[i], kind[i], i, meshes, x, y, z, normals, s)
                        if flowing:
                            o = number[i]
                            light.add_flow(
                                s.packet,
                                o,
                                pattern.ray[p],
                                m,
                                x - o[POS],
                                y - o[POS + 1],
                                z - o[POS + 2],
                                poses.vel[f, 0],
                                poses.vel[f, 1],
                                poses.vel[f, 2],
                                fx,
                                fy,
                                np.float32(i),
                            )
                light.finish(s.packet)
                _write(s.packet, pattern.index[p], pattern.pixels, frames, f)


def _candidates(placed, e, owner, beam, far, s):
    """The objects that a beam may meet, the nearest first; returns how many."""
    count, n = 0, 0
    while n < placed.nodes[e]:
        if entry_of_node(placed.node[e, n], beam, far) == NOWHERE:
            n = placed.info[e, n, 1]
            continue
        leaf = placed.info[e, n, 0]
        if leaf >= 0:
            entries(placed.leaf[e, leaf], beam, far, s.found)
            for k in range(LEAF):
                i = placed.item[e, leaf, k]
                if s.found[k] < NOWHERE and placed.kind[e, i, OWNER] != owner:
                    j = count
                    while j > 0 and s.near[j - 1] > s.found[k]:
                        s.near[j], s.candidate[j] = s.near[j - 1], s.candidate[j - 1]
                        j -= 1
                    s.near[j], s.candidate[j] = s.found[k], i
                    count += 1
        n += 1
    for j in range(count):
        box = placed.box[e, s.candidate[j]]
        for k in range(6):
            s.box[j // LEAF, k, j % LEAF] = box[k]
    return count


def _local(o, x, y, z):
    """A point in an object's frame."""
    dx, dy, dz = x - o[POS], y - o[POS + 1], z - o[POS + 2]
    return (
        o[3] * dx + o[6] * dy + o[9] * dz,
        o[4] * dx + o[7] * dy + o[10] * dz,
        o[5] * dx + o[8] * dy + o[11] * dz,
    )


def _meet(o, kind, i, meshes, box, m, x, y, z, near, far, s):
    """Whether an object is the first on some ray of the packet."""
    who = np.float32(i)
    px, py, pz = _local(o, x, y, z)
    if kind[KIND] == BOX:
        meet_box(s.packet, o, px, py, pz, near, who)
    elif kind[KIND] == CYLINDER:
        meet_cylinder(s.packet, o, px, py, pz, near, who)
    elif kind[KIND] == SPHERE:
        meet_sphere(s.packet, o, x - o[POS], y - o[POS + 1], z - o[POS + 2], near, who)
    elif kind[KIND] == PLANE:
        meet_plane(s.packet, o, px, py, pz, near, who)
    else:
        _meet_mesh(o, kind[WHICH_MESH], who, meshes, box, m, px, py, pz, near, far, s)
    return met(s.packet, who) > 0


def _meet_mesh(o, mesh, who, meshes, box, m, px, py, pz, near, far, s):
    """The triangles of a mesh."""
    into, turn, beam = s.turn[0], s.turn[1], s.beam[1]
    for j in range(3):
        scale = np.float32(1.0) / o[HALF + j]
        for k in range(3):
            into[3 * j + k] = o[AXES + 3 * k + j] * scale
    for j in range(3):
        for k in range(3):
            turn[3 * j + k] = (
                into[3 * j] * m[k] + into[3 * j + 1] * m[3 + k] + into[3 * j + 2] * m[6 + k]
            )
    px, py, pz = px / o[HALF], py / o[HALF + 1], pz / o[HALF + 2]
    turn_into(s.packet, into)
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
            entries(meshes.leaf[leaf], beam, far, s.found)
            for k in range(LEAF):
                if s.found[k] < NOWHERE and any_beyond(s.packet, s.found[k]):
                    part = meshes.item[leaf, k]
                    meet_triangle(
                        s.packet,
                        meshes.triangle[triangles + part],
                        px,
                        py,
                        pz,
                        near,
                        who,
                        np.float32(part),
                    )
        n += 1


def _paint(o, kind, i, meshes, x, y, z, normals, s):
    """Classes, normals and colours where an object is the first on a ray."""
    who = np.float32(i)
    light.semantic(s.packet, who, np.float32(kind[LABEL]))
    if not normals:
        return
    px, py, pz = _local(o, x, y, z)
    if kind[KIND] == BOX:
        light.box_normals(s.packet, o, px, py, pz, who)
    elif kind[KIND] == CYLINDER:
        light.cylinder_normals(s.packet, o, px, py, pz, who)
    elif kind[KIND] == SPHERE:
        light.sphere_normals(s.packet, o, x - o[POS], y - o[POS + 1], z - o[POS + 2], who)
    elif kind[KIND] == PLANE:
        light.plane_normals(s.packet, o, who)
    else:
        light.mesh_normals(s.packet, o, meshes.triangle, meshes.first[kind[WHICH_MESH], 0], who)
    light.shade(s.packet, o, who)


def _write(x, index, pixels, frames, f):
    """A packet's lanes to their pixels."""
    if frames.distance.shape[1] > 0:
        _spread(x, FAR, index, frames.distance[f], ONE, ZERO)
    if frames.segmentation.shape[1] > 0:
        _spread(x, SEMANTIC, index, frames.segmentation[f], ONE, ZERO)
    if frames.colour.shape[1] == pixels:
        light.grey(x)
        _spread(x, COLOUR, index, frames.colour[f], ONE, ZERO)
    elif frames.colour.shape[1] > 0:
        for c in range(3):
            _spread(x, COLOUR + c * R, index, frames.colour[f], THREE, np.uintp(c))
    if frames.normal.shape[1] > 0:
        for c in range(3):
            _spread(x, NORMAL + c * R, index, frames.normal[f], THREE, np.uintp(c))
    if frames.flow.shape[1] > 0:
        for c in range(2):
            _spread(x, FLOW + c * R, index, frames.flow[f], TWO, np.uintp(c))


def _spread(x, row, index, out, stride, offset):
    """One row of the scratch to the pixels of a frame, `stride` numbers for each."""
    for k in range(R):
        out[index[k] * stride + offset] = x[row + k]


take: Any = kernel_in_lanes(_take, np.float32)
