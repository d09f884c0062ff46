"""Paparazzi's messages of hardware in the loop, against bytes of pprzlink's own Python library.

RECORDED was made by pprzlink 2.0 (commit f0abfd1), PprzTransport.pack_pprz_msg().
"""

import math
import threading

import numpy as np
import pytest

from serial_cable import Cable
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import FleetModel, SensorBatch, SetPoints
from xtdrone_core.command import main
from xtdrone_flight_controllers.common.serial import BAUD, SerialGone, SerialPort
from xtdrone_flight_controllers.paparazzi import autopilot as paparazzi, messages
from xtdrone_flight_controllers.paparazzi.autopilot import PaparazziAutopilot, ecef
from xtdrone_sim.vehicles.sdf import load_vehicle

RECORDED = {
    name: bytes.fromhex(text)
    for name, text in (
        (
            "HITL_IMU",
            "992d00000246cdcccc3dcdcc4cbe9a99993e0000803f000000c0cdcc1cc10000003f00000000cdcc"
            "4c3f07236e",
        ),
        (
            "HITL_GPS",
            "992a000002479a993d42000008410000f4430000dc430000803f0000004000004040000048410307d618",
        ),
        ("HITL_AIR_DATA", "991a0000024900b8ba47000080bf000000000000000001076528"),
        ("ALIVE", "990c07000102030102031fca"),
        ("MOTOR_MIXING", "991101000170048025000080dac01258ad"),
        (
            "ROTORCRAFT_FP",
            "994201000193000100000002000000030000000008000000f8ff000000000000000000000000"
            "22190000000000000000000000000000000000000000000005001cb7",
        ),
        ("ROTORCRAFT_STATUS", "9920010001e700000000000000030d01010302050900000040410000a0408f9a"),
    )
}


def mixing(*values, sender=1):
    """A MOTOR_MIXING, of commands in Paparazzi's ticks."""
    payload = bytes((len(values),)) + np.array(values, dtype="<i2").tobytes()
    return messages.enclosed(payload, messages.MOTOR_MIXING, sender, messages.TELEMETRY)


class Board(threading.Thread):
    """A flight controller that answers each HITL_IMU by its motors.

    Attributes:
        heard: The bytes that it got.
        motors: What it answers, in ticks.
    """

    def __init__(self, device):
        """Waits for start()."""
        super().__init__(daemon=True)
        self.port, self.heard, self.motors = SerialPort(device, BAUD), b"", (0, 0, 0, 0)
        self._ended = threading.Event()

    def run(self):
        """Until close(), or the cable is unplugged."""
        self.port.write(RECORDED["ALIVE"].replace(b"\x07\0\x01", b"\x01\0\x01"))  # a wrong checksum
        self.port.write(mixing(*self.motors))
        while not self._ended.wait(0.002):
            try:
                data = self.port.read()
            except SerialGone:
                return
            self.heard += data
            if b"\x99\x2d" in data:
                self.port.write(mixing(*self.motors))

    def close(self):
        """Ends the thread."""
        self._ended.set()
        if self.is_alive():
            self.join()
        self.port.close()


class Bench:
    """One flight controller at its cable, and the autopilot."""

    def __init__(self):
        """The board begins to speak by board.start()."""
        self.cable, self.texts, self.t_us = Cable(), [], 0
        self.board = Board(self.cable.far)
        self.sensors = SensorBatch.empty(1)
        self.autopilot = PaparazziAutopilot(
            FleetModel.of([load_vehicle("iris")]),
            ["iris_0"],
            (0.0, 2e-5, -4e-5),
            [(self.cable.near, BAUD)],
            lambda i, severity, text: self.texts.append(text),
        )

    def fly(self, met=lambda commands: False, steps=1500):
        """Steps until met(commands); fails after so many steps."""
        for _ in range(steps):
            commands = self.autopilot.step(self.t_us, self.sensors)
            self.t_us += 4000
            if met(commands):
                return
        raise AssertionError("flown in vain")

    def close(self):
        """Ends everything."""
        self.autopilot.close()
        self.board.close()
        self.cable.unplug()


@pytest.fixture
def bench():
    """See Bench."""
    found = Bench()
    yield found
    found.close()


def test_frames_are_those_of_pprzlink():
    for name, values in (
        ("HITL_IMU", (0.1, -0.2, 0.3, 1.0, -2.0, -9.8, 0.5, 0.0, 0.8, 7)),
        ("HITL_GPS", (47.4, 8.5, 488.0, 440.0, 1.0, 2.0, 3.0, 12.5, 3, 7)),
        ("HITL_AIR_DATA", (95600.0, -1.0, 0.0, 0.0, messages.BARO, 7)),
    ):
        assert messages.frame(getattr(messages, name), *values) == RECORDED[name]
    found = list(messages.Reader().feed(b"".join(RECORDED.values())))
    assert [(message.sender, message.number) for message in found] == [
        (7, 2),
        (1, messages.MOTOR_MIXING),
        (1, messages.ROTORCRAFT_FP),
        (1, messages.ROTORCRAFT_STATUS),
    ]  # those to the flight controller are left out
    assert messages.motors(found[1].payload) == [1.0, 0.0, 0.0, 0.5]
    place = messages.position(found[2].payload)
    assert (place.pos, place.vel) == ((1.0, 2.0, 3.0), (1.0, -1.0, 0.0))
    assert place.attitude == pytest.approx((0.0, 0.0, math.pi / 2), abs=1e-3)
    assert messages.status(found[3].payload) == (True, True)


