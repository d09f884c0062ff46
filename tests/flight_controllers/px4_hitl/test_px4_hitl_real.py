"""Flights of real PX4 in HITL mode at a pseudo-terminal; skipped without PX4_HITL_BUILD."""

import os
import signal
from contextlib import closing
from threading import Timer

import pytest

import px4_hitl
from own_ports import LATEST
from serial_cable import Cable
from square import check_square
from web_client import Client
from web_simulation import serving
from xtdrone_core.command import main
from xtdrone_core.runs.ports import Ports
from xtdrone_core.runs.truth_log import read_truth

pytestmark = [
    pytest.mark.px4,
    pytest.mark.skipif(
        not os.environ.get("PX4_HITL_BUILD"),
        reason="needs real PX4 without lockstep: set PX4_HITL_BUILD (see docs/hitl.md)",
    ),
]


@pytest.fixture
def boards(tmp_path):
    """Real PX4s at their cables: boards(n)."""
    cables, processes = [], []
    (tmp_path / "px4/console").mkdir(parents=True)

    def plug(n):
        for i in range(n):
            cables.append(Cable())
            processes.append(
                px4_hitl.start(
                    os.environ["PX4_HITL_BUILD"],
                    cables[i].far,
                    tmp_path,
                    tmp_path / "px4",
                    i,
                    f"iris_{i}",
                )
            )
        return cables, processes

    yield plug
    for process in processes:
        process.stop()
    for cable in cables:
        cable.unplug()


@pytest.mark.parametrize("n", [1, 2])
def test_offboard_square(runs, boards, n):
    """Armed, taken up, flown round a square within 0.5 m of the truth, landed; in real time."""
    cables, _ = boards(n)
    assert (
        main(
            [
                "fly",
                "square",
                "--autopilot",
                "px4_hitl",
                "--n",
                str(n),
                "--gps",
                "rtk",
                "--serial",
                ",".join(cable.near for cable in cables),
            ]
        )
        == 0
    )
    folder = (runs / LATEST).resolve()
    check_square(folder, n, 0.5)


def test_the_page_takes_it_up(boards, tmp_path):
    """Beside a ground station: the page has a port of its own."""
    cables, _ = boards(1)
    with (
        serving(
            tmp_path, "--autopilot", "px4_hitl", "--gps", "rtk", "--serial", cables[0].near
        ) as running,
        closing(Client(running.watch_url, running.token)) as page,
    ):

        def is_true(condition):
            page.until(lambda m: m == "frame" and condition(page.frame[1][0]))

        is_true(lambda vehicle: vehicle["ready"])
        answer = page.ask("takeoff", vehicles=[0], height=3.0)
        assert answer["ok"] and answer["results"][0]["ok"], answer
        is_true(lambda vehicle: vehicle["pos"][2] > 2.0)


def test_ros2_commands_it(boards, tmp_path):
    """Its answer to a service comes by PX4's off-board link."""
    pytest.importorskip("cyclonedds")
    from service_clients import CycloneClient
    from xtdrone_ros2.wire.node import Node
    from xtdrone_ros2.wire.types import Types

    cables, _ = boards(1)
    domain = 80 + Ports().instance
    with (
        serving(
            tmp_path,
            "--autopilot",
            "px4_hitl",
            "--gps",
            "rtk",
            "--serial",
            cables[0].near,
            "--ros2",
            "true",
            "--ros2_domain",
            str(domain),
        ) as running,
        closing(Client(running.watch_url)) as page,
        closing(CycloneClient(Node(Types(), "/user", domain))) as client,
    ):
        page.until(lambda m: m == "frame" and page.frame[1][0]["ready"])
        answer = client.call(
            "/fmu/vehicle_command",
            "px4_msgs/srv/VehicleCommand",
            request={"command": 400, "param1": 1.0, "target_system": 1},
        ).reply
        assert (answer.command, answer.result) == (400, 0)


@pytest.mark.parametrize(
    "fault,why", [("unplugged", "was it unplugged?"), ("stopped", "sent no heartbeat on")]
)
def test_one_that_is_lost_in_flight_ends_it_with_one_line(runs, boards, capsys, fault, why):
    """The cable is pulled, or PX4 hangs, after 15 s; the run folder is whole."""
    cables, (process,) = boards(1)
    timer = Timer(
        15.0,
        cables[0].unplug if fault == "unplugged" else lambda: os.kill(process.pid, signal.SIGSTOP),
    )
    timer.start()
    assert main(
        ["fly", "square", "--autopilot", "px4_hitl", "--gps", "rtk", "--serial", cables[0].near]
    ) in (1, 3)  # 3 if it has hit the ground by then
    lines = capsys.readouterr().err.splitlines()
    assert why in lines[-1] and "Traceback" not in "".join(lines)
    folder = (runs / LATEST).resolve()
    assert read_truth(folder / "truth.bin", 1)[0][-1] > 5_000_000
    assert (folder / "summary.json").is_file()
