"""Vehicles come and go, are reset and reloaded, while a MAVSDK client is connected."""

import gc
import socket
import time

import psutil
import pytest

import xtdrone as xd
from xtdrone_core.runs.ports import Ports

MB = 1 << 20


@pytest.mark.parametrize("cycles", [pytest.param(5, marks=pytest.mark.slow),
                                    pytest.param(100, marks=pytest.mark.long)])
def test_links_stay_alive_and_nothing_piles_up(cycles, tmp_path):
    mavsdk = pytest.importorskip("mavsdk")
    from mavsdk.plugins.telemetry import Telemetry

    client = mavsdk.Mavsdk(mavsdk.Configuration.create_with_component_type(
        mavsdk.ComponentType.GROUND_STATION))
    client.add_any_connection(f"udpin://127.0.0.1:{Ports().offboard(0)}")
    process, used = psutil.Process(), []
    with xd.Simulation(xd.Scenario(vehicles="iris*2", gps="rtk"), links=True) as sim:
        _run_until(sim, client.get_systems)
        system, heard = client.get_systems()[0], []
        telemetry = Telemetry(system)
        telemetry.subscribe_odometry(lambda *sample: heard.append(len(sample)))
        sim.arm()
        sim.takeoff(2.0)
        sim.save(tmp_path / "scene.zip")
        for _ in range(cycles):
            name = sim.spawn("iris", (9.0, 0.0, 0.0))
            count = len(heard)
            _run_until(sim, lambda count=count: len(heard) > count + 5)
            sim.remove(name)
            sim.reset("iris_1")
            sim.load(tmp_path / "scene.zip")
            count = len(heard)
            _run_until(sim, lambda count=count: len(heard) > count + 5)
            assert system.is_connected() and sim.state.pos[0, 2] > 1.5
            gc.collect()  # parts know each other: memory is free once that has run
            used.append((process.memory_info().rss, process.num_fds()))
        client.destroy()
    ports = [port for i in range(3) for port in (Ports().ground_station_local(i),
                                                 Ports().offboard_local(i),
                                                 Ports().bridge_local(i))]
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", port))
    warm = cycles // 5
    assert used[-1][1] == used[0][1]
    assert used[-1][0] - used[warm][0] < 10 * MB, [rss // MB for rss, _ in used[::10]]


def _run_until(sim, condition, seconds=60.0):
    """Simulates at its own pace until a client that lives by the wall clock has noticed."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the client hears nothing"
        sim.run(0.02)
