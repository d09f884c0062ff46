"""Slung loads as models of the world, and the cables that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_core.scenario.loads import SlungLoad
from xtdrone_dynamics import quaternion

from ..vehicles.pose import Pose, start_pose
from .models import WorldModel, read_model

_SIDE_M, _THICK_M = 0.1, 0.05  # of a box, and of a bar across
_ASIDE_M = 0.6  # of its vehicles at the start, behind them


@dataclass(frozen=True)
class Cable:
    """A cable between a vehicle and a model; slack while its ends are nearer than its length.

    Attributes:
        vehicle: Its name.
        model: Name of the load.
        at: Where it is tied to the load, from its centre of gravity [m].
        length: [m].
        above: Where it is tied to the vehicle, from the centre of gravity of its base [m].
    """

    vehicle: str
    model: str
    at: tuple[float, float, float]
    length: float
    above: tuple[float, float, float] = (0.0, 0.0, 0.0)


def load_models(
    loads: Sequence[SlungLoad], specs: Sequence[VehicleSpec]
) -> tuple[tuple[WorldModel, ...], tuple[Cable, ...]]:
    """Returns the models of loads, on the ground behind their vehicles, and their cables."""
    models, cables = [], []
    for load in loads:
        carriers = [specs[i] for i in load.vehicles]
        size = (_THICK_M, load.bar, _THICK_M) if load.bar else (_SIDE_M,) * 3
        ends = (-0.5 * load.bar, 0.5 * load.bar) if load.bar else (0.0,)
        models.append(read_model(_sdf(load, size), load.name, _start(carriers, size)))
        cables += [
            Cable(carrier.name, load.name, (0.0, end, 0.5 * size[2]), load.length)
            for carrier, end in zip(carriers, ends, strict=True)
        ]
    return tuple(models), tuple(cables)


def own_loads(
    specs: Sequence[VehicleSpec], vehicles: Sequence[Vehicle]
) -> tuple[tuple[WorldModel, ...], tuple[Cable, ...]]:
    """Returns the models and cables of the loads that the files of vehicles have."""
    models, cables = [], []
    for spec, vehicle in zip(specs, vehicles, strict=True):
        base = start_pose(spec, vehicle)
        origin = base.to(Pose(vehicle.cog).inverse())
        for load in vehicle.slung:
            name = f"{spec.name}_{load.name}"
            models.append(read_model(load.sdf, name, origin.to(load.pose)))
            above = tuple(a - b for a, b in zip(load.anchor, vehicle.cog, strict=True))
            cables.append(Cable(spec.name, name, (0.0, 0.0, 0.0), load.length, above))
    return tuple(models), tuple(cables)


def _start(carriers: Sequence[VehicleSpec], size: Sequence[float]) -> Pose:
    """Behind one vehicle; for two, beside the line from the first to the second, a bar along it."""
    places = np.array([carrier.pos for carrier in carriers], dtype=float)
    yaw = carriers[0].yaw
    if len(carriers) > 1:
        east, north = places[1, :2] - places[0, :2]
        yaw = float(np.arctan2(-east, north))  # the bar's y is along the line
    turn = quaternion.from_euler(0.0, 0.0, yaw)
    behind = -_ASIDE_M * np.array([np.cos(yaw), np.sin(yaw), 0.0])
    x, y, z = (places.mean(axis=0) + behind + [0.0, 0.0, 0.5 * size[2] + 0.005]).tolist()
    return Pose((x, y, z), tuple(turn))


def _sdf(load: SlungLoad, size: Sequence[float]) -> str:
    """The SDF of a homogeneous cuboid."""
    squares = np.square(size)
    moments = load.mass / 12.0 * (squares.sum() - squares)
    inertia = "".join(
        f"<{name}>{max(value, 1e-6):.9g}</{name}>"
        for name, value in zip(("ixx", "iyy", "izz"), moments)
    )
    box = f"<geometry><box><size>{' '.join(f'{x:g}' for x in size)}</size></box></geometry>"
    colour = "<material><ambient>0.8 0.5 0.1 1</ambient><diffuse>0.8 0.5 0.1 1</diffuse></material>"
    return (
        f'<sdf version="1.6"><model name="{load.name}"><link name="link">'
        f"<inertial><mass>{load.mass:g}</mass><inertia>{inertia}</inertia></inertial>"
        f'<collision name="collision">{box}</collision>'
        f'<visual name="visual">{box}{colour}</visual></link></model></sdf>'
    )
