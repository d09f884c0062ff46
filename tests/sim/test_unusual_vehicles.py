"""Vehicles that no multirotor is: they load, stand, fall or fly, and say what they cannot do."""

import struct

import numpy as np
import pytest
from fastcrc.crc16 import mcrf4xx
from pymavlink.dialects.v20 import common as mavlink

import jointed
from stack_flights import Flight
from xtdrone_autopilot.control.vector import thrust_normalised
from xtdrone_core import Scenario, SetPoints
from xtdrone_core.agent import BaseAgent
from xtdrone_core.command import main
from xtdrone_core.modes import Mode
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

BRICK = jointed.link("base") + jointed.SENSORS
CART = (
    BRICK
    + jointed.link("tyre", "0 0.2 -0.02 0 0 0", 0.1, (1e-4, 1e-4, 1e-4))
    + jointed.joint("axle", "base", "tyre", "0 1 0", kind="continuous")
    + jointed.channels(jointed.channel(0, "axle", 30.0, control="velocity"))
)


def hexarotor(lean=0.35, thrust="2e-05"):
    """Six rotors that lean to both sides in turn, about their arms."""
    body = jointed.link("base", mass=1.5) + jointed.SENSORS
    for k, angle in enumerate(np.radians(30 + 60 * np.arange(6))):
        x, y = 0.3 * np.cos(angle), 0.3 * np.sin(angle)
        side = 1 if k % 2 else -1
        arm = jointed.rotor(k, "base", f"{x:.4f} {y:.4f} 0.05").replace(
            " 0 0 0</pose>", f" {side * lean} 0 {angle:.5f}</pose>", 1
        )
        turning = "ccw" if k % 2 else "cw"
        body += arm.replace(">ccw<", f">{turning}<").replace("5.84e-06", thrust)
    return body


def simulation_of(folder, body, **options):
    vehicle = jointed.write(folder, body)
    return Simulation(Scenario(fleet(str(vehicle.sdf), 1), speed=0.0, **options), links=False)


@pytest.mark.parametrize(
    "body, why",
    [
        (BRICK, "no vertical force, roll torque, pitch torque: rank 0 of 6"),
        (CART, "no driven wheel has a cylinder or sphere to roll on"),
        (hexarotor(thrust="1e-06"), "its weight of 15 N exceeds the thrust of its rotors"),
    ],
)
def test_it_stands_is_not_armed_and_says_why(tmp_path, body, why):
    simulation = simulation_of(tmp_path, body)
    try:
        simulation.run(until_us=3_000_000)
        (health,) = simulation.autopilot.health()
        assert why in health["not_ready"]
        assert not simulation.autopilot.estimates().ready.any()
        assert abs(simulation.state.vel).max() < 0.05 and simulation.state.pos[0, 2] < 0.3
    finally:
        simulation.close()


def test_show_says_what_cannot_be_flown(tmp_path, capsys):
    path = jointed.write(tmp_path, CART).sdf
    assert main(["vehicle", "show", str(path)]) == 0
    said = capsys.readouterr().out
    assert "no driven wheel has a cylinder" in said and "nothing" in said
    assert "wheel axle_channel on base" in said


class Push(BaseAgent):
    """Takes off, then pushes along x, level."""

    MEMORY = ()

    def __init__(self, simulation):
        self.simulation, self.offboard = simulation, False

    def step(self, t_us, estimates):
        out = SetPoints.empty(1)
        if not self.offboard and estimates.ready[0] and not estimates.armed[0]:
            out.mode[0], out.arm[0] = Mode.TAKEOFF, 1
        elif self.offboard or (estimates.armed[0] and estimates.pos[0, 2] > 2.0):
            weight = 9.80665 * self.simulation.fleet.vehicle["mass"][0]
            up = 2.0 * (2.5 - estimates.pos[0, 2]) - 2.0 * estimates.vel[0, 2]
            out.quat[0] = 0.0, 0.0, 0.0, 1.0
            out.force[0] = 1.5, 0.0, weight + up
            out.mode[0] = Mode.OFFBOARD
            self.offboard = True
        return out


def test_a_fully_actuated_hexarotor_flies_sideways_while_level(tmp_path):
    simulation = simulation_of(tmp_path, hexarotor())
    try:
        assert simulation.autopilot.status["fully_actuated"].all()
        simulation.agent = agent = Push(simulation)
        while not agent.offboard and simulation.t_us < 30_000_000:
            simulation.step()
        begin = simulation.state.vel[0].copy()
        simulation.run(until_us=simulation.t_us + 1_000_000)
        assert agent.offboard
        x, y, _, _ = simulation.state.quat[0]
        gained = simulation.state.vel[0] - begin
        assert gained[0] == pytest.approx(1.5 / simulation.fleet.vehicle["mass"][0], rel=0.15)
        assert max(abs(x), abs(y)) < 0.02 and abs(gained[1]) < 0.2  # 1 s at a tilt of 0.02 rad
    finally:
        simulation.close()


def level_with_thrust(v, force):
    """SET_ATTITUDE_TARGET: level, nose east, thrust_body for a force [N], body FLU."""
    half = np.sqrt(0.5)
    message = mavlink.MAVLink_set_attitude_target_message(
        0, 1, 1, 0x20 | 0x07, (half, 0, 0, half), 0, 0, 0, 0
    )
    frame = message.pack(mavlink.MAVLink(None, 255, 190))
    length = np.linalg.norm(force)
    thrust = thrust_normalised(v, length) / length * np.multiply(force, (1, -1, -1))
    payload = frame[10:-2].ljust(39, b"\0") + struct.pack("<3f", *thrust)
    body = bytes((len(payload),)) + bytes(frame[2:10]) + payload
    crc = mcrf4xx(body + bytes((message.crc_extra,)))
    return mavlink.MAVLink(None).decode(bytearray(b"\xfd" + body + struct.pack("<H", crc)))


@pytest.mark.slow
def test_a_thrust_of_three_axes_moves_a_hexarotor_sideways_while_level(tmp_path):
    f = Flight(str(jointed.write(tmp_path, hexarotor()).sdf)).take_off()
    try:
        v, estimator = f.autopilot.status[0], f.autopilot.estimator
        begin = f.vel[0]
        held = v["sp_side_force"][0]  # against a tilt that the accelerometer's bias hides

        def push():
            up = np.clip(-2.0 * estimator.vel[0, 2], -1.0, 1.0)
            f.send(level_with_thrust(v, (1.5, 0.0, 9.80665 * v["mass"] + up)))

        push()
        f.offboard()
        f.run(1.0, push, 250)
        x, y, _, _ = f.simulation.state.quat[0]
        assert f.vel[0] - begin == pytest.approx((1.5 - held) / v["mass"], rel=0.15)
        assert max(abs(x), abs(y)) < 0.02 and abs(f.vel[1]) < 0.2  # 0.4 degrees of tilt
    finally:
        f.simulation.close()


def test_a_thrust_across_its_rotors_is_refused_by_a_conventional_multirotor():
    f = Flight()
    try:
        v = f.autopilot.status[0]
        f.send(level_with_thrust(v, (1.0, 0.0, 15.0)))
        assert v["offboard_count"] == 0 and "across the body's z axis" in f.said[-1]
        f.send(level_with_thrust(v, (0.0, 0.0, 15.0)))
        assert v["offboard_thrust"] == pytest.approx(15.0, rel=1e-5)
    finally:
        f.simulation.close()
