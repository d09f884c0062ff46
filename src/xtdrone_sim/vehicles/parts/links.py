"""The links of a model as bodies: those that no actuator moves against each other are one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from xtdrone_core import Body, Joint
from xtdrone_core.vehicle import Vector
from xtdrone_dynamics.quaternion import to_matrix_array

from ..pose import Pose
from ..sdf_file import Element, fail, note
from ..sdf_tree import Scope, flag, name_of, number, numbers, pose_of, text

_Mass = tuple[float, np.ndarray, np.ndarray]  # mass, centre of gravity, inertia about it
_PRISMATIC = {"prismatic": True, "revolute": False, "continuous": False}  # those that move
_LOOSE = ("gearbox",)  # types that hold no two links together
_MASS, _MOMENT = 1.0, 1.0  # SDF's defaults of a link [kg, kg m^2]
_MOMENTS = ("ixx", "iyy", "izz")
NO_LIMIT = 1e16  # SDF's own for joints without an end


@dataclass(frozen=True)
class Links:
    """Bodies and joints of a vehicle, with the links that they consist of.

    Attributes:
        bodies, joints: As in Vehicle; one joint for each body but the base, in their order.
        frames: Pose of each body in the model frame, joints at zero.
        of_link: Full name of a link to the index of its body.
        mass, cog, inertia: Those of the whole vehicle, joints at zero, in the model frame.
    """

    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Pose, ...]
    of_link: dict[str, int]
    mass: float
    cog: tuple
    inertia: tuple

    def inside(self, link: str, pose: Pose) -> tuple[int, Pose]:
        """The body that a link belongs to, and a pose of the model frame in the body's."""
        body = self.of_link[link]
        return body, self.frames[body].inverse().to(pose)

    def joint_of(self, name: str) -> int:
        """The index of a joint by its full name."""
        return [joint.name for joint in self.joints].index(name)


def read_links(scope: Scope, driven: dict, remarks: list[str]) -> Links:
    """The bodies and joints of a model.

    Args:
        scope: The model.
        driven: Full names of the joints that an actuator moves, to (scope, element) of each.
        remarks: Gets a line on each body whose inertia no rigid body has.

    Raises:
        SdfError: Invalid masses or joints.
    """
    masses = _masses(scope)
    mass, cog, inertia = _merged(name_of(scope.element), list(masses.values()), remarks)
    groups = _groups(scope, list(masses), driven)
    poses = {name: pose for name, _, pose in scope.links()}
    order = _parents_first(groups, driven)
    of_link = {link: k for k, (_, links) in enumerate(order) for link in links}
    base = Pose(cog)
    frames, bodies, joints = [base], [], []
    for k, (name, links) in enumerate(order):
        if len(order) == 1:  # the one merge of the whole, to the bit
            bodies.append(Body(links[0], -1, mass, inertia, links=tuple(links)))
            break
        own_mass, own_cog, own_inertia = _merged(
            links[0], [masses[link] for link in links], remarks
        )
        if k == 0:
            centre = tuple(a - b for a, b in zip(own_cog, cog, strict=True))
            bodies.append(Body(links[0], -1, own_mass, own_inertia, centre, links=tuple(links)))
            continue
        owner, element = driven[name]
        child = child_of(owner, element)
        frame = Pose(own_cog, poses[child].quat)
        frames.append(frame)
        parent = of_link[parent_of(owner, element)]
        place = frames[parent].inverse().to(frame)
        turn = to_matrix_array([frame.quat])[0]
        turned = turn.T @ np.array(own_inertia) @ turn
        bodies.append(
            Body(
                child,
                parent,
                own_mass,
                _rows(turned),
                (0.0, 0.0, 0.0),
                place.pos,
                place.quat,
                tuple(links),
            )
        )
        joints.append(_joint(name, owner, element, k, frame))
    return Links(tuple(bodies), tuple(joints), tuple(frames), of_link, mass, cog, inertia)


def centres(scope: Scope) -> dict[str, tuple]:
    """Centre of gravity of each link by its full name, in the model frame [m]."""
    return {name: pose.to(_centre(link)).pos for name, link, pose in scope.links()}


def _centre(link: Element) -> Pose:
    """Pose of a link's inertial frame in the link's own."""
    inertial = link.find("inertial")
    return Pose() if inertial is None else pose_of(inertial)


def child_of(scope: Scope, joint: Element) -> str:
    """Full name of the link that a joint moves."""
    return scope.prefix + text(joint, "child")


def parent_of(scope: Scope, joint: Element) -> str:
    """Full name of the parent link of a joint."""
    return scope.prefix + text(joint, "parent")


