"""Vehicles come and go, are reset and reloaded, while a MAVSDK client is connected."""

import gc
import socket
import time

import psutil
import pytest

import xtdrone as xd
from xtdrone_core.runs.ports import Ports

MB = 1 << 20


@pytest.mark.parametrize(
    "cycles", [pytest.param(5, marks=pytest.mark.slow), pytest.param(100, marks=pytest.mark.long)]
)
def test_links_stay_alive_and_nothing_piles_up(cycles, tmp_path):
    mavsdk = pytest.importorskip("mavsdk")
    from mavsdk.plugins.telemetry import Telemetry

    client = mavsdk.Mavsdk(
        mavsdk.Configuration.create_with_component_type(mavsdk.ComponentType.GROUND_STATION)
    )
    for i in (0, 2):
        client.add_any_connection(f"udpin://127.0.0.1:{Ports().offboard(i)}")
    process, used = psutil.Process(), []
    with xd.Simulation(xd.Scenario(vehicles="iris*3", gps="rtk"), links=True) as sim:
        _run_until(sim, lambda: len(client.get_systems()) == 2)
        systems = client.get_systems()
        streams, heard = [Telemetry(system) for system in systems], ([], [])
        for stream, samples in zip(streams, heard, strict=True):
            stream.subscribe_odometry(lambda *sample, samples=samples: samples.append(0))

        def both_hear():
            counts = [len(samples) for samples in heard]
            _run_until(
                sim,
                lambda: all(
                    len(samples) > count + 5 for samples, count in zip(heard, counts, strict=True)
                ),
            )

        sim.arm()
        sim.takeoff(2.0)
        start = sim.scenario.vehicles[1].pos
        sim.save(tmp_path / "scene.zip")
        for _ in range(cycles):
            last = sim.spawn("iris", (9.0, 9.0, 0.0))
            sim.remove("iris_1")  # from the middle
            both_hear()
            assert sim.names == ("iris_0", "iris_2", "iris_3")
            assert sim.spawn("iris", start) == "iris_1"  # with its ports and its system id
            sim.remove(last)
            sim.reset("iris_1")
            sim.load(tmp_path / "scene.zip")
            both_hear()
            assert all(system.is_connected() for system in systems)
            assert (sim.state.pos[:, 2] > 1.5).all()
            gc.collect()  # parts know each other: memory is free once that has run
            used.append((process.memory_info().rss, process.num_fds()))
        client.destroy()
    ports = [
        port
        for i in range(4)
        for port in (
            Ports().ground_station_local(i),
            Ports().offboard_local(i),
            Ports().bridge_local(i),
        )
    ]
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
