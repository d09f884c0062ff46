"""What changes in flight: payload, tank, rotors, battery. The flight stack is not told."""

import json

import numpy as np
import pytest

from physics import HEIGHT, hover
from xtdrone_core import ControlError, Scenario, ScenarioError
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.runs.ports import Ports
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_sim.engines.embedded import EmbeddedEngine
from xtdrone_sim.errors import EngineError
from xtdrone_sim.simulation import Simulation


def fly(vehicle, disturbances, end_s=60.0, until_s=60.0, folder=None, wind="", **parameters):
    return hover(vehicle, until_s, end_s, folder, parameters, disturbances=disturbances, wind=wind)


def between(rows, start, end):
    return rows[(rows.t > start) & (rows.t <= end)]


@pytest.mark.slow
def test_iris_comes_back_to_its_height_under_a_payload():
    """To where it hung before: what its sensors are off by is no matter of the payload."""
    _, rows = fly("iris", "17: payload iris_0 0.3 0.02,0,-0.1", until_s=28.0)
    before = between(rows, 15.0, 17.0).height.mean()
    assert abs(before - HEIGHT) < 0.3
    assert between(rows, 17.0, 19.0).height.min() < before - 0.08  # it is felt
    assert abs(between(rows, 26.0, 28.0).height - before).max() < 0.25
    assert between(rows, 17.0, 28.0).tilt.max() < 0.1
    assert between(rows, 17.0, 28.0).away.max() < 0.3


def test_a_controlled_hover_tilts_into_the_wind():
    """The tilt holds the rotors' H-force of XTDrone (4) and the drag; the place is kept."""
    wind = 8.0
    simulation, rows = fly("iris", "", until_s=25.0, wind=f"{wind},0,0")
    model = simulation.fleet
    rotor, weight = model.actuator[0, 0], model.vehicle["mass"][0] * GRAVITY
    speed = np.sqrt(weight / (4 * rotor["motor_constant"]))
    force = 4 * rotor["rotor_drag_coefficient"] * speed * wind
    expected = np.arctan(force / weight)
    steady = between(rows, 22.0, 25.0)  # by then the velocity's integrator has brought it home
    assert np.median(steady.tilt) == pytest.approx(expected, rel=0.1) and expected > 0.2
    assert steady.away.max() < 0.2
    x, y, z, w = simulation.state.quat[0]
    assert 2.0 * (x * z + w * y) < -0.15  # the thrust leans to the west, against the wind


@pytest.mark.slow
def test_a_tank_that_drains_and_a_payload_that_is_dropped():
    simulation, rows = fly(
        "iris",
        "0: payload iris_0 0.3 0,0,-0.05; 9: drain iris_0 0.1; 10: payload iris_0 0.1",
        until_s=13.0,
    )
    model = simulation.engine.model
    assert model.body_mass[1] == pytest.approx(simulation.fleet.vehicle["mass"][0], rel=1e-12)
    assert abs(between(rows, 12.0, 13.0).height - HEIGHT).max() < 0.35


@pytest.mark.slow
def test_a_weak_battery_limits_the_thrust_and_an_empty_one_ends_the_flight():
    simulation, rows = fly(
        "typhoon_h480",
        "10: charge typhoon_h480_0 0.01; 12: payload typhoon_h480_0 1.5",
        until_s=13.5,
    )
    assert between(rows, 8.0, 10.0).share.min() == 1.0
    assert 0.6 < between(rows, 11.0, 12.0).share.max() < 0.9
    # Asked for more than the battery gives, the rotors stop short and the vehicle sinks.
    top = simulation.plant.actuators.speed_limit[0] * 1100.0
    np.testing.assert_allclose(simulation.state.actuator[0, :6], top, rtol=0.02)
    assert rows.height[-1] < HEIGHT - 0.5
    assert simulation.autopilot.battery.voltage[0] == pytest.approx(
        simulation.plant.battery.voltage[0], rel=0.05
    )
    _, rows = fly("typhoon_h480", "8: charge typhoon_h480_0 0", until_s=10.0)
    assert rows.share[-1] == 0.0 and rows.height[-1] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "vehicle, rotor, wind",
    [
        *(
            pytest.param("typhoon_h480", rotor, "", marks=[pytest.mark.long] if rotor % 4 else [])
            for rotor in range(6)
        ),
        ("typhoon_h480", 3, "4,0,0"),
        ("octorotor", 5, ""),
    ],
)
def test_a_vehicle_that_loses_a_rotor_lands_under_control(vehicle, rotor, wind):
    """CA_FAILURE_MODE 1: what the watch on the rotors finds is taken out of the mixer."""
    simulation, rows = fly(
        vehicle,
        f"8: rotor {vehicle}_0 {rotor} 0",
        until_s=40.0,
        wind=wind,
        CA_FAILURE_MODE=1,
        COM_ACT_FAIL_ACT=2,
    )
    assert simulation.agent.done or not simulation.autopilot.estimates().armed[0]
    after = between(rows, 8.0, 40.0)
    tilt_of_wind = between(rows, 6.0, 8.0).tilt.max()
    assert after.tilt.max() < tilt_of_wind + np.radians(20.0)
    assert after.away.max() < (3.0 if wind else 1.0)
    touch = np.argmax(after.height < 0.02)
    assert touch > 100 and after.speed[touch - 5] < 1.2  # comes down slowly, in two seconds or more