def moves(joint: Element) -> bool:
    """Whether an actuator can move a joint of this type."""
    return joint.get("type") in _PRISMATIC


def held_joints(scope: Scope) -> list[str]:
    """A line on each joint of a type that does not move here."""
    return [
        f"joint '{owner.prefix}{name_of(joint)}' is of type {joint.get('type')}: "
        + ("it has no effect" if joint.get("type") in _LOOSE else "it is held at zero")
        for owner, joint in scope.elements("joint")
        if not moves(joint) and joint.get("type") != "fixed"
    ]


def joint_axis(scope: Scope, joint: Element) -> np.ndarray:
    """The direction of a joint's axis in the model frame, not normalised."""
    xyz = joint.find("axis/xyz")
    if xyz is None:
        fail(
            joint,
            f"joint '{name_of(joint)}' has no <axis> with <xyz>: give the direction that "
            "it turns about",
        )
    named = xyz.get("expressed_in")
    if named is None and flag(joint.find("axis"), "use_parent_model_frame"):
        named = ""  # the model's own, as SDF until 1.6 has it
    frame = scope.pose(named if named is not None else name_of(joint), joint)
    axis = np.array(frame.direction(numbers(xyz, 3)))
    if not axis.any():
        fail(xyz, f"<xyz> of the axis of joint '{name_of(joint)}' is 0 0 0: give a direction")
    return axis


def axis_in_body(scope: Scope, joint: Element, links: Links, body: int) -> Vector:
    """Unit vector of a joint's axis in the frame of a body."""
    return unit(links.frames[body].inverse().direction(joint_axis(scope, joint)))


def unit(vector: Iterable[float]) -> Vector:
    """Returns a vector (3,) at length 1."""
    direction = np.array(tuple(vector))
    x, y, z = map(float, direction / np.linalg.norm(direction))
    return x, y, z


def joint_limits(joint: Element) -> tuple[float, float, float]:
    """Lower and upper end of a joint, and its largest speed; NO_LIMIT where there is none."""
    limit = joint.find("axis/limit")
    if limit is None:
        return -NO_LIMIT, NO_LIMIT, NO_LIMIT
    lower, upper = _end(limit, "lower", -NO_LIMIT), _end(limit, "upper", NO_LIMIT)
    speed = number(limit, "velocity", -1.0)
    if lower > upper:
        fail(
            limit,
            f"joint '{name_of(joint)}' goes from {lower:g} to {upper:g}: give the lower end first",
        )
    if not lower <= 0.0 <= upper:
        fail(
            limit,
            f"joint '{name_of(joint)}' goes from {lower:g} to {upper:g}: the model is "
            "drawn at 0, which must lie between",
        )
    return lower, upper, speed if speed >= 0.0 else NO_LIMIT


def _end(limit: Element, tag: str, none: float) -> float:
    """An end of a joint; newer SDF has inf for none."""
    child = limit.find(tag)
    endless = child is not None and (child.text or "").strip().lower().lstrip("+-") == "inf"
    return none if endless else number(limit, tag, none)


def _joint(name: str, owner: Scope, element: Element, body: int, frame: Pose) -> Joint:
    back = frame.inverse()
    direction = np.array(back.direction(joint_axis(owner, element)))
    x, y, z = map(float, direction / np.linalg.norm(direction))
    lower, upper, _ = joint_limits(element)
    dynamics = element.find("axis/dynamics")
    damping = 0.0 if dynamics is None else number(dynamics, "damping", 0.0)
    if damping < 0.0:
        fail(dynamics, f"<damping> of joint '{name}' is {damping:g}: give a number from 0")
    anchor = back.point(owner.pose(name_of(element), element).pos)
    return Joint(
        name, body, _PRISMATIC[element.get("type")], (x, y, z), anchor, lower, upper, damping
    )


def _masses(scope: Scope) -> dict:
    """Mass, centre of gravity and inertia about it of each link, in the model frame."""
    masses = {}
    for name, link, pose in scope.links():
        inertial = link.find("inertial")
        _note_defaults(link, inertial, name)
        mass = _MASS if inertial is None else number(inertial, "mass", _MASS)
        if mass <= 0.0:
            fail(inertial, f"mass of link '{name}' is {mass:g} kg: give a mass above 0")
        pose = pose.to(_centre(link))
        rotation = to_matrix_array([pose.quat])[0]
        masses[name] = (mass, np.array(pose.pos), rotation @ _inertia(link, name) @ rotation.T)
    if not masses:
        fail(scope.element, "the model has no link")
    return masses


