"""Real clients against a running simulation: mavsdk flies it, pymavlink provokes it."""

import contextlib
import math
import socket

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

from mavsdk_pilot import Pilot, wait_for
from own_ports import PORTS
from processes import SimulationProcess
from waiting import LIMIT_S
from xtdrone_autopilot.mavlink.streams import stream_declarations
from xtdrone_core import Scenario
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

SQUARE = [(0.0, 4.0), (4.0, 4.0), (4.0, 0.0), (0.0, 0.0)]  # north, east [m]


def test_mavsdk_takes_off_flies_an_offboard_square_and_lands(simulate):
    simulate("--gps", "rtk", "--speed", 3)
    pilot = Pilot(f"udpin://127.0.0.1:{PORTS.offboard(0)}", 1)
    try:
        position = pilot.telemetry.position
        pilot.take_off(3.0)
        wait_for(lambda: pilot.place[2] < -2.7)
        assert position().latitude_deg == pytest.approx(47.397742, abs=1e-5)
        pilot.go_to(0.0, 0.0, -3.0)
        pilot.offboard.start()
        for north, east in SQUARE:
            pilot.go_to(north, east, -3.0)
            pilot.wait_near(north, east, -3.0, 0.3)
        pilot.action.land()
        wait_for(lambda: not pilot.telemetry.armed())
        assert abs(pilot.place[2]) < 0.5
    finally:
        pilot.close()


@pytest.mark.long  # one vehicle is flown above
def test_mavsdk_flies_vehicles_1_9_and_25_of_a_fleet_at_once(simulate):
    """Past ten vehicles PX4 sends all offboard links to port 14549, where the system id tells."""
    simulate("--n", 25, "--gps", "rtk", "--speed", 2)
    ports = {number: PORTS.offboard(number - 1) for number in (1, 9, 25)}
    pilots = {}
    try:
        for system_id, port in ports.items():
            pilots[system_id] = Pilot(f"udpin://127.0.0.1:{port}", system_id)
        for pilot in pilots.values():
            wait_for(pilot.telemetry.health_all_ok)
        starts = {system_id: pilot.place for system_id, pilot in pilots.items()}
        for system_id, pilot in pilots.items():
            pilot.take_off(2.0 + system_id / 10)
        for system_id, pilot in pilots.items():
            wait_for(lambda: pilot.place[2] < -1.8 - system_id / 10)
        for system_id, pilot in pilots.items():
            north, east, _ = starts[system_id]
            pilot.go_to(north + 1.5, east, -3.0)
            pilot.offboard.start()
        for system_id, pilot in pilots.items():
            north, east, _ = starts[system_id]
            pilot.wait_near(north + 1.5, east, -3.0, 0.3)
        for pilot in pilots.values():
            pilot.action.land()
        for pilot in pilots.values():
            wait_for(lambda: not pilot.telemetry.armed())
    finally:
        for pilot in pilots.values():
            pilot.close()
    assert len({round(north) * 1000 + round(east) for north, east, _ in starts.values()}) == 3


def test_streams_have_the_rates_of_px4():
    """Counted over 10 s, on the ground station's link."""
    decoder, counts = mavlink.MAVLink(None), {}
    decoder.robust_parsing = True
    simulation = Simulation(Scenario(fleet("iris", 1), speed=0.0), None, links=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", PORTS.ground_station))
        station.setblocking(False)
        simulation.run(until_us=3_000_000)  # it knows where it is
        with contextlib.suppress(BlockingIOError):
            while station.recv(65536):
                pass
        while simulation.t_us < 13_000_000:
            simulation.run(until_us=simulation.t_us + 20_000)
            with contextlib.suppress(BlockingIOError):
                while data := station.recv(65536):
                    for message in decoder.parse_buffer(data):
                        counts[message.get_type()] = counts.get(message.get_type(), 0) + 1
                        if message.get_type() == "GPS_RAW_INT":  # above sea and ellipsoid
                            assert message.alt_ellipsoid - message.alt == pytest.approx(
                                47_215, abs=2
                            )
    simulation.close()
    for kind, rate in (
        ("ATTITUDE", 50),
        ("LOCAL_POSITION_NED", 50),
        ("GPS_RAW_INT", 5),
        ("VFR_HUD", 4),
        ("HEARTBEAT", 1),
        ("HOME_POSITION", 0.5),
    ):
        assert counts[kind] == pytest.approx(10 * rate, abs=1), kind


def test_offboard_link_keeps_to_heartbeats_until_a_peer_speaks(simulate):
    link = mavutil.mavlink_connection(
        f"udpin:127.0.0.1:{PORTS.offboard(0)}", source_system=255, dialect="common"
    )
    try:
        simulation = simulate("--speed", 5)
        simulation.wait_until(3_000_000)
        kinds = set()
        while (message := link.recv_match(blocking=False)) is not None:
            kinds.add(message.get_type())
        assert kinds == {"HEARTBEAT"}
        link.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4)
        assert link.recv_match(type="ATTITUDE", blocking=True, timeout=LIMIT_S) is not None
    finally:
        link.close()


