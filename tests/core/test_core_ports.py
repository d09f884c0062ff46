"""Ports of instances: none is shared, and a taken one says which instance is free."""

import itertools

import pytest

from xtdrone_core import Scenario, ScenarioError
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.runs.ports import INSTANCES, MAX_VEHICLES, Ports
from xtdrone_core.scenario.vehicles import fleet

EPHEMERAL = 32768  # Linux gives ports from here on to whoever asks for any
TAKEN_BY_OTHERS = {11311: "ROS master", 11345: "Gazebo master", 8888: "micro XRCE-DDS"}


def test_no_two_ranges_of_ports_touch():
    ranges = [
        (Ports(instance).range(kind), f"{kind} of {instance}")
        for instance in range(INSTANCES)
        for kind in Ports.kinds()
    ]
    for (one, name), (other, other_name) in itertools.combinations(ranges, 2):
        assert one.stop <= other.start or other.stop <= one.start, f"{name} and {other_name}"
    for numbers, name in ranges:
        assert numbers.stop <= EPHEMERAL and numbers.start > 1024, name
        assert not set(TAKEN_BY_OTHERS) & set(numbers), name


def test_instance_0_has_px4s_ports():
    own, last = Ports(0), MAX_VEHICLES - 1
    assert [own.simulator(i) for i in (0, last)] == [4560, 4809]
    assert [own.offboard(i) for i in (0, 8, 9, 10, last)] == [14540, 14548, 14549, 14549, 14549]
    assert own.offboard_local(3) == 14583 and own.ground_station_local(3) == 18573
    assert own.ground_station == 14550 and own.camera_local(3) == 14283


@pytest.mark.parametrize("instance", range(INSTANCES))
def test_px4s_own_rules_give_the_same_ports(instance):
    """PX4 adds its number to its ports; only its system id and shared ports need our help."""
    own, i = Ports(instance), 7
    number = own.px4_number(i)
    assert (4560 + number, 14580 + number, 18570 + number, 14280 + number) == (
        own.simulator(i),
        own.offboard_local(i),
        own.ground_station_local(i),
        own.camera_local(i),
    )


def test_mavros_has_a_port_of_its_own_for_each_vehicle():
    own = Ports(1)
    used = {own.mavros(i) for i in range(MAX_VEHICLES)}
    assert len(used) == MAX_VEHICLES
    assert own.offboard(MAX_VEHICLES - 1) not in used  # where the other vehicles send as well


@pytest.mark.parametrize("instance", [-1, INSTANCES, 1.5, "x", True])
def test_an_instance_that_does_not_exist_is_refused(instance):
    with pytest.raises(ScenarioError, match="is not allowed: give a"):
        Scenario(fleet("iris", 1), instance=instance)


def test_the_environment_gives_the_instance(monkeypatch):
    monkeypatch.setenv(ports.VARIABLE, "3")
    assert Ports().instance == Scenario(fleet("iris", 1)).instance == 3
    monkeypatch.setenv(ports.VARIABLE, "x")
    with pytest.raises(ScenarioError, match="XTDRONE_INSTANCE x is not allowed: give a whole"):
        Ports()


def test_the_free_instance_is_told(monkeypatch):
    monkeypatch.setattr(Ports, "free", lambda self: self.instance >= 3)
    assert "give --instance 3" in ports.advice()
    monkeypatch.setattr(Ports, "free", lambda self: False)
    assert ports.advice() == "stop it first: no instance is free"


def test_each_instance_has_its_own_latest_run(runs):
    first, second = run_folder.create("run", 0), run_folder.create("run", 2)
    assert (runs / "latest").resolve() == first and (runs / "latest-2").resolve() == second
    run_folder.discard_unflown(second)
    assert (runs / "latest-2").resolve() == first == (runs / "latest").resolve()
    with pytest.raises(ScenarioError, match="'latest-2' is taken"):
        run_folder.create("latest-2")


def test_the_folder_of_all_runs_goes_with_a_run_that_was_not_flown(tmp_path, monkeypatch):
    root = tmp_path / "made" / "runs"
    monkeypatch.setenv("XTDRONE_RUNS", str(root))
    run_folder.discard_unflown(run_folder.create("refused", 0))
    assert not root.exists()
    kept = run_folder.create("flown", 0)
    run_folder.discard_unflown(run_folder.create("refused", 0))
    assert (root / "latest").resolve() == kept
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "given"))
    (tmp_path / "given").mkdir()
    run_folder.discard_unflown(run_folder.create("refused", 0))
    assert (tmp_path / "given").is_dir()  # it was there before


def test_gazebos_master_is_shifted():
    assert ports.gazebo_master(0) == "http://127.0.0.1:11345"
    assert ports.gazebo_master(2, "http://127.0.0.1:11400") == "http://127.0.0.1:11402"
    assert ports.gazebo_master(1, "nonsense") == "nonsense"
