"""Hardware in the loop against a scripted flight controller at a pseudo-terminal."""

import os
import socket

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS
from serial_cable import Cable, ScriptedBoard
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_core.command import main
from xtdrone_core.contracts import ExternalPose
from xtdrone_flight_controllers.common import pace
from xtdrone_flight_controllers.common.serial import BAUD, SerialPort, parse_devices
from xtdrone_flight_controllers.px4.link import MAX_GARBAGE, Peer
from xtdrone_flight_controllers.px4_hitl import autopilot as hitl
from xtdrone_flight_controllers.px4_hitl.autopilot import Px4HitlAutopilot
from xtdrone_sim.vehicles.sdf import load_vehicle

ORIGIN = 0.827, 0.149, 488.0
ARMED = mavlink.MAV_MODE_FLAG_HIL_ENABLED | mavlink.MAV_MODE_FLAG_SAFETY_ARMED


class Bench:
    """N flight controllers at their cables, and the autopilot that flies them."""

    def __init__(self, n=1, loss="stop", **board):
        """The boards begin to speak by start()."""
        self.cables = [Cable() for _ in range(n)]
        self.boards = [
            ScriptedBoard(cable.far, i + 1, **board) for i, cable in enumerate(self.cables)
        ]
        self.texts, self.t_us = [], 0
        self.sensors = SensorBatch.empty(n)
        self.autopilot = Px4HitlAutopilot(
            FleetModel.of([load_vehicle("iris")] * n),
            [f"iris_{i}" for i in range(n)],
            ORIGIN,
            np.zeros((n, 3)),
            [(cable.near, BAUD) for cable in self.cables],
            loss,
            on_text=lambda i, severity, text: self.texts.append((i, text)),
            own=PORTS,
        )

    def start(self):
        """All boards speak."""
        for board in self.boards:
            board.start()
        return self

    def step(self):
        """One step; returns the commands."""
        commands = self.autopilot.step(self.t_us, self.sensors).copy()
        self.t_us += 4000
        return commands

    def fly(self, met=lambda commands: False, steps=2500):
        """Steps until met(commands); fails after so many steps."""
        for _ in range(steps):
            if met(self.step()):
                return
        raise AssertionError("flown in vain")

    def close(self):
        """Ends everything."""
        self.autopilot.close()
        for board, cable in zip(self.boards, self.cables):
            if board.ident is not None:
                board.close()
            cable.unplug()


