"""Derived figures of a vehicle: how it hovers, how strong it is, how its rotors act."""

import math
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sensor_models.cameras import cameras_of, lidar_of
from sensor_models.sensor import sensors
from xtdrone_core import FleetModel, Vehicle, outputs
from xtdrone_dynamics import battery
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.effectiveness import (
    ROWS,
    cannot_fly,
    commanded,
    effectiveness,
    largest_thrust,
    rank,
)


def vehicle_figures(model: Vehicle) -> dict:
    """The figures that `xtdrone vehicle show` prints, at sea level and in still air.

    Args:
        model: The vehicle.

    Returns:
        Name (with its unit at the end) to number, string, list or matrix (nested lists):
        type, mass_kg, cog_m, inertia_kg_m2, bodies, joints and actuators (strings, one line each),
        commands (what force and torque it can be given, of six), flies ("yes", or why the
        flight stack cannot fly it), allocation_matrix (6 x A, see xtdrone_dynamics.effectiveness),
        effects. With rotors also span_m (largest distance of two hubs), max_thrust_n (sum),
        thrust_to_weight, time_constant_up_s, time_constant_down_s. If it can hover, also
        hover_thrust_n, hover_speed_rad_s and hover_command (each per rotor) and
        max_angular_acceleration_rad_s2 (roll, pitch, yaw, out of the hover at constant thrust);
        with a battery hover_shaft_power_w, hover_voltage_v and hover_current_a of the pack at
        the start, and hover_time_min until it gives too little.
    """
    fleet = FleetModel.of([model])
    matrix = effectiveness(fleet)[0]
    can = commanded(matrix)
    figures = {
        "type": model.type, "mass_kg": model.mass, "cog_m": list(model.cog),
        "inertia_kg_m2": [list(row) for row in model.inertia],
        "bodies": [_body_line(body) for body in model.bodies],
        "joints": [_joint_line(joint, model) for joint in model.joints],
        "actuators": [_actuator_line(found, model) for found in model.actuators],
        "rotors": len(model.rotors),
        "commands": ", ".join(name for name, yes in zip(ROWS, can, strict=True) if yes)
        or "nothing"}
    hover = None
    if model.rotors:
        largest = largest_thrust(fleet)[0, :len(model.rotors)]
        hover = _hover(matrix[:, :len(model.rotors)], largest, model.mass * GRAVITY)
        figures |= _rotor_figures(model, largest)
    figures["flies"] = cannot_fly(fleet)[0] or ("yes" if hover is not None else "not without "
                                                "turning: the rotors' torques do not balance")
    if hover is not None:
        figures |= _hover_figures(model, matrix[2:, :len(model.rotors)], hover, largest)
    return {**figures, "allocation_matrix": matrix.tolist(), "effects": model.effects}


def _hover(matrix, largest, weight) -> np.ndarray | None:
    """Thrust of each rotor (R,) [N] in a hover at rest, or None where there is none."""
    wanted = np.array((weight, 0.0, 0.0, 0.0))
    hover = np.linalg.pinv(matrix[2:]) @ wanted
    if rank(matrix) == 6:
        hover = np.linalg.pinv(matrix) @ (0.0, 0.0, *wanted)
    fits = (hover > 0.0).all() and (hover <= largest).all()
    return hover if fits and abs(matrix[2:] @ hover - wanted).max() <= 1e-6 * weight else None


def _rotor_figures(model, largest) -> dict:
    hubs = np.array([rotor.pos for rotor in model.rotors])
    span = max(np.linalg.norm(a - b) for a in hubs for b in hubs)
    return {"span_m": float(span), "max_thrust_n": float(largest.sum()),
            "thrust_to_weight": float(largest.sum() / (model.mass * GRAVITY)),
            "time_constant_up_s": [r.time_constant_up for r in model.rotors],
            "time_constant_down_s": [r.time_constant_down for r in model.rotors]}


def _hover_figures(model, matrix, hover, largest) -> dict:
    speed = np.sqrt(hover / [r.motor_constant for r in model.rotors])
    command = [(s - r.zero_position_armed) / r.input_scaling
               for s, r in zip(speed, model.rotors, strict=True)]
    inverse = np.linalg.pinv(matrix)
    turning = np.linalg.inv(model.inertia) @ np.diag(
        [_torque_reserve(inverse[:, k + 1], hover, largest) for k in range(3)])
    return {"hover_thrust_n": hover.tolist(), "hover_speed_rad_s": speed.tolist(),
            "hover_command": [float(c) for c in command],
            "max_angular_acceleration_rad_s2": np.diag(turning).tolist(),
            **(_battery_figures(model, speed) if model.battery else {})}


def _body_line(body) -> str:
    more = f" with {len(body.links) - 1} more links" if len(body.links) > 1 else ""
    return f"{body.name}{more}, {body.mass:.4g} kg"


