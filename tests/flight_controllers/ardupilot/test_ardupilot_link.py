"""ArduPilot's JSON interface and telemetry, against a scripted ArduPilot."""

import math
import socket

import numpy as np
import pytest
from pymavlink.dialects.v20 import ardupilotmega as mavlink

from ardupilot_peer import ScriptedArduPilot, telemetry
from own_ports import PORTS
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import ARM, FleetModel, FleetState, Mode, ScenarioError, SensorBatch, SetPoints
from xtdrone_core.command import main
from xtdrone_core.runs import ports
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_dynamics.earth.geodesy import to_geodetic
from xtdrone_flight_controllers.ardupilot import frames, link as json_link, process
from xtdrone_flight_controllers.ardupilot.autopilot import FRAMES, ArduPilotAutopilot
from xtdrone_flight_controllers.ardupilot.telemetry import ArduPilotTelemetry
from xtdrone_sim.vehicles.sdf import load_vehicle

ORIGIN = math.radians(47.397742), math.radians(8.545594), 488.0
NAMES = ("iris", "solo", "typhoon_h480", "octorotor", "crazyflie", "heavy_lifter")


def autopilot(n=1, vehicle="iris"):
    """An autopilot that waits for external ArduPilots, and its texts."""
    texts = []
    models = [load_vehicle(vehicle)] * n
    found = ArduPilotAutopilot(
        FleetModel.of(models),
        [f"{vehicle}_{i}" for i in range(n)],
        ORIGIN,
        np.zeros((n, 3)),
        None,
        None,
        lambda i, severity, text: texts.append((i, text)),
        PORTS,
    )
    return found, texts


@pytest.fixture
def pair():
    """Two scripted ArduPilots that fly two iris."""
    found, _ = autopilot(2)
    peers = [ScriptedArduPilot(PORTS.ardupilot(0)), ScriptedArduPilot(PORTS.ardupilot(1), 29569)]
    for peer in peers:
        peer.start()
    yield found, peers
    found.close()
    for peer in peers:
        peer.close()


def test_each_step_is_so_many_lines_and_answers(pair):
    """The pose goes on evenly within a step; the readings are those of the whole step."""
    found, peers = pair
    sensors, state = SensorBatch.empty(2), FleetState.zeros(2, 4)
    state.pos[1], state.vel[1] = (1.0, 2.0, 3.0), (0.1, 0.2, 0.3)
    state.quat[1] = 0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4)  # faces north
    sensors.gyro[1], sensors.accel[1] = (0.4, 0.5, 0.6), (0.0, 1e-7, 9.8)
    found.on_step(0, state, sensors)
    peers[1].pulses[:4] = [1100, 1200, 2000, 900]
    for k in range(5):
        commands = found.step(4000 * k, sensors)
    assert [len(peer.heard) for peer in peers] == [5 * FRAMES, 5 * FRAMES]
    assert commands.tolist() == [[0.0] * 4, [0.1, 0.2, 1.0, 0.0]]
    times = [line["timestamp"][0] for line in peers[1].heard]
    assert np.diff(times) == pytest.approx(0.004 / FRAMES)
    assert peers[1].heard[0]["position"] == pytest.approx(
        [2.0 / FRAMES, 1.0 / FRAMES, -3.0 / FRAMES]
    )
    heard = peers[1].heard[-1]
    assert heard["timestamp"] == [0.016] and heard["no_time_sync"] == [1.0]
    assert heard["position"] == [2.0, 1.0, -3.0] and heard["velocity"] == [0.2, 0.1, -0.3]
    assert heard["gyro"] == [0.4, -0.5, -0.6]
    assert heard["accel_body"] == [0.0, -1e-7, -9.8]
    assert heard["quaternion"] == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-9)


def test_one_that_leaves_frees_its_port_and_the_other_flies_on(pair):
    found, peers = pair
    sensors = SensorBatch.empty(2)
    found.step(0, sensors)
    for _ in range(2):  # it may be said twice
        found.remove_vehicle(0)
    peers[1].pulses[:4] = [1100, 1200, 2000, 900]
    for k in range(1, 5):
        commands = found.step(4000 * k, sensors)
    assert [len(peer.heard) for peer in peers] == [FRAMES, 5 * FRAMES]
    assert commands.tolist() == [[0.0] * 4, [0.1, 0.2, 1.0, 0.0]]
    assert not ports.in_use(PORTS.ardupilot(0))


