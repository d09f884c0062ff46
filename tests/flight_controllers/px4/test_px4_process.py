"""Starting and ending PX4 instances, with a stand-in that only sleeps."""

import os
import select
import signal
import subprocess
import sys

import pytest

from own_ports import PORTS
from sensor_models import SensorSuite
from waiting import LIMIT_S
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import SensorBlock
from xtdrone_core.runs.ports import Ports
from xtdrone_flight_controllers.px4 import process as px4_process
from xtdrone_sim.vehicles.sdf import load_vehicle


def await_end(pid):
    """Blocks until a process that is not our child is gone."""
    try:
        number = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([number], [], [], LIMIT_S)[0])
    finally:
        os.close(number)


def test_it_is_found_by_folder_binary_and_environment(build, monkeypatch):
    monkeypatch.delenv("PX4_BUILD", raising=False)
    assert px4_process.find("") is None
    for given in (build, build / "bin/px4"):
        assert px4_process.find(str(given)).etc == build / "etc"
    monkeypatch.setenv("PX4_BUILD", str(build))
    assert px4_process.find("").binary == build / "bin/px4"
    with pytest.raises(AutopilotError, match="no PX4 at '/nowhere'"):
        px4_process.find("/nowhere")
    (build / "bin/px4").chmod(0o644)
    with pytest.raises(AutopilotError, match="bin/px4' is not executable: chmod"):
        px4_process.find(str(build))


def test_it_has_a_folder_a_console_and_a_group_of_its_own(build, folder, monkeypatch):
    os.mkfifo(folder / "started")
    monkeypatch.setenv("STARTED", str(folder / "started"))
    process = px4_process.Px4Process(
        px4_process.find(str(build)), 3, "iris_3", load_vehicle("iris"), folder
    )
    try:
        child = int((folder / "started").read_text())  # blocks until it runs
        assert process.end() == "" and os.getpgid(process.pid) == process.pid
        capabilities = [
            line.split()[1]
            for line in open(f"/proc/{process.pid}/status")
            if line.startswith("CapBnd")
        ]
        assert not int(capabilities[0], 16) >> 23 & 1 or os.getuid() != 0
    finally:
        process.stop()
    assert "SIGTERM" in process.end() or "SIGKILL" in process.end()
    assert await_end(child)
    assert (folder / "px4/iris_3/log").resolve() == (folder / "ulog/iris_3").resolve()
    assert f"started -i {PORTS.px4_number(3)} -d" in (folder / "console/iris_3.log").read_text()
    assert "none_iris" in (folder / "console/iris_3.log").read_text()


def test_a_vehicle_that_px4_does_not_know_gets_an_airframe(build, folder):
    model = load_vehicle("typhoon_h480")
    process = px4_process.Px4Process(
        px4_process.find(str(build)),
        0,
        "hexa_0",
        model,
        folder,
        defaults=px4_process.simulation_defaults(0.1),
    )
    process.stop()
    airframes = folder / "px4/hexa_0/start-up/init.d-posix/airframes"
    (script,) = airframes.glob("*_none_typhoon_h480")
    lines = script.read_text().splitlines()
    assert "param set-default CA_ROTOR_COUNT 6" in lines
    assert f"param set-default CA_ROTOR5_PY {-model.rotors[5].pos[1]:.5f}" in lines
    assert 0.1 < px4_process.hover_command(model) < 0.9
    defaults = dict(
        line.split()[2:] for line in script.read_text().splitlines() if "set-default" in line
    )
    gimbal = {
        "MNT_MODE_IN": "4",
        "MNT_MODE_OUT": "0",
        "PWM_MAIN_FUNC7": "420",
        "PWM_MAIN_FUNC8": "421",
        "PWM_MAIN_FUNC9": "422",
        "MNT_RANGE_PITCH": "180",
        "PWM_MAIN_REV": str(0b110000000),
    }  # joints turn up and left, PX4 down and right
    assert gimbal.items() <= defaults.items()
    assert (airframes / f"{script.name}.post").read_text().splitlines() == [
        "param set-default EKF2_ABL_LIM 0.8",
        "param set-default EKF2_GPS_DELAY 100",
        "param set-default IMU_GYRO_CAL_EN 0",
    ]
    assert not list(build.rglob("*none_typhoon*"))


