"""XTDrone's commands by ROS 2: set-points at 30 Hz, arming and modes with their answers."""

import contextlib
import queue
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cyclonedds")

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode
from xtdrone_mavros.vehicle_kind import Kind
from xtdrone_ros2 import xtdrone
from xtdrone_ros2.feed import VEHICLE

ACCEPTED, DENIED = mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_DENIED
ROWS = {row.name: row for row in xtdrone.SUBSCRIPTIONS}


class Link:
    """Answers each command with the result that the test wants."""

    def __init__(self):
        self.sent, self.result, self.boxes = [], ACCEPTED, []

    def send(self, i, message, component=0):
        self.sent.append(message)
        if message.get_type() == "COMMAND_LONG":
            for box in self.boxes:
                box.put(mavlink.MAVLink_command_ack_message(message.command, self.result))

    @contextlib.contextmanager
    def inbox(self, i, *kinds):
        box = queue.SimpleQueue()
        self.boxes.append(box)
        yield box
        self.boxes.remove(box)

    def of(self, kind):
        return [message for message in self.sent if message.get_type() == kind]


class Flight:
    """A vehicle, and the steps that it is told of."""

    def __init__(self):
        self.link, self.said = Link(), []
        self.vehicle = xtdrone.XtdroneVehicle(
            1, "iris_1", self.link, Kind.MULTIROTOR, self.said.append
        )
        self.record = np.zeros(1, VEHICLE)[0]
        self.record["est_pos"], self.record["est_quat"] = (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0)
        self.record["mode"] = Mode.LOITER
        self.t_us = 0

    def steps(self, count):
        for _ in range(count):
            self.t_us += 4000
            self.vehicle.step(self.t_us, self.record)

    def send(self, name, **fields):
        ROWS[name].handle(self.vehicle, SimpleNamespace(**fields))

    def until_said(self, count):
        end = time.monotonic() + 10.0
        while len(self.said) < count:
            assert time.monotonic() < end
            self.steps(1)
            time.sleep(0.001)


@pytest.fixture
def flight():
    return Flight()


def vector(x=0.0, y=0.0, z=0.0):
    return SimpleNamespace(x=x, y=y, z=z)


def test_nothing_is_sent_before_the_first_command(flight):
    flight.steps(250)
    assert not flight.link.sent


def test_velocities_are_streamed_at_30_hz(flight):
    flight.send("cmd_vel_flu", linear=vector(1.0, 0.5), angular=vector(z=0.2))
    flight.steps(250)
    sent = flight.link.of("SET_POSITION_TARGET_LOCAL_NED")
    assert len(sent) in (30, 31)
    last = sent[-1]
    assert (last.target_system, last.coordinate_frame) == (2, mavlink.MAV_FRAME_BODY_NED)
    assert (last.vx, last.vy, last.vz, last.yaw_rate) == pytest.approx((1.0, -0.5, 0.0, -0.2))


def test_a_place_in_the_world(flight):
    turn = SimpleNamespace(x=0.0, y=0.0, z=0.0, w=0.0)  # unset: no yaw
    flight.send("cmd_pose_enu", position=vector(4.0, 5.0, 6.0), orientation=turn)
    flight.steps(10)
    last = flight.link.of("SET_POSITION_TARGET_LOCAL_NED")[-1]
    assert (last.x, last.y, last.z) == pytest.approx((5.0, 4.0, -6.0))
    assert last.yaw == pytest.approx(np.pi / 2)


def test_hover_stays_where_the_estimate_is(flight):
    flight.send("cmd", data="HOVER")
    flight.steps(10)
    last = flight.link.of("SET_POSITION_TARGET_LOCAL_NED")[-1]
    assert (last.x, last.y, last.z) == pytest.approx((2.0, 1.0, -3.0))
    assert flight.said == ["HOVER: done"]


def test_arming_is_answered(flight):
    flight.send("cmd", data="ARM")
    flight.until_said(1)
    assert flight.said == ["ARM: done"]
    assert flight.link.of("COMMAND_LONG")[0].param1 == 1.0


def test_a_refusal_has_the_vehicles_reason(flight):
    flight.link.result = DENIED
    flight.send("cmd", data="ARM")
    while not flight.link.of("COMMAND_LONG"):
        time.sleep(0.001)
    text = mavlink.MAVLink_statustext_message(4, b"Arming denied: low battery")
    text.pack(mavlink.MAVLink(None))
    flight.vehicle.take(253, bytes(text.get_payload()))
    flight.until_said(1)
    assert flight.said == ["ARM refused: Arming denied: low battery"]


def test_offboard_waits_for_its_stream(flight):
    flight.send("cmd", data="OFFBOARD")
    flight.steps(100)
    assert not flight.link.of("COMMAND_LONG")
    flight.steps(30)
    end = time.monotonic() + 10.0
    while not flight.link.of("COMMAND_LONG"):
        assert time.monotonic() < end
        time.sleep(0.001)
    order = flight.link.of("COMMAND_LONG")[0]
    assert (order.command, order.param2) == (mavlink.MAV_CMD_DO_SET_MODE, 6.0)
    flight.record["mode"] = Mode.OFFBOARD
    flight.until_said(1)
    assert flight.said == ["OFFBOARD: done"]


def test_unknown_commands_and_numbers_are_said(flight):
    flight.send("cmd", data="FLIP")
    flight.until_said(1)
    assert flight.said[0].startswith("FLIP refused: unknown command 'FLIP'")
    flight.send("cmd_accel_enu", linear=vector(float("nan")), angular=vector())
    assert "is not finite: nothing is sent" in flight.said[1]