def _merged(name: str, bodies: Sequence[_Mass], remarks: list[str]) -> tuple:
    """Mass, centre of gravity and inertia about it, of some links together."""
    total = sum(mass for mass, _, _ in bodies)
    cog: np.ndarray = sum(mass * pos for mass, pos, _ in bodies) / total  # type: ignore[assignment]
    inertia = np.zeros((3, 3))
    for mass, pos, own in bodies:
        arm = pos - cog
        inertia += own + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments, axes = np.linalg.eigh(inertia)
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        remarks.append(
            f"no rigid body has the principal moments of inertia "
            f"{np.array2string(moments, precision=4)} kg m^2 of '{name}': the largest "
            "is taken as the sum of the others"
        )
        moments[2] = (moments[0] + moments[1]) * (1.0 - 1e-6)
        inertia = axes @ np.diag(moments) @ axes.T
    return total, tuple(map(float, cog)), _rows(inertia)


def _groups(
    scope: Scope, links: Sequence[str], driven: Mapping[str, tuple[Scope, Element]]
) -> dict:
    """Name of the driven joint to the links that move with it; those of the base under ""."""
    group = {link: {link} for link in links}
    for owner, joint in scope.elements("joint"):
        if joint.get("type") in _LOOSE:
            continue
        parent, child = parent_of(owner, joint), child_of(owner, joint)
        if owner.prefix + name_of(joint) in driven or parent not in group or child not in group:
            continue  # moved, or held to the world or a frame
        if group[parent] is not group[child]:
            group[parent] |= group[child]
            for link in group[child]:
                group[link] = group[parent]
    moved: dict = {}
    for name, (owner, joint) in driven.items():
        parent, child = parent_of(owner, joint), child_of(owner, joint)
        for link in (parent, child):
            if link not in group:
                fail(joint, f"joint '{name}' names the link '{link}', which the model lacks")
        if parent in group[child]:
            fail(
                joint,
                f"joint '{name}' cannot move: other joints hold its two links together; "
                "take out one of this loop",
            )
        if links[0] in group[child]:
            fail(
                joint,
                f"joint '{name}' moves the vehicle's first link '{links[0]}', its base: "
                "let that be the <parent>",
            )
        if any(group[child] is known for known in moved.values()):
            fail(joint, f"'{child}' is moved by two joints: give a link one that is driven")
        moved[name] = group[child]
    everywhere = set().union(*moved.values()) if moved else set()
    return {
        "": [link for link in links if link not in everywhere],
        **{name: [link for link in links if link in kept] for name, kept in moved.items()},
    }


def _parents_first(
    groups: dict[str, list[str]], driven: Mapping[str, tuple[Scope, Element]]
) -> list:
    """(name of the joint, links) of all bodies, the base first."""
    order, known = [("", groups[""])], set(groups[""])
    waiting = [(name, links) for name, links in groups.items() if name]
    while waiting:
        ready = [(name, links) for name, links in waiting if parent_of(*driven[name]) in known]
        if not ready:
            _, joint = driven[waiting[0][0]]
            fail(joint, f"joint '{waiting[0][0]}' is not connected to the vehicle's base")
        for name, links in ready:
            order.append((name, links))
            known.update(links)
        waiting = [body for body in waiting if body not in ready]
    return order


def _rows(matrix: np.ndarray) -> tuple:
    return tuple(map(tuple, matrix.tolist()))


def _note_defaults(link: Element, inertial: Element | None, name: str) -> None:
    """Notes what of a link's mass and inertia its file leaves to SDF's defaults."""
    if inertial is None:
        note(
            link,
            f"link '{name}' has no <inertial>: SDF's default, {_MASS:g} kg and {_MOMENT:g} kg m^2 "
            "about each axis, is taken",
        )
        return
    if inertial.find("mass") is None:
        note(inertial, f"link '{name}' has no <mass>: SDF's default, {_MASS:g} kg, is taken")
    if any(inertial.find(f"inertia/{tag}") is None for tag in _MOMENTS):
        note(
            inertial,
            f"<inertia> of link '{name}' lacks one of {', '.join(_MOMENTS)}: SDF's default, "
            f"{_MOMENT:g} kg m^2, is taken",
        )


def _inertia(link: Element, name: str) -> np.ndarray:
    element = link.find("inertial/inertia")
    if element is None:
        return _MOMENT * np.eye(3)
    xx, yy, zz = (number(element, tag, _MOMENT) for tag in _MOMENTS)
    xy, xz, yz = (number(element, tag, 0.0) for tag in ("ixy", "ixz", "iyz"))
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.eigvalsh(matrix)[0] <= 0.0:
        fail(
            element,
            f"inertia of link '{name}' is not positive: every principal moment must be above 0",
        )
    return matrix
