"""Options that autopilots and stations declare beside their code are options of a scenario."""

import dataclasses
import pickle

import pytest

from xtdrone_core import Scenario, ScenarioError, stations
from xtdrone_core.contracts import Observer
from xtdrone_core.scenario import declared, scenario_options
from xtdrone_core.scenario.options import option
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles
from xtdrone_flight_controllers.px4.options import Px4Options
from xtdrone_ros2.options import Ros2
from xtdrone_web.options import Page


@dataclasses.dataclass(frozen=True)
class Lights(stations.Station):
    """A station that a test adds."""

    lights: bool = option(False, "switch the lights on", affects_flight=False)
    lamps: int = option(2, "number of lamps", minimum=1, maximum=8)

    @property
    def wanted(self):
        return self.lights

    def check(self, fleet):
        if self.lamps > fleet.n:
            raise ScenarioError(f"lamps {self.lamps} are too many for {fleet.n} vehicles")

    def open(self, simulation):
        return Observer()


@pytest.fixture
def lights(monkeypatch):
    monkeypatch.setattr(
        declared, "stations", lambda known=declared.stations(): known | {"l": Lights}
    )


def test_a_station_is_a_dataclass_of_its_options(lights):
    scenario = Scenario(fleet("iris", 4), lights="true", lamps=3, web=True)
    assert scenario.lamps == scenario.settings(Lights).lamps == 3 and scenario.lights is True
    assert [type(each) for each in stations.wanted_stations(scenario)] == [Page, Lights]
    assert scenario_options.declared()["lamps"][2] == "2"
    assert Scenario.from_dict(scenario.to_dict()) == scenario
    assert dataclasses.replace(scenario, lamps=4).settings(Lights) == Lights(True, 4)
    with pytest.raises(ScenarioError, match="lamps 9 is not allowed: give a whole number from 1"):
        Scenario(fleet("iris", 4), lamps=9)
    with pytest.raises(ScenarioError, match="lamps 3 are too many for 2 vehicles"):
        Scenario(fleet("iris", 2), lamps=3)


def test_the_stations_that_a_scenario_asks_for_are_opened(lights):
    class Flight:
        scenario = Scenario(fleet("iris", 2), lights=True)
        observers = []

    stations.open_stations(Flight)
    assert [type(each) for each in Flight.observers] == [Observer]


def test_declared_options_are_attributes_and_keywords():
    scenario = Scenario(fleet("iris", 1), px4_loss="continue", ros2_rate="20")
    assert scenario.settings(Px4Options).px4_loss == scenario.px4_loss == "continue"
    assert scenario.settings(Ros2).ros2_rate == scenario.ros2_rate == 20.0
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert hash(scenario) == hash(dataclasses.replace(scenario))
    with pytest.raises(TypeError, match="unexpected keyword argument 'wbe'"):
        Scenario(fleet("iris", 1), wbe=True)
    with pytest.raises(AttributeError, match="'Scenario' object has no attribute 'wbe'"):
        _ = scenario.wbe
    with pytest.raises(ScenarioError, match="Lights is not registered: name it by an entry point"):
        scenario.settings(Lights)


def test_two_declarations_of_one_name_must_be_the_same(lights):
    @dataclasses.dataclass(frozen=True)
    class Others(declared.AutopilotOptions):
        lamps: int = option(1, "something else")

    with pytest.raises(ScenarioError, match="'other' declares option 'lamps' unlike another"):
        declared.table_of({"lights": Lights, "other": Others})


@pytest.mark.parametrize(
    "autopilot, real_px4, px4_modes",
    [
        ("embedded", False, True),
        ("px4", True, True),
        ("px4_hitl", True, True),
        ("ardupilot", False, False),
        ("paparazzi", False, False),
        ("betaflight", False, True),
        ("my_module:Mine", False, True),
    ],
)
def test_autopilots_say_what_they_are(autopilot, real_px4, px4_modes):
    options = declared.options_of_autopilot(autopilot)
    assert (options.REAL_PX4, options.PX4_MODES) == (real_px4, px4_modes)


def test_options_that_change_no_flight_say_so():
    free = {name for name, (_, each) in Scenario.options().items() if not each.affects_flight}
    assert {"speed", "name", "instance", "ghost", "gui", "web", "mcap", "viewer", "ros2"} <= free
    assert not {"seed", "wind", "px4", "estimator", "key", "log"} & free


@pytest.mark.parametrize("name", ["web", "ros2"])
def test_a_station_that_commands_refuses_other_fleets(name):
    with pytest.raises(ScenarioError, match=f"{name} true cannot be used with autopilot ardupilot"):
        Scenario(fleet("iris", 1), autopilot="ardupilot", **{name: True})
    vehicles = [dataclasses.replace(parse_vehicles("iris")[0], number=3)]
    with pytest.raises(ScenarioError, match=f"{name} true needs vehicles whose numbers are their"):
        Scenario(vehicles, **{name: True})