@pytest.fixture
def bench():
    """Makes benches, and ends them."""
    made = []

    def make(*args, **kwargs):
        made.append(Bench(*args, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_readings_go_out_and_controls_come_back_in_real_time(bench):
    found = bench(2, base_mode=ARMED).start()
    found.boards[1].controls[:4] = 0.1, 0.2, 0.3, 1.5
    found.sensors.gyro[1], found.sensors.mag_new[1] = (0.4, 0.5, 0.6), True
    begin = pace.time.monotonic()
    for _ in range(50):
        commands = found.step()
    assert pace.time.monotonic() - begin >= 49 * 0.004
    assert commands[0].tolist() == [0.0] * 4
    assert commands[1] == pytest.approx([0.1, 0.2, 0.3, 1.0])
    assert found.autopilot.states.tolist() == [Peer.CONNECTED] * 2
    assert found.autopilot.armed.all()
    heard = found.boards[1].sensors
    assert [heard.xgyro, heard.ygyro, heard.zgyro] == pytest.approx([0.4, -0.5, -0.6])
    # PX4 would take it for its own estimate.
    assert "HIL_STATE_QUATERNION" not in found.boards[1].heard
    assert found.boards[1].heard["HIL_SENSOR"] >= 40


def test_rotors_stand_still_while_it_is_disarmed_and_after_its_last_controls(bench):
    found = bench(base_mode=ARMED).start()
    found.boards[0].controls[:] = 0.5
    found.fly(np.any)
    found.boards[0].mode = mavlink.MAV_MODE_FLAG_HIL_ENABLED
    found.fly(lambda commands: not commands.any())
    found.boards[0].mode = ARMED
    found.fly(np.any)
    found.boards[0].answers = False
    found.fly(lambda commands: not commands.any())


def test_ground_stations_speak_to_it_where_they_speak_to_software_in_the_loop(bench):
    """Its messages come to the ports of PX4's links, and what is sent there reaches it."""
    found = bench().start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", PORTS.ground_station))
        station.setblocking(False)
        packer, parser, heard = mavlink.MAVLink(None, 255, 190), mavlink.MAVLink(None), set()

        def exchanged(_):
            station.sendto(
                mavlink.MAVLink_param_request_list_message(1, 1).pack(packer),
                ("127.0.0.1", PORTS.ground_station_local(0)),
            )
            found.boards[0].beat()
            try:
                heard.update(
                    message.get_type() for message in parser.parse_buffer(station.recv(4096)) or ()
                )
            except BlockingIOError:
                pass
            return "HEARTBEAT" in heard and "PARAM_REQUEST_LIST" in found.boards[0].heard

        found.fly(exchanged)
    assert "HIL_ACTUATOR_CONTROLS" not in heard
    found.fly(
        lambda commands: (
            found.autopilot.health()[0]["not_ready"] == "PX4 does not know its place yet"
        )
    )


def test_an_unplugged_one_ends_the_flight(bench):
    found = bench().start()
    found.step()
    found.cables[0].unplug()
    with pytest.raises(
        AutopilotError,
        match=r"PX4 0 of 'iris_0' cannot be reached: its serial "
        r"device '/dev/pts/\d+' is gone .*: was it unplugged\?",
    ):
        found.fly()


def test_the_others_fly_on_where_asked(bench):
    found = bench(2, loss="continue", base_mode=ARMED).start()
    for board in found.boards:
        board.controls[:4] = 0.5
    found.fly(np.all)
    found.cables[0].unplug()
    found.fly(lambda commands: found.autopilot.states[0] == Peer.LOST)
    assert found.step().tolist() == [[0.0] * 4, [0.5] * 4]
    assert "was it unplugged?" in found.texts[-1][1]


def test_garbage_is_skipped_and_nothing_but_garbage_is_a_wrong_baud_rate(bench):
    found = bench(base_mode=ARMED).start()
    found.boards[0].controls[:4] = 0.5
    found.fly(np.any)
    found.boards[0].say(b"\xfe\x09nsh> " * 1000)
    found.fly(lambda commands: found.autopilot.garbage[0] > MAX_GARBAGE)
    found.fly(np.all)


def test_a_wrong_baud_rate_is_named(bench):
    found = bench()
    found.boards[0].say(bytes(range(1, 200)) * 20)
    with pytest.raises(
        AutopilotError,
        match=rf"bytes that are not MAVLink on .* is {BAUD} its "
        r"baud rate\?",
    ):
        found.step()
    found.boards[0].port.close()


@pytest.mark.parametrize(
    "board,why",
    [
        ({"base_mode": 0}, "is not in HITL mode: set SYS_HITL 1"),
        (
            {"answers": False},
            "sends no HIL_ACTUATOR_CONTROLS: its start-up has to run 'pwm_out_sim",
        ),
    ],
)
def test_one_that_is_not_set_up_is_told_how(bench, monkeypatch, board, why):
    monkeypatch.setattr("xtdrone_flight_controllers.px4_hitl.link.SILENCE_US", 100_000)
    found = bench(**board).start()
    with pytest.raises(AutopilotError, match=why):
        found.fly()


def test_one_that_falls_silent_or_says_nothing_is_named(bench, monkeypatch):
    monkeypatch.setattr("xtdrone_flight_controllers.px4_hitl.link.SILENCE_US", 100_000)
    monkeypatch.setattr(hitl, "CONNECT_S", 0.2)
    monkeypatch.setattr(hitl, "NAME_S", 0.0)
    found = bench(beats=False).start()
    with pytest.raises(AutopilotError, match="sent no heartbeat on '/dev/pts/.*' for 0.1 s"):
        found.fly()
    found.close()
    mute = bench()
    with pytest.raises(AutopilotError, match="sent no heartbeat on .* within 0.2 s: is PX4"):
        mute.step()
    assert f"at {BAUD} baud" in mute.texts[0][1]
    mute.boards[0].port.close()


def test_one_of_another_system_id_is_told_which(bench):
    found = bench()
    found.boards[0].packer.srcSystem = 7
    found.start()
    with pytest.raises(AutopilotError, match="says that it is system 7: set MAV_SYS_ID 1"):
        found.fly()


def test_a_simulation_that_falls_behind_says_so_once(bench, monkeypatch):
    found = bench().start()
    found.step()
    monkeypatch.setattr(pace, "LATE_S", 0.0)
    for _ in range(2):
        pace.time.sleep(0.01)  # longer than a step
        found.step()
    assert sum("behind real time" in text for _, text in found.texts) == 1


def test_reset_save_and_load_are_refused(bench):
    found = bench().autopilot
    assert not isinstance(found, ExternalPose)  # so that pose_source:=truth is refused
    for refused in (found.reset, found.save, lambda: found.load({})):
        with pytest.raises(AutopilotError, match="fly autopilot:="):
            refused()


def test_devices_are_parsed():
    path = "/dev/serial/by-path/pci-0000:00:14.0-usb-0:1:1.0"
    assert parse_devices(f" {path}, /dev/ttyUSB0:57600", 2) == [
        (path, BAUD),
        ("/dev/ttyUSB0", 57_600),
    ]
    for text, n, why in (
        ("", 1, "names 0 devices for 1 vehicles: give DEVICE"),
        ("/dev/a:12345", 1, "baud rate 12345 of '/dev/a' is not allowed"),
        ("/dev/a,/dev/a:9600", 2, "names '/dev/a' twice"),
    ):
        with pytest.raises(AutopilotError, match=why):
            parse_devices(text, n)


def test_devices_that_cannot_be_opened_are_named(tmp_path):
    (tmp_path / "file").touch()
    cable = Cable()
    port = SerialPort(cable.near, BAUD)
    for device, why in (
        (tmp_path / "none", "No such file or directory; is it plugged in"),
        (tmp_path / "file", "is no serial device"),
        ("/dev/null", "is no serial device"),
        (cable.near, "is in use by another program"),
    ):
        with pytest.raises(AutopilotError, match=why):
            SerialPort(str(device), BAUD)
    port.close()
    cable.unplug()


def test_a_device_that_takes_nothing_drops_whole_messages(tmp_path):
    near, far = os.openpty()
    port = SerialPort(os.ttyname(far), BAUD)
    data = bytes(100)
    taken = sum(port.write(data) for _ in range(2000))
    assert 0 < taken < 2000
    os.set_blocking(near, False)
    got = 0
    while not port.write(b"end"):
        got += len(os.read(near, 65536))
    while got < 100 * taken + 3:
        got += len(os.read(near, 65536))
    assert got == 100 * taken + 3
    port.close()
    os.close(near)
    os.close(far)


def test_the_command_names_a_missing_device(capsys):
    assert main(["fly", "square", "--autopilot", "px4_hitl"]) == 1
    assert "names 0 devices for 1 vehicles" in capsys.readouterr().err
    assert main(["fly", "square", "--autopilot", "px4_hitl", "--serial", "/dev/nowhere"]) == 1
    assert "cannot open serial device '/dev/nowhere'" in capsys.readouterr().err
    assert (
        main(
            [
                "fly",
                "square",
                "--autopilot",
                "px4_hitl",
                "--serial",
                "/dev/null",
                "--mission=survey",
            ]
        )
        == 1
    )
    assert "mission cannot be given to a flight controller" in capsys.readouterr().err
