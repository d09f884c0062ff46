"""The tyres of a model: what its wheels roll on.

A wheel is the link that a channel with velocity control turns. In a vehicle that has one, links on
other joints without an end count as wheels that roll freely. The largest cylinder or sphere among
a wheel's collisions is its tyre, and <mu> and <mu2> of that are its friction along and across.
"""

from collections.abc import Iterable, Mapping, Sequence

from xtdrone_core.vehicle import Actuator, Tyre, Wheel

from ..sdf_file import OWN, Element, fail
from ..sdf_tree import Scope, name_of, number, refuse_unknown
from ..shapes import Shape
from .links import NO_LIMIT, Links, axis_in_body, child_of, joint_limits, moves

_ROUND = ("cylinder", "sphere")
_SLIP_STIFFNESS = 10.0  # default, as of car tyres


def rims(shapes: Iterable[Shape]) -> dict[str, Shape]:
    """The largest round collision of each link, by the link's full name."""
    found: dict[str, Shape] = {}
    for shape in shapes:
        if (
            shape.collides
            and shape.kind in _ROUND
            and (shape.link not in found or shape.size[0] > found[shape.link].size[0])
        ):
            found[shape.link] = shape
    return found


def read_tyres(
    scope: Scope,
    links: Links,
    actuators: Sequence[Actuator],
    controls: Mapping[str, tuple[int, Element]],
    shapes: Iterable[Shape],
    remarks: list[str],
) -> Iterable[Tyre]:
    """Yields the tyres of a model.

    Args:
        scope: The model.
        links: Its links.
        actuators: Its actuators.
        controls: Full names of the joints that channels drive, to the index of the actuator and
            the channel's element.
        shapes: The model's shapes, in the frames of their bodies.
        remarks: Gets a line on each driven wheel that has nothing to roll on.

    Raises:
        SdfError: A tyre without friction, stiffness or radius.
    """
    driven = {name for name, (k, _) in controls.items() if isinstance(actuators[k], Wheel)}
    round_ones = rims(shapes)
    for owner, joint in scope.elements("joint") if driven else ():
        name, link = owner.prefix + name_of(joint), child_of(owner, joint)
        if name not in driven and (name in controls or not _endless(joint)):
            continue
        if link in round_ones:
            yield _tyre(
                name, link, owner, joint, links, *controls.get(name, (-1, None)), round_ones[link]
            )
        elif name in driven:
            _refuse_flat(scope, link, name)
            remarks.append(
                f"wheel '{name}' has no cylinder or sphere to roll on: it exerts no force"
            )


def _tyre(
    name: str,
    link: str,
    scope: Scope,
    joint: Element,
    links: Links,
    wheel: int,
    channel: Element | None,
    rim: Shape,
) -> Tyre:
    block = None if channel is None else channel.find(OWN + "wheel")
    values = {"slip_stiffness": _SLIP_STIFFNESS, "relaxation_length": rim.size[0]}
    if block is not None:
        refuse_unknown(block, ("time_constant", *values))
        values = {tag: number(block, tag, value) for tag, value in values.items()}
    values |= {"friction": rim.friction, "lateral_friction": rim.friction2}
    for tag, value in values.items():
        if value <= 0.0:
            fail(joint, f"the {tag} of wheel '{name}' is {value:g}: give a number above 0")
    return Tyre(
        name=name,
        link=link,
        body=rim.body,
        wheel=wheel,
        pos=rim.pose.pos,
        axis=axis_in_body(scope, joint, links, rim.body),
        radius=rim.size[0],
        **values,
    )


def _refuse_flat(scope: Scope, link: str, wheel: str) -> None:
    """Refuses a wheel whose cylinder or sphere has no radius."""
    for name, element, _ in scope.links():
        for form in element.iterfind("collision/geometry/*") if name == link else ():
            if form.tag in _ROUND and (radius := number(form, "radius")) <= 0.0:
                fail(form, f"the radius of wheel '{wheel}' is {radius:g}: give metres above 0")


def _endless(joint: Element) -> bool:
    if not moves(joint) or joint.get("type") == "prismatic":
        return False
    lower, upper, _ = joint_limits(joint)
    return lower <= -NO_LIMIT and upper >= NO_LIMIT