def test_repeated_foreign_and_short_packets_are_no_answers(pair):
    found, peers = pair
    sensors = SensorBatch.empty(2)
    found.step(0, sensors)
    peers[0].pulses[0] = 1500
    peers[0].say()  # the same count again
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for data in (b"", b"x", b"\x1a\x48", bytes(40), bytes(72)):
            stranger.sendto(data, ("127.0.0.1", PORTS.ardupilot(0)))
    found.step(4000, sensors)
    assert len(peers[0].heard) == 2 * FRAMES
    assert found.step(8000, sensors)[0, 0] == 0.5


def test_one_that_hangs_ends_the_flight(monkeypatch):
    monkeypatch.setattr(json_link, "ANSWER_S", 0.2)
    found, _ = autopilot()
    peer = ScriptedArduPilot(PORTS.ardupilot(0), hang_after=2 * FRAMES + 1)
    peer.start()
    sensors = SensorBatch.empty(1)
    found.step(0, sensors)
    found.step(4000, sensors)
    with pytest.raises(AutopilotError, match="ArduPilot 0 of 'iris_0' does not answer"):
        found.step(8000, sensors)
    found.close()
    peer.close()


def test_a_port_in_use_is_named():
    first, _ = autopilot()
    with pytest.raises(AutopilotError, match=rf"port {PORTS.ardupilot(0)} \(UDP, JSON"):
        autopilot()
    first.close()


@pytest.mark.parametrize("name", NAMES)
def test_frames_turn_each_vehicle_the_right_way(name):
    """ArduPilot's motors, as it mixes them, roll, pitch and yaw our rotors as it expects."""
    model = load_vehicle(name)
    number, order = frames.motors(model)
    assert sorted(order) == list(range(len(model.rotors)))
    places = frames.FRAMES[len(order)][1]
    for rotor, motor in zip(model.rotors, order):
        angle, spin = places[motor]
        assert spin == rotor.direction
        ahead, left = math.cos(math.radians(angle)), -math.sin(math.radians(angle))
        assert np.dot((ahead, left), rotor.pos[:2]) > 0.85 * math.hypot(*rotor.pos[:2])
    found = process.parameters_of(model, 101.0)
    assert found["FRAME_CLASS"] == number and found["ATC_RAT_RLL_P"] == 0.135
    assert {f"SERVO{k + 1}_FUNCTION" for k in range(len(order))} <= found.keys()


@pytest.mark.parametrize("name", ["plane", "rover", "tailsitter"])
def test_a_vehicle_without_a_frame_is_refused(name):
    with pytest.raises(AutopilotError, match=f"'{name}' has no frame of ArduPilot's: give iris"):
        frames.motors(load_vehicle(name))


def test_it_is_found_by_folder_binary_and_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("ARDUPILOT_BUILD", raising=False)
    assert process.find("") is None
    binary = tmp_path / "bin/arducopter"
    binary.parent.mkdir()
    binary.touch(mode=0o644)
    with pytest.raises(AutopilotError, match="is not executable: chmod"):
        process.find(str(tmp_path))
    binary.chmod(0o755)
    for given in (tmp_path, binary):
        assert process.find(str(given)).binary == binary
    monkeypatch.setenv("ARDUPILOT_BUILD", str(tmp_path))
    assert process.find("").binary == binary
    with pytest.raises(AutopilotError, match="no ArduPilot at '/nowhere'"):
        process.find("/nowhere")


def test_what_it_cannot_do_is_refused(capsys):
    with pytest.raises(ScenarioError, match="cannot be flown by autopilot ardupilot"):
        Scenario(vehicles="iris", autopilot="ardupilot", rate_control="my:Own")
    for name in ("web", "ros2"):
        with pytest.raises(ScenarioError, match=f"{name} true cannot be used with autopilot ardu"):
            Scenario(vehicles="iris", autopilot="ardupilot", **{name: True})
    assert main(["sim", "--autopilot", "ardupilot", "--ardupilot", "/nowhere"]) == 1
    assert "no ArduPilot at '/nowhere'" in capsys.readouterr().err


