"""`xtdrone doctor`: what it says of a machine and of a fleet, and that it says what to do."""

import json
import socket
import threading

import pytest
from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS
from waiting import LIMIT_S
from xtdrone_autopilot.safety.conditions import CONDITIONS, DataLink, RotorFailure
from xtdrone_control.doctor import fleet as doctor_fleet, machine as doctor
from xtdrone_control.doctor.finding import FAULT, OK, WARNING, Finding
from xtdrone_core import command, libraries
from xtdrone_core.runs.ports import INSTANCES
from xtdrone_sim.errors import EngineError
from xtdrone_sim.rendering import offscreen

HEALTHY = {
    "mode": "OFFBOARD",
    "armed": True,
    "landed": False,
    "failsafe": False,
    "not_ready": "",
    "aligned": True,
    "located": True,
    "aid_sources": {"GPS": True, "barometer": True},
    "test_ratios": {"vel": 0.1, "pos": 0.02},
    "battery": 0.8,
    "voltage": 15.9,
    "set_points": 100,
    "links": {},
}


def of(check):
    """Findings by their subject."""
    return {finding.subject: finding for finding in check()}


def failing(condition):
    """As a flight stack tells it."""
    return {condition.name: [condition.text, condition.advice]}


def vehicle(changed=None, earlier=None, seconds=2.0, heard=("PING",), paused=False):
    """Findings about a vehicle whose health differs from HEALTHY by `changed`."""
    health = {**HEALTHY, **(changed or {})}
    earlier = {"set_points": 0} if earlier is None else earlier
    return list(
        doctor_fleet.vehicle_findings(
            "iris_0", 0, health, earlier, seconds, dict.fromkeys(heard), paused
        )
    )


def test_a_healthy_vehicle_has_no_warnings():
    found = vehicle()
    assert {finding.level for finding in found} == {OK}
    assert "50 set-points a second" in " ".join(finding.text for finding in found)


@pytest.mark.parametrize(
    "told, level, text, advice",
    [
        ({"failsafe": True}, WARNING, "a failsafe is in force", "changing the mode ends it"),
        ({"armed": False, "not_ready": "no GPS fix"}, WARNING, "would not arm: no GPS fix", ""),
        ({"failing": failing(DataLink)}, WARNING, "the ground station link is lost", "NAV_DLL_ACT"),
        ({"failing": failing(RotorFailure)}, WARNING, "a rotor has failed", "CA_FAILURE_MODE"),
        ({"aligned": False}, WARNING, "no attitude yet", "at rest"),
        ({"located": False}, WARNING, "no position", "GPS"),
        (
            {"aid_sources": {"GPS": False, "vision": False}},
            WARNING,
            "inertial sensors alone",
            "land",
        ),
        ({"test_ratios": {"mag": 3.0}}, WARNING, r"refuses mag (test ratio 3.0)", "xtdrone plot"),
        ({"battery": 0.12}, WARNING, "battery 12%", "land soon"),
        ({"battery": 0.05}, FAULT, "battery 5%", "land at once"),
        ({"set_points": 1}, FAULT, "OFFBOARD with 0.5 set-points a second", "20 Hz"),
    ],
)
def test_what_is_wrong_with_a_vehicle_is_said_with_what_to_do(told, level, text, advice):
    worst = [finding for finding in vehicle(told) if finding.level != OK]
    assert len(worst) == 1
    assert worst[0].level == level and text in worst[0].text and advice in worst[0].advice


def test_every_condition_of_failsafes_is_explained():
    for condition in CONDITIONS:
        assert condition.name and condition.text and condition.advice


@pytest.mark.parametrize(
    "age, armed, level", [(0.3, True, OK), (9.0, True, WARNING), (9.0, False, OK)]
)
def test_a_peer_that_falls_silent_in_flight_is_told(age, armed, level):
    links = {
        "offboard": {"streams": True, "peers": 1, "heard_s": age},
        "bridge": {"streams": False, "peers": 0, "heard_s": None},
    }
    found = vehicle({"armed": armed}, {"set_points": 0, "links": links})
    assert max(f.level for f in found) == level
    assert any("offboard" in f.text for f in found) == (armed or age < 5)


def test_few_set_points_matter_in_offboard_only():
    assert all(f.level == OK for f in vehicle({"mode": "AUTO.LOITER", "set_points": 1}))


def test_a_silent_link_is_a_fault_unless_the_simulation_is_paused():
    assert vehicle(heard=())[0].level == FAULT
    assert all(finding.level == OK for finding in vehicle(heard=(), paused=True))


def test_a_vehicle_that_only_speaks_mavlink_is_understood():
    heard = {
        "HEARTBEAT": mavlink.MAVLink_heartbeat_message(
            2, 12, 0, 4 << 16 | 3 << 24, mavlink.MAV_STATE_STANDBY, 3
        ),
        "SYS_STATUS": mavlink.MAVLink_sys_status_message(
            0, 0, 0, 0, 12000, 100, 60, 0, 0, 0, 0, 0, 0
        ),
        "ESTIMATOR_STATUS": mavlink.MAVLink_estimator_status_message(
            0, mavlink.ESTIMATOR_ATTITUDE, 0.1, 2.0, 0.1, 0.1, 0, 0, 0, 0
        ),
    }
    texts = [f.text for f in doctor_fleet.vehicle_findings("px4", 0, {}, {}, 2.0, heard, False)]
    assert any("AUTO.LOITER, disarmed" in text for text in texts)
    assert any("its arming checks fail" in text for text in texts)
    assert any("no position" in text for text in texts)
    assert any("refuses position" in text for text in texts)
    assert any("battery 60%, 12.0 V" in text for text in texts)


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(
        doctor.metadata,
        "requires",
        lambda name: ["numpy>=1", "surely_missing>=2", "evo ; extra == 'slam'"],
    )
    finding = of(doctor.packages)["Python"]
    assert finding.level == FAULT and "surely_missing" in finding.text
    assert "evo" not in finding.text and finding.advice.endswith("-m pip install surely_missing")


