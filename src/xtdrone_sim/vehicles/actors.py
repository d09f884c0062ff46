"""Actors of a world: people that walk along a trajectory, as Gazebo moves them."""

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

from ..errors import SdfError
from .look import Look
from .mesh import MESH_SUFFIXES, MeshFile
from .pose import Pose
from .sdf_file import resolve_uri
from .sdf_tree import name_of, number, pose_of, text
from .shapes import Shape

_STAND_IN = Shape("", "cylinder", (0.25, 1.75), Pose((0.0, 0.0, 0.875)), False,
                  Look((0.35, 0.4, 0.55, 1.0)))  # where there is no skin [m]
_TRUE = ("1", "true")


@dataclass(frozen=True)
class Actor:
    """A person on a trajectory."""

    name: str
    shape: Shape  # in the frame that the trajectory moves
    times: tuple[float, ...]  # of the waypoints, rising [s]
    poses: tuple[Pose, ...]  # at these times, world
    tangents: tuple[tuple, ...]  # of the curve through these positions, per waypoint [m]
    loop: bool
    start: float  # simulated time at which it starts [s]

    def pose(self, t: float) -> Pose:
        """Where it is.

        Args:
            t: Simulated time [s].
        """
        t -= self.start
        last = self.times[-1]
        if self.loop and last > 0.0 and t > last:
            t %= last
        k = bisect_right(self.times, t)
        if k in (0, len(self.times)):
            return self.poses[min(k, len(self.times) - 1)]
        before, after = self.times[k - 1], self.times[k]
        share = (t - before) / (after - before)
        a, b = self.poses[k - 1], self.poses[k]
        pos = tuple(_hermite(share, *values) for values in zip(
            a.pos, b.pos, self.tangents[k - 1], self.tangents[k], strict=True))
        return Pose(pos, _between(a.quat, b.quat, share))


def read_actor(element: Any, remarks: list[str]) -> Actor:
    """An <actor> with its script.

    Waypoints of all trajectories are one path in the order of their times; of several at one time
    the last counts. An actor without any, or with <auto_start> 0, stands. Limbs do not move: the
    skin is drawn in its rest pose.

    Args:
        element: The <actor>.
        remarks: Gets a line if its skin cannot be read.

    Raises:
        SdfError: A time or pose that is not one.
    """
    name = name_of(element)
    points = sorted({number(point, "time"): pose_of(point) for point in
                     element.iterfind("script/trajectory/waypoint")}.items())
    script = element.find("script")
    moving = script is not None and points and text(script, "auto_start", "1") in _TRUE
    if not moving:
        points = points[:1] or [(0.0, pose_of(element))]
    loop = script is None or text(script, "loop", "1") in _TRUE
    delay = 0.0 if script is None else number(script, "delay_start", 0.0)
    times, poses = zip(*points, strict=True)
    path = element.find("script/trajectory")
    tension = 0.0 if path is None else float(path.get("tension", 0.0))
    return Actor(name, _skin(element, name, remarks), times, poses,
                 _tangents([pose.pos for pose in poses], tension), loop, delay)


def _tangents(points, tension) -> tuple:
    """Catmull and Rom's, as Gazebo has them; a closed path is smooth at its ends, too."""
    last = len(points) - 1
    closed = last > 1 and points[0] == points[last]

    def neighbours(k):
        if closed and k in (0, last):
            return points[last - 1], points[1]
        return points[max(k - 1, 0)], points[min(k + 1, last)]

    return tuple(tuple(0.5 * (1.0 - tension) * (after - before)
                       for before, after in zip(*neighbours(k), strict=True))
                 for k in range(len(points)))


def _hermite(s, start, end, leaving, arriving) -> float:
    """The cubic from start to end with these slopes at both, at s from 0 to 1."""
    return ((2.0 * s**3 - 3.0 * s**2 + 1.0) * start + (s**3 - 2.0 * s**2 + s) * leaving
            + (3.0 * s**2 - 2.0 * s**3) * end + (s**3 - s**2) * arriving)


def _skin(element, name, remarks) -> Shape:
    shape = replace(_STAND_IN, name=f"{name}::skin", link=name)
    skin = element.find("skin")
    if skin is None:
        return shape
    try:
        path = resolve_uri(skin, text(skin, "filename"))
    except SdfError as error:
        remarks.append(f"actor '{name}' is drawn as a cylinder: {error}")
        return shape
    if path.suffix.lower() not in MESH_SUFFIXES:
        remarks.append(f"actor '{name}' is drawn as a cylinder: '{path.name}' is no mesh that can "
                       "be read")
        return shape
    scale = number(skin, "scale", 1.0)
    return replace(shape, kind="mesh", size=(scale,) * 3, mesh=MeshFile(path, standing=True),
                   pose=Pose(), look=Look())


def _between(a, b, share) -> tuple:
    """Attitude at a share of the way between two, along the shorter arc."""
    side = 1.0 if sum(x * y for x, y in zip(a, b, strict=True)) >= 0.0 else -1.0
    mixed = [x + share * (side * y - x) for x, y in zip(a, b, strict=True)]
    length = math.sqrt(sum(x * x for x in mixed))
    return tuple(x / length for x in mixed)
