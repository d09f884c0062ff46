"""The Python package: commands, state, two simulations in one process, large fleets."""

import subprocess
import sys

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_control.agents import HoverAgent


def test_a_script_flies_a_fleet_by_name():
    with xd.Simulation(xd.Scenario(vehicles="iris*3", world="outdoor", gps="rtk")) as sim:
        assert sim.names == ("iris_0", "iris_1", "iris_2") and sim.time == 0.0
        sim.arm()
        assert sim.estimates.armed.all()
        sim.takeoff(3.0)
        sim.run(2.0)
        assert np.abs(sim.state.pos[:, 2] - 3.0).max() < 0.3
        sim.goto((0.0, 1.0, 4.0), vehicles="iris_0", yaw=np.pi / 2)
        assert np.linalg.norm(sim.state.pos[0] - (0.0, 1.0, 4.0)) < 0.5
        sim.velocity((0.0, 0.0, 0.5), vehicles=[1, 2])
        sim.run(3.0)
        assert (sim.state.vel[1:, 2] > 0.4).all() and abs(sim.state.vel[0, 2]) < 0.2
        sim.land()
        assert not sim.estimates.armed.any() and sim.estimates.landed.all()
        assert sim.collisions == []
        assert sim.health()[0]["armed"] is False


def test_set_points_reach_the_lowest_level():
    with xd.Simulation(xd.Scenario(vehicles="iris", gps="rtk")) as sim:
        sim.arm()
        sim.takeoff(3.0)
        wish = xd.SetPoints.empty(1)
        wish.vel[0], wish.yaw_rate[0] = (0.0, 0.0, 0.0), 0.5
        sim.set_points(wish)
        sim.run(3.0)
        assert sim.state.ang_vel[0, 2] == pytest.approx(0.5, abs=0.1)


def test_what_cannot_be_done_is_said():
    with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        with pytest.raises(xd.XtdroneError, match="'iris_0' is not armed: call arm"):
            sim.takeoff(3.0)
        with pytest.raises(xd.XtdroneError, match="run\\(\\) needs a time"):
            sim.run()
        with pytest.raises(xd.XtdroneError, match="not ready to arm after 0.1 s .*; iris_0: "):
            sim.arm(time_out=0.1)
        with pytest.raises(xd.ScenarioError, match="unknown vehicle 'iris_7'"):
            sim.land("iris_7")
    with (
        xd.Simulation(xd.Scenario(vehicles="iris"), agent=HoverAgent(1)) as sim,
        pytest.raises(xd.XtdroneError, match="an Agent flies this simulation"),
    ):
        sim.arm()


def test_an_agent_and_an_observer_of_ones_own():
    class Heights(xd.Observer):
        period_us = 100_000
        found = []

        def on_step(self, t_us, state, sensors):
            self.found.append(state.pos[0, 2])

    with xd.Simulation(
        xd.Scenario(vehicles="iris"), agent=HoverAgent(1, height=2.0), observers=[Heights()]
    ) as sim:
        sim.run(12.0)
        assert sim.time == pytest.approx(12.0) and not sim.done
    assert len(Heights.found) == 120 and Heights.found[-1] == pytest.approx(2.0, abs=0.3)


def _commands(sim):
    """A flight in ten parts, to be interleaved with others."""
    sim.arm()
    sim.takeoff(2.0, wait=False)
    for k in range(10):
        sim.run(0.3)
        if k == 5:
            sim.velocity((0.5, 0.0, 0.0))
        yield sim.state.pos.tobytes() + sim.state.quat.tobytes() + sim.sensors.gyro.tobytes()


@pytest.mark.slow
def test_two_simulations_in_one_process_do_not_know_of_each_other():
    scenarios = [
        xd.Scenario(vehicles="iris*2", seed=3, wind="dryden=3"),
        xd.Scenario(vehicles="typhoon_h480", world="outdoor"),
    ]
    alone = []
    for scenario in scenarios:
        with xd.Simulation(scenario) as sim:
            alone.append(list(_commands(sim)))
    with xd.Simulation(scenarios[0]) as one, xd.Simulation(scenarios[1]) as other:
        together = list(zip(_commands(one), _commands(other), strict=True))
    assert [list(parts) for parts in zip(*together, strict=True)] == alone


@pytest.mark.long
def test_a_thousand_vehicles_without_links():
    with xd.Simulation(
        xd.Scenario(vehicles="iris*1000", gps="rtk"), agent=HoverAgent(1000, height=2.0)
    ) as sim:
        sim.run(11.0)
        assert np.abs(sim.state.pos[:, 2] - 2.0).max() < 0.5
    with pytest.raises(xd.ScenarioError, match="300 vehicles with MAVLink links are not allowed"):
        xd.Simulation(xd.Scenario(vehicles="iris*300"), links=True)


def test_importing_the_package_costs_nothing_and_touches_no_signal():
    code = (
        "import signal, sys; before = signal.getsignal(signal.SIGINT); import xtdrone; "
        "assert signal.getsignal(signal.SIGINT) is before; "
        "assert 'numba' not in sys.modules and 'numpy' not in sys.modules; "
        "assert 'Scenario' in dir(xtdrone)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'Simulatoin'"):
        xd.Simulatoin  # noqa: B018


def test_a_reading_is_new_once_after_a_load(tmp_path):
    def flags(sim):
        sim.step()
        return sim.sensors.mag_new.any(), sim.sensors.baro_new.any()

    with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        sim.run(0.1)
        while not flags(sim)[0]:
            pass
        sim.save(tmp_path / "state.zip")
        after = [flags(sim) for _ in range(20)]
    with xd.Simulation(xd.Scenario(vehicles="iris")) as again:
        again.load(tmp_path / "state.zip")
        assert [flags(again) for _ in range(20)] == after


def test_a_scenario_takes_vehicle_and_n_as_the_command_line_does():
    scenario = xd.Scenario(vehicle="typhoon_h480", n=2, seed=3)
    assert scenario == xd.Scenario(vehicles="typhoon_h480*2", seed=3)
    assert xd.Scenario(n=2).vehicles == xd.Scenario(vehicles="iris*2").vehicles
    with pytest.raises(xd.ScenarioError, match="not both"):
        xd.Scenario(vehicles="iris", n=2)
    with pytest.raises(xd.ScenarioError, match="n 0 is not allowed"):
        xd.Scenario(vehicle="iris", n=0)
