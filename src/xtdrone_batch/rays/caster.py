"""What casts the rays of sensors: the threads of the CPU, or a graphics card."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from sensor_models.lens import normal_table

from ..threads import Threads
from .frames import Frames, Poses, Scratch, new_scratch, take
from .noise import Noise
from .pattern import Pattern
from .scene import RayScene


class Limits(NamedTuple):
    """Limits and scale of a sensor's frames."""

    near: np.float32  # shortest length of a ray that meets something
    far: np.float32  # longest
    fx: np.float32  # focal lengths, of optical flow [pixels]
    fy: np.float32


class Caster(Protocol):
    """Casts the rays of F sensors of one kind.

    Attributes:
        frames: The Frames, where the caster keeps them.
    """

    frames: Frames

    def cast(self, poses: Poses, which: np.ndarray | None) -> None:
        """Overwrites some frames (indices), or all, with what sensors at these poses see."""

    def lend(self, frames: Any) -> Any:  # arrays of numba.cuda have no types
        """Returns frames, or a view of them, as other libraries take them."""


class HostCaster:
    """Casts rays on the threads of the CPU."""

    def __init__(
        self,
        scene: RayScene,
        threads: Threads,
        pattern: Pattern,
        limits: Limits,
        frames: Frames,
        noise: Noise | None,
        streams: np.ndarray,
    ):
        """Keeps the arrays.

        Args:
            scene: What is seen.
            threads: Threads that cast.
            pattern: Rays of a sensor.
            limits: Limits of all rays.
            frames: Frames, which cast() overwrites.
            noise: Noise of the frames, or None.
            streams: (F, 4) u8 random streams of the noise.
        """
        self.frames = frames
        self._scene, self._threads, self._pattern = scene, threads, pattern
        self._limits, self._noise, self._streams = limits, noise, streams
        self._scratch = [new_scratch(scene.objects) for _ in range(threads.count)]

    def cast(self, poses: Poses, which: np.ndarray | None) -> None:
        """Overwrites some frames, or all; see Caster."""
        if which is None:
            scratch = list(self._scratch)
            self._threads.over(
                len(self._streams),
                lambda first, last: self._take(first, last, poses, scratch.pop()),
            )
            return
        for f in which:
            self._take(f, f + 1, poses, self._scratch[0])

    def lend(self, frames: np.ndarray) -> np.ndarray:
        """Returns the frames."""
        return frames

    def _take(self, first: int, last: int, poses: Poses, scratch: Scratch) -> None:
        """Takes frames first..last-1 and adds their noise."""
        scene = self._scene
        take(
            first,
            last,
            self._pattern,
            scene.placed,
            scene.meshes,
            poses,
            *self._limits,
            self.frames,
            scratch,
        )
        if self._noise is not None:
            self._noise.disturb(
                first,
                last,
                self.frames.distance,
                self.frames.colour,
                self._noise.numbers,
                normal_table(),
                self._streams,
            )
