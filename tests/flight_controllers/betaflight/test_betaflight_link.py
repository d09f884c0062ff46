"""Betaflight's simulator interface, against a scripted Betaflight."""

import math
import stat
import time

import numpy as np
import pytest

from betaflight_peer import ScriptedBetaflight
from own_ports import PORTS
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_autopilot.state.vehicle_status import (
    NO_SET_POINT,
    TRAJECTORY,
    describe_bodies,
    new_status,
)
from xtdrone_core import ARM, FleetModel, Mode, Scenario, ScenarioError, SetPoints
from xtdrone_core.command import main
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_flight_controllers.betaflight import autopilot as betaflight, link as packets, process
from xtdrone_flight_controllers.betaflight.link import BetaflightLink
from xtdrone_flight_controllers.betaflight.sticks import HIGH, LOW, MIDDLE, MIN_CHECK, RATES, sticks
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

NAMES = ("MOTORS_PORT", "READINGS_PORT", "STICKS_PORT")
FIXED = tuple(getattr(packets, name) for name in NAMES)


@pytest.fixture(autouse=True)
def own_ports(monkeypatch):
    """Betaflight's ports are fixed; here each worker has others."""
    for name, port in zip(NAMES, FIXED):
        monkeypatch.setattr(packets, name, port + 10 * PORTS.instance)


@pytest.fixture
def peer(own_ports):
    """A scripted Betaflight that runs."""
    found = ScriptedBetaflight()
    found.start()
    yield found
    found.close()