def _joint_line(joint, model) -> str:
    body = model.bodies[joint.body]
    unit = "m" if joint.prismatic else "rad"
    return (f"{joint.name} moves {body.name} on {model.bodies[body.parent].name}, "
            f"{joint.lower:.4g} to {joint.upper:.4g} {unit}")


def _actuator_line(found, model) -> str:
    return (f"{found.kind} {found.name} on {model.bodies[found.body].name}, channel "
            f"{found.channel}, command {found.lower:g} to {found.upper:g}")


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
    found = []
    for block in model.sensors:
        if block.kind in sensors():
            values = asdict(sensors()[block.kind].parameters.from_block(block))
        elif block.kind == "lidar":
            values = _unplaced(lidar_of(block))
        else:
            cameras = {camera.name: _unplaced(camera) for camera in cameras_of(block)}
            values = cameras.get("", cameras)
        found.append({"kind": block.kind, "name": block.name, "pos_m": list(block.pos),
                      "parameters": values})
    return found


def _unplaced(parameters) -> dict:
    return {name: value for name, value in asdict(parameters).items()
            if name not in ("name", "pos", "quat")}


def _battery_figures(model, speed) -> dict:
    """How the pack carries a hover with these rotor speeds (R,) [rad/s]."""
    pack = model.battery
    constant = [pack.rotor_power_constant or r.moment_constant * r.motor_constant
                for r in model.rotors]
    shaft = float(constant @ speed**3)
    power = shaft / pack.efficiency + pack.avionics_power
    needed = max(speed / [r.max_rot_velocity for r in model.rotors]) * pack.rated_voltage
    charge, seconds, first = pack.charge, 0.0, None
    while True:
        voltage, current = battery.load(charge, pack.cells, pack.internal_resistance, power)
        first = first or (voltage, current)
        if voltage < needed or charge == 0.0:
            break
        charge = battery.drained(charge, pack.capacity, current, 1.0)
        seconds += 1.0
    return {"hover_shaft_power_w": shaft, "hover_voltage_v": first[0],
            "hover_current_a": first[1], "hover_time_min": seconds / 60.0}


def _torque_reserve(direction, hover, largest) -> float:
    """The torque at which the first rotor reaches a limit when torque is added to the hover [N m].

    Args:
        direction: (R,) change of thrusts per newton metre.
        hover, largest: (R,) thrusts [N].
    """
    room = np.where(direction > 0.0, largest - hover, hover)
    moving = np.abs(direction) > 1e-12
    return float((room[moving] / np.abs(direction[moving])).min()) if moving.any() else 0.0


def draw_layout(model: Vehicle, path: Path | str) -> None:
    """Draws the rotors from above, nose up, with numbers and turning directions.

    Args:
        model: The vehicle.
        path: Of the picture; its suffix selects the format.

    Raises:
        XtdroneError: Something else is there, or it cannot be written.
    """
    import matplotlib

    path = outputs.picture(path)

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    hubs = np.array([rotor.pos for rotor in model.rotors])
    reach = max(np.hypot(hubs[:, 0], hubs[:, 1]))
    radius = 0.5 * min([np.linalg.norm(a - b) for i, a in enumerate(hubs) for b in hubs[:i]]
                       or [reach]) * 0.8
    figure, axes = plt.subplots(figsize=(5, 5))
    for i, (hub, rotor) in enumerate(zip(hubs, model.rotors)):
        x, y = -hub[1], hub[0]  # body x up the page, body y to the left
        colour = "tab:blue" if rotor.direction > 0 else "tab:red"
        axes.plot([0, x], [0, y], color="0.7", zorder=0)
        axes.add_patch(plt.Circle((x, y), radius, fill=False, color=colour))
        begin, end = (0.3, 1.2) if rotor.direction > 0 else (1.2, 0.3)
        for turn in (0.0, math.pi):
            axes.annotate("", xytext=_around(x, y, radius, begin + turn),
                          xy=_around(x, y, radius, end + turn),
                          arrowprops={"arrowstyle": "->", "color": colour,
                                      "connectionstyle": f"arc3,rad={0.3 * rotor.direction}"})
        axes.text(x, y, str(i), ha="center", va="center", color=colour)
    axes.annotate("", xy=(0, 0.45 * reach), xytext=(0, 0), arrowprops={"arrowstyle": "->"})
    axes.text(0, 0.47 * reach, "front", ha="center")
    limit = reach + 1.6 * radius
    axes.set(xlim=(-limit, limit), ylim=(-limit, limit), aspect="equal", xlabel="-y (right) [m]",
             ylabel="x (front) [m]",
             title=f"{model.type}\nblue counter-clockwise, red clockwise")
    figure.tight_layout()
    outputs.save_figure(figure, path, dpi=100)
    plt.close(figure)


def _around(x, y, radius, angle) -> tuple:
    return x + radius * math.cos(angle), y + radius * math.sin(angle)