@pytest.mark.slow
def test_changes_are_events_of_the_run(runs):
    (runs / "console").mkdir()
    fly(
        "iris",
        "0.5: rotor iris_0 3 0.9; 0.2: payload iris_0 0.1 0,0,-0.1",
        until_s=1.0,
        folder=runs,
    )
    lines = [json.loads(line) for line in (runs / "events.jsonl").read_text().splitlines()]
    assert [
        (e["t_us"], e["kind"], e["vehicle"], e["value"])
        for e in lines
        if e["event"] == "disturbance"
    ] == [(200_000, "payload", "iris_0", 0.1), (500_000, "rotor", "iris_0", 0.9)]


def test_changes_by_the_control_socket():
    simulation = Simulation(
        Scenario(fleet("iris", 1), speed=0.0), links=False, control=ControlServer(Ports().control)
    )
    try:
        handle = simulation.requests.handle
        handle("disturb", {"disturbance": "rotor iris_0 1 0.5"})
        simulation.step()
        assert simulation.plant.actuators.effectiveness[0, 1] == 0.5
        for text, message in (
            ("rotor iris_0 4 0.5", "no rotor 4: give 0 to 3"),
            ("charge iris_0 0.5", "carries no battery"),
            ("rotor iris_9 1 0.5", "unknown vehicle 'iris_9'"),
        ):
            with pytest.raises(ControlError, match=message):
                handle("disturb", {"disturbance": text})
        with pytest.raises(ControlError, match="a disturbance is a string"):
            handle("disturb", {})
    finally:
        simulation.close()


@pytest.mark.parametrize("text", ["1: rotor iris_0 4 0", "1: charge iris_0 0.5"])
def test_what_a_vehicle_does_not_have_is_refused_before_the_flight(text):
    with pytest.raises(ScenarioError):
        Simulation(Scenario(fleet("iris", 1), disturbances=text), links=False)


def test_an_engine_without_payloads_says_so_before_the_flight(monkeypatch):
    def refuse(self, vehicle, mass, pos):
        raise EngineError("this engine carries no payloads")

    monkeypatch.setattr(EmbeddedEngine, "set_payload", refuse)
    with pytest.raises(EngineError, match="carries no payloads"):
        Simulation(Scenario(fleet("iris", 1), disturbances="9: payload iris_0 1"), links=False)
    simulation = Simulation(
        Scenario(fleet("iris", 1)), links=False, control=ControlServer(Ports().control)
    )
    with pytest.raises(ControlError, match="carries no payloads"):
        simulation.requests.handle("disturb", {"disturbance": "payload iris_0 1"})
    simulation.close()


@pytest.mark.parametrize("vehicle", ["iris", "crazyflie"])
@pytest.mark.slow
def test_the_rate_loop_trims_a_weak_rotor(vehicle):
    """Its integral takes the torque, as in PX4 up to a share of what the vehicle exerts."""
    simulation, _ = fly(vehicle, f"8: rotor {vehicle}_0 0 0.75", until_s=15.0)
    status = simulation.autopilot.status[0]
    assert abs(status["rate_integral"][:2]).min() > 1.0
    assert abs(status["sp_rates"]).max() < 0.3  # an integral that is too small leaves 1.2 rad/s


def test_disturbances_in_force_are_listed_until_they_end():
    """A battery's charge is set once, and not listed."""
    simulation = Simulation(
        Scenario(fleet("iris", 2), speed=0.0, wind="2,0,0"),
        links=False,
        control=ControlServer(Ports().control),
    )
    try:
        handle = simulation.requests.handle
        for text in ("payload iris_0 0.3", "rotor iris_1 2 0.5", "drain iris_0 0.001"):
            handle("disturb", {"disturbance": text})
        simulation.step()
        answer = handle("disturbed", {})
        assert answer["disturbances"] == [
            {"kind": "payload", "vehicle": "iris_0", "value": pytest.approx(0.3, abs=1e-3)},
            {"kind": "drain", "vehicle": "iris_0", "value": 0.001},
            {"kind": "rotor", "vehicle": "iris_1", "value": 0.5, "rotor": 2},
        ]
        assert answer["wind"][0] == pytest.approx(2.0, abs=0.1)
        for text in ("payload iris_0 0", "rotor iris_1 2 1", "drain iris_0 0"):
            handle("disturb", {"disturbance": text})
        handle("wind", {"wind": ""})
        simulation.step()
        assert handle("disturbed", {})["disturbances"] == []
        assert handle("disturbed", {})["wind"] == [0, 0, 0]
    finally:
        simulation.close()
