"""Rays on a graphics card: the functions of surfaces and light, compiled by numba-cuda.

A thread casts one ray, and the 32 threads that a card runs in step cast those of a packet. Each
thread uses the first lane of a packet of its own.
"""

import functools
import types
import weakref
from collections.abc import Callable
from typing import cast

import numpy as np
from numba import cuda

from sensor_models.lens import normal_table
from xtdrone_dynamics.compiled import Kernel
from xtdrone_dynamics.lanes import Target

from ..device_array import DeviceArray
from ..device_functions import (
    Call,
    DeviceFunctions,
    OnDevice,
    Place,
    compile_for_device,
    copy_arrays,
    launch,
    replace_range,
    view,
)
from ..errors import BatchError
from . import light
from .caster import Limits
from .frames import OWNER, Frames, Poses, Scratch, meet, paint, write
from .noise import Noise
from .pattern import PACKET, Pattern
from .scene import RayScene
from .surfaces import BEAM, FAR, ROWS, WHO, aim, entries, entry_of_node, start
from .tree import LEAF, NOWHERE

THREADS, BLOCKS = 128, 132 * 64  # threads of a block; blocks at most
TURN = 9  # numbers of a matrix


@cuda.jit(device=True)  # type: ignore[untyped-decorator]
def _own_lane(count: int) -> range:
    """Returns the part of range(count) of a packet's first lane; other ranges are whole."""
    return range(0, count, PACKET if count % PACKET == 0 else 1)


class _Rays(DeviceFunctions):
    """Functions of packets, for the first lane alone."""

    _math = Target._math

    def _compile(self, plain: types.FunctionType) -> Kernel:
        replace_range(plain, _own_lane)
        return compile_for_device(plain)

    _compile_loop = _compile


def _cast(
    ray: np.ndarray,
    box: np.ndarray,
    e: int,
    f: int,
    placed: OnDevice,
    meshes: OnDevice,
    poses: OnDevice,
    near: np.float32,
    far: np.float32,
    fx: np.float32,
    fy: np.float32,
    frames: OnDevice,
    scratch: Scratch,
) -> None:
    """Casts one ray of a frame into a packet's first lane.

    Args:
        ray: (3, 1) direction, sensor frame.
        box: (6,) centre and half sides of the box of directions: the ray's alone.
        e, f: Environment and frame.
    """
    packet, beam = scratch.packet, scratch.beam[0]
    matrix, owner = poses.matrix[f], poses.owner[f]
    x, y, z = poses.pos[f, 0], poses.pos[f, 1], poses.pos[f, 2]
    coloured, labelled = frames.colour.shape[1] > 0, frames.segmentation.shape[1] > 0
    flowing = frames.flow.shape[1] > 0
    normals = coloured or frames.normal.shape[1] > 0
    start(packet, ray, matrix, far)
    aim(beam, box, matrix, x, y, z)
    n = 0
    while n < placed.nodes[e]:
        if entry_of_node(placed.node[e, n], beam, packet[FAR]) == NOWHERE:
            n = placed.info[e, n, 1]
            continue
        leaf = placed.info[e, n, 0]
        if leaf >= 0:
            entries(placed.leaf[e, leaf], beam, packet[FAR], scratch.near)
            for k in range(LEAF):
                i = placed.item[e, leaf, k]
                if scratch.near[k] < packet[FAR] and placed.kind[e, i, OWNER] != owner:
                    number, kind = placed.number[e, i], placed.kind[e, i]
                    meet(number, kind, i, meshes, box, matrix, x, y, z, near, far, scratch)
        n += 1
    if normals or labelled or flowing:
        light.sky(packet)
        if flowing:
            spin = poses.spin[f]
            light.sky_flow(packet, ray, spin[0], spin[1], spin[2], fx, fy)
        if packet[WHO] >= np.float32(0.0):
            i = int(packet[WHO])
            number, kind, vel = placed.number[e, i], placed.kind[e, i], poses.vel[f]
            paint(number, kind, i, meshes, x, y, z, normals, scratch)
            if flowing:
                light.add_flow(
                    packet,
                    number,
                    ray,
                    matrix,
                    x - number[0],
                    y - number[1],
                    z - number[2],
                    vel[0],
                    vel[1],
                    vel[2],
                    fx,
                    fy,
                    np.float32(i),
                )
    light.finish(packet)


