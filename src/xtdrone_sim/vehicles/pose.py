"""Poses: a place and an attitude, chained as SDF chains its frames."""

from typing import NamedTuple

from xtdrone_dynamics import quaternion


class Pose(NamedTuple):
    """Where a frame lies in another one."""

    pos: tuple = (0.0, 0.0, 0.0)  # [m]
    quat: tuple = (0.0, 0.0, 0.0, 1.0)  # xyzw

    @classmethod
    def of(cls, x, y, z, roll, pitch, yaw) -> "Pose":
        """From SDF's six numbers [m, rad]."""
        return cls((x, y, z), quaternion.from_euler(roll, pitch, yaw))

    def to(self, other: "Pose") -> "Pose":
        """The pose of a frame that is given in this frame, one frame further out."""
        return Pose(self.point(other.pos), quaternion.multiply(*self.quat, *other.quat))

    def point(self, pos) -> tuple:
        """A point given in this frame, one frame further out."""
        return tuple(a + b for a, b in zip(self.pos, self.direction(pos)))

    def direction(self, vector) -> tuple:
        """A vector given in this frame, one frame further out."""
        return quaternion.rotate(*self.quat, *map(float, vector))
