"""The map: keyframes and the landmarks that they observe."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Keyframe:
    """A camera pose and the observations made from it."""

    camera_from_world: np.ndarray  # (4, 4)
    landmarks: np.ndarray  # (N,) numbers of the observed landmarks
    seen: np.ndarray  # (N, 3) u, u right or NaN, v [pixels]
    sigma: np.ndarray  # (N,) [pixels]
    image: np.ndarray | None = None  # left image, of recent keyframes only

    @property
    def position(self) -> np.ndarray:
        """(3,) position of the camera in the world [m]."""
        return -self.camera_from_world[:3, :3].T @ self.camera_from_world[:3, 3]

    @property
    def axis(self) -> np.ndarray:
        """(3,) optical axis in the world, a unit vector."""
        return self.camera_from_world[2, :3]


@dataclass
class Map:
    """All keyframes in the order of time, and all landmarks by number."""

    keyframes: list[Keyframe] = field(default_factory=list)
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))  # (M, 3) world [m]
    descriptors: np.ndarray = field(default_factory=lambda: np.zeros((0, 32), np.uint8))
    owners: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # (M,) keyframes

    def add_points(self, points: np.ndarray, descriptors: np.ndarray) -> np.ndarray:
        """Adds landmarks that belong to the next keyframe; returns their numbers."""
        numbers = np.arange(len(self.points), len(self.points) + len(points))
        self.points = np.concatenate([self.points, points])
        self.descriptors = np.concatenate([self.descriptors, descriptors])
        self.owners = np.concatenate([self.owners, np.full(len(points), len(self.keyframes))])
        return numbers

    def near(
        self,
        camera_from_world: np.ndarray,
        recent: int,
        others: int,
        reach: float = 1.5,
        angle: float = 0.6,
    ) -> np.ndarray:
        """Returns landmarks that may be visible, of the latest and of nearby older keyframes.

        Args:
            camera_from_world: (4, 4) of the camera.
            recent: Number of latest keyframes.
            others: Largest number of older keyframes, nearest first.
            reach: Largest distance of an older keyframe [m].
            angle: Largest angle between its optical axis and the camera's [rad].

        Returns:
            Landmark numbers, unique and sorted.
        """
        here = Keyframe(camera_from_world, np.zeros(0), np.zeros(0), np.zeros(0))
        chosen = self.keyframes[-recent:]
        older = [
            (np.linalg.norm(frame.position - here.position), index)
            for index, frame in enumerate(self.keyframes[:-recent])
            if frame.axis @ here.axis > np.cos(angle)
        ]
        chosen = chosen + [
            self.keyframes[index] for distance, index in sorted(older)[:others] if distance < reach
        ]
        return np.unique(np.concatenate([frame.landmarks for frame in chosen]))
