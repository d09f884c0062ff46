"""Vehicles that Python classes fly, beside others of the same simulation."""

import asyncio

import numpy as np
import pytest

import xtdrone as xd
from xtdrone_control.agents import HoverAgent

STILL = np.zeros(3)


def rising(height, x=0.0):
    """A trajectory from the ground straight up, then still."""
    return lambda t: (
        np.array([x, 0.0, 0.1 + height * min(t / 4.0, 1.0)]),
        np.array([0.0, 0.0, height / 4.0 * (t < 4.0)]),
        STILL,
        STILL,
    )


class Climb(xd.Backend):
    """Set-points instead of actuator commands."""

    MEMORY = ("done",)
    period_us = 20_000

    def step(self, t, state, sensors):
        self.done = t > 4.0
        wish = xd.SetPoints.empty(1)
        wish.vel[0] = 0.0, 0.0, 0.5
        return wish


@pytest.mark.slow
def test_backends_commands_and_the_flight_stack_share_a_simulation():
    pilot = xd.Mellinger(rising(2.0), 9.0, truth=True)
    scenario = xd.Scenario(vehicles="iris@0,0; iris@5,0; iris@10,0", gps="rtk")
    with xd.Simulation(scenario, backends={"iris_0": pilot, "iris_1": Climb()}) as sim:
        sim.arm("iris_2")
        sim.takeoff(3.0, "iris_2", wait=False)
        sim.run_until(lambda: pilot.time > 7.0, "up")
        x, y, z = sim.state.pos[0]
        assert z == pytest.approx(2.1, abs=0.1) and abs(x) < 0.05 and abs(y) < 0.05
        assert sim.state.pos[2, 2] == pytest.approx(3.0, abs=0.5)
        with pytest.raises(xd.XtdroneError, match="'iris_0' is flown by its backend"):
            sim.land("iris_0")
        sim.land()  # all that have no backend
        sim.run()
        assert sim.done and not sim.estimates.armed.any() and sim.crashes == []


@pytest.mark.slow
def test_a_flight_by_a_backend_is_saved_and_goes_on_bit_for_bit(tmp_path):
    def flight():
        pilot = xd.Mellinger(rising(2.0), 8.0)
        return pilot, xd.Simulation(
            xd.Scenario(vehicles="iris", gps="rtk"), backends={"iris_0": pilot}
        )

    pilot, sim = flight()
    with sim:
        sim.run_until(lambda: pilot.time > 3.0, "on its way")
        sim.save(tmp_path / "state.zip")
        sim.run(2.0)
        end = sim.state.pos.copy()
    pilot, again = flight()
    with again:
        again.load(tmp_path / "state.zip")
        again.run(2.0)
        assert np.array_equal(again.state.pos, end)
        again.reset()
        assert again.state.pos[0, 2] < 0.2
        again.run_until(lambda: 2.0 < pilot.time < 3.0, "begun anew")


@pytest.mark.slow
def test_a_composed_vehicle_brings_its_backend():
    quad = xd.Multirotor(
        name="quad",
        frame=xd.Frame(mass=1.2),
        rotors=xd.rotors_in_x(0.25),
        backend=lambda: xd.Mellinger(rising(1.5, 3.0), 6.0, truth=True),
    )
    with xd.Simulation(["iris", quad]) as sim:
        sim.run()
        assert sim.done and sim.crashes == []


def test_backends_go_beside_an_agent():
    with xd.Simulation(
        xd.Scenario(vehicles="iris*2", gps="rtk"),
        agent=HoverAgent(2, height=2.0),
        backends={"iris_1": Climb()},
    ) as sim:
        sim.run(12.0)
        assert sim.state.pos[0, 2] == pytest.approx(2.0, abs=0.3)


class Wrong(xd.Backend):
    """Commands for a tricopter."""

    MEMORY = ()

    def step(self, t, state, sensors):
        return np.zeros(3)


@pytest.mark.parametrize(
    "backends, why",
    [
        ({"iris_7": Climb()}, "unknown vehicle 'iris_7'"),
        ({"iris_0": Climb}, "inherit from xd.Backend, and give an object"),
        ({"iris_0": type("Odd", (Climb,), {"period_us": 5000})()}, "period_us 5000"),
    ],
)
def test_what_is_no_backend_is_refused(backends, why):
    with pytest.raises(xd.XtdroneError, match=why):
        xd.Simulation(xd.Scenario(vehicles="iris"), backends=backends)


