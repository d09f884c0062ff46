"""Actors of a world: people that walk and cars that drive along a trajectory, as Gazebo moves them.

What an actor looks like is a model: its links follow the trajectory, and links on revolute joints
swing or roll with the way that it has gone. Where Gazebo's skin is given instead, or nothing, it is
one link.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from xtdrone_core import ScenarioError, resources
from xtdrone_core.sdf_numbers import leading_numbers
from xtdrone_dynamics import quaternion

from ..errors import SdfError
from .look import Look
from .mesh import MESH_SUFFIXES, MeshFile
from .pose import Pose
from .sdf_file import OWN, Element, fail, parse, resolve_uri
from .sdf_tree import Scope, flag, name_of, number, numbers, pose_of, refuse_unknown, text, vector
from .shapes import Shape, shapes_of

_STAND_IN = Shape(
    "", "cylinder", (0.25, 1.75), Pose((0.0, 0.0, 0.875)), False, Look((0.35, 0.4, 0.55, 1.0))
)  # where there is no skin [m]
_PAINT = "paint"  # begin of the names of visuals that an actor's own colour is for
_HERE = Pose()
_PER_PIECE = 16  # lengths of the curve between two waypoints are summed in so many parts
_PACE_S = 0.2  # time before and after over which an actor's speed is taken [s]
_STROLL = 0.5  # speed from which limbs swing fully [m/s]


@dataclass(frozen=True)
class Limb:
    """A link of an actor.

    After an arc length s its angle about the axis is s * turn + swing * sin(s * stride + phase).

    The swing is smaller where the actor is slow, and 0 where it stands.
    """

    name: str
    pose: Pose = _HERE  # pose at angle 0, in the frame that the trajectory moves
    axis: tuple[float, float, float] = (0.0, 1.0, 0.0)  # frame of the limb
    turn: float = 0.0  # [rad/m]
    swing: float = 0.0  # [rad]
    stride: float = 0.0  # [rad/m]
    phase: float = 0.0  # [rad]
    shapes: tuple[Shape, ...] = ()  # shapes in the frame of the limb

    def at(self, arc_length: float, fraction: float) -> Pose:
        """Returns its pose in the frame of the actor, after an arc length [m]."""
        angle = arc_length * self.turn + fraction * self.swing * math.sin(
            arc_length * self.stride + self.phase
        )
        half = math.sin(0.5 * angle)
        return self.pose.to(Pose(quat=(*(half * x for x in self.axis), math.cos(0.5 * angle))))


@dataclass(frozen=True)
class Actor:
    """A person or car on a trajectory."""

    name: str
    limbs: tuple[Limb, ...]
    times: tuple[float, ...]  # times of the waypoints, rising [s]
    poses: tuple[Pose, ...]  # poses at these times, world
    tangents: tuple[tuple, ...]  # tangents of the curve through the waypoints [m]
    loop: bool
    start: float  # simulated time at which it starts [s]
    arc_lengths: tuple[
        tuple[float, ...], tuple[float, ...]
    ]  # times [s], and the length of the path up to then [m]
    figure: str = ""  # what it looks like: a name from models/, or the name of a model's folder

    @property
    def moves(self) -> bool:
        """Whether it is ever somewhere else."""
        return len(self.times) > 1

    @property
    def fastest(self) -> float:
        """Its greatest speed [m/s]."""
        times, arc_length = self.arc_lengths
        return float(max(np.diff(arc_length) / np.diff(times), default=0.0))

    def pose(self, t: float) -> Pose:
        """Returns where it is.

        Args:
            t: Simulated time [s].
        """
        _, t = self._turns(t)
        k = bisect_right(self.times, t)
        if k in (0, len(self.times)):
            return self.poses[min(k, len(self.times) - 1)]
        return Pose(
            self._point(k, t),
            _between(self.poses[k - 1].quat, self.poses[k].quat, self._fraction(k, t)),
        )

    def limbs_at(self, t: float) -> list[Pose]:
        """Returns where its limbs are at a simulated time [s], world."""
        whole = self.pose(t)
        arc_length = self.arc_length(t)
        speed = (self.arc_length(t + _PACE_S) - self.arc_length(t - _PACE_S)) / (2.0 * _PACE_S)
        return [whole.to(limb.at(arc_length, min(1.0, speed / _STROLL))) for limb in self.limbs]

    def arc_length(self, t: float) -> float:
        """Returns the length of its path at a simulated time [s], in all its rounds [m]."""
        turns, t = self._turns(t)
        times, lengths = self.arc_lengths
        k = min(bisect_right(times, t), len(times) - 1)
        if k == 0 or t <= times[k - 1]:
            return turns * lengths[-1] + lengths[max(k - 1, 0)]
        fraction = min(1.0, (t - times[k - 1]) / (times[k] - times[k - 1]))
        return turns * lengths[-1] + lengths[k - 1] + fraction * (lengths[k] - lengths[k - 1])

    def _turns(self, t: float) -> tuple[int, float]:
        """Rounds that are behind it, and time in this one [s]."""
        t -= self.start
        last = self.times[-1]
        if self.loop and last > 0.0 and t > last:
            return int(t // last), t % last
        return 0, t

    def _fraction(self, k: int, t: float) -> float:
        return (t - self.times[k - 1]) / (self.times[k] - self.times[k - 1])

    def _point(self, k: int, t: float) -> tuple:
        a, b = self.poses[k - 1], self.poses[k]
        return tuple(
            _hermite(self._fraction(k, t), *values)
            for values in zip(a.pos, b.pos, self.tangents[k - 1], self.tangents[k], strict=True)
        )


def on_path(
    name: str,
    limbs: tuple[Limb, ...],
    times: tuple[float, ...],
    poses: tuple[Pose, ...],
    loop: bool = True,
    start: float = 0.0,
    tension: float = 0.0,
) -> Actor:
    """Returns an actor on the curve through poses at rising times [s]."""
    tangents = _tangents([pose.pos for pose in poses], tension)
    still = Actor(name, limbs, times, poses, tangents, loop, start, ((0.0,), (0.0,)))
    return replace(still, arc_lengths=_arc_lengths(still))


def read_actor(element: Element, remarks: list[str]) -> Actor:
    """An <actor> with its script.

    Waypoints of all trajectories are one path in the order of their times; of two trajectories with
    a waypoint at one time the last counts. An actor without any, or with <auto_start> 0, stands.

    Args:
        element: The <actor>.
        remarks: Gets a line if its skin cannot be read.

    Raises:
        SdfError: A time or pose that is not one, times that do not rise, a single waypoint, or a
            model that is not there.
    """
    name = name_of(element)
    points = sorted(_waypoints(element, name).items())
    script = element.find("script")
    moving = script is not None and points and flag(script, "auto_start", True)
    if not moving:
        points = points[:1] or [(0.0, pose_of(element))]
    loop = script is None or flag(script, "loop", True)
    delay = 0.0 if script is None else number(script, "delay_start", 0.0)
    times, poses = zip(*points, strict=True)
    path = element.find("script/trajectory")
    tension = 0.0 if path is None else _tension(path)
    limbs = _limbs(element, name, remarks)
    actor = on_path(name, limbs, times, poses, loop, delay, tension)
    return replace(actor, figure=_figure(element))


def _figure(element: Element) -> str:
    """Name of the model that an <actor> looks like; empty for a skin or a stand-in."""
    words = element.findtext(OWN + "figure", "").strip()
    return Path(words).stem if Path(words).suffix else Path(words).name


def _tension(path: Element) -> float:
    """The tension of a trajectory's spline."""
    values, _ = leading_numbers(path.get("tension", "0"), 1)
    if not values or not 0.0 <= values[0] <= 1.0:
        fail(path, f"tension is '{path.get('tension')}': give a number from 0 to 1")
    return values[0]


