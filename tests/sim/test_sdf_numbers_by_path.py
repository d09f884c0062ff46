import pytest

from xtdrone_core import resources
from xtdrone_sim.errors import SdfError
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_numbers_by_path import SdfNumbers


@pytest.fixture
def iris():
    return SdfNumbers(resources.vehicle_sdf("iris"))


@pytest.mark.parametrize(
    "path, numbers",
    [
        ("link[base_link]/inertial/mass", [1.5]),
        ("link[rotor_?]/inertial/mass", [0.005] * 4),
        ("plugin[*_motor_model]/motorConstant", [5.84e-06] * 4),
        ("plugin/timeConstantUp", [0.0125] * 4),
        ("plugin[mavlink_interface]/control_channels/channel[rotor1]/input_scaling", [1000.0]),
        ("link[rotor_0]/pose#1", [-0.245]),
    ],
)
def test_a_path_means_numbers(iris, path, numbers):
    assert iris.numbers(path) == numbers


def test_only_what_is_set_is_changed(iris, tmp_path):
    iris.set("link[rotor_0]/pose#3", 0.25)
    iris.change("plugin/motorConstant", lambda old: 2.0 * old)
    difference = [line for line in iris.difference().splitlines() if line[:1] in "+-"]
    assert len(difference) == 2 + 2 * 5
    assert "<!-- Quadrotor" in iris.text()  # comments stay
    vehicle = load_vehicle(iris.write_model(tmp_path / "model"))
    assert vehicle.rotors[0].motor_constant == pytest.approx(1.168e-05)
    assert vehicle.rotors[0].axis[1] == pytest.approx(-0.2474, abs=1e-4)


def test_a_prefix_names_elements_of_this_workspace():
    tello = SdfNumbers(resources.vehicle_sdf("tello"))
    assert tello.numbers("xtdrone:effects/linear_drag/coefficients#2") == [1.0]


@pytest.mark.parametrize(
    "path, reason",
    [
        ("link[base_lnk]/inertial/mass", "did you mean 'base_link'"),
        ("link[base_link]/inertial/mas", "did you mean 'mass'"),
        ("link[rotor_0]/pose#9", "no such place"),
        ("link[rotor_0]/pose#x", "place in a list"),
        ("link[base_link]", "no number"),
        ("link[base_link", "no path of a number"),
        ("", "no path of a number"),
    ],
)
def test_a_path_that_means_nothing_is_refused(iris, path, reason):
    with pytest.raises(SdfError, match=reason):
        iris.numbers(path)
    assert not iris.has(path)


def test_a_world_has_no_numbers_of_a_vehicle():
    with pytest.raises(SdfError, match="no <model>"):
        SdfNumbers(resources.world_sdf("outdoor"))