@pytest.mark.parametrize(
    "latency,found",
    [(0.1, {"EKF2_GPS_DELAY": 100.0}), (0.25, {"EKF2_GPS_DELAY": 250.0, "EKF2_DELAY_MAX": 250.0})],
)
def test_the_estimator_is_told_the_receivers_latency(latency, found):
    suite = SensorSuite(
        [
            [
                SensorBlock("imu", "imu", (0, 0, 0), (0, 0, 0, 1), {}),
                SensorBlock("gps", "gps", (0, 0, 0), (0, 0, 0, 1), {"latency": latency}),
            ]
        ],
        (0, 0, 0),
        (0, 0, 0),
        1,
    )
    assert found.items() <= px4_process.simulation_defaults(suite.batch.gps_latency[0]).items()


def test_parameters_and_a_second_start(build, folder):
    given = {"EKF2_GPS_CTRL": 0, "MPC_XY_CRUISE": 4.25, "BITS": 2147483647.0, "MAV_SYS_ID": 9}
    for start, place in ((1, "iris_0"), (2, "iris_0.2")):
        process = px4_process.Px4Process(
            px4_process.find(str(build)),
            0,
            "iris_0",
            load_vehicle("iris"),
            folder,
            start=start,
            parameters=given,
        )
        process.stop()
        airframe = folder / "px4" / place / "start-up/init.d-posix/airframes/10016_none_iris"
        assert [line for line in airframe.read_text().splitlines() if "param set " in line] == [
            "param set EKF2_GPS_CTRL 0",
            "param set MPC_XY_CRUISE 4.25",
            "param set BITS 2147483647",
        ]
        assert (build / "etc/init.d-posix/airframes/10016_none_iris").read_text() == ""
        assert (folder / "px4" / place / "log").resolve() == (folder / "ulog/iris_0").resolve()


def test_nothing_survives_a_simulation_that_is_killed(build, folder):
    code = (
        "import sys; from pathlib import Path;"
        "from xtdrone_flight_controllers.px4 import process as p;"
        "from xtdrone_sim.vehicles.sdf import load_vehicle;"
        f"x = p.Px4Process(p.find({str(build)!r}), 0, 'iris_0', load_vehicle('iris'), "
        f"Path({str(folder)!r})); print(x.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pid = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert await_end(pid)


def test_how_it_ended_is_told_with_its_last_words(build, folder):
    (build / "bin/px4").write_text("#!/bin/sh\necho server already running\nexit 7\n")
    process = px4_process.Px4Process(
        px4_process.find(str(build)), 0, "iris_0", load_vehicle("iris"), folder
    )
    assert await_end(process.pid)
    assert "status 7: server already running" in process.end()
    process.stop()


def test_one_that_cannot_start_is_refused(build, folder):
    (build / "bin/px4").write_text("#!/no/such/shell\n")
    with pytest.raises(AutopilotError, match="cannot start PX4"):
        px4_process.Px4Process(
            px4_process.find(str(build)), 0, "iris_0", load_vehicle("iris"), folder
        )


def started(build, folder, ports):
    process = px4_process.Px4Process(
        px4_process.find(str(build)), 2, "iris_2", load_vehicle("iris"), folder, ports
    )
    process.stop()
    scripts = folder / "px4/iris_2/start-up/init.d-posix"
    return {name: (scripts / name).read_text() for name in ("px4-rc.params", "px4-rc.mavlink")}


def test_another_instance_keeps_system_ids_and_sends_to_its_own_clients(build, folder):
    links = (build / "etc/init.d-posix/px4-rc.mavlink").read_text()
    (build / "etc/init.d-posix/px4-rc.params").write_text("# of the user\n")
    scripts = started(build, folder, Ports(2))
    assert scripts["px4-rc.params"].splitlines() == ["# of the user", "", "param set MAV_SYS_ID 3"]
    lines = scripts["px4-rc.mavlink"].splitlines()
    assert lines[0] == "udp_offboard_port_remote=$((14540+px4_instance))"
    assert lines[1] == "udp_offboard_port_remote=20542"
    assert lines[3] == "mavlink start -x -u $udp_gcs_port_local -o 20550 -r 4000000 -f"
    assert lines[4:] == links.splitlines()[4:]
    assert (build / "etc/init.d-posix/px4-rc.mavlink").read_text() == links  # PX4's own


def test_instance_0_takes_px4s_scripts_as_they_are(build, folder):
    links = (build / "etc/init.d-posix/px4-rc.mavlink").read_text()
    assert started(build, folder, Ports(0)) == {"px4-rc.params": "", "px4-rc.mavlink": links}


def test_an_unknown_px4_cannot_be_shifted(build, folder):
    (build / "etc/init.d-posix/px4-rc.mavlink").write_text("")
    with pytest.raises(AutopilotError, match="cannot be shifted to instance 1: use instance 0"):
        started(build, folder, Ports(1))
