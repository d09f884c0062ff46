"""Keyframes and the landmarks that they see."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Keyframe:
    """A pose, and what was seen from it."""

    camera_from_world: np.ndarray  # (4, 4)
    landmarks: np.ndarray  # (N,) numbers of the landmarks seen
    seen: np.ndarray  # (N, 3) u, u right or NaN, v [pixels]
    sigma: np.ndarray  # (N,) [pixels]
    image: np.ndarray | None = None  # left, as long as patches of it are looked for

    @property
    def place(self) -> np.ndarray:
        """(3,) of the camera in the world [m]."""
        return -self.camera_from_world[:3, :3].T @ self.camera_from_world[:3, 3]

    @property
    def axis(self) -> np.ndarray:
        """(3,) unit vector along which the camera looks, world."""
        return self.camera_from_world[2, :3]


@dataclass
class Map:
    """All keyframes, in the order of their times, and all landmarks, by their numbers."""

    keyframes: list = field(default_factory=list)
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))  # (M, 3) world [m]
    descriptors: np.ndarray = field(default_factory=lambda: np.zeros((0, 32), np.uint8))
    owners: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # (M,) keyframes

    def add_points(self, points: np.ndarray, descriptors: np.ndarray) -> np.ndarray:
        """New landmarks, first seen by the next keyframe; returns their numbers."""
        numbers = np.arange(len(self.points), len(self.points) + len(points))
        self.points = np.concatenate([self.points, points])
        self.descriptors = np.concatenate([self.descriptors, descriptors])
        self.owners = np.concatenate([self.owners, np.full(len(points), len(self.keyframes))])
        return numbers

    def near(self, camera_from_world: np.ndarray, recent: int, others: int,
             reach: float = 1.5, angle: float = 0.6) -> np.ndarray:
        """Landmarks that a camera may see now.

        Those of the last keyframes, and of older ones from whose place and in whose direction the
        camera looks.

        Args:
            camera_from_world: (4, 4).
            recent: How many of the last keyframes.
            others: How many of the older ones, the nearest first.
            reach: Of the older ones from the camera [m].
            angle: Between the directions [rad].

        Returns:
            Numbers, each once, rising.
        """
        here = Keyframe(camera_from_world, *[np.zeros(0)] * 3)
        chosen = self.keyframes[-recent:]
        older = [(np.linalg.norm(frame.place - here.place), index)
                 for index, frame in enumerate(self.keyframes[:-recent])
                 if frame.axis @ here.axis > np.cos(angle)]
        chosen = chosen + [self.keyframes[index] for far, index in sorted(older)[:others]
                           if far < reach]
        return np.unique(np.concatenate([frame.landmarks for frame in chosen]))
