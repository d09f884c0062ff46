"""The floats of a model: <xtdrone:hull>, or PX4's plugin of surface vessels.

<xtdrone:hull>
  <link>base_link</link> <pos>0 0 0</pos> <size>1.2 0.6 0.3</size>
  <linear_drag>20 60 200</linear_drag> <quadratic_drag>30 0 0</quadratic_drag>
  <linear_damping>5 5 5</linear_damping>
</xtdrone:hull>
"""

from collections.abc import Iterable, Iterator
from typing import Any

from xtdrone_core.vehicle import Hull

from ..plugins import plugin_name
from ..pose import Pose
from ..sdf_file import OWN, Element, fail
from ..sdf_tree import Scope, number, refuse_unknown, text, vector
from .links import Links

_PLUGIN = "gazebo_usv_dynamics_plugin"
HULL_PLUGINS = (_PLUGIN,)  # those that are read
_DRAG = ("linear_drag", "quadratic_drag", "linear_damping", "quadratic_damping")
_NONE = (0.0, 0.0, 0.0)
_WATER = 1000.0  # density at which a hull's own mass gives its displacement [kg/m^3]
# Tags of the plugin for surge, sway and heave, and for roll, pitch and yaw; with its defaults.
_TAGS = {
    "linear_drag": (("xU", 20.0), ("yV", 20.0), ("zW", 20.0)),
    "quadratic_drag": (("xUU", 0.0), ("yVV", 0.0), ("", 0.0)),
    "linear_damping": (("kP", 20.0), ("mQ", 20.0), ("nR", 20.0)),
    "quadratic_damping": (("", 0.0), ("", 0.0), ("nRR", 0.0)),
}
_ADDED_MASS = ("xDotU", "yDotV", "nDotR")


def read_hulls(scope: Scope, links: Links, remarks: list[str]) -> Iterable[Hull]:
    """Yields the floats of a model.

    Args:
        scope: The model.
        links: Its links.
        remarks: Gets a line on what is left out.

    Raises:
        SdfError: A float of an invalid link or size.
    """
    blocks = scope.elements(OWN + "hull")
    for k, (owner, block) in enumerate(blocks):
        refuse_unknown(block, ("link", "pos", "size", *_DRAG))
        length, width, height = vector(block, "size", _NONE)
        if min(length, width, height) <= 0.0:
            fail(
                block,
                f"<size> of <xtdrone:hull> is {length:g} {width:g} {height:g}: give "
                "length, width and height above 0",
            )
        body, frame = _frame(owner, block, "link", links)
        drag: dict[str, Any] = {tag: vector(block, tag, _NONE) for tag in _DRAG}  # fields of Hull
        yield Hull(
            name=f"hull_{k}",
            body=body,
            pos=frame.point(vector(block, "pos", _NONE)),
            length=length,
            width=width,
            height=height,
            displacement=links.mass / len(blocks) / _WATER,
            **drag,
        )
    for owner, plugin in scope.elements("plugin"):
        if plugin_name(plugin) == _PLUGIN:
            if any(number(plugin, tag, 0.0) for tag in _ADDED_MASS):
                remarks.append(
                    f"{', '.join(_ADDED_MASS)} have no effect: no added mass is simulated"
                )
            yield from _catamaran(owner, plugin, links)


def _catamaran(scope: Scope, plugin: Element, links: Links) -> Iterator[Hull]:
    """The two half-cylinders of PX4's plugin, each with half of the drag."""
    radius, length = number(plugin, "hullRadius", 0.213), number(plugin, "boatLength", 1.35)
    beam = number(plugin, "boatWidth", 1.0)
    if min(radius, length) <= 0.0:
        fail(plugin, f"<hullRadius> is {radius:g} and <boatLength> {length:g}: give metres above 0")
    body, frame = _frame(scope, plugin, "bodyName", links)
    halves: dict[str, Any] = {
        name: tuple(0.5 * (number(plugin, tag, default) if tag else 0.0) for tag, default in tags)
        for name, tags in _TAGS.items()
    }
    for side, name in ((1.0, "left"), (-1.0, "right")):
        yield Hull(
            name=f"{name}_hull",
            body=body,
            pos=frame.point((0.0, side * 0.5 * beam, 0.0)),
            length=length,
            width=2.0 * radius,
            height=radius,
            half_cylinder=True,
            displacement=0.5 * links.mass / _WATER,
            **halves,
        )


def _frame(scope: Scope, element: Element, tag: str, links: Links) -> tuple[int, Pose]:
    """Index of the body that a named link belongs to, and the link's pose in its frame."""
    name = text(element, tag)
    if scope.prefix + name not in links.of_link:
        fail(element, f"there is no link '{scope.prefix + name}'")
    return links.inside(scope.prefix + name, scope.pose(name, element))
