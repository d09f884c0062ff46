"""Names of the vehicles, and the ROS namespaces that follow from them."""

import pytest

from xtdrone_core import Scenario, ScenarioError, resources
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles


@pytest.mark.parametrize(
    "text, names",
    [
        ("uav0=iris", ["uav0"]),
        ("uav0=iris; uav1=iris@3,0", ["uav0", "uav1"]),
        ("uav0=iris, uav1=plane", ["uav0", "uav1"]),
        ("leader=iris@9,9; iris*2", ["leader", "iris_1", "iris_2"]),
        ("uav=iris*2; iris", ["uav_0", "uav_1", "iris_2"]),
        ("iris=iris_stereo*1", ["iris_0"]),
        ("iris, plane", ["iris_0", "plane_1"]),
    ],
)
def test_a_name_is_kept_and_a_count_numbers_it(text, names):
    assert [spec.name for spec in parse_vehicles(text)] == names
    assert [spec.name for spec in Scenario(text).vehicles] == names
    assert [spec.name for spec in Scenario.from_dict({"vehicles": text}).vehicles] == names
    assert Scenario(text).namespaces == tuple(f"/{name}" for name in names)


def test_a_fleet_of_one_type_is_numbered():
    assert [spec.name for spec in fleet("uav=iris", 2)] == ["uav_0", "uav_1"]
    assert Scenario.from_dict({"vehicle": "uav=iris", "n": 1}).vehicles[0].name == "uav_0"
    items = [{"type": "uav7=iris"}, {"type": "iris", "pos": [3, 0, 0]}]
    assert [spec.name for spec in Scenario.from_dict({"vehicles": items}).vehicles] == [
        "uav7",
        "iris_1",
    ]


def test_two_of_one_name_are_refused_with_the_remedy():
    with pytest.raises(ScenarioError, match=r"called 'uav': give each .* uav=TYPE\*1"):
        Scenario("uav=iris, uav=plane")


def test_one_vehicle_may_have_no_namespace():
    scenario = Scenario("uav0=iris", namespace="none")
    assert scenario.namespaces == ("",) and scenario.vehicles[0].name == "uav0"
    with pytest.raises(ScenarioError, match="for one vehicle, and there are 2"):
        Scenario("iris*2", namespace="none")


@pytest.mark.parametrize(
    "folder, name",
    [
        ("3dr-iris", "vehicle_3dr_iris_0"),
        ("my quad.v2", "my_quad_v2_0"),
        ("Übung", "vehicle__bung_0"),
    ],
)
def test_a_vehicle_of_ones_own_has_a_name_that_ros_allows(tmp_path, folder, name):
    model = tmp_path / folder / "model.sdf"
    model.parent.mkdir()
    model.write_text(resources.vehicle_sdf("iris").read_text())
    assert Scenario(str(model)).vehicles[0].name == name
    assert Scenario(str(model.parent)).vehicles[0].name == name
