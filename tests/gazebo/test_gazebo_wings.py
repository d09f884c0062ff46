"""Planes and VTOLs from trim: the embedded engine against Gazebo 11 with the classic plugins."""

import pytest

import classic
from xtdrone_core import resources

VEHICLES = "plane", pytest.param("standard_vtol", marks=pytest.mark.long)
# Without a pulse less is moved than with one.
FLIGHTS = [pytest.param(n, marks=[pytest.mark.long] if n == "trim" else []) for n in classic.AXES]
TRACKS = classic.sitl_gazebo()


def within(one, other, metres, degrees):
    distance, angle = classic.apart(one, other)
    assert distance.max() <= metres and angle.max() <= degrees


@pytest.mark.gazebo
@pytest.mark.skipif(
    not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
    reason="needs Gazebo 11: run scripts/setup_gazebo.sh",
)
@pytest.mark.parametrize("vehicle", VEHICLES)
@pytest.mark.parametrize("flight", FLIGHTS)
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


@pytest.mark.parametrize("vehicle, flight", TRACKS)
def test_wings_and_motors_fly_as_those_of_sitl_gazebo(vehicle, flight):
    """5 s: found 0.071 m and 0.117 degrees."""
    trim = classic.Trim(vehicle, 0.0 if flight == "hover" else classic.SPEED)
    embedded = classic.fly_embedded(trim, trim.pulse(classic.AXES.get(flight)))
    within(classic.thinned(embedded), TRACKS[vehicle, flight], 0.15, 0.25)
