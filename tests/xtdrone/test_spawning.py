"""Vehicles that come and go while others fly."""

import numpy as np
import pytest

import xtdrone as xd
from climbing import Climb
from xtdrone_control.agents import HoverAgent

QUAD = xd.Multirotor(name="quad", frame=xd.Frame(mass=1.2), rotors=xd.rotors_in_x(0.25))


def flight(change):
    """Poses of two vehicles at the end of a flight, in which change(sim) is called."""
    with xd.Simulation(xd.Scenario(vehicles="iris*2", gps="rtk", wind="dryden=2")) as sim:
        sim.arm()
        sim.takeoff(2.0)
        sim.insert(xd.Box(name="crate", size=(0.5,) * 3, mass=3.0, pos=(0.0, 5.0, 1.0)))
        sim.velocity((0.0, 0.3, 0.1))
        sim.run(0.5)
        change(sim)
        sim.run(2.0)
        return sim.time, sim.state.pos[:2].copy(), sim.estimates.pos[:2].copy(), sim.where("crate")


@pytest.mark.slow
def test_the_others_fly_on_bit_for_bit():
    def change(sim):
        assert sim.spawn(QUAD, (9.0, 0.0, 0.0)) == "quad_2"
        sim.run(0.2)
        sim.remove("quad_2")

    alone = flight(lambda sim: sim.run(0.2))
    *flown, crate = flight(change)
    assert crate == pytest.approx(alone[-1], abs=1e-4)  # in contact with the ground
    for one, other in zip(alone, flown):
        assert np.array_equal(one, other)


@pytest.mark.slow
def test_a_vehicle_leaves_from_the_middle_and_the_others_keep_their_identity():
    fleet = "iris@0,0; typhoon_h480@6,0; iris@12,0"

    def leave(sim):
        sim.remove("typhoon_h480_1")
        sim.run(0.2)
        assert sim.names == ("iris_0", "iris_2") and sim.state.actuator.shape == (2, 4)
        assert [spec.number for spec in sim.scenario.vehicles] == [0, 2]
        assert sim.spawn("typhoon_h480", (6.0, 20.0, 0.0)) == "typhoon_h480_1"
        assert sim.names == ("iris_0", "typhoon_h480_1", "iris_2")

    poses = []
    for change in (lambda sim: sim.run(0.2), leave):
        with xd.Simulation(xd.Scenario(vehicles=fleet, gps="rtk", wind="dryden=2")) as sim:
            sim.arm()
            sim.takeoff(2.0)
            sim.velocity((0.0, 0.3, 0.1), ["iris_0", "iris_2"])
            sim.run(0.5)
            change(sim)
            sim.run(1.0)
            sim.reset("iris_2")  # its random streams are those of its number
            sim.run(0.5)
            poses.append(
                [
                    array[[0, 2]].copy()
                    for array in (sim.state.pos, sim.estimates.pos, sim.sensors.gyro)
                ]
            )
    for one, other in zip(*poses, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.slow
def test_new_vehicles_fly_by_commands_and_by_backends():
    with xd.Simulation(
        xd.Scenario(vehicles="iris", gps="rtk"), backends={"iris_0": Climb()}
    ) as sim:
        sim.run_until(lambda: sim.state.pos[0, 2] > 1.0, "up")
        fixes = []
        sim.on_sensor("gps", lambda t, vehicle, reading: fixes.append(vehicle))
        second = sim.spawn("typhoon_h480", (6.0, 0.0, 0.0), 0.5, name="second")
        third = sim.spawn(QUAD, (12.0, 0.0, 0.0), backend=Climb())
        assert sim.names == ("iris_0", second, third) and sim.state.actuator.shape == (3, 9)
        sim.arm(second)
        sim.takeoff(2.0, second)
        sim.run_until(lambda: sim.state.pos[2, 2] > 1.0, "up")
        assert sim.state.pos[1, 2] == pytest.approx(2.0, abs=0.4)
        assert sim.state.pos[0, 2] > 4.0 and sim.crashes == []
        assert set(fixes) == {"iris_0", second, third}
        sim.remove(third)
        sim.remove(second)
        sim.run(1.0)
        assert sim.names == ("iris_0",) and sim.estimates.armed.all()
        sim.reset()
        sim.run_until(lambda: sim.state.pos[0, 2] > 0.6, "up again")


def test_a_vehicle_may_come_with_a_name_of_its_own():
    with xd.Simulation(xd.Scenario(vehicles="iris*1"), record=False) as sim:
        assert sim.spawn("scout=iris", (6.0, 0.0, 0.0)) == "scout"
        assert sim.spawn("iris", (9.0, 0.0, 0.0)) == "iris_2"
        assert sim.names == ("iris_0", "scout", "iris_2")


def test_what_cannot_change_says_why_and_stays():
    with xd.Simulation(xd.Scenario(vehicles="iris*2"), record=False) as sim:
        sim.place("iris_1", (6.0, 0.0, 0.0))
        before = sim.state.pos.copy()
        for wrong, why in (
            (lambda: sim.remove("nobody"), "unknown vehicle or inserted model 'nobody'"),
            (lambda: sim.spawn("nothing", (9, 0, 0)), "unknown vehicle 'nothing'"),
            (lambda: sim.spawn("iris", (0, 0.1, 0)), "start 0.10 m apart"),
            (lambda: sim.spawn("iris", (9, 0, 0), name="iris_0"), "two vehicles are called"),
            (lambda: sim.spawn("iris", (6.1, 0, 0)), "'iris_1' and 'iris_2' overlap"),
        ):
            with pytest.raises(xd.XtdroneError, match=why):
                wrong()
            sim.run(0.02)
        assert sim.n == 2 and np.allclose(sim.state.pos, before, atol=1e-3)
        sim.remove("iris_1")
        with pytest.raises(xd.XtdroneError, match="the only vehicle"):
            sim.remove("iris_0")
    with (
        xd.Simulation(xd.Scenario(vehicles="iris"), agent=HoverAgent(1)) as sim,
        pytest.raises(xd.XtdroneError, match="HoverAgent flies a fleet of 1"),
    ):
        sim.spawn("iris", (9, 0, 0))
