"""Wheels: read from SDF files, and how vehicles on them drive."""

import math

import numpy as np
import pytest

import ground
import jointed
from ground import BASE, RADIUS, TRACK, Ride, chassis, drive, rover, wheel
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.sdf import load_vehicle

G = 9.80665
FLOOR = (
    '<sdf version="1.6"><world name="w"><model name="slope"><static>1</static><link name="l">'
    '<collision name="c"><geometry><plane><normal>{normal}</normal><size>100 100</size>'
    "</plane></geometry></collision></link></model></world></sdf>"
)


def test_each_wheel_carries_its_share_and_the_rover_rests(tmp_path):
    vehicle = rover(tmp_path)
    ride = Ride(vehicle)
    rows = ride.go(1.0, 0, 0, 0, 0)
    np.testing.assert_allclose(ride.state.tyre_load[0, :, 2], vehicle.mass * G / 4, rtol=1e-3)
    assert abs(rows[-1, 7:]).max() < 1e-6 and abs(rows[-1, :2]).max() < 1e-6


def test_it_reaches_the_speed_of_its_wheels(tmp_path):
    """No faster than friction allows, and without slip in the end."""
    rows = Ride(rover(tmp_path, mu=0.5)).go(3.0, 0.3, 0.3, 0.3, 0.3)
    speed = rows[:, 7]
    assert speed[-1] == pytest.approx(0.3 * 100.0 * RADIUS, rel=1e-4)
    gain = (speed[125] - speed[25]) / 0.4
    assert gain == pytest.approx(0.5 * G, rel=0.1) and gain < 0.5 * G


@pytest.mark.parametrize("mu", [0.4, 0.9])
def test_locked_wheels_stop_it_as_friction_does(tmp_path, mu):
    ride = Ride(rover(tmp_path, mu=mu))
    start = ride.go(4.0, 0.5, 0.5, 0.5, 0.5)[-1]
    end = ride.go(3.0, 0, 0, 0, 0)[-1]
    assert end[0] - start[0] == pytest.approx(start[7] ** 2 / (2 * mu * G), rel=0.015)
    assert abs(end[7:]).max() < 1e-3


@pytest.mark.parametrize("degrees, holds", [(15.0, True), (30.0, False)])
def test_a_slope_holds_it_up_to_the_angle_of_friction(tmp_path, degrees, holds):
    """mu = 0.4 is 21.8 degrees; beyond, it slides with g (sin a - mu cos a)."""
    a, mu = math.radians(degrees), 0.4
    world = tmp_path / "slope.world"
    world.write_text(FLOOR.format(normal=f"{-math.sin(a)} 0 {math.cos(a)}"))
    height = RADIUS - 5e-4  # of the hubs above the slope
    start = np.zeros(13)
    start[[0, 2]] = -height * math.sin(a), height * math.cos(a)
    start[[4, 6]] = -math.sin(a / 2), math.cos(a / 2)
    rows = Ride(rover(tmp_path, mu=mu), str(world), start).go(3.0, 0, 0, 0, 0)
    gone = np.linalg.norm(rows[-1, :3] - rows[250, :3])
    if holds:
        assert gone < 1e-3
    else:
        speed = np.linalg.norm(rows[[250, 500], 7:10], axis=1)
        assert speed[1] - speed[0] == pytest.approx(G * (math.sin(a) - mu * math.cos(a)), rel=0.05)


def test_two_wheels_turn_about_the_centre_that_their_speeds_give(tmp_path):
    """Radius (TRACK / 2) (right + left) / (right - left); front and rear only slide."""
    body = (
        jointed.link("base", f"0 0 {RADIUS} 0 0 0", ground.MASS, (0.5, 1.0, 1.2))
        + wheel("left", 0.0, TRACK / 2)
        + wheel("right", 0.0, -TRACK / 2)
        + wheel("front", 0.4, 0.0, axis="0 0 1", mu=1e-3)
        + wheel("rear", -0.4, 0.0, axis="0 0 1", mu=1e-3)
        + jointed.channels(drive(0, "left"), drive(1, "right"))
    )
    rows = Ride(jointed.write(tmp_path, body)).go(6.0, 0.04, 0.08)
    assert np.hypot(*rows[-1, 7:9]) == pytest.approx(0.6, rel=0.01)
    assert rows[-1, 12] == pytest.approx(0.4 / TRACK, rel=0.01)


