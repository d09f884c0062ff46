"""What counts as a multicopter, a fixed wing, a rover."""

import dataclasses

import pytest

from xtdrone_core import FleetModel
from xtdrone_core.vehicle import Propeller, Wheel
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    MULTICOPTER,
    NOT_VTOL,
    ROVER,
    STANDARD_VTOL,
    TAILSITTER,
    TILTROTOR,
    cannot_fly,
    vehicle_types,
    vtol_types,
)
from xtdrone_sim.vehicles.sdf import load_vehicle

WHEEL = Wheel(
    name="wheel",
    input_scaling=30.0,
    pos=(0.0, 0.2, 0.0),
    axis=(0.0, 1.0, 0.0),
    time_constant=0.1,
    max_rot_velocity=30.0,
)
SCREW = Propeller(
    name="screw",
    input_scaling=100.0,
    pos=(-0.5, 0.0, 0.0),
    axis=(1.0, 0.0, 0.0),
    direction=1,
    motor_constant=1e-3,
    moment_constant=0.01,
    time_constant_up=0.1,
    time_constant_down=0.1,
    max_rot_velocity=100.0,
)


def moved_by(*actuators):
    return dataclasses.replace(load_vehicle("iris"), actuators=actuators)


@pytest.mark.parametrize(
    "vehicle, wanted",
    [
        (load_vehicle("iris"), MULTICOPTER),
        (moved_by(), MULTICOPTER),  # moved by nothing
        (moved_by(*load_vehicle("iris").rotors, WHEEL), MULTICOPTER),  # hovers beside its wheel
        (load_vehicle("plane"), FIXED_WING),
        (moved_by(WHEEL), ROVER),
        (moved_by(SCREW), ROVER),
    ],
)
def test_type(vehicle, wanted):
    assert vehicle_types(FleetModel.of([vehicle])).tolist() == [wanted]


def test_vtols_are_known_by_their_wings_and_rotors():
    fleet = FleetModel.of(
        [
            load_vehicle(name)
            for name in (
                "standard_vtol",
                "tailsitter",
                "tiltrotor",
                "plane",
                "iris",
                "phi_tailsitter",
                "tal_tailsitter",
            )
        ]
    )
    assert vtol_types(fleet).tolist() == [
        STANDARD_VTOL,
        TAILSITTER,
        TILTROTOR,
        NOT_VTOL,
        NOT_VTOL,
        NOT_VTOL,
        NOT_VTOL,
    ]
    assert cannot_fly(fleet) == [""] * 7


def test_what_no_flight_stack_moves_says_so():
    fleet = FleetModel.of([load_vehicle("iris"), moved_by(WHEEL)])
    assert cannot_fly(fleet) == ["", "no driven wheel has a cylinder or sphere to roll on"]
