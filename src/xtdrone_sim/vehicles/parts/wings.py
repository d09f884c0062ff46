"""The lifting surfaces of a model: each plugin LiftDrag of PX4's sitl_gazebo, or Gazebo's own."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from xtdrone_core import FleetModel, Vehicle
from xtdrone_core.vehicle import BASE, Actuator, Rotor, Vector, Wing
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import wing

from ..plugins import plugin_name
from ..pose import Pose
from ..sdf_file import OWN, Element, fail
from ..sdf_tree import Scope, flag, number, refuse_unknown, text, vector
from .links import Links

_PLUGINS = ("LiftDragPlugin", "gazebo_liftdrag_plugin")
_UNKNOWN = "AdvancedLiftDragPlugin"  # stability derivatives of a whole aircraft
WING_PLUGINS = (*_PLUGINS, _UNKNOWN)  # those that are read, or that a remark is about
HALF_WING = OWN + "half_wing"
_ANGLES = np.radians(np.arange(-5.0, 45.0, 0.1))  # angles of attack among which the stall is sought
_TRIMMED = (1.2, 1.5, 2.0)  # speeds of level flight in figures, over that of the stall
# The plugin's values for what a file leaves out.
_DEFAULTS = {
    "area": 1.0,
    "air_density": 1.2041,
    "alpha_stall": 0.5 * math.pi,
    "cla": 1.0,
    "cda": 0.01,
    "cma": 0.0,
    "cla_stall": 0.0,
    "cda_stall": 1.0,
    "cma_stall": 0.0,
    "cd_alpha0": 0.0,
    "cm_alpha0": 0.0,
    "cd_delta": 0.0,
    "cm_delta": 0.0,
}
_CL_DELTA = 4.0


def wing_plugins(scope: Scope) -> list[tuple[Scope, Element]]:
    """Scope and plugin of each lifting surface whose link is there."""
    return [
        (owner, plugin)
        for owner, plugin in scope.elements("plugin")
        if plugin_name(plugin) in _PLUGINS and _has_link(owner, plugin)
    ]


def _has_link(scope: Scope, plugin: Element) -> bool:
    return scope.has("link", plugin.findtext("link_name", "").strip())


def control_joint(scope: Scope, plugin: Element) -> str:
    """Full name of the joint of a wing's control surface; empty where it has none."""
    name = plugin.findtext("control_joint_name", "").strip()
    return scope.prefix + name if name else ""


def centre_of_pressure(scope: Scope, plugin: Element, links: Links) -> tuple[int, Vector]:
    """Body of a wing and its centre of pressure in that body's frame [m]."""
    body, frame = link_frame(scope, plugin, links)
    return body, frame.point(vector(plugin, "cp", (0.0, 0.0, 0.0)))


def read_wings(
    scope: Scope,
    links: Links,
    actuators: Sequence[Actuator],
    controls: Mapping[str, tuple[int, Element]],
    remarks: list[str],
) -> Iterable[Wing]:
    """Yields the lifting surfaces of a model.

    Args:
        scope: The model.
        links: Its links.
        actuators: Its actuators.
        controls: Full names of joints to the index of the actuator that turns each and the
            element of its channel.
        remarks: Gets a line on control surfaces that nothing deflects.

    Raises:
        SdfError: A surface of an invalid link, direction, area, density or slipstream.
    """
    for owner, plugin in scope.elements("plugin"):
        if plugin_name(plugin) in _PLUGINS and not _has_link(owner, plugin):
            remarks.append(
                f"wing '{plugin.get('name', 'wing')}' exerts no force: there is no link "
                f"'{plugin.findtext('link_name', '').strip()}'"
            )
        if plugin_name(plugin) == _UNKNOWN:
            remarks.append(
                f"plugin '{plugin.get('name', _UNKNOWN)}' is left out: the air exerts "
                "no force on its wings; give a LiftDragPlugin for each in place of "
                f"{_UNKNOWN}"
            )
    for owner, plugin in wing_plugins(scope):
        joint = control_joint(owner, plugin)
        name = plugin.get("name", "wing")
        if joint and joint not in controls:
            remarks.append(f"wing '{name}' is never deflected: no channel turns '{joint}'")
        body, frame = link_frame(owner, plugin, links)
        values: dict[str, Any] = {
            tag: number(plugin, tag, default) for tag, default in _DEFAULTS.items()
        }  # fields of a Wing
        for tag in ("area", "air_density", "alpha_stall"):
            if values[tag] <= 0.0:
                fail(plugin, f"<{tag}> of wing '{name}' is {values[tag]:g}: give a number above 0")
        yield Wing(
            name=name,
            body=body,
            control=controls.get(joint, (-1, None))[0],
            pos=frame.point(vector(plugin, "cp", (0.0, 0.0, 0.0))),
            **_directions(plugin, name, frame),
            **_slipstream(plugin, name, body, actuators),
            radial_symmetry=flag(plugin, "radial_symmetry"),
            alpha0=number(plugin, "alpha0", number(plugin, "a0", 0.0)),
            cl_delta=number(
                plugin, "cl_delta", number(plugin, "control_joint_rad_to_cl", _CL_DELTA)
            ),
            **values,
        )