@pytest.mark.parametrize("value, level", [("", OK), ("/nowhere", FAULT)])
def test_px4_is_looked_for_where_its_variable_says(monkeypatch, value, level):
    monkeypatch.setenv("PX4_BUILD", value)
    assert of(doctor.programs)["PX4"].level == level


def test_without_ros_there_is_a_warning_only(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert [finding.level for finding in doctor.ros()] == [WARNING]


def test_with_pip_alone_ros_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "root", lambda: tmp_path)
    assert [finding.level for finding in doctor.ros()] == [OK]


def test_a_package_path_without_the_workspace_is_a_fault(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: "/bin/true")
    monkeypatch.setenv("ROS_PACKAGE_PATH", "/nowhere")
    finding = of(doctor.ros)["ROS_PACKAGE_PATH"]
    assert finding.level == FAULT and "env.sh" in finding.advice


@pytest.mark.parametrize(
    "check, subject, said, advice",
    [
        (
            doctor.display,
            "viewers",
            "cannot open a window without libxcb-icccm.so.4",
            "apt-get install libxcb-icccm4'",
        ),
        (doctor.display, "Xvfb", "no picture without a display", "apt-get install xvfb'"),
        (doctor.display, "OpenGL", "no camera images", "apt-get install libegl1 libgl1-mesa-dri"),
        (doctor.ros, "rviz", "rviz:=true is refused", "apt-get install rviz'"),
    ],
)
def test_what_windows_lack_is_named_with_what_installs_it(
    monkeypatch, check, subject, said, advice
):
    def no_backend():
        raise EngineError(f"cannot render: {libraries.advice(offscreen.PACKAGES)}")

    monkeypatch.setattr(libraries, "missing_for_qt", lambda: ["libxcb-icccm.so.4"])
    monkeypatch.setattr(offscreen, "backend", no_backend)
    monkeypatch.setattr(
        doctor.shutil,
        "which",
        lambda name: "/bin/false" if name in ("roslaunch", "rospack") else None,
    )
    finding = of(check)[subject]
    assert finding.level == WARNING and said in finding.text
    assert "scripts/setup.sh" in str(finding) and advice in str(finding)


def test_a_folder_for_runs_that_cannot_be_written_is_a_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    assert of(doctor.system)["run folders"].level == OK
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    assert of(doctor.system)["run folders"].level == FAULT


def test_a_vehicles_port_in_other_hands_is_a_warning():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", port := PORTS.ground_station_local(7)))
        found = [finding for finding in doctor.taken_ports() if finding.text.startswith(f"{port} ")]
    assert [finding.level for finding in found] == [WARNING]
    assert found[0].text.startswith(f"{port} (ground-station links")


def test_taken_ports_are_told_with_their_program():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", PORTS.ground_station))
        texts = [finding.text for finding in doctor.taken_ports()]
    assert any(
        text.startswith(f"{PORTS.ground_station} (ground station") and "process" in text
        for text in texts
    )


def test_without_a_simulation_there_is_no_fault(capsys):
    assert [finding.level for finding in doctor.fleet(INSTANCES - 1)] == [OK]


def test_exit_status_and_json(monkeypatch, capsys):
    bad = Finding(FAULT, "thing", "broken", "mend it")
    monkeypatch.setattr(doctor, "MACHINE", (lambda: [bad],))
    assert command.main(["doctor", "--instance", "4"]) == 1
    assert "fault   thing: broken; mend it" in capsys.readouterr().out
    assert command.main(["doctor", "--instance", "4", "--json"]) == 1
    first = json.loads(capsys.readouterr().out)[0]
    assert first == {"level": "fault", "subject": "thing", "text": "broken", "advice": "mend it"}
    monkeypatch.setattr(doctor, "MACHINE", ())
    assert command.main(["doctor", "--instance", "4"]) == 0


def test_what_a_companion_computer_says_is_not_taken_for_the_vehicle():
    """Real PX4 forwards the heartbeats of its other links."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as vehicle:
        vehicle.bind(("127.0.0.1", 0))
        vehicle.settimeout(LIMIT_S)

        def answer():
            address = vehicle.recvfrom(1000)[1]
            for component, mode in ((1, 0x3040000), (191, 0)):
                beat = mavlink.MAVLink_heartbeat_message(2, 12, 0, mode, 4, 3)
                vehicle.sendto(beat.pack(mavlink.MAVLink(None, 1, component)), address)

        answers = threading.Thread(target=answer)
        answers.start()
        (heard,) = doctor_fleet.listen(PORTS, [vehicle.getsockname()[1]], 2.0, None)
        answers.join()
    assert heard["HEARTBEAT"].custom_mode == 0x3040000


@pytest.mark.long
def test_a_running_fleet_is_examined(simulate):
    simulation = simulate("--n", 2, "--gps", "rtk", "--speed", 5)
    simulation.wait_until(6_000_000)
    found = list(doctor.fleet(PORTS.instance))
    assert [finding.subject for finding in found] == ["simulation", "iris_0", "iris_1"]
    assert "2 vehicles at" in found[0].text
    for i, finding in enumerate(found[1:]):
        assert finding.level == OK
        assert f"link answers on UDP {PORTS.ground_station_local(i)}" in finding.text
        assert "AUTO.LOITER, disarmed" in finding.text and "GPS" in finding.text
    simulation.control.request("pause")
    assert next(f.level for f in doctor.fleet(PORTS.instance, 0.2)) == WARNING
