"""Allocation to rotors that lean or tilt: the wrench that was asked for, limits, and flights."""

import math

import numpy as np
import pytest

from stack_flights import Flight
from xtdrone_autopilot.control.allocation import Mixer
from xtdrone_autopilot.control.vectoring import lead
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_autopilot.state.vehicle_status import ATTITUDE, describe_bodies, new_status
from xtdrone_core import FleetModel, Scenario, SetPoints
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_core.state import ARM, KEEP
from xtdrone_dynamics.abilities.effectiveness import effectiveness, hover_thrust
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.forces import servo
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.vehicles.sdf import load_vehicle

LEVEL = Estimator(1, (0.0, 0.0, 0.0), (0.0, 2e-5, -4e-5))  # level, and at rest

TILTING = ("tilted_hexarotor", "hexarotor_arms_tilt", "coaxial", "bicopter")
ROTATION = np.array([3.0, -2.0, 1.0])  # angular acceleration that is asked for [rad/s^2]


class Allocation:
    """The mixer of one vehicle in the air, level at its weight."""

    def __init__(self, name):
        self.fleet = FleetModel.of([load_vehicle(name)])
        self.mixer, self.status = Mixer(self.fleet), new_status(1)
        describe_bodies(self.status, self.fleet)
        self.status["armed"], self.status["landed"], self.status["sp_kind"] = True, False, ATTITUDE
        self.weight = float(self.fleet.vehicle["mass"][0]) * GRAVITY
        self.status["sp_thrust"] = self.weight
        self.commands = np.zeros(self.fleet.actuator.shape)

    def settle(self):
        """Commands (A,) after the servos have come to rest."""
        for _ in range(250):
            self.mixer.step(self.status, ParameterStore(1).values, LEVEL, 0.004, self.commands)
        return self.commands[0]

    def wrench(self):
        """Force and torque (6,) of the commands."""
        a, rotors = self.fleet.actuator[0], self.fleet.rotor_mask[0]
        value = a["zero_position_armed"] + a["input_scaling"] * self.commands[0]
        places = np.zeros(self.fleet.joint.shape)
        places[0, a["joint"][~rotors]] = value[~rotors]
        thrust = np.where(rotors, a["motor_constant"] * value**2, 0.0)
        return effectiveness(self.fleet, joint_pos=places)[0] @ thrust


@pytest.mark.parametrize("name", TILTING)
def test_the_wrench_that_was_asked_for(name):
    it = Allocation(name)
    torque = it.fleet.vehicle["inertia"][0] @ ROTATION
    side = 0.4 * it.status["side_force_max"][0] * np.array([0.8, -0.6])
    it.status["sp_torque"], it.status["sp_side_force"] = torque, side
    it.settle()
    force, moment = it.wrench()[:3], it.wrench()[3:]
    np.testing.assert_allclose(moment, torque, atol=2e-3 * abs(torque).max())
    assert force[2] == pytest.approx(it.weight, rel=2e-3)
    if it.status["fully_actuated"][0]:
        assert np.linalg.norm(side) > 0.02 * it.weight
        np.testing.assert_allclose(force[:2], side, atol=5e-3 * it.weight)


@pytest.mark.parametrize("name", TILTING)
def test_commands_stay_within_their_limits_and_roll_and_pitch_come_first(name):
    it = Allocation(name)
    it.status["sp_torque"] = it.fleet.vehicle["inertia"][0] @ (5.0, 5.0, 90.0)
    commands = it.settle()
    assert np.isfinite(commands).all()
    assert (commands >= it.fleet.actuator["lower"][0]).all() and (commands <= 1.0).all()
    found, wanted = it.wrench()[3:], it.status["sp_torque"][0]
    np.testing.assert_allclose(found[:2], wanted[:2], rtol=0.1)
    assert 0.0 < found[2] < 1.001 * wanted[2]


def test_tilting_arms_hover_without_one_rotor():
    it = Allocation("hexarotor_arms_tilt")
    it.mixer.use_rotors(0, np.arange(12) != 2)
    commands = it.settle()
    assert commands[2] < 0.02
    np.testing.assert_allclose(it.wrench(), (0, 0, it.weight, 0, 0, 0), atol=5e-3 * it.weight)


def test_a_hover_that_is_asked_for_is_that_of_the_model():
    it = Allocation("coaxial")
    commands = it.settle()
    rotor = it.fleet.actuator[0, 0]
    speed = math.sqrt(hover_thrust(it.fleet)[0, 0] / rotor["motor_constant"])
    wanted = (speed - rotor["zero_position_armed"]) / rotor["input_scaling"]
    np.testing.assert_allclose(commands, (wanted, wanted, 0.0, 0.0), atol=1e-4)


def test_a_disarmed_vehicle_leaves_its_rotors_off_and_its_servos_at_rest():
    it = Allocation("bicopter")
    it.status["sp_torque"] = 0.0, 0.1, 0.0
    assert abs(it.settle()[2:]).min() > 0.01
    it.status["armed"] = False
    assert not it.settle().any()


def test_a_servo_is_commanded_ahead_of_its_lag():
    slow = FleetModel.of([load_vehicle("bicopter")]).actuator[0, 2].copy()
    slow["time_constant"] = 0.06

    def reached(ahead):
        position = 0.0
        for _ in range(5):
            goal = lead(slow, position, 0.05) if ahead else 0.05
            position = servo.follow(position, goal, slow["rate"], slow["time_constant"], 0.004)
        return position

    assert reached(False) == pytest.approx(0.05 * (1.0 - math.exp(-0.02 / 0.06)))
    assert 0.035 < reached(True) < 0.05


