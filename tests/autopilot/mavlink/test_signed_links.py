"""Links that a key guards: who does not sign commands nothing, and gets no answer."""

import hashlib
import json
import os
import socket

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS
from waiting import LIMIT_S
from xtdrone_core import Scenario, ScenarioError
from xtdrone_core.command import main
from xtdrone_core.mavlink.signing import now
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

KEY = hashlib.sha256(b"secret").digest()
OTHER = hashlib.sha256(b"other").digest()


def key_file(folder):
    path = folder / "key"
    path.write_text("secret\n")
    path.chmod(0o600)
    return str(path)


class World:
    """Two vehicles that the test steps, and what their flight stack has said."""

    def __init__(self, folder, **options):
        run_folder.prepare(folder)
        self.folder = folder
        self.simulation = Simulation(
            Scenario(fleet("iris", 2), speed=0.0, log="none", **options), folder, links=True
        )
        self.values = self.simulation.autopilot.parameters.values

    def connect(self, key=KEY, port=None, source=255, vehicle=0):
        """pymavlink as a client of a vehicle's offboard link."""
        port = PORTS.offboard_local(vehicle) if port is None else port
        os.environ["MAVLINK20"] = "1"  # MAVLink 1 has no signatures
        link = mavutil.mavlink_connection(
            f"udpout:127.0.0.1:{port}", source_system=source, dialect="common"
        )
        if key:
            link.setup_signing(key)
        return link

    def steps(self, n=10):
        for _ in range(n):
            self.simulation.step()

    def set_cruise(self, link, value):
        """Whether the vehicle obeys a PARAM_SET of this client."""
        link.mav.param_set_send(1, 1, b"MPC_XY_CRUISE", value, 9)
        self.steps()
        return self.values["MPC_XY_CRUISE"][0] == value

    def said(self):
        return (self.folder / "console" / "autopilot.log").read_text()

    def refused(self):
        health = self.simulation.autopilot.health()
        return [sum(link["refused"] for link in vehicle["links"].values()) for vehicle in health]


