"""Poses (position and attitude) and their composition, as in SDF."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from xtdrone_core import SensorBlock, Vehicle, VehicleSpec
from xtdrone_core.vehicle import BASE
from xtdrone_dynamics import quaternion


class Pose(NamedTuple):
    """Pose of a frame in another frame."""

    pos: tuple = (0.0, 0.0, 0.0)  # [m]
    quat: tuple = (0.0, 0.0, 0.0, 1.0)  # xyzw

    @classmethod
    def of(cls, x: float, y: float, z: float, roll: float, pitch: float, yaw: float) -> "Pose":
        """Makes a pose from SDF's six numbers [m, rad]."""
        return cls((x, y, z), quaternion.from_euler(roll, pitch, yaw))

    def to(self, other: "Pose") -> "Pose":
        """The pose of a frame that is given in this frame, one frame further out."""
        return Pose(self.point(other.pos), quaternion.multiply(*self.quat, *other.quat))

    def inverse(self) -> "Pose":
        """The outer frame as seen from this one."""
        back = Pose(quat=(-self.quat[0], -self.quat[1], -self.quat[2], self.quat[3]))
        return Pose(back.direction([-x for x in self.pos]), back.quat)

    def point(self, pos: Iterable[float]) -> tuple:
        """A point given in this frame, one frame further out."""
        return tuple(a + b for a, b in zip(self.pos, self.direction(pos)))

    def direction(self, vector: Iterable[float]) -> tuple:
        """A vector given in this frame, one frame further out."""
        x, y, z = map(float, vector)
        qx, qy, qz, qw = self.quat
        return quaternion.rotate(qx, qy, qz, qw, x, y, z)


def body_frames(vehicle: Vehicle) -> list[Pose]:
    """The frame of each body in that of the base, with all joints at zero."""
    frames: list[Pose] = []
    for body in vehicle.bodies:
        own = Pose(body.pos, body.quat)
        frames.append(own if body.parent < 0 else frames[body.parent].to(own))
    return frames


def start_pose(spec: VehicleSpec, vehicle: Vehicle) -> Pose:
    """Initial pose of a vehicle's base."""
    origin = Pose(spec.pos, quaternion.from_euler(0.0, 0.0, spec.yaw))
    return Pose(origin.point(vehicle.cog), origin.quat)


def sensors_at_zero(vehicle: Vehicle) -> list[SensorBlock]:
    """A vehicle's sensors in the frame of its base, with all joints at zero."""
    frames, blocks = body_frames(vehicle), []
    for block in vehicle.sensors:
        placed = Pose(block.pos, block.quat)
        if block.body != BASE:
            placed = frames[block.body].to(placed)
        blocks.append(replace(block, pos=placed.pos, quat=placed.quat, body=BASE))
    return blocks
