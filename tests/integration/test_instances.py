"""Two fleets on one machine or in one process, each with clients of its own."""

import contextlib
import socket
import time

import pytest
from pymavlink import mavutil

import xtdrone as xd
from mavsdk_pilot import Pilot, wait_for
from own_ports import PORTS
from waiting import LIMIT_S
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.ports import INSTANCES, Ports
from xtdrone_core.runs.run_folder import latest

LISTEN_S = 1.0  # wall time
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


@pytest.mark.slow
@pytest.mark.long  # each process of `make test -n` has an instance of its own, beside the others
def test_two_fleets_fly_at_once_and_neither_hears_the_other(simulate, tmp_path):
    first, second = PORTS, Ports(INSTANCES - 1)
    fleets = [
        simulate("--n", 2, "--gps", "rtk", "--speed", 2, instance=own.instance)
        for own in (first, second)
    ]
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
        assert [[s.get_system_id() for s in pilot.mavsdk.get_systems()] for pilot in pilots] == [
            [1],
            [1],
        ]
    finally:
        for pilot in pilots:
            pilot.close()


def heard(client, sim, kind, seconds=2.0):
    """The next message of a kind that a client gets while a simulation runs; time is simulated."""
    while client.recv_match(blocking=False):  # what was said before
        pass
    for _ in range(round(seconds / 0.02)):
        sim.run(0.02)
        while message := client.recv_match(blocking=False):
            if message.get_type() == kind:
                return message
    raise AssertionError(f"no {kind} within {seconds} s")


@pytest.mark.long
def test_two_simulations_of_one_process_are_loaded_while_their_clients_stay_connected(tmp_path):
    """One goes back in time, the other does not; each client talks to its own all the while."""
    sims, clients = [], []
    with contextlib.ExitStack() as open_now:
        for own, fleet in ((PORTS, "iris*2"), (Ports(INSTANCES - 1), "typhoon_h480")):
            sims.append(
                open_now.enter_context(
                    xd.Simulation(
                        xd.Scenario(vehicles=fleet, gps="rtk", instance=own.instance), links=True
                    )
                )
            )
            clients.append(mavutil.mavlink_connection(f"udpin:127.0.0.1:{own.offboard(0)}"))
            open_now.callback(clients[-1].close)
        one, other = sims
        for sim, client in zip(sims, clients, strict=True):
            assert heard(client, sim, "HEARTBEAT").get_srcSystem() == 1
            client.mav.heartbeat_send(6, 8, 0, 0, 0)  # from now on it streams
            assert heard(client, sim, "ATTITUDE").time_boot_ms <= 1000 * sim.time
        one.arm()
        one.takeoff(2.0)
        one.save(tmp_path / "scene.zip")
        saved, height = one.time, one.state.pos[0, 2]
        one.run(3.0)
        late = heard(clients[0], one, "ATTITUDE").time_boot_ms
        apart = other.time
        for _ in range(3):
            one.load(tmp_path / "scene.zip")
            assert one.time == saved and one.state.pos[0, 2] == height and other.time == apart
            assert heard(clients[0], one, "ATTITUDE").time_boot_ms < late - 2000
            clients[0].mav.command_long_send(1, 1, 512, 0, 148, 0, 0, 0, 0, 0, 0)
            assert heard(clients[0], one, "AUTOPILOT_VERSION").uid == 1
            one.run(1.0)
        assert heard(clients[1], other, "HEARTBEAT").type == 13  # still the hexarotor
        assert heard(clients[0], one, "HEARTBEAT").base_mode & 128  # still armed
        one.land()
        assert not one.estimates.armed.any()
