"""Derived figures of a vehicle: how it hovers, how strong it is, how its rotors act."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sensor_models.cameras import CameraParameters
from sensor_models.rendered_sensor import Part, parts_of
from sensor_models.sensor import sensors
from xtdrone_core import FleetModel, Vehicle, outputs, plot_style
from xtdrone_core.vehicle import Actuator, Body, Joint, Servo, Surface, Vector
from xtdrone_dynamics import battery
from xtdrone_dynamics.abilities.effectiveness import (
    ROWS,
    commanded,
    hover_thrust,
    in_hover,
    largest_thrust,
    rank,
)
from xtdrone_dynamics.abilities.force_envelope import ForceEnvelope
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, ROVER, cannot_fly, vehicle_types
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate

from .parts.wings import wing_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


def vehicle_figures(model: Vehicle) -> dict:
    """The figures that `xtdrone vehicle show` prints, at sea level and in still air.

    Args:
        model: The vehicle.

    Returns:
        Name (with its unit at the end) to number, string, list or matrix (nested lists):
        type, mass_kg, cog_m, inertia_kg_m2, bodies, joints and actuators (strings, one line each),
        commands (what force and torque it can be given, of six), rank (of the six), flies ("yes",
        or why the flight stack cannot fly it), allocation_matrix (6 x A in hover, see effectiveness
        in xtdrone_dynamics.abilities), effects. With rotors also span_m (largest distance of two
        hubs), max_thrust_n (sum), thrust_to_weight, time_constant_up_s, time_constant_down_s. If
        it can hover, also hover_thrust_n, hover_speed_rad_s and hover_command (each per rotor),
        max_angular_acceleration_rad_s2 (roll, pitch, yaw, out of the hover at constant thrust) and
        largest_force_n (without torque: backwards and forwards, right and left, each while it
        carries its weight; down and up);
        with a battery hover_shaft_power_w, hover_voltage_v and hover_current_a of the pack at
        the start, and hover_time_min until it gives too little. With wings those of wing_figures().
    """
    fleet = FleetModel.of([model])
    matrix = in_hover(fleet)[0]
    can = commanded(matrix)
    figures = {
        "type": model.type,
        "mass_kg": model.mass,
        "cog_m": list(model.cog),
        "inertia_kg_m2": [list(row) for row in model.inertia],
        "bodies": [_body_line(body) for body in model.bodies],
        "joints": [_joint_line(joint, model) for joint in model.joints],
        "actuators": [_actuator_line(actuator, model) for actuator in model.actuators],
        "rotors": len(model.rotors),
        "commands": ", ".join(name for name, yes in zip(ROWS, can, strict=True) if yes)
        or "nothing",
        "rank": rank(matrix),
    }
    hover = hover_thrust(fleet)[0]
    if model.rotors:
        figures |= _rotor_figures(model, largest_thrust(fleet)[0])
    figures["flies"] = cannot_fly(fleet)[0] or _flies(fleet, hover)
    if hover.any():
        figures |= _hover_figures(model, fleet, matrix[2:], hover)
        figures["largest_force_n"] = _largest_forces(ForceEnvelope(fleet), model.mass * GRAVITY)
    figures |= wing_figures(model)
    return {**figures, "allocation_matrix": matrix.tolist(), "effects": model.effects}


def _largest_forces(envelope: ForceEnvelope, weight: float) -> list[list[float]]:
    """Along each axis, the farthest forces to both sides [N]; `weight` is carried by x and y."""
    rows = []
    for axis, direction in enumerate(np.eye(3)):
        held = {0: 0.0, 1: 0.0, 2: weight}
        del held[axis]
        both = [envelope.farthest(side * direction, held) for side in (-1.0, 1.0)]
        rows.append([0.0 if force is None else float(force[axis]) for force in both])
    return rows


def _hubs(model: Vehicle) -> np.ndarray:
    """Hubs of the rotors (R, 3) in the frame of the base, joints at zero [m]."""
    return np.array(
        [_in_base(model, rotor.body, rotor.pos, rotor.axis)[0] for rotor in model.rotors]
    )


def _in_base(model: Vehicle, body: int, pos: Vector, axis: Vector) -> tuple[np.ndarray, np.ndarray]:
    """A point (3,) [m] and a direction (3,) of a body in the frame of the base, joints at zero."""
    part = model.bodies[body]
    while part.parent >= 0:
        x, y, z = np.add(rotate(*part.quat, *pos), part.pos)
        pos, axis = (x, y, z), rotate(*part.quat, *axis)
        part = model.bodies[part.parent]
    return np.array(pos), np.array(axis)


def _flies(fleet: FleetModel, hover: np.ndarray) -> str:
    """How a vehicle is flown that can be."""
    kind = vehicle_types(fleet)[0]
    if kind == FIXED_WING:
        return "yes, as a fixed wing"
    if kind == ROVER:
        return "no: it drives"
    return "yes" if hover.any() else "not without turning: the rotors' torques do not balance"


def _rotor_figures(model: Vehicle, largest: np.ndarray) -> dict:
    hubs = _hubs(model)
    span = max(np.linalg.norm(a - b) for a in hubs for b in hubs)
    return {
        "span_m": float(span),
        "max_thrust_n": float(largest.sum()),
        "thrust_to_weight": float(largest.sum() / (model.mass * GRAVITY)),
        "time_constant_up_s": [r.time_constant_up for r in model.rotors],
        "time_constant_down_s": [r.time_constant_down for r in model.rotors],
    }


def _hover_figures(
    model: Vehicle, fleet: FleetModel, matrix: np.ndarray, hover: np.ndarray
) -> dict:
    """Figures of a hover with these thrusts (A,) [N], in which `matrix` (4, A) acts."""
    rotors = len(model.rotors)
    speed = np.sqrt(hover[:rotors] / [r.motor_constant for r in model.rotors])
    command = [
        (s - r.zero_position_armed) / r.input_scaling
        for s, r in zip(speed, model.rotors, strict=True)
    ]
    low, high = -hover, largest_thrust(fleet)[0] - hover
    for k, servo in enumerate(model.actuators):
        if isinstance(servo, (Servo, Surface)):
            low[k], high[k] = servo.joint_lower, servo.joint_upper
    span = np.where(np.isfinite(high - low), high - low, 1.0)
    inverse = span[:, None] * np.linalg.pinv(matrix * span)
    turning = np.linalg.inv(model.inertia) @ np.diag(
        [_torque_reserve(inverse[:, k + 1], low, high) for k in range(3)]
    )
    return {
        "hover_thrust_n": hover[:rotors].tolist(),
        "hover_speed_rad_s": speed.tolist(),
        "hover_command": [float(c) for c in command],
        "max_angular_acceleration_rad_s2": np.diag(turning).tolist(),
        **(_battery_figures(model, speed) if model.battery else {}),
    }


def _body_line(body: Body) -> str:
    more = f" with {len(body.links) - 1} more links" if len(body.links) > 1 else ""
    return f"{body.name}{more}, {body.mass:.4g} kg"


def _joint_line(joint: Joint, model: Vehicle) -> str:
    body = model.bodies[joint.body]
    unit = "m" if joint.prismatic else "rad"
    return (
        f"{joint.name} moves {body.name} on {model.bodies[body.parent].name}, "
        f"{joint.lower:.4g} to {joint.upper:.4g} {unit}"
    )


def _actuator_line(actuator: Actuator, model: Vehicle) -> str:
    propeller = getattr(actuator, "propeller", "")
    return (
        f"{actuator.kind} {actuator.name} on {model.bodies[actuator.body].name}, channel "
        f"{actuator.channel}, command {actuator.lower:g} to {actuator.upper:g}"
        + (f", propeller {propeller}" if propeller else "")
    )


def vehicle_sensors(model: Vehicle) -> list[dict]:
    """A vehicle's sensors with their effective parameters, from file, preset or default.

    Args:
        model: The vehicle.

    Returns:
        Per sensor kind, name, pos_m (from the centre of gravity, body FLU) and parameters: Table I
        or II in snake case, SI units, nested where a sensor measures several quantities or is a
        pair of cameras.

    Raises:
        SensorError: Invalid values.
    """
    listed = []
    for block in model.sensors:
        if block.kind in sensors():
            values = asdict(sensors()[block.kind].parameters.from_block(block))
        else:
            parts = {_name_of(part): _unplaced(part) for part in parts_of(block)}
            values = parts.get("", parts)
        listed.append(
            {"kind": block.kind, "name": block.name, "pos_m": list(block.pos), "parameters": values}
        )
    return listed


def _name_of(part: Part) -> str:
    """Returns the name of a part: left and right of a stereo pair, else nothing."""
    return part.name if isinstance(part, CameraParameters) else ""


def _unplaced(parameters: Any) -> dict:  # a dataclass of sensor_models
    return {
        name: value
        for name, value in asdict(parameters).items()
        if name not in ("name", "pos", "quat")
    }


def _battery_figures(model: Vehicle, speed: np.ndarray) -> dict:
    """How the pack carries a hover with these rotor speeds (R,) [rad/s]."""
    pack = model.battery
    assert pack is not None, "called for vehicles with a battery"
    constant = [
        pack.rotor_power_constant or r.moment_constant * r.motor_constant for r in model.rotors
    ]
    shaft = float(constant @ speed**3)
    power = shaft / pack.efficiency + pack.avionics_power
    needed = max(speed / [r.max_rot_velocity for r in model.rotors]) * pack.rated_voltage
    charge, seconds, at_start = pack.charge, 0.0, None
    while True:
        voltage, current = battery.load(charge, pack.cells, pack.internal_resistance, power)
        at_start = at_start or (voltage, current)
        if voltage < needed or charge == 0.0:
            break
        charge = battery.drained(charge, pack.capacity, current, 1.0)
        seconds += 1.0
    return {
        "hover_shaft_power_w": shaft,
        "hover_voltage_v": at_start[0],
        "hover_current_a": at_start[1],
        "hover_time_min": seconds / 60.0,
    }


def _torque_reserve(direction: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """The torque at which the first actuator reaches a limit when it is added to the hover [N m].

    Args:
        direction: (A,) change of each actuator per newton metre.
        low, high: (A,) limits less the values in hover.
    """
    margin = np.where(direction > 0.0, high, -low)
    moving = np.abs(direction) > 1e-12
    return float((margin[moving] / np.abs(direction[moving])).min()) if moving.any() else 0.0


def draw_layout(model: Vehicle, path: Path | str) -> None:
    """Draws the rotors and wings from above, nose up, and the force envelope.

    Rotors have their numbers and turning directions, an arrow where their axis leans, and a dotted
    line along the axis of the servo that tilts them. A wing is a line across its centre of
    pressure, as long as the root of its area.

    Args:
        model: The vehicle.
        path: Path of the picture; its suffix selects the format.

    Raises:
        XtdroneError: Something else is there, or it cannot be written.
    """
    path = outputs.picture(path)
    figure = plot_style.figure(10.4, 5.4, model.type)
    cells = figure.add_gridspec(1, 2)
    _draw_rotors(model, figure, cells[0])
    _draw_envelope(model, figure, cells[1])
    plot_style.legend(figure, below=True)
    plot_style.save(figure, path)


def _draw_rotors(model: Vehicle, figure: "Figure", cell: "SubplotSpec") -> None:
    from matplotlib.patches import Circle

    hubs = _hubs(model)
    reach = max(np.hypot(hubs[:, 0], hubs[:, 1])) or float(np.linalg.norm(hubs, axis=1).max())
    gaps = [gap for i, a in enumerate(hubs) for b in hubs[:i] if (gap := math.dist(a[:2], b[:2]))]
    radius = 0.4 * min(gaps or [reach])
    axes = plot_style.map_axes(figure, cell, "from above", ("right [m]", "front [m]"))
    colours = {1: plot_style.series(0), -1: plot_style.series(1)}
    drawn: list = []  # where rotors are, of which several can be above each other
    for i, rotor in enumerate(model.rotors):
        (front, left, _), (lean_x, lean_y, _) = _in_base(model, rotor.body, rotor.pos, rotor.axis)
        x, y = -left, front
        colour = colours[1 if rotor.direction > 0 else -1]
        shrunk = radius * 0.8 ** drawn.count((x, y))
        axes.plot([0, x], [0, y], color="0.7", zorder=0)
        axes.add_patch(Circle((x, y), shrunk, fill=False, color=colour))
        begin, end = (0.3, 1.2) if rotor.direction > 0 else (1.2, 0.3)
        for turn in (0.0, math.pi):
            _arrow(
                axes,
                _around(x, y, shrunk, begin + turn),
                _around(x, y, shrunk, end + turn),
                color=colour,
                connectionstyle=f"arc3,rad={0.3 * rotor.direction}",
            )
        if math.hypot(lean_x, lean_y) > 1e-3:
            _arrow(
                axes, (x, y), (x - 2.0 * radius * lean_y, y + 2.0 * radius * lean_x), color=colour
            )
        axes.text(
            x + 0.6 * radius * drawn.count((x, y)),
            y,
            str(i),
            ha="center",
            va="center",
            color=colour,
            zorder=plot_style.MARKS,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
        drawn.append((x, y))
    _draw_tilts(model, axes, radius)
    _draw_wings(model, axes)
    _arrow(axes, (0, 0), (0, 0.45 * reach), color="black")
    axes.text(0, 0.47 * reach, "front", ha="center")
    for sign, text in ((1, "counter-clockwise"), (-1, "clockwise")):
        axes.plot([], [], "o", mfc="none", color=colours[sign], label=text)
    axes.set_adjustable("box")
    limit = reach + 1.6 * radius
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit))


def _draw_tilts(model: Vehicle, axes: "Axes", radius: float) -> None:
    """A line along the axis of each joint that carries rotors."""
    carriers = {rotor.body for rotor in model.rotors}
    carriers |= {model.bodies[body].parent for body in carriers}
    for joint in model.joints:
        if joint.body in carriers:
            (front, left, _), (x, y, _) = _in_base(model, joint.body, joint.anchor, joint.axis)
            axes.plot(
                [-left + side * radius * -y for side in (-1, 1)],
                [front + side * radius * x for side in (-1, 1)],
                ":",
                color="0.3",
            )


def _draw_wings(model: Vehicle, axes: "Axes") -> None:
    for wing in model.wings:
        (front, left, _), span = _in_base(
            model, wing.body, wing.pos, tuple(np.cross(wing.forward, wing.upward))
        )
        half = 0.5 * math.sqrt(wing.area)
        axes.plot(
            [-left + side * half * -span[1] for side in (-1, 1)],
            [front + side * half * span[0] for side in (-1, 1)],
            color="0.5",
            lw=3,
        )


def _draw_envelope(model: Vehicle, figure: "Figure", cell: "SubplotSpec") -> None:
    """The sections of the force envelope along the body's planes, and the weight."""
    envelope = ForceEnvelope(FleetModel.of([model]))
    axes = plot_style.map_axes(
        figure, cell, "forces without torque", ("along the axis [N]", "up [N]")
    )
    for k, (axis, text) in enumerate(((1, "to the front"), (0, "to the left"))):
        corners = envelope.section(axis)
        if len(corners):
            axes.plot(
                corners[:, 1 - axis],
                corners[:, 2],
                color=plot_style.series(2 + k),
                ls=("-", "--")[k],
                label=text,
            )
    axes.plot(0.0, model.mass * GRAVITY, "k+", label="weight")


def _arrow(axes: "Axes", start: tuple, end: tuple, **style: Any) -> None:  # as Matplotlib's
    axes.annotate("", xytext=start, xy=end, arrowprops={"arrowstyle": "->", **style})


def _around(x: float, y: float, radius: float, angle: float) -> tuple:
    return x + radius * math.cos(angle), y + radius * math.sin(angle)
