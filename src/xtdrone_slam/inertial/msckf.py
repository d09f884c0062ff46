"""A multi-state-constraint Kalman filter of an IMU and of one or two cameras.

The IMU moves the state; each image adds the pose of the body to a window of clones. A point that is
no longer seen, or that was seen by the whole window, constrains all poses that saw it, without
being in the state itself: what its own place needs of the equations is projected out (Mourikis and
Roumeliotis, 2007; with two cameras Sun and others, 2018). Points seen longer than the window stay
in the state as landmarks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2

from . import features
from .propagation import ERRORS
from .state import CLONE, POINT, State

_ROWS = 200  # degrees of freedom for which the gate is tabulated
_GATES = {share: chi2.ppf(share, np.arange(_ROWS)) for share in (0.95, 0.999)}
_LEAST = 4  # observations of a point that is used: of two numbers each
_FAR = 0.4  # largest standard deviation of a distance of use, as a share of it
_NEAR = 0.15  # that of a landmark
_MOST = 40  # points without a place in the state that an update takes: the longest seen


@dataclass(frozen=True)
class Rig:
    """Cameras on the body."""

    rotations: np.ndarray  # (C, 3, 3) optical frame to body
    positions: np.ndarray  # (C, 3) in the body [m]

    @classmethod
    def of(cls, poses: Sequence[np.ndarray]) -> "Rig":
        """Makes a rig of poses (4, 4), optical frame to body."""
        stacked = np.array(poses, dtype=float)
        return cls(stacked[:, :3, :3].copy(), stacked[:, :3, 3].copy())


@dataclass
class Frame:
    """Points in the images of one time."""

    names: np.ndarray  # (M,) int, the same for a point in all frames
    seen: np.ndarray  # (M, C, 2) u, v at unit distance by each camera; NaN where it is not


@dataclass
class _Track:
    """Observations of a point: the number of a clone, and (C, 2)."""

    clones: list[int] = field(default_factory=list)
    seen: list[np.ndarray] = field(default_factory=list)


class Filter:
    """Corrects a state by the points of images.

    Attributes:
        state: The estimate; propagate() it to the time of a frame before update().
        used: Number of points that corrected the state at the last frame.
        rejected: Names of points that contradict the state, since the last frame.
    """

    def __init__(
        self, state: State, rig: Rig, deviation: float, clones: int = 12, landmarks: int = 30
    ) -> None:
        """Begins without observations.

        Args:
            state: The estimate.
            rig: The cameras.
            deviation: Standard deviation of an observation, at unit distance.
            clones: Poses in the window.
            landmarks: Most points in the state.
        """
        self.state, self.used = state, 0
        self.rejected: set[int] = set()
        self._rig, self._variance = rig, deviation**2
        self._most_clones, self._most_landmarks = clones, landmarks
        self._numbers: list[int] = []  # of the clones, the oldest first
        self._next = 0
        self._tracks: dict[int, _Track] = {}
        self._landmarks: list[int] = []  # names, in the state's order

    def update(self, frame: Frame) -> None:
        """Corrects the state, which is that of the frame's time."""
        self.used, self.rejected = 0, set()
        self.state.clone()
        self._numbers.append(self._next)
        now = {int(name): seen for name, seen in zip(frame.names, frame.seen, strict=True)}
        self._correct_by_landmarks(now)
        ended = [name for name in self._tracks if name not in now]
        for name, seen in now.items():
            if name not in self._landmarks and name not in self.rejected:
                track = self._tracks.setdefault(name, _Track())
                track.clones.append(self._next)
                track.seen.append(seen)
        self._next += 1
        whole = []
        if len(self._numbers) > self._most_clones:
            oldest = self._numbers[0]
            whole = [n for n in now if n in self._tracks and self._tracks[n].clones[0] == oldest]
        settled = self._settle(whole)
        self._correct_by_tracks([*ended, *(name for name in whole if name not in settled)])
        for name in ended:
            self._tracks.pop(name, None)
        if len(self._numbers) > self._most_clones:
            self._drop_oldest()

    def hold(self, deviation: float) -> None:
        """Corrects the state by the knowledge that the body is at rest.

        Args:
            deviation: Standard deviation of its velocity [m/s].
        """
        rows = np.zeros((3, len(self.state.covariance)))
        rows[:, 3:6] = np.eye(3)
        self.state.update(rows, -self.state.velocity, deviation**2)

    def _correct_by_landmarks(self, now: dict[int, np.ndarray]) -> None:
        """Corrects the state by landmarks in the newest images, and forgets the others."""
        state, newest = self.state, len(self._numbers) - 1
        begin, size = ERRORS + CLONE * newest, len(state.covariance)
        keep = np.array([name in now for name in self._landmarks], dtype=bool)
        blocks, rights = [], []
        for index, name in enumerate(self._landmarks):
            if not keep[index]:
                continue
            made = self._equations(
                [newest], [now[name]], state.landmarks[index], state.first[index]
            )
            if made is None:
                keep[index] = False
                continue
            of_point, of_poses, residuals = made
            rows = np.zeros((len(residuals), size))
            rows[:, begin : begin + CLONE] = of_poses[:, CLONE * newest :]
            place = state.points_from + POINT * index
            rows[:, place : place + POINT] = of_point
            columns = [*range(begin, begin + CLONE), *range(place, place + POINT)]
            if self._fits(rows, residuals, columns, 0.999):
                blocks.append(rows)
                rights.append(residuals)
            else:
                keep[index] = False
                self.rejected.add(name)
        if blocks:
            state.update(np.concatenate(blocks), np.concatenate(rights), self._variance)
            self.used += len(blocks)
        if not keep.all():
            state.drop_landmarks(keep)
            self._landmarks = [
                name for name, kept in zip(self._landmarks, keep, strict=True) if kept
            ]

    def _settle(self, names: Iterable[int]) -> set[int]:
        """Makes landmarks of points that the whole window has seen; returns their names."""
        settled: set[int] = set()
        room = self._most_landmarks - len(self._landmarks)
        for name in names:
            if len(settled) >= room:
                break
            track = self._tracks[name]
            if len(track.clones) < len(self._numbers) - 1:
                continue
            made = self._projected(track, _NEAR)
            if made is None:
                continue
            point, (of_point, of_poses, residuals) = made
            size = len(self.state.covariance)
            rows = np.zeros((len(residuals), size))
            rows[:, ERRORS : ERRORS + of_poses.shape[1]] = of_poses
            columns = range(ERRORS, ERRORS + of_poses.shape[1])
            if not self._fits(rows[3:], residuals[3:], columns):
                self.rejected.add(name)
                del self._tracks[name]
                settled.add(name)
                continue
            self.state.add_landmark(point, of_point[:3], rows[:3], self._variance)
            rest = np.zeros((len(residuals) - 3, size + POINT))
            rest[:, :size] = rows[3:]
            self.state.update(rest, residuals[3:], self._variance)
            self._landmarks.append(name)
            del self._tracks[name]
            settled.add(name)
            self.used += 1
        return settled

    def _correct_by_tracks(self, names: Iterable[int]) -> None:
        """Corrects the state by points that are not in it, and forgets their observations."""
        longest = sorted(names, key=lambda name: -len(self._tracks[name].clones))
        blocks: list[np.ndarray] = []
        rights: list[np.ndarray] = []
        size = len(self.state.covariance)
        for name in longest:
            if len(blocks) >= _MOST:
                break
            track = self._tracks.pop(name)
            made = self._projected(track, _FAR)
            if made is None:
                continue
            _, of_poses, residuals = made[1]
            rows = np.zeros((len(residuals) - 3, size))
            rows[:, ERRORS : ERRORS + of_poses.shape[1]] = of_poses[3:]
            columns = range(ERRORS, ERRORS + of_poses.shape[1])
            if self._fits(rows, residuals[3:], columns):
                blocks.append(rows)
                rights.append(residuals[3:])
            else:
                self.rejected.add(name)
        if blocks:
            self.state.update(np.concatenate(blocks), np.concatenate(rights), self._variance)
            self.used += len(blocks)

    def _projected(
        self, track: _Track, least: float
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
        """Returns the place of a point and its equations, in the first three of which alone it is.

        Args:
            track: Its observations.
            least: Largest standard deviation of its distance, as a share of it.
        """
        poses = [self._numbers.index(number) for number in track.clones]
        observed, who, by = self._observations(poses, track.seen)
        if len(observed) < _LEAST:
            return None
        state, rig, point = self.state, self._rig, np.empty(3)
        share = features.triangulate(
            observed, who, by, state.rotations, state.positions, rig.rotations, rig.positions, point
        )  # fmt: skip
        if share * self._variance**0.5 > least:
            return None
        made = self._equations(poses, track.seen, point, point)
        if made is None:
            return None
        features.separate(*made)
        return point, made

    def _equations(
        self,
        poses: Sequence[int],
        seen: Sequence[np.ndarray],
        point: np.ndarray,
        linear: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Returns derivatives (2 M, 3), (2 M, 6 P) and residuals (2 M,); None behind a camera."""
        state, rig = self.state, self._rig
        observed, who, by = self._observations(poses, seen)
        rows = 2 * len(observed)
        made = np.zeros((rows, 3)), np.zeros((rows, CLONE * len(state.positions))), np.zeros(rows)
        valid = features.equations(
            observed, who, by, state.rotations, state.positions, rig.rotations, rig.positions,
            point, linear, *made,
        )  # fmt: skip
        return made if valid and rows else None

    def _observations(
        self, poses: Sequence[int], seen: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns observations (M, 2), and the clones (M,) and cameras (M,) that made them."""
        table = np.array(seen)
        valid = np.isfinite(table[:, :, 0])
        row, by = np.nonzero(valid)
        return table[valid], np.asarray(poses)[row], by

    def _fits(
        self, rows: np.ndarray, residuals: np.ndarray, columns: Sequence[int], share: float = 0.95
    ) -> bool:
        """Returns whether residuals are as large as the covariance lets expect."""
        part = rows[:, columns]
        innovation = part @ self.state.covariance[np.ix_(columns, columns)] @ part.T
        innovation[np.diag_indices(len(innovation))] += self._variance
        distance = residuals @ np.linalg.solve(innovation, residuals)
        return bool(distance < _GATES[share][min(len(residuals), _ROWS - 1)])

    def _drop_oldest(self) -> None:
        """Forgets the oldest clone and what it saw."""
        number = self._numbers.pop(0)
        self.state.drop_clone(0)
        for name, track in list(self._tracks.items()):
            if number in track.clones:
                at = track.clones.index(number)
                del track.clones[at], track.seen[at]
                if not track.clones:
                    del self._tracks[name]
