"""Roles of control surfaces, from the wings of a vehicle."""

import dataclasses

import numpy as np
import pytest

from xtdrone_core import FleetModel
from xtdrone_dynamics.abilities.control_surfaces import surface_signs
from xtdrone_dynamics.abilities.vehicle_type import cannot_fly
from xtdrone_sim.vehicles.sdf import load_vehicle

PLANE = load_vehicle("plane")


def roles(vehicle):
    """Name of each surface to its signs for roll, pitch and yaw."""
    signs = surface_signs(FleetModel.of([vehicle]))[0]
    return {driven.name: tuple(row) for driven, row in zip(vehicle.actuators, signs, strict=True)}


def without(*names):
    """The plane whose wings of these names have no control surface."""
    wings = tuple(
        dataclasses.replace(wing, control=-1) if wing.name in names else wing
        for wing in PLANE.wings
    )
    return dataclasses.replace(PLANE, wings=wings)


def test_of_the_plane():
    found = roles(PLANE)
    assert found["left_elevon"] == (-1, 0, 0) == tuple(-x for x in found["right_elevon"])
    assert found["elevator"] == (0, 1, 0) or found["elevator"] == (0, -1, 0)
    assert abs(np.array(found["rudder"])).tolist() == [0, 0, 1]
    assert found["left_flap"] == found["right_flap"] == (0, 0, 0)


def test_elevons_serve_roll_and_pitch():
    found = roles(without("tailplane", "left_inner_wing", "right_inner_wing"))
    left, right = np.array(found["left_elevon"]), np.array(found["right_elevon"])
    assert left[1] == right[1] != 0 and left[0] == -right[0] != 0


@pytest.mark.parametrize(
    "vehicle, why",
    [
        (PLANE, ""),
        (
            without("tailplane", "left_wing", "right_wing", "left_inner_wing", "right_inner_wing"),
            "no control surface for pitch",
        ),
        (
            dataclasses.replace(
                PLANE,
                actuators=tuple(found for found in PLANE.actuators if found.kind != "rotor"),
                wings=tuple(
                    dataclasses.replace(wing, control=max(wing.control - 1, -1))
                    for wing in PLANE.wings
                ),
            ),
            "no rotor that drives it",
        ),
    ],
)
def test_what_cannot_fly_says_why(vehicle, why):
    assert cannot_fly(FleetModel.of([vehicle])) == [why]
