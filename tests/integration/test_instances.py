"""Two fleets on one machine, each flown by a client of its own; neither hears the other."""

import socket
import time

from mavsdk_pilot import Pilot, wait_for
from own_ports import PORTS
from waiting import LIMIT_S
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.ports import INSTANCES, Ports
from xtdrone_core.runs.run_folder import latest

LISTEN_S = 2.0  # wall time
HEIGHT = 3.0  # [m]
ON_GROUND = 0.3  # [m]


def senders(port):
    """Ports from which anything comes to a port of loopback."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", port))
        end = time.monotonic() + LISTEN_S
        while (left := end - time.monotonic()) > 0:
            sock.settimeout(left)
            try:
                found.add(sock.recvfrom(4096)[1][1])
            except TimeoutError:
                break
    return found


def highest(ports):
    """How high the highest vehicle of a fleet is now, from the truth."""
    client = ControlClient(ports.instance, LIMIT_S)
    client.request("subscribe")
    truth = client.next_tick()[1]
    client.close()
    return truth[:, 2].max()


def test_two_fleets_fly_at_once_and_neither_hears_the_other(simulate, tmp_path):
    first, second = PORTS, Ports(INSTANCES - 1)
    fleets = [simulate("--n", 2, "--gps", "rtk", "--speed", 2, instance=own.instance)
              for own in (first, second)]
    assert [fleet.control.request("status")["n"] for fleet in fleets] == [2, 2]
    newest = [(tmp_path / latest(own.instance)).resolve() for own in (first, second)]
    assert newest[0] != newest[1]
    for own in (first, second):
        assert senders(own.ground_station) == {own.ground_station_local(i) for i in range(2)}
        assert senders(own.offboard(0)) == {own.offboard_local(0)}  # heartbeats alone
    pilots = []
    try:
        pilots += [Pilot(f"udpin://127.0.0.1:{own.offboard(0)}", 1) for own in (first, second)]
        one, two = pilots
        one.take_off(HEIGHT)
        wait_for(lambda: one.place[2] < -0.9 * HEIGHT)
        assert one.telemetry.armed() and not two.telemetry.armed()
        assert highest(first) > 0.8 * HEIGHT and highest(second) < ON_GROUND
        two.take_off(HEIGHT)
        wait_for(lambda: two.place[2] < -0.9 * HEIGHT)
        one.action.land()
        wait_for(lambda: not one.telemetry.armed())
        assert two.telemetry.armed() and highest(second) > 0.8 * HEIGHT
        assert highest(first) < ON_GROUND
        assert [[s.get_system_id() for s in pilot.mavsdk.get_systems()] for pilot in pilots] == \
            [[1], [1]]
    finally:
        for pilot in pilots:
            pilot.close()
