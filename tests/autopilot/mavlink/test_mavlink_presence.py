"""Clocks and ground stations at the other end of a link: TIMESYNC, texts."""

import contextlib
import socket

import numpy as np
import pytest

from own_ports import PORTS
from stack_flights import Flight, Link
from xtdrone_autopilot.mavlink.links import Links
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import frames
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation


class Remote(Link):
    """A link whose other end has a clock of its own."""


@pytest.mark.parametrize("ahead_us", [0, 5_000_000_000, -1_500_000])
def test_poses_are_dated_by_the_clock_of_their_sender(ahead_us):
    """The sender answers TIMESYNC; a pose that it measured 60 ms ago counts 60 ms ago."""
    flight, taken = Flight(), []
    flight.autopilot.estimator.fuse_vision = lambda i, t_us, pos, quat: taken.append(t_us)
    Remote.clock_us = None
    flight.run(2.0)
    for _ in range(40):
        asked = flight.simulation.t_us
        flight.run(0.004)
        flight.messages.handle(
            Remote, mavlink.MAVLink_timesync_message((asked + 2000 + ahead_us) * 1000, asked * 1000)
        )
    measured = flight.simulation.t_us - 60_000
    flight.messages.handle(
        Remote,
        mavlink.MAVLink_odometry_message(
            measured + ahead_us,
            mavlink.MAV_FRAME_LOCAL_NED,
            mavlink.MAV_FRAME_BODY_FRD,
            0,
            0,
            0,
            [1, 0, 0, 0],
            0,
            0,
            0,
            0,
            0,
            0,
            [np.nan] * 21,
            [np.nan] * 21,
        ),
    )
    assert taken == [pytest.approx(measured, abs=2000)]


def test_late_answers_of_timesync_do_not_count():
    flight = Flight()
    Remote.clock_us = None
    flight.run(1.0)
    asked = flight.simulation.t_us
    flight.run(0.02)
    flight.messages.handle(Remote, mavlink.MAVLink_timesync_message(10**15, asked * 1000))
    assert Remote.clock_us is None


@pytest.mark.parametrize(
    "kind, texts", [(mavlink.MAV_TYPE_GCS, True), (mavlink.MAV_TYPE_ONBOARD_CONTROLLER, False)]
)
def test_texts_go_where_a_ground_station_is(kind, texts):
    """On the offboard link an onboard computer gets none, as from PX4."""
    encoder = mavlink.MAVLink(None, 255, 190)
    simulation = Simulation(Scenario(fleet("iris", 1), speed=0.0), None, links=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", PORTS.offboard(0)))
        client.setblocking(False)
        client.sendto(
            mavlink.MAVLink_heartbeat_message(kind, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3).pack(
                encoder
            ),
            ("127.0.0.1", PORTS.offboard_local(0)),
        )
        simulation.run(until_us=100_000)
        simulation.autopilot.outbox.say(0, mavlink.MAV_SEVERITY_INFO, "hello")
        simulation.run(until_us=200_000)
        simulation.close()
        found = set()
        with contextlib.suppress(BlockingIOError):
            while data := client.recv(65536):
                found |= {frame.message_id for frame in frames(data)}
    assert mavlink.MAVLINK_MSG_ID_ATTITUDE in found
    assert (mavlink.MAVLINK_MSG_ID_STATUSTEXT in found) == texts


def test_texts_wait_for_a_ground_station():
    """As from PX4: the last eight for five seconds, and anew once its heartbeats stop."""
    links = Links(1, Flight().autopilot.streams(), PORTS)
    link = links.by_kind[0][0]

    def say(second):
        links.broadcast_text(
            0, [mavlink.MAVLink_statustext_message(6, b"%d" % second)], round(second * 1e6)
        )

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", PORTS.ground_station))
        client.setblocking(False)

        def heard():
            with contextlib.suppress(BlockingIOError):
                while data := client.recv(65536):
                    yield int(mavlink.MAVLink(None).decode(bytearray(data)).text)

        for second in range(20):
            say(second)
        assert not list(heard())
        links.hear_station(link, 19_500_000)
        assert list(heard()) == [15, 16, 17, 18, 19]
        for second in range(20, 32):
            say(second)
        assert list(heard()) == [20, 21, 22]
        links.hear_station(link, 32_000_000)
        assert list(heard()) == [28, 29, 30, 31]
        for _ in range(12):
            say(36)
        links.hear_station(link, 37_000_000)
        assert list(heard()) == [36] * 8
    links.close()
