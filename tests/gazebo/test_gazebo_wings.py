"""Planes and VTOLs from trim: the embedded engine against Gazebo 11 with the classic plugins."""

import pytest

import classic
from xtdrone_core import resources

pytestmark = [pytest.mark.gazebo, pytest.mark.skipif(
    not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
    reason="needs Gazebo 11: run scripts/setup_gazebo.sh")]
VEHICLES = "plane", "standard_vtol"


def within(one, other, metres, degrees):
    distance, angle = classic.apart(one, other)
    assert distance.max() <= metres and angle.max() <= degrees


@pytest.mark.parametrize("vehicle", VEHICLES)
@pytest.mark.parametrize("flight", classic.AXES)
def test_wings_fly_as_those_of_gazebos_plugin(vehicle, flight):
    """5 s: found 0.048 m and 0.042 degrees; by the plugin's error in sideslip 0.69 m and 1.14.

    With that error in both engines 0.044 m and 0.117 degrees.
    """
    trim = classic.Trim(vehicle)
    added = trim.pulse(classic.AXES[flight])
    own = classic.fly_gazebo(trim, added)
    within(classic.fly_embedded(trim, added, gazebos_wings=True), own, 0.1, 0.25)
    if flight != "ailerons":
        within(classic.fly_embedded(trim, added), own, 0.1, 0.1)


@pytest.mark.skipif(not (classic.SITL_GAZEBO / "libhold_motors.so").is_file(),
                    reason="needs sitl_gazebo's plugins: run scripts/validation/_sitl_gazebo.sh")
@pytest.mark.parametrize("vehicle, speed, flight", [
    *((vehicle, classic.SPEED, flight) for vehicle in VEHICLES for flight in classic.AXES),
    ("standard_vtol", 0.0, "trim")])
def test_wings_and_motors_fly_as_those_of_sitl_gazebo(vehicle, speed, flight):
    """5 s: found 0.071 m and 0.117 degrees."""
    trim = classic.Trim(vehicle, speed)
    added = trim.pulse(classic.AXES[flight])
    within(classic.fly_embedded(trim, added), classic.fly_gazebo(trim, added, sitl_gazebo=True),
           0.15, 0.25)
