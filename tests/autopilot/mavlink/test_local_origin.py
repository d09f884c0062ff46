"""SET_GPS_GLOBAL_ORIGIN and origin:=own move what clients see as (0, 0, 0), and nothing else."""

import math

import numpy as np
import pytest
from pyulog import ULog

from stack_flights import Flight, Link, NoLinks
from xtdrone_autopilot.state.local_origin import LocalOrigins
from xtdrone_core.frames import enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.earth.geodesy import to_geodetic, to_local

PLACE = 47.398, 8.546, 500.0  # 28.7 m north, 30.5 m east and 12 m above the world's origin
_LOCAL = 0xDF8  # type mask: position alone


class ToldStreams(NoLinks):
    """Stands where Links stands, and notes which stream it has to send."""

    def __init__(self):
        super().__init__()
        self.sent = []

    def request(self, link, name, t_us):
        self.sent.append(("answer", name))

    def broadcast_stream(self, i, name, t_us):
        self.sent.append(("all", name))

    def broadcast_text(self, i, messages, t_us):
        """A text."""


@pytest.fixture
def flight():
    one = Flight()
    one.wait(lambda: one.autopilot.status["home_set"][0], 5)
    one.links = one.autopilot.outbox.links = ToldStreams()
    one.messages = one.autopilot.messages(one.links)
    yield one
    one.simulation.close()


def row(flight, name):
    streams = flight.autopilot.streams()
    out = np.zeros((1, 280), dtype=np.uint8)
    length, sequence = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8)
    streams.append(
        streams.index[name], flight.simulation.t_us, np.ones(1, dtype=bool), sequence, out, length
    )
    (message,) = mavlink.MAVLink(None).parse_buffer(out[0, : length[0]].tobytes())
    assert message.get_type() == name
    return message


def set_origin(flight, latitude=PLACE[0], longitude=PLACE[1], height=PLACE[2], system=1):
    flight.messages.handle(
        Link,
        mavlink.MAVLink_set_gps_global_origin_message(
            system, round(latitude * 1e7), round(longitude * 1e7), round(height * 1e3)
        ),
    )


def test_local_positions_are_about_the_new_origin_and_global_ones_stay(flight):
    pos, geo = flight.autopilot.estimator.pos[0].copy(), row(flight, "GLOBAL_POSITION_INT")
    resets = row(flight, "ODOMETRY").reset_counter
    set_origin(flight)
    assert flight.links.sent == [("all", "GPS_GLOBAL_ORIGIN")]
    assert flight.said[-1].startswith("New NED origin (LLA): 47.3980000, 8.5460000, 500.000 m")
    origin = row(flight, "GPS_GLOBAL_ORIGIN")
    assert (origin.latitude, origin.longitude, origin.altitude) == (473980000, 85460000, 500000)
    again = row(flight, "GLOBAL_POSITION_INT")
    assert (again.lat, again.lon, again.alt) == (geo.lat, geo.lon, geo.alt)
    assert again.relative_alt == geo.relative_alt
    east, north = to_local(
        math.radians(geo.lat / 1e7), math.radians(geo.lon / 1e7), *map(math.radians, PLACE[:2])
    )
    for name in ("LOCAL_POSITION_NED", "ODOMETRY", "HOME_POSITION"):
        local = row(flight, name)
        assert (local.x, local.y) == pytest.approx((north, east), abs=0.2)
        assert local.z == pytest.approx(PLACE[2] - geo.alt / 1e3, abs=0.2)
    assert row(flight, "ODOMETRY").reset_counter == resets + 1
    np.testing.assert_array_equal(flight.autopilot.estimator.pos[0], pos)