class Hold:
    """Vehicles in the air that hold their places in OFFBOARD."""

    def __init__(self, vehicles, **scenario):
        self.simulation = Simulation(
            Scenario(parse_vehicles(vehicles), speed=0.0, gps="rtk", log="none", **scenario),
            links=False,
        )
        self.autopilot, n = self.simulation.autopilot, self.simulation.fleet.n
        self.points = SetPoints.empty(n, self.simulation.fleet.actuator.shape[1])
        while not self.autopilot.estimates().ready.all():
            self.simulation.step()
        self.autopilot.apply(self._request(Mode.TAKEOFF, arm=True))
        while not (self.autopilot.status["mode"] == Mode.LOITER).all():
            self.simulation.step()
            assert self.simulation.t_us < 25_000_000
        self.points.pos[:], self.points.yaw[:] = self.autopilot.estimates().pos, 0.0
        self.autopilot.apply(self.points)
        self.autopilot.apply(self._request(Mode.OFFBOARD))

    def _request(self, mode, arm=False):
        request = SetPoints.empty(len(self.points.records))
        request.mode[:] = mode
        request.arm[:] = ARM if arm else KEEP
        return request

    def run(self, seconds):
        """Positions (T, N, 3) [m] and tilts (T, N) [deg], every 20 ms."""
        pos, tilt = [], []
        for k in range(round(250 * seconds)):
            if k % 5 == 0:
                self.autopilot.apply(self.points)
                x, y = self.simulation.state.quat[:, :2].T
                pos.append(self.simulation.state.pos.copy())
                tilt.append(np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))))
            self.simulation.step()
        return np.array(pos), np.array(tilt)


@pytest.fixture
def hold():
    made = []

    def make(*args, **scenario):
        made.append(Hold(*args, **scenario))
        return made[-1]

    yield make
    for one in made:
        one.simulation.close()


@pytest.mark.slow
def test_fully_actuated_vehicles_move_sideways_while_level_and_an_arm_moves(hold):
    it = hold("tilted_hexarotor*1, hexarotor_arms_tilt*1, quadrotor_arm*1")
    it.run(3.0)
    start = it.simulation.state.pos.copy()
    it.points.pos[:2, 0] += 1.0
    it.points.actuators[2, 4:6] = 0.8, -0.8
    pos, tilt = it.run(5.0)
    moved = pos - start
    assert tilt[:, :2].max() < 1.0  # degrees, of which 0.5 are the accelerometer's bias
    np.testing.assert_allclose(moved[-1, :2], [(1.0, 0.0, 0.0)] * 2, atol=0.12)
    assert moved[:, :2, 0].max() < 1.15
    joints = it.simulation.state.joint_pos[2, :2]
    np.testing.assert_allclose(joints, (1.28, -2.48), atol=0.02)
    assert np.linalg.norm(moved[:, 2], axis=1).max() < 0.1


def test_thrust_vectoring_holds_its_place_in_wind(hold):
    it = hold("coaxial*1, bicopter*1", wind="mean=5,0,0 dryden=5")
    it.run(4.0)
    pos, tilt = it.run(6.0)
    assert np.linalg.norm((pos - pos.mean(axis=0))[..., :2], axis=2).max() < 0.3
    assert np.linalg.norm(pos.mean(axis=0) - it.points.pos, axis=1).max() < 0.4
    assert tilt.max() < 10.0


@pytest.mark.parametrize("vehicle, moved", [("quadrotor_arm", [4, 5]), ("typhoon_h480", [])])
@pytest.mark.slow
def test_do_set_actuator_turns_the_servos_that_steer_nothing(vehicle, moved):
    """Those of an arm; the mount's and the rotors are not for it."""
    f = Flight(vehicle)
    try:
        v, before = f.autopilot.status, f.autopilot.commands[0].copy()
        f.send(
            mavlink.MAVLink_command_long_message(
                1, 1, mavlink.MAV_CMD_DO_SET_ACTUATOR, 0, 0.5, -0.25, 0.7, math.nan, 0.0, 0.0, 0.0
            )
        )
        f.run(0.02)
        assert (f.autopilot.commands[0][moved] == before[moved]).all()  # it is disarmed
        v["armed"] = True
        f.run(0.02)
        assert f.autopilot.commands[0][moved].tolist() == [0.5, -0.25][: len(moved)]
        rotors = f.autopilot.commands[0][: f.simulation.fleet.n_rotors[0]]
        assert (rotors < 0.3).all()
        f.send(
            mavlink.MAVLink_command_long_message(
                1, 1, mavlink.MAV_CMD_DO_SET_ACTUATOR, 0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
            )
        )
        f.run(0.02)
        assert f.autopilot.commands[0][moved].tolist() == [0.5, -0.25][: len(moved)]
    finally:
        f.simulation.close()


@pytest.mark.parametrize(
    ("wanted", "loop", "fed"),
    [("auto", "embedded", True), ("off", "embedded", False), ("auto", "indi", False)],
)
def test_the_torque_of_a_moved_arm_is_fed_forward_unless_it_is_measured(wanted, loop, fed):
    f = Flight("quadrotor_arm", arm_feedforward=wanted, rate_control=loop)
    try:
        status, commands = f.autopilot.status, f.autopilot.commands.copy()
        status["armed"], status["sp_thrust"] = True, f.simulation.fleet.vehicle["mass"] * GRAVITY
        commands[0, 4:6] = 0.8, -0.8
        for _ in range(500):
            status["sp_torque"] = 0.0
            f.autopilot.balance.step(status, commands, 0.004)
        # 0.2 kg of arm move by some cm along x.
        pitch = status["sp_torque"][0, 1]
        assert (0.02 < abs(pitch) < 0.3) if fed else pitch == 0.0
        assert status["sp_torque"][0, 0] == 0.0
    finally:
        f.simulation.close()