# Tests below share one simulation, which takes the ports until the end of this module.


@pytest.fixture(scope="module")
def ready_vehicle(tmp_path_factory):
    """A simulation whose vehicle is ready to arm; shared, since refusals change nothing."""
    simulation = SimulationProcess(tmp_path_factory.mktemp("runs"), "--gps", "rtk", "--speed", 5)
    simulation.wait_until(4_000_000)
    yield simulation
    simulation.stop()


@pytest.fixture(scope="module")
def ground_station(ready_vehicle):
    """pymavlink on the ground station's link of that vehicle; one, since a link has few peers."""
    link = mavutil.mavlink_connection(
        f"udpout:127.0.0.1:{PORTS.ground_station_local(0)}", source_system=255, dialect="common"
    )
    link.target_system, link.target_component = 1, 1
    link.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4)
    for name in QUICK:  # so that a process that is stalled for a second loses nothing
        command(
            link,
            mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
            getattr(mavlink, f"MAVLINK_MSG_ID_{name}"),
            500_000,
        )
    yield link
    link.close()


def command(link, number, *params, answered=True):
    """Sends COMMAND_LONG; returns (result, texts that came before the acknowledgement).

    Where no answer is expected, the result is None once the command behind it is acknowledged.
    """
    while link.recv_match(blocking=False):
        pass
    link.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 0)
    params = (list(params) + [0.0] * 7)[:7]
    link.mav.command_long_send(1, 1, number, 0, *params)
    if not answered:
        link.mav.command_long_send(1, 1, mavlink.MAV_CMD_DO_CHANGE_SPEED, 0, 1, 5.0, *[0] * 5)
    texts, acknowledged = {}, None
    while acknowledged is None:
        message = link.recv_match(
            type=["STATUSTEXT", "COMMAND_ACK"], blocking=True, timeout=LIMIT_S
        )
        assert message is not None, "no acknowledgement"
        if message.get_type() == "STATUSTEXT":
            texts.setdefault(message.id or len(texts) + 1e6, []).append(message.text)
        elif message.command == number or not answered:
            acknowledged = message
    result = acknowledged.result if acknowledged.command == number else None
    return result, " ".join("".join(chunks) for chunks in texts.values())


PX4_OFFBOARD = (1, 6, 0)
QUICK = [
    stream.name for stream in stream_declarations() if stream.rates.get("ground_station", 0) > 1
]


@pytest.mark.parametrize(
    "number, params, result, reason",
    [
        (
            mavlink.MAV_CMD_DO_SET_MODE,
            PX4_OFFBOARD,
            mavlink.MAV_RESULT_ACCEPTED,
            "no offboard set-point in the last 1 s: stream them at 2 Hz or more first",
        ),
        (
            mavlink.MAV_CMD_DO_SET_MODE,
            (1, 4, 4),
            mavlink.MAV_RESULT_ACCEPTED,
            "there is no mission",
        ),
        (
            mavlink.MAV_CMD_DO_SET_MODE,
            (1, 77, 0),
            mavlink.MAV_RESULT_ACCEPTED,
            "there is no mode 77",
        ),
        (
            mavlink.MAV_CMD_DO_SET_MODE,
            (1, 7, 0),
            mavlink.MAV_RESULT_ACCEPTED,
            "no MANUAL_CONTROL comes in",
        ),
        (mavlink.MAV_CMD_DO_SET_MODE, (0, 6, 0), mavlink.MAV_RESULT_ACCEPTED, "custom mode"),
        (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, (7,), None, "Unsupported ARM_DISARM param: 7.000"),
        (
            mavlink.MAV_CMD_DO_VTOL_TRANSITION,
            (3,),
            None,
            "MAV_CMD_DO_VTOL_TRANSITION is not supported",
        ),
        (
            mavlink.MAV_CMD_SET_MESSAGE_INTERVAL,
            (11000, 1000),
            mavlink.MAV_RESULT_FAILED,
            "message 11000 is not a stream",
        ),
        (
            mavlink.MAV_CMD_DO_REPOSITION,
            (-1, 1, 0, 0, 500.0, 8.0, 490),
            mavlink.MAV_RESULT_DENIED,
            "latitude 500",
        ),
    ],
)
def test_wrong_commands_are_refused_with_a_reason(ground_station, number, params, result, reason):
    got, text = command(ground_station, number, *params, answered=result is not None)
    assert got == result
    assert reason in text