def test_frames_are_found_in_pieces_and_between_garbage():
    data = (
        b"\x99\x03boot\x99"
        + RECORDED["MOTOR_MIXING"]
        + b"\x99"
        + RECORDED["ROTORCRAFT_FP"]
        + bytes(300)
    )
    whole, bytewise = messages.Reader(), messages.Reader()
    expected = [messages.MOTOR_MIXING, messages.ROTORCRAFT_FP]
    assert [m.number for m in whole.feed(data)] == expected
    assert [m.number for k in range(len(data)) for m in bytewise.feed(data[k : k + 1])] == expected
    assert whole.garbage == bytewise.garbage and whole.frames == 2
    for name in ("MOTOR_MIXING", "ROTORCRAFT_FP"):
        for k in range(1, len(RECORDED[name])):
            broken = bytearray(RECORDED[name])
            broken[k] ^= 0x40
            assert not list(messages.Reader().feed(bytes(broken) + bytes(300)))
    assert messages.motors(b"\x04\0") == [] == messages.motors(b"")
    assert messages.position(b"\0") is None and messages.status(b"") is None


def test_velocities_are_in_the_earths_frame():
    assert ecef((1.0, 2.0, 3.0), 0.0, 0.0) == pytest.approx((3.0, 1.0, 2.0))
    assert ecef((1.0, 2.0, 3.0), math.pi / 2, 0.0) == pytest.approx((-2.0, 1.0, 3.0))
    assert ecef((1.0, 2.0, 3.0), 0.0, math.pi / 2) == pytest.approx((-1.0, 3.0, 2.0))


def test_readings_go_out_and_commands_come_back(bench):
    bench.board.motors = 960, 1920, 9600, -5
    bench.board.start()
    s = bench.sensors
    s.gyro[0], s.accel[0], s.mag[0] = (0.1, 0.2, 0.3), (0.0, 0.0, 9.8), (2e-5, 0.0, -4e-5)
    s.gps_new[0] = s.baro_new[0] = True
    s.baro_pressure[0] = 95_600.0
    bench.fly(lambda commands: commands.any())
    assert bench.autopilot.commands[0] == pytest.approx([0.1, 0.2, 1.0, 0.0])
    imu = messages.frame(
        messages.HITL_IMU,
        0.1,
        -0.2,
        -0.3,
        0.0,
        -0.0,
        -9.8,
        2 / math.sqrt(20),
        -0.0,
        4 / math.sqrt(20),
        1,
    )
    bench.fly(lambda commands: imu in bench.board.heard)
    assert {6 + messages.HITL_GPS[1].size + 2, 6 + messages.HITL_AIR_DATA[1].size + 2} == {42, 26}
    assert b"\x99\x2a\0\0\x02\x47" in bench.board.heard
    assert b"\x99\x1a\0\0\x02\x49" in bench.board.heard


def test_its_telemetry_gives_estimates(bench):
    bench.board.start()
    assert bench.autopilot.health()[0]["not_ready"] == "Paparazzi has not been heard"
    bench.board.port.write(RECORDED["ROTORCRAFT_FP"] + RECORDED["ROTORCRAFT_STATUS"])
    bench.fly(lambda commands: bench.autopilot.estimates().armed[0])
    found = bench.autopilot.estimates()
    assert found.pos[0].tolist() == [1.0, 2.0, 3.0] and found.vel[0].tolist() == [1.0, -1.0, 0.0]
    assert found.quat[0] == pytest.approx((0.0, 0.0, 0.0, 1.0), abs=1e-3)  # faces east
    assert found.ready[0] and not found.landed[0]
    assert bench.autopilot.health()[0]["not_ready"] == ""


def test_faults_are_named(bench, monkeypatch):
    bench.board.start()
    bench.fly(lambda commands: bench.t_us > 20_000)
    bench.board.port.write(mixing(0, sender=9))
    with pytest.raises(AutopilotError, match="says that it is aircraft 9: build it with AC_ID 1"):
        bench.fly()
    monkeypatch.setattr(paparazzi, "SILENCE_US", 100_000)
    bench.board.close()
    with pytest.raises(AutopilotError, match=r"has sent no MOTOR_MIXING for 0\.1 s: it hangs"):
        bench.fly()
    bench.cable.unplug()
    with pytest.raises(AutopilotError, match="is gone .*: was it unplugged"):
        bench.fly()


def test_one_that_says_nonsense_is_named(bench):
    bench.board.port.write(bytes(range(150)) * 20)
    with pytest.raises(AutopilotError, match=f"not pprzlink 2.0 on .*: is {BAUD} its baud rate"):
        bench.fly()


def test_one_that_says_nothing_is_named(bench, monkeypatch):
    monkeypatch.setattr(paparazzi, "CONNECT_S", 0.2)
    with pytest.raises(AutopilotError, match=r"sent nothing on '/dev/pts/\d+' at .* within 0.2 s"):
        bench.fly()


def test_what_it_cannot_do_is_refused(bench, capsys):
    for refused in (
        bench.autopilot.reset,
        bench.autopilot.save,
        lambda: bench.autopilot.load({}),
        lambda: bench.autopilot.apply(SetPoints.empty(1, 4)),
    ):
        with pytest.raises(AutopilotError, match="fly autopilot:=embedded"):
            refused()
    with pytest.raises(AutopilotError, match="'plane' cannot be flown by Paparazzi's MOTOR_MIXING"):
        PaparazziAutopilot(FleetModel.of([load_vehicle("plane")]), ["plane_0"], (0, 0, 1), [])
    assert main(["sim", "--autopilot", "paparazzi", "--serial", "/dev/nowhere"]) == 1
    assert "cannot open serial device '/dev/nowhere'" in capsys.readouterr().err