def _waypoints(element: Element, name: str) -> dict[float, Pose]:
    poses: dict[float, Pose] = {}
    for path in element.iterfind("script/trajectory"):
        points = list(path.iterchildren("waypoint"))
        if len(points) == 1:
            fail(
                points[0],
                f"a trajectory of actor '{name}' has one <waypoint>: give two or more, "
                "or none for an actor that stands at its <pose>",
            )
        last = -math.inf
        for point in points:
            time = number(point, "time")
            if time < 0.0 or time <= last:
                fail(
                    point,
                    f"<time> {time:g} of actor '{name}' does not rise: give times from 0 "
                    f"on, this one above {max(last, 0.0):g}",
                )
            poses[time], last = pose_of(point), time
    return poses


def _arc_lengths(actor: Actor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns times, and the length of the actor's path up to them."""
    times = [actor.times[0]]
    for before, after in zip(actor.times[:-1], actor.times[1:]):
        times += [before + (after - before) * j / _PER_PIECE for j in range(1, _PER_PIECE + 1)]
    points = np.array([replace(actor, loop=False, start=0.0).pose(t).pos for t in times])
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return tuple(times), (0.0, *np.cumsum(steps).tolist())


def _limbs(element: Element, name: str, remarks: list[str]) -> tuple[Limb, ...]:
    given = element.find(OWN + "figure")
    if given is not None:
        limbs = _model((given.text or "").strip(), given, name)
        colour = element.find(OWN + "colour")
        return limbs if colour is None else _painted(limbs, (*numbers(colour, 3), 1.0))
    shape = _skin(element, name, remarks)
    solid = replace(_STAND_IN, name=f"{name}::body", link=name, collides=True)
    return (Limb("body", shapes=(shape, solid)),)


def _model(words: str, given: Element, actor: str) -> tuple[Limb, ...]:
    """The links of a model: a name from models/, or a path from the folder of the actor's file."""
    folder = resources.root() / "models" / words
    if not words or not folder.is_dir():
        folder = resolve_uri(given, words) if words else folder
    try:
        path = resources.model_sdf(folder) if folder.is_dir() else folder
        model = parse(path, "model")
    except ScenarioError as error:
        fail(given, f"model of actor '{actor}': {error}")
    scope = Scope(model, Pose(), f"{actor}::")
    by_child = {text(joint, "child"): joint for joint in model.iterchildren("joint")}
    shapes = shapes_of(scope)
    limbs = []
    for full, _, pose in scope.links():
        link, inward = full.rpartition("::")[2], pose.inverse()
        own = tuple(
            replace(shape, pose=inward.to(shape.pose)) for shape in shapes if shape.link == full
        )
        limb = Limb(link, pose, shapes=own)
        joint = by_child.get(link)
        limbs.append(limb if joint is None else _with_joint(limb, joint, actor))
    if not limbs:
        fail(model, f"model of actor '{actor}' has no <link>")
    return tuple(limbs)


def _with_joint(limb: Limb, joint: Element, actor: str) -> Limb:
    """A limb on a joint with <xtdrone:swing> or <xtdrone:roll>; one without stands still."""
    axis = (
        vector(joint.find("axis"), "xyz", (0.0, 1.0, 0.0))
        if joint.find("axis") is not None
        else limb.axis
    )
    length = math.hypot(*axis)
    if not length:
        fail(joint, f"<xyz> of joint '{name_of(joint)}' of actor '{actor}' has no length")
    limb = replace(limb, axis=(axis[0] / length, axis[1] / length, axis[2] / length))
    swing, roll = joint.find(OWN + "swing"), joint.find(OWN + "roll")
    if swing is not None:
        refuse_unknown(swing, ("angle", "stride", "phase"))
        return replace(
            limb,
            swing=number(swing, "angle"),
            phase=number(swing, "phase", 0.0),
            stride=2.0 * math.pi / _above_zero(swing, "stride"),
        )
    if roll is not None:
        refuse_unknown(roll, ("radius",))
        return replace(limb, turn=1.0 / _above_zero(roll, "radius"))
    return limb


def _painted(limbs: tuple[Limb, ...], colour: tuple[float, ...]) -> tuple[Limb, ...]:
    """Limbs whose visuals named paint... have a colour."""

    def paint(shape: Shape) -> Shape:
        own = shape.name.rpartition("::")[2]
        return (
            replace(shape, look=replace(shape.look, colour=colour))
            if own.startswith(_PAINT)
            else shape
        )

    return tuple(replace(limb, shapes=tuple(map(paint, limb.shapes))) for limb in limbs)


def _above_zero(element: Element, tag: str) -> float:
    value = number(element, tag)
    if value <= 0.0:
        fail(element, f"<{tag}> is {value:g}: give metres above 0")
    return value


def _tangents(points: Sequence[tuple[float, ...]], tension: float) -> tuple:
    """Catmull and Rom's, as Gazebo has them; a closed path is smooth at its ends, too."""
    last = len(points) - 1
    closed = last > 1 and points[0] == points[last]

    def neighbours(k: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        if closed and k in (0, last):
            return points[last - 1], points[1]
        return points[max(k - 1, 0)], points[min(k + 1, last)]

    return tuple(
        tuple(
            0.5 * (1.0 - tension) * (after - before)
            for before, after in zip(*neighbours(k), strict=True)
        )
        for k in range(len(points))
    )


def _hermite(s: float, start: float, end: float, leaving: float, arriving: float) -> float:
    """The cubic from start to end with these slopes at both, at s from 0 to 1."""
    return (
        (2.0 * s**3 - 3.0 * s**2 + 1.0) * start
        + (s**3 - 2.0 * s**2 + s) * leaving
        + (3.0 * s**2 - 2.0 * s**3) * end
        + (s**3 - s**2) * arriving
    )


def _skin(element: Element, name: str, remarks: list[str]) -> Shape:
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
        remarks.append(
            f"actor '{name}' is drawn as a cylinder: '{path.name}' is no mesh that can be read"
        )
        return shape
    scale = number(skin, "scale", 1.0)
    return replace(
        shape,
        kind="mesh",
        size=(scale,) * 3,
        mesh=MeshFile(path, standing=True),
        pose=Pose(),
        look=Look(),
    )


def _between(a: tuple[float, ...], b: tuple[float, ...], fraction: float) -> tuple:
    """Interpolates two attitudes along the shorter arc."""
    side = 1.0 if sum(x * y for x, y in zip(a, b, strict=True)) >= 0.0 else -1.0
    mixed = [x + fraction * (side * y - x) for x, y in zip(a, b, strict=True)]
    return quaternion.normalize(*mixed)