def ackermann(tmp_path):
    """Rear wheels driven by channels 0 and 1; both front ones turned by channel 2 and 3."""
    body = chassis() + wheel("lr", -BASE / 2, TRACK / 2) + wheel("rr", -BASE / 2, -TRACK / 2)
    for side, y in (("l", TRACK / 2), ("r", -TRACK / 2)):
        body += (
            f'<link name="{side}_block"><pose>{BASE / 2} {y} {RADIUS} 0 0 0</pose><inertial>'
            "<mass>0.2</mass><inertia><ixx>1e-3</ixx><iyy>1e-3</iyy><izz>1e-3</izz></inertia>"
            "</inertial></link>"
            + jointed.joint(f"{side}_steering", "base", f"{side}_block", "0 0 1")
            + wheel(f"{side}f", BASE / 2, y, f"{side}_block")
        )
    return jointed.write(
        tmp_path,
        body
        + jointed.channels(
            drive(0, "lr"),
            drive(1, "rr"),
            jointed.channel(2, "l_steering", 0.5),
            jointed.channel(3, "r_steering", 0.5),
        ),
    )


def test_steered_wheels_turn_it_about_the_point_where_their_axles_meet(tmp_path):
    """The rear axle's centre follows a circle of BASE / tan(angle)."""
    vehicle = ackermann(tmp_path)
    assert len(vehicle.tyres) == 4 and sum(tyre.wheel >= 0 for tyre in vehicle.tyres) == 2
    radius = BASE / math.tan(0.3)
    inner, outer = (math.atan(BASE / (radius + side * TRACK / 2)) for side in (-1, 1))
    turn = 0.3 / radius  # [rad/s]
    slow, fast = ((radius + side * TRACK / 2) * turn / (100.0 * RADIUS) for side in (-1, 1))
    rows = Ride(vehicle).go(8.0, slow, fast, inner / 0.5, outer / 0.5)
    yaw = 2.0 * math.atan2(rows[-1, 5], rows[-1, 6])
    rear = rows[-1, 7:9] @ (math.cos(yaw), math.sin(yaw))
    assert rear / rows[-1, 12] == pytest.approx(radius, rel=0.01)


def test_rolling_takes_energy_and_never_gives_any(tmp_path):
    """Free to roll on locked axles, pushed askew and turning, it comes to rest."""
    start = np.array([0, 0, RADIUS - 5e-4, 0, 0, 0, 1, 2.0, 1.5, 0, 0, 0, 3.0])
    vehicle = ackermann(tmp_path)
    rows = Ride(vehicle, start=start).go(3.0, 0, 0, 0, 0)
    energy = vehicle.mass * (rows[:, 7:10] ** 2).sum(axis=1) + np.einsum(
        "ki,ij,kj->k", rows[:, 10:], vehicle.inertia, rows[:, 10:]
    )
    assert np.diff(energy).max() < 1e-3 * energy[0] and energy[-1] < 1e-4 * energy[0]


@pytest.mark.parametrize(
    "change, words",
    [
        (("<mu>1.0</mu>", "<mu>0</mu>"), "friction of wheel 'lf' is 0: give a number above 0"),
        (("<time_constant>0.0<", "<time_constant>-1<"), "<time_constant> of a wheel is -1"),
        (
            ("<time_constant>0.0</time_constant>", "<slip_stiffness>-2</slip_stiffness>"),
            "slip_stiffness of wheel 'lf' is -2",
        ),
        (("<time_constant>0.0</time_constant>", "<radius>1</radius>"), "radius"),
    ],
)
def test_wheels_that_make_no_sense_are_refused(tmp_path, change, words):
    path = rover(tmp_path).sdf
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(SdfError, match=words):
        load_vehicle(str(path))