def cast_rays(
    which: np.ndarray,
    pattern: OnDevice,
    placed: OnDevice,
    meshes: OnDevice,
    poses: OnDevice,
    near: np.float32,
    far: np.float32,
    fx: np.float32,
    fy: np.float32,
    frames: OnDevice,
) -> None:
    """Kernel: casts all rays of the frames `which`."""
    packet = cuda.local.array(ROWS, np.float32)
    beam = cuda.local.array((2, BEAM), np.float32)
    entry = cuda.local.array(LEAF, np.float32)
    of_leaf = cuda.local.array(LEAF, np.float32)
    turn = cuda.local.array((2, TURN), np.float32)
    ray = cuda.local.array((3, 1), np.float32)
    box = cuda.local.array(6, np.float32)
    none = cuda.local.array(1, np.int32)
    unused = cuda.local.array((1, 1, 1), np.float32)
    scratch = Scratch(packet, beam, entry, none, of_leaf, unused, none, turn)
    each = pattern.ray.shape[0] * PACKET
    for n in range(cuda.grid(1), which.size * each, cuda.gridsize(1)):
        f, p, k = which[n // each], n % each // PACKET, n % PACKET
        for j in range(3):
            ray[j, 0] = box[j] = pattern.ray[p, j, k]
            box[3 + j] = np.float32(0.0)
        e = poses.environment[f]
        _cast(ray, box, e, f, placed, meshes, poses, near, far, fx, fy, frames, scratch)
        write(packet, pattern.pixel[p, k : k + 1], pattern.pixels, frames, f)


@functools.cache
def cast_kernel() -> Kernel:
    """Returns cast_rays() for a card."""
    return cuda.jit(_Rays(np.float32).typed(cast(types.FunctionType, cast_rays)))


@functools.cache
def noise_kernel(disturb: Callable[..., None]) -> Kernel:
    """Returns a kernel that adds noise to the frames `which`, a thread for each."""

    def disturb_each(
        which: np.ndarray,
        distance: np.ndarray,
        colour: np.ndarray,
        numbers: np.ndarray,
        table: np.ndarray,
        streams: np.ndarray,
    ) -> None:
        for n in range(cuda.grid(1), which.size, cuda.gridsize(1)):
            disturb(which[n], which[n] + 1, distance, colour, numbers, table, streams)

    return cuda.jit(DeviceFunctions(np.float64).typed(cast(types.FunctionType, disturb_each)))


class DeviceScene:
    """A copy of a RayScene on the card, for all sensors that see it."""

    def __init__(self, scene: RayScene, place: Place):
        """Allocates; update() copies."""
        self._copied = -1
        self.meshes = copy_arrays(scene.meshes, place)
        self.placed = copy_arrays(scene.placed, place)

    def update(self, scene: RayScene) -> None:
        """Copies what was placed since the last call."""
        if self._copied != scene.updates:
            for array, there in zip(scene.placed, self.placed, strict=True):
                there.copy_to_device(array)
            self._copied = scene.updates


_scenes: weakref.WeakKeyDictionary[RayScene, DeviceScene] = weakref.WeakKeyDictionary()


class DeviceCaster:
    """Casts rays on a graphics card; see Caster."""

    def __init__(
        self,
        scene: RayScene,
        pattern: Pattern,
        limits: Limits,
        frames: Frames,
        noise: Noise | None,
        streams: np.ndarray,
        place: Place = cuda.to_device,
    ):
        """Allocates frames on the card.

        Args:
            scene: What is seen.
            pattern: Rays of a sensor.
            limits: Limits of all rays.
            frames: Shapes and types of the frames; their numbers are not read.
            noise: Noise of the frames, or None.
            streams: (F, 4) u8 random streams of the noise.
            place: Copies an array to the card.
        """
        self._scene, self._place = scene, place
        self._copy = _scenes.setdefault(scene, DeviceScene(scene, place))
        self._limits, self._pattern = limits, copy_arrays(pattern, place)
        self.frames = copy_arrays(frames, place)
        self._everyone = place(np.arange(len(streams)))
        self._noise: tuple[Kernel, tuple] | None = None
        if noise is not None:
            arrays = noise.numbers, normal_table(), streams
            self._noise = noise_kernel(noise.disturb), tuple(map(place, arrays))

    def cast(self, poses: Poses, which: np.ndarray | None) -> None:
        """Queues some frames, or all; see Caster."""
        self._copy.update(self._scene)
        for call in self.calls(poses, which):
            launch(*call)

    def calls(self, poses: Poses, which: np.ndarray | None) -> list[Call]:
        """Returns the kernels of cast(): (kernel, blocks, threads of each, arguments)."""
        some = self._everyone if which is None else self._place(which)
        threads = some.size * self._pattern.ray.shape[0] * PACKET
        arguments = (
            some,
            self._pattern,
            self._copy.placed,
            self._copy.meshes,
            copy_arrays(poses, self._place),
            *self._limits,
            self.frames,
        )
        calls: list[Call] = [
            (cast_kernel(), min(-(-threads // THREADS), BLOCKS), THREADS, arguments)
        ]
        if self._noise is not None:
            kernel, arrays = self._noise
            frames = some, self.frames.distance, self.frames.colour
            calls.append((kernel, -(-some.size // PACKET), PACKET, (*frames, *arrays)))
        return calls

    def lend(self, frames: OnDevice) -> DeviceArray:
        """Returns a view of frames as other libraries take them."""
        return view(frames)


def check_memory(frames: Frames) -> None:
    """Raises BatchError where frames do not fit into the card's memory."""
    if cuda.config.ENABLE_CUDASIM:
        return
    needed, free = (
        sum(array.nbytes for array in frames),
        cuda.current_context().get_memory_info()[0],
    )
    if needed > free:
        raise BatchError(
            f"the frames need {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB of the card's memory "
            "are free: give fewer environments, pixels or channels"
        )