def wing_figures(model: Vehicle) -> dict:
    """Level flight on the wings of a vehicle's base, control surfaces at rest, at sea level.

    Args:
        model: The vehicle.

    Returns:
        Name (with its unit at the end) to figure: stall_speed_m_s, and level_flight (strings, a
        line for each of some speeds, with angle of attack and drag); empty without lift.
    """
    curves = _lift_by_angle(model)
    if curves is None:
        return {}
    lift, _ = curves
    slowest = math.sqrt(model.mass * GRAVITY / lift[-1])
    lines = []
    for speed in (slowest * factor for factor in _TRIMMED):
        angle, drag = level_flight(model, speed)
        lines.append(
            f"{speed:.1f} m/s: angle of attack {math.degrees(angle):.1f} deg, drag {drag:.2f} N"
        )
    return {"stall_speed_m_s": slowest, "level_flight": lines}


def level_flight(model: Vehicle, speed: float) -> tuple[float, float]:
    """Angle of attack [rad] and drag [N] at which the wings of the base carry a vehicle.

    Args:
        model: The vehicle.
        speed: Speed of the air, above that of the stall [m/s]; control surfaces are at rest.

    Returns:
        NaN where they do not carry it, or would at less than -5 degrees.
    """
    curves = _lift_by_angle(model)
    needed = model.mass * GRAVITY / speed**2
    if curves is None or not curves[0][0] <= needed <= curves[0][-1]:
        return math.nan, math.nan
    lift, drag = curves
    angle = float(np.interp(needed, lift, _ANGLES[: len(lift)]))
    return angle, speed**2 * float(np.interp(angle, _ANGLES, drag))


def _lift_by_angle(model: Vehicle) -> tuple[np.ndarray, np.ndarray] | None:
    """Lift up to the stall and drag at _ANGLES [N s^2/m^2]; None without lift."""
    records = [record for record in FleetModel.of([model]).wing[0] if record["body"] == BASE]
    if not records:
        return None
    largest = max(records, key=lambda record: record["area"])
    lift, drag = np.transpose(
        [
            _lift_and_drag(records, largest["forward"], largest["upward"], float(angle))
            for angle in _ANGLES
        ]
    )
    stall = int(lift.argmax())
    return (lift[: stall + 1], drag) if lift[stall] > 0.0 else None


def _lift_and_drag(
    records: Sequence[Record], forward: np.ndarray, upward: np.ndarray, angle: float
) -> tuple[float, float]:
    """Lift and drag of wings at an angle of attack, over the squared air speed [N s^2/m^2]."""
    along = math.cos(angle) * forward - math.sin(angle) * upward
    force = np.sum([wing.forces(record, 0.0, 1.0, *along)[:3] for record in records], axis=0)
    return force @ (math.sin(angle) * forward + math.cos(angle) * upward), -force @ along


def link_frame(scope: Scope, plugin: Element, links: Links) -> tuple[int, Pose]:
    """Index of the body of a wing's link, and the link's pose in that body's frame."""
    name = text(plugin, "link_name")
    if scope.prefix + name not in links.of_link:
        fail(plugin, f"there is no link '{scope.prefix + name}'")
    return links.inside(scope.prefix + name, scope.pose(name, plugin))


def _directions(plugin: Element, name: str, frame: Pose) -> dict:
    """Unit vectors forward, and upward at a right angle to it, in the frame of the body."""
    forward = np.array(vector(plugin, "forward", (1.0, 0.0, 0.0)))
    upward = np.array(vector(plugin, "upward", (0.0, 0.0, 1.0)))
    span = np.cross(forward, upward)
    lengths = float(np.linalg.norm(forward) * np.linalg.norm(upward))
    if np.linalg.norm(span) < 1e-6 * max(lengths, 1e-9):
        fail(
            plugin,
            f"<forward> and <upward> of wing '{name}' are parallel or zero: give two "
            "directions at a right angle",
        )
    upward = np.cross(span, forward)
    return {
        tag: tuple(map(float, frame.direction(tuple(axis / np.linalg.norm(axis)))))
        for tag, axis in (("forward", forward), ("upward", upward))
    }


def _slipstream(plugin: Element, name: str, body: int, actuators: Sequence[Actuator]) -> dict:
    """The rotor in whose slipstream a wing lies, and its disc area; empty where none is named."""
    block = plugin.find(OWN + "slipstream")
    if block is None:
        return {}
    refuse_unknown(block, ("motorNumber", "radius"))
    motor, radius = number(block, "motorNumber"), number(block, "radius")
    if radius <= 0.0:
        fail(block, f"<radius> of a rotor is {radius:g}: give metres above 0")
    index = next(
        (
            k
            for k, actuator in enumerate(actuators)
            if isinstance(actuator, Rotor) and actuator.channel == motor
        ),
        None,
    )
    if index is None or actuators[index].body != body:
        fail(
            block,
            f"wing '{name}' lies in the slipstream of motor {motor:g}: give the "
            "motorNumber of a rotor on the body of the wing's link",
        )
    return {"rotor": index, "disc_area": math.pi * radius * radius}