def test_set_points_are_about_the_new_origin(flight):
    set_origin(flight)
    target = mavlink.MAVLink_set_position_target_local_ned_message(
        0, 1, 1, mavlink.MAV_FRAME_LOCAL_NED, _LOCAL, 5.0, 7.0, -3.0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    flight.messages.handle(Link, target)
    p = flight.autopilot.status
    p["sp_pos"][:] = p["offboard_pos"]
    shown = row(flight, "POSITION_TARGET_LOCAL_NED")
    assert (shown.x, shown.y, shown.z) == pytest.approx((5.0, 7.0, -3.0), abs=1e-4)
    lat, lon, alt = flight.autopilot.origin
    there = to_geodetic(*p["offboard_pos"][0, :2], lat, lon)
    expected = to_geodetic(7.0, 5.0, *map(math.radians, PLACE[:2]))
    assert there == pytest.approx(expected, abs=1e-10)
    assert p["offboard_pos"][0, 2] + alt == pytest.approx(503.0)


@pytest.mark.parametrize(
    "given, parameters, said",
    [
        (dict(latitude=91.0), {}, "no place at 91.0000000"),
        (dict(longitude=-181.0), {}, "no place at"),
        (dict(height=1e5), {}, "no place at"),
        ({}, dict(EKF2_GPS_CTRL=0), "EKF2_GPS_CTRL is 0"),
        (dict(system=0), {}, None),
    ],
)
def test_what_is_not_taken_is_answered_by_the_origin(flight, given, parameters, said):
    for name, value in parameters.items():
        flight.autopilot.parameters.set(0, name, value)
    before = row(flight, "GPS_GLOBAL_ORIGIN").get_payload()
    flight.said.clear()
    set_origin(flight, **given)
    assert flight.links.sent == [("answer", "GPS_GLOBAL_ORIGIN")]
    assert row(flight, "GPS_GLOBAL_ORIGIN").get_payload() == before
    assert (said is None and not flight.said) or said in flight.said[-1]


def test_positions_become_local_and_come_back():
    origins = LocalOrigins(3, (math.radians(47.0), math.radians(8.0), 400.0))
    assert origins.move(1, 47.5, 9.0, 800.0)
    pos = np.array([[10.0, 20.0, 30.0]] * 3)
    ned = enu_ned(pos)
    origins.make_local(ned)
    np.testing.assert_array_equal(ned[[0, 2]], enu_ned(pos[[0, 2]]))
    assert ned[1, 2] == pytest.approx(370.0) and abs(ned[1, 0]) > 50e3
    np.testing.assert_allclose(origins.to_world(1, enu_ned(ned[1])), pos[1], atol=1e-6)
    np.testing.assert_array_equal(origins.to_world(0, pos[0]), pos[0])
    height = origins.to_world(1, (math.nan, math.nan, 5.0))
    assert np.isnan(height[:2]).all() and height[2] == pytest.approx(405.0)


def test_a_vehicle_may_have_its_own_origin():
    flight = Flight("iris@30,40", origin="own")
    try:
        flight.wait(lambda: flight.autopilot.status["home_set"][0], 5)
        assert flight.pos[:2] == pytest.approx((30.0, 40.0), abs=0.01)
        local = row(flight, "LOCAL_POSITION_NED")
        assert (local.x, local.y) == pytest.approx((0.0, 0.0), abs=0.5)
    finally:
        flight.simulation.close()


def test_the_flight_log_is_about_the_new_origin(tmp_path):
    flight = Flight(folder=tmp_path, log="full")
    try:
        flight.wait(lambda: flight.autopilot.status["home_set"][0], 5)
        flight.autopilot.local_origins.move(0, *PLACE)
        flight.run(0.5)
        pos, world = flight.autopilot.estimator.pos[0], flight.autopilot.origin
    finally:
        flight.simulation.close()
    log = ULog(str(next(tmp_path.rglob("*.ulg"))))
    local = log.get_dataset("vehicle_local_position").data
    assert (local["ref_lat"][-1], local["ref_alt"][-1]) == pytest.approx((PLACE[0], PLACE[2]))
    assert local["ref_lat"][0] == pytest.approx(math.degrees(world[0]))
    east, north = to_local(*to_geodetic(*pos[:2], *world[:2]), *map(math.radians, PLACE[:2]))
    assert (local["x"][-1], local["y"][-1]) == pytest.approx((north, east), abs=0.1)
    assert local["z"][-1] == pytest.approx(PLACE[2] - world[2] - pos[2], abs=0.1)