@pytest.fixture
def simulation(monkeypatch):
    """Makes simulations of one iris that is flown by an externally started Betaflight."""
    made = []
    monkeypatch.delenv("BETAFLIGHT_BUILD", raising=False)
    monkeypatch.setattr(betaflight, "WARM_UP_S", 0.05)
    monkeypatch.setattr(packets, "STEP_S", 0.0)

    def make(**options):
        made.append(
            Simulation(Scenario(fleet("iris", 1), autopilot="betaflight", speed=0.0, **options))
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


def status():
    """The record of an armed iris that flies a trajectory."""
    found = new_status(1)
    describe_bodies(found, FleetModel.of([load_vehicle("iris")]))
    found["armed"], found["sp_kind"] = True, TRAJECTORY
    return found


def test_ports_are_betaflights():
    assert FIXED == (9002, 9003, 9004)


def test_packets_are_betaflights_structures(peer):
    """Angular velocity, acceleration and attitude in the axes in which its SITL reads them."""
    link = BetaflightLink()
    peer.motors = [0.1, 0.2, 0.3, 1.5]
    link.exchange(
        1.5,
        (0.1, 0.2, 0.3),
        (1.0, 2.0, 9.0),
        (0.1, 0.2, 0.3, 0.9),
        (4.0, 5.0, 6.0),
        (8.5, 47.4, 488.0),
        95_000.0,
        [1500, 1501.6, 1000, 1500, 2000] + [1000] * 11,
    )
    link.close()
    heard = peer.readings[0]
    assert heard.timestamp == 1.5 and heard.pressure == 95_000.0
    # It negates pitch and all accelerations, and y and z of the attitude, on arrival.
    assert list(heard.gyro) == [0.1, -0.2, 0.3] and list(heard.accel) == [-1.0, -2.0, -9.0]
    assert list(heard.quat) == [0.9, 0.1, -0.2, -0.3]
    assert list(heard.vel) == [4.0, 5.0, 6.0] and list(heard.pos) == [8.5, 47.4, 488.0]
    assert list(peer.sticks[0].channels)[:5] == [1500, 1502, 1000, 1500, 2000]
    assert link.motors == pytest.approx([0.1, 0.2, 0.3, 1.0])


def test_readings_never_come_in_a_heap(peer):
    """Betaflight's clock would leap: each waits for the answer to the one before, and a step."""
    link, begin = BetaflightLink(), time.monotonic()
    for k in range(10):
        link.exchange(
            0.004 * k, *[np.zeros(3)] * 2, np.zeros(4), *[np.zeros(3)] * 2, 1.0, np.full(16, 1500)
        )
        assert len(peer.readings) == k + 1
    assert time.monotonic() - begin >= 9 * packets.STEP_S
    for data in (b"", b"x" * 15, b"x" * 17):
        peer.say(data)
    peer.say(np.array([math.nan, math.inf, -1.0, 0.5], dtype=np.float32).tobytes())
    link.receive()
    link.close()
    assert link.motors.tolist() == [0.0, 1.0, 0.0, 0.5]


def test_set_points_are_sticks():
    s = status()
    s["sp_thrust"] = 0.0
    s["sp_rates"] = np.radians([[25.0, -50.0, 20.0]])
    found = sticks(s, True)
    assert found[:5].tolist() == pytest.approx(
        [MIDDLE + 50.0, MIDDLE - 100.0, MIN_CHECK, MIDDLE - 50.0, HIGH]
    )
    s["sp_thrust"], s["sp_rates"] = 1e3, [[9.0, math.nan, -9.0]]
    assert sticks(s, True)[:5].tolist() == [HIGH, MIDDLE, HIGH, HIGH, HIGH]
    assert RATES[0] / 500 < 1.0  # a step of a stick [degrees/s]
    rest = [MIDDLE, MIDDLE, LOW, MIDDLE, HIGH]
    assert sticks(s, False)[:5].tolist() == rest  # until the motors turn
    s["sp_kind"] = NO_SET_POINT
    assert sticks(s, True)[:5].tolist() == rest
    s["armed"] = False
    assert sticks(s, True)[4] == LOW


@pytest.mark.parametrize("name", ["iris", "solo"])
def test_motors_stand_where_betaflights_do(name):
    """Rear right, front right, rear left, front left; spins of its default direction."""
    model = load_vehicle(name)
    order = process.motors(model)
    for rotor, motor in zip(model.rotors, order):
        assert (rotor.pos[0] > 0, rotor.pos[1] > 0) == (motor in (1, 3), motor in (2, 3))
        assert rotor.direction == (1 if motor in (1, 2) else -1)
    assert sorted(order) == [0, 1, 2, 3]


def test_it_arms_with_the_throttle_down_and_flies_the_motors_it_gets(simulation, peer):
    found = simulation()
    peer.motors = [0.1, 0.2, 0.3, 0.4]  # rear right, front right, rear left, front left
    while not found.autopilot.estimates().ready[0]:
        found.step()
    assert not found.autopilot.commands.any()
    wanted = SetPoints.empty(1, 4)
    wanted.arm[0], wanted.mode[0] = ARM, Mode.TAKEOFF
    found.autopilot.apply(wanted)
    for _ in range(600):
        found.step()
    assert found.autopilot.estimates().armed[0]
    assert found.autopilot.commands[0] == pytest.approx([0.2, 0.3, 0.4, 0.1])
    armed = [packet.channels for packet in peer.sticks if packet.channels[4] > 1700]
    assert armed[0][2] == 1000 and armed[-1][2] > 1000
    assert np.diff([packet.timestamp for packet in peer.readings]) == pytest.approx(0.004)


def test_one_that_does_not_arm_disarms_or_falls_silent_ends_the_flight(
    simulation, monkeypatch, peer
):
    found = simulation()
    wanted = SetPoints.empty(1, 4)
    wanted.arm[0] = ARM
    while not found.autopilot.estimates().ready[0]:
        found.step()
    found.autopilot.apply(wanted)
    found.step()
    for _ in range(50):
        found.step()
    peer.arms = False
    with pytest.raises(AutopilotError, match="Betaflight of 'iris_0' has disarmed itself: see its"):
        for _ in range(500):
            found.step()
    found.autopilot.mixer.spun, found.autopilot.mixer.still_s = False, 0.0
    with pytest.raises(AutopilotError, match="does not arm: see its arming flags"):
        for _ in range(1000):
            found.step()
    found.autopilot.mixer.asked_s = 0.0
    monkeypatch.setattr(betaflight, "SILENCE_S", 0.1)
    peer.close()
    with pytest.raises(AutopilotError, match=r"no motor outputs for 0\.1 s: it hangs, or was end"):
        for _ in range(500):
            found.step()


def test_what_it_cannot_do_is_refused(simulation, peer, tmp_path):
    found = simulation().autopilot
    for refused in (found.reset, found.save, lambda: found.load({})):
        with pytest.raises(AutopilotError, match="fly autopilot:=embedded"):
            refused()
    wanted = SetPoints.empty(1, 4)
    wanted.actuators[:] = 0.5
    with pytest.raises(AutopilotError, match="takes no actuator commands"):
        found.apply(wanted)
    with pytest.raises(
        AutopilotError,
        match=rf"port {packets.MOTORS_PORT} \(UDP, motors of "
        "Betaflight\\) is in use",
    ):
        BetaflightLink()
    for options, why in (
        ({"vehicles": fleet("iris", 2)}, "2 Betaflights are not allowed"),
        ({"vehicles": fleet("heavy_lifter", 1)}, "0.05 s, are too slow for Bet"),
        ({"vehicles": fleet("typhoon_h480", 1)}, "has no frame of Betaflight's"),
    ):
        with pytest.raises(AutopilotError, match=why):
            Simulation(Scenario(autopilot="betaflight", **options))
    with pytest.raises(ScenarioError, match="mixer 'my:Own' cannot be flown by autopilot betafl"):
        Scenario(fleet("iris", 1), autopilot="betaflight", mixer="my:Own")


def test_it_is_found_and_one_that_takes_no_configuration_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("BETAFLIGHT_BUILD", raising=False)
    assert process.find("") is None
    with pytest.raises(AutopilotError, match="no Betaflight at '/nowhere': give Betaflight's fol"):
        process.find("/nowhere")
    binary = tmp_path / "obj/betaflight_2026.12.0_SITL"
    binary.parent.mkdir()
    binary.write_text("#!/bin/sh\ncat $2 | head -1\necho '###ERROR: INVALID NAME'\n")
    binary.chmod(stat.S_IRWXU)
    assert process.find(str(tmp_path)) == binary
    with pytest.raises(
        AutopilotError,
        match=r"does not take its configuration \(.*betaflight.cli"
        r"\): ###ERROR: INVALID NAME",
    ):
        process.BetaflightProcess(binary, "iris_0", None)
    assert main(["fly", "square", "--autopilot", "betaflight", "--betaflight", "/nowhere"]) == 1
    assert "no Betaflight at '/nowhere'" in capsys.readouterr().err
