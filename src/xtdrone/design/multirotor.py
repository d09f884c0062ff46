"""A multirotor from its parts: a model folder with consistent figures.

What a builder does not know is estimated: inertia from masses at their places, drag from the
size of the frame, the resistance of the pack from its capacity, the lag of the motors from the size
of the propeller.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from xtdrone_core.errors import ScenarioError, shown
from xtdrone_core.files import FileError
from xtdrone_core.outputs import cannot_write
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_propellers import catalogue, propeller_file
from xtdrone_propellers.propeller import INCH, Propeller

from ..compose.battery import Battery
from ..compose.effects import GroundEffect, QuadraticDrag
from ..compose.frame import Frame
from ..compose.multirotor import Multirotor
from ..compose.part import box_inertia, check_name
from ..compose.rotors import ModelledThrust, rotors_in_x
from .parts_list import PartsList

_NOMINAL = 3.7  # voltage of a cell under load [V]
_OHM = 0.027  # resistance of a cell times its capacity [Ohm A h]
_EFFICIENCY = 0.75  # motors and speed controllers: shaft power over electrical power
_MOTOR_PART = 0.08  # mass of a motor with its propeller over the whole, with four rotors
_BLADE_PART = 0.15  # mass of the propeller over that of the motor with it
_BODY = 0.35  # side of the frame's middle over the distance of the motors
_DRAG = 0.05  # drag area across over the square of that distance
_IDLE = 0.08  # speed of an armed rotor over its largest
_LAG, _LAG_INCH = 0.0125, 10.0  # time constant of a rotor of that diameter [s], [inch]
_CLEAR = 0.98  # diameters of neighbours may fill so much of their distance
_LEAST, _ENOUGH = 1.2, 1.8  # thrust to weight: refused below, remarked below
_PARAMETERS = "vehicle.params"
_SIZE = re.compile(r"[\d.]+x[\d.]+(?:x\d)?")


@dataclass(frozen=True)
class Design:
    """A designed multirotor.

    Attributes:
        vehicle: It.
        propeller: Its propeller.
        figures: What follows from the parts, by name.
        parameters: Of the flight stack, by name.
        remarks: What a builder should know.
    """

    vehicle: Multirotor
    propeller: Propeller
    figures: dict[str, float]
    parameters: dict[str, float]
    remarks: tuple[str, ...]


def design(parts: PartsList) -> Design:
    """Designs a multirotor.

    Args:
        parts: Its parts.

    Raises:
        XtdroneError: The propeller is unknown or too large, or the thrust too small.
    """
    check_name("name of a vehicle", parts.name)
    propeller = _propeller_of(parts.propeller)
    arm = 0.5e-3 * parts.frame
    _check_room(parts, arm, propeller)
    voltage = parts.cells * _NOMINAL
    top = parts.loading * parts.kv * voltage * math.pi / 30.0
    weight = parts.mass * GRAVITY
    hover = propeller.speed_for(weight / parts.rotors)
    full = propeller.loads(top)
    ratio = parts.rotors * float(full.thrust) / weight
    if ratio < _LEAST:
        raise ScenarioError(
            f"'{parts.name}' has thrust to weight {ratio:.2f}: it needs {_LEAST:g}; give more KV, "
            "cells or rotors, a larger propeller or less mass"
        )
    still = propeller.loads(hover)
    shaft = parts.rotors * float(still.torque) * hover
    idle = _IDLE * top
    command = (hover - idle) / (top - idle)
    lag = _LAG * max(2.0 * propeller.radius / INCH / _LAG_INCH, 0.4)
    motor = parts.motor_mass * 1e-3 or _MOTOR_PART * parts.mass * 4.0 / parts.rotors
    middle = parts.mass - parts.rotors * motor
    if middle <= 0.0:
        raise ScenarioError(
            f"the {parts.rotors} motors of '{parts.name}' weigh {parts.rotors * motor:.3g} kg, all "
            f"of it {parts.mass:g} kg: give motor_mass in grams, mass in kg"
        )
    blade, drag = _BLADE_PART * motor, _DRAG * (2.0 * arm) ** 2
    side = _BODY * parts.frame * 1e-3
    curve = ModelledThrust(
        max_speed=top,
        idle_speed=idle,
        time_constant_up=lag,
        time_constant_down=2.0 * lag,
        propeller=_file_of(propeller),
    )
    vehicle = Multirotor(
        name=parts.name,
        frame=Frame(
            mass=parts.mass - parts.rotors * blade,
            size=(side, side, 0.5 * side),
            inertia=_inertia(middle, side, motor - blade, arm, parts.rotors),
        ),
        rotors=rotors_in_x(
            arm, height=0.3 * side, n=parts.rotors, curve=curve, mass=blade, radius=propeller.radius
        ),
        effects=(
            QuadraticDrag(areas=(drag, drag, 2.0 * drag)),
            GroundEffect(rotor_radius=propeller.radius),
        ),
        battery=Battery(
            cells=parts.cells,
            capacity=parts.capacity,
            internal_resistance=_OHM * parts.cells / parts.capacity,
            efficiency=_EFFICIENCY,
            rated_voltage=voltage,
            avionics_power=parts.avionics,
        ),
    )
    power = shaft / _EFFICIENCY + parts.avionics
    most = parts.rotors * float(full.torque) * top / _EFFICIENCY
    figures = {
        "thrust_to_weight": ratio,
        "hover_throttle": command,
        "hover_speed_rpm": hover * 30.0 / math.pi,
        "largest_speed_rpm": top * 30.0 / math.pi,
        "hover_power_w": power,
        "hover_time_min": 60.0 * parts.capacity * voltage / power,
        "hover_current_a": power / voltage,
        "largest_current_a": most / voltage,
        "grams_per_watt": parts.mass * 1e3 / power,
    }
    return Design(
        vehicle,
        propeller,
        figures,
        _parameters(command, lag, ratio),
        _remarks(figures, parts, propeller, top),
    )


def write(made: Design, folder: Path) -> Path:
    """Writes a design as a model folder; returns its SDF file.

    Args:
        made: The design.
        folder: Of the model; it must not be there, or be empty.

    Raises:
        ScenarioError: Something is there, or it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ScenarioError(
            f"'{shown(folder)}' is there already: it is left alone, give another name or remove it"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if made.propeller.model == "surrogate":
            propeller_file.write(made.propeller, folder / _file_of(made.propeller))
        lines = [
            "# Of this vehicle's figures, by xtdrone vehicle new.",
            *(f"1\t1\t{name}\t{value:.6g}\t9" for name, value in sorted(made.parameters.items())),
        ]
        (folder / _PARAMETERS).write_text("\n".join(lines) + "\n")
    except OSError as failed:
        raise cannot_write(folder, failed, FileError) from failed
    return made.vehicle.to_sdf(folder / "model.sdf")


def _propeller_of(name: str) -> Propeller:
    """A propeller by its size alone, then a generic one; by its name or file."""
    plain = _SIZE.fullmatch(name.strip())
    return catalogue.propeller(f"{catalogue.GENERIC}-{plain[0]}" if plain else name)


def _file_of(propeller: Propeller) -> str:
    """What the SDF file calls a propeller: its name, or the file of its table."""
    return f"{propeller.name}.npz" if propeller.model == "surrogate" else propeller.name


def _check_room(parts: PartsList, arm: float, propeller: Propeller) -> None:
    """Refuses propellers that touch each other."""
    room = 2.0 * arm * math.sin(math.pi / parts.rotors)
    if 2.0 * propeller.radius > _CLEAR * room:
        raise ScenarioError(
            f"propellers of {2e3 * propeller.radius:.0f} mm touch each other in a frame of "
            f"{parts.frame:g} mm, whose {parts.rotors} motors are {1e3 * room:.0f} mm apart: give "
            "frame in mm, from motor to motor across the middle"
        )


def _inertia(
    middle: float, side: float, motor: float, arm: float, rotors: int
) -> tuple[float, float, float]:
    """Moments of a box in the middle and motors on a circle [kg m^2]."""
    box = box_inertia(middle, (side, side, 0.5 * side))
    ring = rotors * motor * arm * arm
    return box[0] + 0.5 * ring, box[1] + 0.5 * ring, box[2] + ring


def _parameters(hover: float, lag: float, ratio: float) -> dict[str, float]:
    """Parameters of the flight stack: hover throttle, and gains as quick as the rotors are."""
    quick = min(max(_LAG / lag, 0.3), 1.3)
    gentle = min(1.0, (ratio - 1.0) / (_ENOUGH - 1.0))
    return {
        "MPC_THR_HOVER": min(max(hover, 0.1), 0.8),
        "MC_ROLLRATE_P": 0.15 * quick,
        "MC_PITCHRATE_P": 0.15 * quick,
        "MC_ROLLRATE_I": 0.2 * quick,
        "MC_PITCHRATE_I": 0.2 * quick,
        "MC_YAWRATE_P": 0.2 * min(quick, 1.0),
        "MC_ROLL_P": 6.5 * min(quick**0.5, 1.0),
        "MC_PITCH_P": 6.5 * min(quick**0.5, 1.0),
        "MPC_TILTMAX_AIR": 25.0 + 20.0 * gentle,
    }


def _remarks(
    figures: dict[str, float], parts: PartsList, propeller: Propeller, top: float
) -> tuple[str, ...]:
    """What a builder should know."""
    remarks = []
    if figures["thrust_to_weight"] < _ENOUGH:
        remarks.append(
            f"thrust to weight {figures['thrust_to_weight']:.2f} leaves little for wind: 2 is usual"
        )
    tip = top * propeller.radius
    if tip > 200.0:
        remarks.append(
            f"the tips move at {tip:.0f} m/s at full throttle, where air is not incompressible: "
            "thrust there is less than computed"
        )
    rate = figures["largest_current_a"] / parts.capacity
    if rate > 60.0:
        remarks.append(
            f"full throttle takes {figures['largest_current_a']:.0f} A, {rate:.0f} times the "
            "capacity each hour: few packs give it"
        )
    if propeller.name.startswith(catalogue.GENERIC):
        remarks.append(
            f"the propeller is a generic one of {propeller.name.removeprefix('generic-')}; a "
            "published name or its geometry file is more exact"
        )
    return tuple(remarks)