@pytest.fixture
def world(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    made = World(folder, key=key_file(tmp_path))
    made.steps(10)  # compiles what is not cached: a signature may be a minute late at most
    yield made
    made.simulation.close()


def test_only_who_signs_is_obeyed_and_answered(world, tmp_path):
    signed, unsigned, wrong = world.connect(), world.connect(None), world.connect(OTHER)
    for link in (unsigned, wrong):
        assert not world.set_cruise(link, 9.0)
        assert not world.set_cruise(link, 8.0)
        assert link.recv_msg() is None  # neither an answer nor a stream
    assert world.set_cruise(signed, 7.0)
    answer = signed.recv_match(type="PARAM_VALUE", blocking=True, timeout=LIMIT_S)
    assert answer.param_value == 7.0 and answer.get_signed()
    world.steps(100)
    received = [signed.recv_msg() for _ in range(30)]
    assert signed.mav.signing.goodsig_count > 30 and signed.mav.signing.badsig_count == 0
    assert len({m.get_type() for m in received}) > 5
    assert world.refused() == [4, 0]
    assert world.said().count("Refused PARAM_SET from 127.0.0.1:") == 2  # once for each of them
    assert "it is not signed" in world.said() and "signed with another key" in world.said()
    world.simulation.close()
    summary = json.loads((world.folder / "summary.json").read_text())
    assert summary["refused_messages"] == {"iris_0": 4, "iris_1": 0}
    assert "secret" not in (world.folder / "summary.json").read_text()


def test_who_may_send_unsigned_gets_no_telemetry(world):
    link = world.connect(None)
    link.mav.radio_status_send(1, 2, 3, 4, 5, 6, 7)
    world.steps(100)
    assert link.recv_msg() is None
    assert world.refused() == [0, 0]


def test_a_recorded_command_is_not_obeyed_again(world):
    link = world.connect()
    link.mav.param_set_send(1, 1, b"MPC_XY_CRUISE", 9.0, 9)
    recorded = mavlink.MAVLink_param_set_message(1, 1, b"MPC_XY_CRUISE", 6.0, 9).pack(link.mav)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(recorded, ("127.0.0.1", PORTS.offboard_local(0)))
        world.steps()
        assert world.values["MPC_XY_CRUISE"][0] == 6.0
        assert world.set_cruise(link, 7.0)
        stranger.sendto(recorded, ("127.0.0.1", PORTS.offboard_local(0)))
        world.steps()
        stranger.sendto(recorded, ("127.0.0.1", PORTS.ground_station_local(0)))
        world.steps()
    assert world.values["MPC_XY_CRUISE"][0] == 7.0
    assert world.said().count("a repetition") == 2


def test_the_bridge_on_this_machine_needs_no_key(world):
    assert world.set_cruise(world.connect(None, PORTS.bridge_local(0)), 7.0)
    assert world.refused() == [0, 0]


def change_key(world, link, key, system=1, timestamp=0):
    link.mav.setup_signing_send(system, 1, list(key), timestamp)
    world.steps()


def test_the_key_is_changed_by_who_has_it(world):
    first, second = world.connect(), world.connect(None)
    change_key(world, second, OTHER)
    assert world.set_cruise(first, 7.0)
    change_key(world, first, OTHER, timestamp=now())
    assert "The key of the links was changed" in world.said()
    assert not world.set_cruise(first, 8.0)
    second.setup_signing(OTHER)
    assert world.set_cruise(second, 9.0)
    assert world.set_cruise(world.connect(OTHER, PORTS.ground_station_local(0)), 6.0)
    world.connect(KEY, vehicle=1).mav.ping_send(0, 0, 0, 0)
    world.steps()
    assert world.refused()[1] == 0  # the others keep their key


@pytest.mark.parametrize(
    "arguments, armed, why",
    [
        ((bytes(32),), False, "cannot be turned off"),
        ((OTHER, 0), False, "not meant for this"),
        ((OTHER, 1, 2**64 - 1), False, "a day ahead"),
        ((OTHER,), True, "disarm first"),
    ],
)
def test_a_key_is_not_changed_to_harm(world, arguments, armed, why):
    link = world.connect()
    world.simulation.autopilot.status["armed"][0] = armed
    change_key(world, link, *arguments)
    assert "SETUP_SIGNING refused: " in world.said() and why in world.said()
    world.simulation.autopilot.status["armed"][0] = False
    assert world.set_cruise(link, 7.0)


def test_without_a_key_nobody_locks_the_others_out(tmp_path):
    world = World(tmp_path)
    try:
        link = world.connect(None)
        change_key(world, link, OTHER)
        assert "SETUP_SIGNING refused: this link has no key" in world.said()
        assert world.set_cruise(link, 7.0)
    finally:
        world.simulation.close()


def test_other_machines_reach_the_guarded_links_alone(tmp_path):
    (tmp_path / "run").mkdir()
    world = World(tmp_path / "run", key=key_file(tmp_path), remote="192.0.2.7")
    try:
        kinds = world.simulation.autopilot.links.by_kind
        bound = [links[0].socket.getsockname()[0] for links in kinds]
        assert bound == ["0.0.0.0", "0.0.0.0", "127.0.0.1"]
        assert [links[0].remote[0] for links in kinds] == ["192.0.2.7", "192.0.2.7", "127.0.0.1"]
        assert world.set_cruise(world.connect(), 7.0)
    finally:
        world.simulation.close()


@pytest.mark.parametrize(
    "options, said",
    [
        ({"remote": "192.0.2.7"}, "needs a key, so that no stranger commands: give --key FILE"),
        ({"remote": "mars", "key": "KEY"}, "remote 'mars' is not an IPv4 address"),
        ({"key": "/nowhere/key"}, "cannot read key '/nowhere/key': No such file"),
        ({"key": "KEY", "autopilot": "px4"}, "cannot be used with autopilot px4"),
    ],
)
def test_one_line_for_links_that_would_be_open(tmp_path, options, said):
    options = {
        name: key_file(tmp_path) if value == "KEY" else value for name, value in options.items()
    }
    with pytest.raises(ScenarioError, match=said):
        Scenario(fleet("iris", 1), **options)


@pytest.mark.slow
def test_the_command_line_signs(simulate, tmp_path, capsys):
    key = key_file(tmp_path)
    simulate("--speed", "1", "--key", key)
    assert main(["params", "get", "MPC_XY_CRUISE", "--key", key]) == 0
    assert "MPC_XY_CRUISE = 5 m/s" in capsys.readouterr().out
    assert main(["doctor", "--json", "--key", key]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert any(f["subject"] == "iris_0" and "link answers" in f["text"] for f in found)
    os.chmod(key, 0o644)
    assert main(["params", "get", "MPC_XY_CRUISE", "--key", key]) == 1
    assert "has mode 644" in capsys.readouterr().err