class Telemetry:
    """A telemetry with one scripted ArduPilot."""

    def __init__(self):
        self.texts = []
        self.own = ArduPilotTelemetry(
            2, ORIGIN, lambda i, severity, text: self.texts.append(text), PORTS
        )
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5.0)
        self.parser = mavlink.MAVLink(None)

    def say(self, *messages, system=2):
        self.socket.sendto(telemetry(system, *messages), ("127.0.0.1", self.own.port))

    def hear(self, kind):
        while True:
            for message in self.parser.parse_buffer(self.socket.recv(4096)) or ():
                if message.get_type() == kind:
                    return message


@pytest.fixture
def link():
    """See Telemetry."""
    found = Telemetry()
    yield found
    found.own.close()
    found.socket.close()


def heartbeat(mode, armed=True):
    return mavlink.MAVLink_heartbeat_message(
        2, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA, 129 if armed else 1, mode, 4, 3
    )


def test_estimates_are_in_the_world(link):
    """Its frame begins where it had its first fix, here 3 m east, 4 m north and 2 m up."""
    lat, lon = (round(math.degrees(x) * 1e7) for x in to_geodetic(3.0, 4.0, *ORIGIN[:2]))
    link.say(
        heartbeat(4),
        mavlink.MAVLink_sys_status_message(
            0, 0, mavlink.MAV_SYS_STATUS_PREARM_CHECK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
        ),
        mavlink.MAVLink_gps_global_origin_message(lat, lon, 490_000),
        mavlink.MAVLink_local_position_ned_message(1, 1.0, 2.0, -5.0, 0.1, 0.2, -0.3),
        mavlink.MAVLink_extended_sys_state_message(0, mavlink.MAV_LANDED_STATE_IN_AIR),
    )
    link.own.step(0)
    found = link.own.estimates()
    assert found.pos[1] == pytest.approx([5.0, 5.0, 7.0], abs=0.02)
    assert found.vel[1] == pytest.approx([0.2, 0.1, 0.3])
    assert found.ready.tolist() == [False, True] and found.armed.tolist() == [False, True]
    assert found.mode[1] == Mode.OFFBOARD and not found.landed[1]
    assert link.own.health()[0]["not_ready"] == "ArduPilot has not been heard"
    assert link.hear("COMMAND_LONG").command == mavlink.MAV_CMD_SET_MESSAGE_INTERVAL


def test_a_set_point_above_the_ground_is_a_take_off_first(link):
    link.say(
        heartbeat(4),
        mavlink.MAVLink_gps_global_origin_message(473977420, 85455940, 488_000),
        mavlink.MAVLink_local_position_ned_message(1, 0, 0, 0, 0, 0, 0),
    )
    link.own.step(0)
    s = SetPoints.empty(2, 4)
    s.pos[1] = 1.0, 2.0, 3.0
    link.own.apply(s)
    while (message := link.hear("COMMAND_LONG")).command != mavlink.MAV_CMD_NAV_TAKEOFF:
        pass
    assert message.param7 == 3.0
    link.say(mavlink.MAVLink_extended_sys_state_message(0, mavlink.MAV_LANDED_STATE_IN_AIR))
    link.own.step(20_000)
    link.own.apply(s)
    target = link.hear("SET_POSITION_TARGET_LOCAL_NED")
    assert [target.x, target.y, target.z] == pytest.approx([2.0, 1.0, -3.0], abs=0.02)


def test_modes_have_arducopters_numbers_and_what_it_cannot_fly_is_said(link):
    link.say(heartbeat(9))
    link.own.step(0)
    s = SetPoints.empty(2, 4)
    s.mode[1], s.arm[1], s.rates[1] = Mode.FOLLOW_TARGET, ARM, 0.1
    link.own.apply(s)
    assert link.own.estimates().mode[1] == Mode.LAND
    assert link.texts == [
        "Set-point ignored: it takes positions, velocities and accelerations only",
        "Set-point ignored: it has no mode AUTO.FOLLOW_TARGET",
    ]
    s.mode[1] = Mode.LAND
    link.own.apply(s)
    while (message := link.hear("COMMAND_LONG")).command != mavlink.MAV_CMD_DO_SET_MODE:
        pass
    assert [message.param1, message.param2] == [1.0, 9.0]
    s.actuators[1] = 0.5
    with pytest.raises(AutopilotError, match="takes no actuator commands"):
        link.own.apply(s)