def test_commands_that_do_not_fit_are_named():
    with (
        xd.Simulation(xd.Scenario(vehicles="iris"), backends={"iris_0": Wrong()}) as sim,
        pytest.raises(xd.XtdroneError, match=r"backend of 'iris_0' returned .*\(3,\): give 4"),
    ):
        sim.run()


def test_allocation_is_the_inverse_of_the_rotors_effect():
    allocation = xd.Allocation(xd.load_vehicle("typhoon_h480"))
    thrusts = allocation.thrusts(18.0, (0.2, -0.1, 0.05))
    assert thrusts.sum() == pytest.approx(18.0) and (thrusts > 0.0).all()
    assert (allocation.thrusts(1e4, STILL) == allocation.thrusts(2e4, STILL)).all()  # the limit
    with pytest.raises(xd.XtdroneError, match="rotors of 'plane' cannot push up"):
        xd.Allocation(xd.load_vehicle("plane"))


def test_callbacks_come_at_their_times_and_end():
    steps, slow, fixes, touches = [], [], [], []
    with xd.Simulation(xd.Scenario(vehicles="iris*2", gps="rtk")) as sim:
        counted = sim.on_step(lambda t, state, sensors: steps.append(t))
        sim.on_step(lambda t, state, sensors: slow.append(round(t, 3)), period=0.1)

        @sim.on_sensor("gps")
        def fix(t, vehicle, reading):
            fixes.append((vehicle, float(reading["gps_alt"])))
            if len(fixes) == 4:
                fix.remove()

        sim.on_contact(lambda t, one, other: touches.append((t, one, other)))
        sim.insert(xd.Sphere(name="ball", radius=0.1, mass=0.1, pos=(0.0, 1.0, 0.5)))
        sim.run(1.0)
        counted.remove()
        sim.run(1.0)
        assert len(steps) == 250 and slow[:3] == [0.1, 0.2, 0.3] and len(slow) == 20
        assert [vehicle for vehicle, _ in fixes] == ["iris_0", "iris_1"] * 2
        assert {name for _, *pair in touches for name in pair} == {"ball", "ground_plane"}
        assert touches[0][0] == pytest.approx((2 * 0.4 / 9.81) ** 0.5, abs=0.01)
        for wrong, why in (
            (lambda: sim.on_step(print, period=0.001), "period 0.001"),
            (lambda: sim.on_step(3), "callback 3 is not allowed"),
            (lambda: sim.on_sensor("gsp", print), "unknown kind of sensor 'gsp'"),
        ):
            with pytest.raises(xd.XtdroneError, match=why):
                wrong()


@pytest.mark.slow
def test_images_come_to_a_callback():
    seen = []
    with xd.Simulation(xd.Scenario(vehicles="iris_depth")) as sim:
        sim.on_sensor("depth", lambda t, vehicle, data: seen.append(data["depth"].shape))
        sim.run(0.2)
    assert seen and set(seen) == {(360, 480)}


def test_obstacles_come_move_and_go():
    with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        first = sim.insert(xd.Box(size=(1.0, 1.0, 1.0), pos=(5.0, 0.0, 0.5)))
        second = sim.insert(xd.Box(size=(1.0, 1.0, 1.0), pos=(8.0, 0.0, 0.5)))
        assert (first, second) == ("box_0", "box_1")
        sim.place(first, (5.0, 3.0, 0.5))
        assert sim.where(first).tolist() == [5.0, 3.0, 0.5]
        sim.remove(first)
        assert sim.insert(xd.Box(size=(1.0, 1.0, 1.0), pos=(5.0, 0.0, 0.5))) == "box_0"
        with pytest.raises(xd.XtdroneError, match="unknown vehicle or inserted model 'nothing'"):
            sim.remove("nothing")
        with pytest.raises(xd.XtdroneError, match="three finite numbers"):
            sim.place(first, (np.nan, 0.0, 0.0))


def test_simulations_are_awaited_side_by_side():
    turns = []

    async def flight(name, height):
        async with xd.AsyncSimulation(xd.Scenario(vehicles="iris", gps="rtk")) as sim:
            sim.plain.on_step(lambda t, state, sensors: turns.append(name), period=0.02)
            await sim.arm()
            await sim.takeoff(height)
            assert sim.plain.state.pos[0, 2] == pytest.approx(height, abs=0.4)
            with pytest.raises(xd.XtdroneError, match="run\\(\\) needs a time"):
                await sim.run()
            with pytest.raises(xd.XtdroneError, match="not never after 0.1 s"):
                await sim.run_until(lambda: False, "never", 0.1)

    async def both():
        await asyncio.gather(flight("one", 1.0), flight("other", 2.0))

    asyncio.run(both())
    assert turns[:6] == ["one", "other"] * 3