def test_parameters_can_be_listed_read_and_set(ground_station):
    from xtdrone_autopilot.parameters.store import listed

    link = ground_station
    link.mav.param_request_list_send(1, 1)
    got = set()
    while not got >= set(listed()):
        message = link.recv_match(type="PARAM_VALUE", blocking=True, timeout=2)
        if message is None:  # datagrams may be lost: ask again, as ground stations do
            link.mav.param_request_read_send(1, 1, (set(listed()) - got).pop().encode(), -1)
        else:
            got.add(message.param_id)
            assert message.param_count == len(listed())
    link.mav.param_set_send(1, 1, b"MPC_XY_CRUISE", 7.0, mavlink.MAV_PARAM_TYPE_REAL32)
    assert link.recv_match(type="PARAM_VALUE", blocking=True, timeout=LIMIT_S).param_value == 7.0
    link.mav.param_set_send(1, 1, b"MPC_XY_CRUISE", math.nan, mavlink.MAV_PARAM_TYPE_REAL32)
    assert link.recv_match(type="PARAM_VALUE", blocking=True, timeout=LIMIT_S).param_value == 7.0


def test_messages_for_others_are_ignored(ground_station):
    link = ground_station
    link.mav.command_long_send(2, 1, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, *[0] * 6)
    link.mav.command_long_send(1, 190, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, *[0] * 6)
    assert command(link, mavlink.MAV_CMD_DO_CHANGE_SPEED, 1, 5.0)[0] == 0  # all before it is read
    assert not link.recv_match(type="HEARTBEAT", blocking=True, timeout=LIMIT_S).base_mode & 128


def test_disarming_in_flight_is_refused_and_offboard_loss_returns_home(ground_station):
    link = ground_station
    takeoff = (0, 0, 0, math.nan, math.nan, math.nan, math.nan)
    assert command(link, mavlink.MAV_CMD_NAV_TAKEOFF, *takeoff)[0] == 0
    assert command(link, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)[0] == 0
    wait_for(
        lambda: (
            link.recv_match(type="GLOBAL_POSITION_INT", blocking=True, timeout=LIMIT_S).relative_alt
            > 2000
        )
    )
    result, text = command(link, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0)
    assert result == mavlink.MAV_RESULT_TEMPORARILY_REJECTED and "it is flying" in text

    def offboard():
        link.mav.set_position_target_local_ned_send(
            0, 1, 1, mavlink.MAV_FRAME_LOCAL_NED, 0b110111111000, 0, 0, -3, *[0] * 8
        )
        return command(link, mavlink.MAV_CMD_DO_SET_MODE, *PX4_OFFBOARD)[0] == 0

    wait_for(offboard)  # it is refused where the set-point has grown old meanwhile
    seen = []

    def returns():
        message = link.recv_match(type=["STATUSTEXT", "HEARTBEAT"], blocking=True, timeout=LIMIT_S)
        seen.append(message.text if message.get_type() == "STATUSTEXT" else message.custom_mode)
        return 4 << 16 | 5 << 24 in seen  # AUTO.RTL

    wait_for(returns)
    hold, back = seen.index(4 << 16 | 3 << 24), seen.index(4 << 16 | 5 << 24)
    assert hold < back  # AUTO.LOITER for COM_FAIL_ACT_T, then AUTO.RTL
    assert any("offboard set-points lost" in str(item) for item in seen)
    wait_for(
        lambda: (
            not link.recv_match(type="HEARTBEAT", blocking=True, timeout=LIMIT_S).base_mode & 128
        )
    )
