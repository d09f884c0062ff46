"""The simulator link against a scripted PX4 that follows a recorded one, and its faults."""

import os
import signal
import time

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as mavlink

from own_ports import PORTS
from px4_peer import RECORDINGS, ScriptedPx4, script
from px4_recording import fill, steps
from sensor_models import SensorSuite
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import FleetModel, FleetState, Scenario, ScenarioError, SensorBatch
from xtdrone_core.contracts import AutopilotContext
from xtdrone_core.runs import ports
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_flight_controllers.common.frames import FrameReader
from xtdrone_flight_controllers.px4 import (
    autopilot as px4,
    link as px4_link,
    process as px4_process,
)
from xtdrone_flight_controllers.px4.link import Peer
from xtdrone_flight_controllers.px4.sensors import SensorFrames
from xtdrone_sim.parts import build_autopilot
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

STEP_US = 4000
READINGS = 7000  # 28 s of the recording: boot, arming, take-off
ORIGIN = load_world("empty")
ORIGIN = ORIGIN.latitude, ORIGIN.longitude, ORIGIN.altitude


@pytest.fixture(scope="module")
def recorded():
    return script(READINGS)


@pytest.fixture(scope="module")
def in_flight(recorded):
    """The recording from its reading 5400 on, when the rotors turn."""
    return recorded[0], recorded[1][5400:]


@pytest.fixture
def autopilot(monkeypatch):
    """autopilot(n, loss, answer_s, connect_s, **more) makes a Px4Autopilot for scripted peers.

    Time-outs that must come are short, others so long that a busy machine does not reach them.
    """
    for name, value in (("SILENCE_S", 0.0), ("ALIGN_S", 0.05)):
        monkeypatch.setattr(px4_link, name, value)
    monkeypatch.setattr(px4, "NAME_S", 0.1)
    made = []

    def make(n=1, loss="stop", answer_s=30.0, connect_s=30.0, **more):
        monkeypatch.setattr(px4_link, "ANSWER_S", answer_s)
        monkeypatch.setattr(px4, "CONNECT_S", connect_s)
        texts = []
        made.append(
            px4.Px4Autopilot(
                FleetModel.of([load_vehicle("iris")] * n),
                [f"iris_{i}" for i in range(n)],
                ORIGIN,
                np.zeros((n, 3)),
                loss=loss,
                on_text=lambda i, severity, text: texts.append((i, text)),
                **more,
            )
        )
        return made[-1], texts

    yield make
    for autopilot in made:
        autopilot.close()


def fly(autopilot, steps, n=1, begin=0):
    """Steps with readings of vehicles at rest; returns the commands of each step."""
    sensors = SensorBatch.empty(n)
    return [autopilot.step((begin + k) * STEP_US, sensors).copy() for k in range(steps)]


def said(texts, i):
    return " | ".join(text for vehicle, text in texts if vehicle == i)


@pytest.mark.parametrize("flight", RECORDINGS)
def test_the_recorded_flight_comes_through(autopilot, flight):
    """Commands are those that PX4 sent for the same reading; none before its first answer."""
    recorded = script(READINGS, RECORDINGS[flight])
    found, _ = autopilot()
    ScriptedPx4(0, recorded).start()
    commands = np.array(fly(found, READINGS))[:, 0]
    wanted = np.zeros((READINGS, 4))
    for k, answers in enumerate(recorded[1][:READINGS]):
        for m in answers:
            if m.get_type() == "HIL_ACTUATOR_CONTROLS" and m.mode & 128:
                wanted[k:] = m.controls[:4]
    first = next(k for k, answers in enumerate(recorded[1]) if answers)
    assert 10 <= first <= 44
    assert wanted.max() > 0.5  # it takes off
    np.testing.assert_allclose(commands, np.float32(wanted), atol=0)
    assert found.states[0] == Peer.LOCKSTEP


def test_what_px4_gets_is_what_the_recorded_simulator_sent():
    """The same readings in our units give the same messages, field by field."""
    frames, batch = SensorFrames(1, ORIGIN), SensorBatch.empty(1)
    parser, compared = mavlink.MAVLink(None), 0
    for step, _ in zip(steps(RECORDINGS["dynamic"]), range(400)):
        readings = [m for m in step if m.get_type() in ("HIL_SENSOR", "HIL_GPS")]
        for message in readings:
            fill(batch, message)
        batch.gps_eph[0], batch.gps_epv[0] = 0.3, 0.4
        (data,) = frames.encode(batch.t_us, batch, None, np.ones(1, dtype=bool))
        ours = parser.parse_buffer(data)
        assert [m.get_type() for m in ours] == [m.get_type() for m in readings]
        for mine, theirs in zip(ours, readings):
            for name in theirs.get_fieldnames():
                if name in ("pressure_alt", "diff_pressure", "cog", "vel", "id", "yaw"):
                    continue
                if name.endswith("mag") and not theirs.fields_updated & 0x1C0:
                    continue
                if name in ("abs_pressure", "temperature") and not theirs.fields_updated & 0x1A00:
                    continue
                assert getattr(mine, name) == pytest.approx(
                    getattr(theirs, name), rel=2e-6, abs=2e-6
                ), name
                compared += 1
    assert compared > 3000


def test_px4_gets_the_pitot_tube_and_the_range_finder():
    frames, batch, parser = SensorFrames(2, ORIGIN), SensorBatch.empty(2), mavlink.MAVLink(None)
    batch.airspeed_new[1] = batch.range_new[1] = True
    batch.airspeed_pressure[1], batch.range_distance[1] = 61.25, 3.456
    without, data = frames.encode(4000, batch, None, np.ones(2, dtype=bool))
    assert [m.get_type() for m in parser.parse_buffer(without)] == ["HIL_SENSOR"]
    sensor, distance = parser.parse_buffer(data)
    assert sensor.fields_updated & 0x400 and sensor.diff_pressure == pytest.approx(0.6125)
    assert (distance.get_type(), distance.current_distance, distance.orientation) == (
        "DISTANCE_SENSOR",
        346,
        mavlink.MAV_SENSOR_ROTATION_PITCH_270,
    )
    batch.range_distance[1] = np.inf
    _, data = frames.encode(8000, batch, None, np.ones(2, dtype=bool))
    distance = parser.parse_buffer(data)[1]
    assert distance.current_distance > distance.max_distance and distance.signal_quality == 1


def test_rates_of_the_simulators_messages():
    """IMU 250 Hz, magnetometer 83 Hz, barometer 50 Hz, GPS 10 Hz, ground truth 125 Hz; noise."""
    world, model = load_world("empty"), load_vehicle("iris")
    suite = SensorSuite([model.sensors], ORIGIN, world.magnetic_field, 1)
    frames, state, parser = SensorFrames(1, ORIGIN), FleetState.zeros(1, 4), mavlink.MAVLink(None)
    heard = []
    for k in range(1250):
        state.t_us = k * STEP_US
        (data,) = frames.encode(
            k * STEP_US, suite.step(state, k * STEP_US), state, np.ones(1, bool)
        )
        heard += parser.parse_buffer(data)
    sensor = [m for m in heard if m.get_type() == "HIL_SENSOR"]
    assert len(sensor) == 1250
    for bits, rate in ((0x3F, 250), (0x1C0, 83.3), (0x1A00, 50)):
        fresh = [m for m in sensor if m.fields_updated & bits == bits]
        assert len(fresh) == pytest.approx(5 * rate, abs=2)
    assert sum(m.get_type() == "HIL_GPS" for m in heard) == pytest.approx(50, abs=3)
    assert sum(m.get_type() == "HIL_STATE_QUATERNION" for m in heard) == 625
    baro = [m.abs_pressure for m in sensor if m.fields_updated & 0x1A00]
    assert len(set(baro)) > 3  # a constant reading is stale to PX4
    assert np.mean([m.zacc for m in sensor]) == pytest.approx(-9.8, abs=0.5)
    truth = [m for m in heard if m.get_type() == "HIL_STATE_QUATERNION"][-1]
    assert truth.zacc == pytest.approx(-1000, abs=1)
    assert truth.attitude_quaternion == pytest.approx((0.5**0.5, 0, 0, 0.5**0.5), abs=1e-6)


def test_three_instances_each_get_their_own_controls(autopilot, in_flight):
    found, _ = autopilot(3)
    peers = [ScriptedPx4(i, (in_flight[0], in_flight[1][i:])) for i in range(3)]
    for peer in peers:
        peer.start()
    commands = np.array(fly(found, 600, 3))
    assert (found.states == Peer.LOCKSTEP).all()
    for i in range(3):  # peer i runs i readings ahead in the recording
        np.testing.assert_array_equal(commands[100:590, i], commands[100 + i : 590 + i, 0])
    assert (np.diff(commands[100:590, 0], axis=0) != 0).any()


def test_one_that_leaves_frees_its_port_and_the_others_fly_on(autopilot, in_flight):
    found, texts = autopilot(3)
    for i in range(3):
        ScriptedPx4(i, in_flight).start()
    fly(found, 200, 3)
    for _ in range(2):  # it may be said twice
        found.remove_vehicle(1)
    commands = fly(found, 100, 3, 200)[-1]
    assert found.states.tolist() == [Peer.LOCKSTEP, Peer.LOST, Peer.LOCKSTEP]
    assert commands[1].tolist() == [0.0] * 4 and (commands[[0, 2]] > 0.0).all()
    assert not ports.in_use(PORTS.simulator(1), tcp=True) and not said(texts, 1)


def test_a_late_one_is_named_and_may_join(autopilot, recorded, caplog):
    found, texts = autopilot(2, "continue")
    ScriptedPx4(0, recorded).start()
    fly(found, 100, 2)
    assert found.states[0] == Peer.LOCKSTEP and found.states[1] == Peer.AWAITED
    waiting = f"waiting for its PX4 on TCP {PORTS.simulator(1)}"
    assert waiting in said(texts, 1) and not said(texts, 0)
    assert f"iris_1: {waiting}" in caplog.text  # also in the terminal
    ScriptedPx4(1, recorded).start()
    begin = 100
    while found.states[1] != Peer.LOCKSTEP and begin < 50_000:
        fly(found, 100, 2, begin)
        begin += 100
    assert (found.states == Peer.LOCKSTEP).all()


def test_a_fleet_that_nobody_starts_ends_the_flight(autopilot, monkeypatch):
    monkeypatch.setattr(px4, "BY_HAND_S", 0.2)
    found, texts = autopilot(1, "stop")
    with pytest.raises(AutopilotError, match="'iris_0' was not started within .* set PX4_BUILD"):
        fly(found, 1)
    assert "waiting for its PX4" in said(texts, 0)


def test_a_missing_one_ends_the_flight_where_that_is_asked(autopilot, recorded):
    found, _ = autopilot(2, "stop", connect_s=0.2)
    ScriptedPx4(0, recorded).start()
    with pytest.raises(AutopilotError, match="'iris_1' did not connect"):
        fly(found, 1, 2)


def test_an_interrupt_ends_the_waiting(autopilot):
    found, _ = autopilot()
    found.interrupt()
    assert not fly(found, 1)[0].any()


FAULTS = {
    "silent": (dict(silent=True), "no actuator controls"),
    "death": (dict(die_after=300), "closed its simulator link"),
    "hanging": (dict(hang_after=300), "it hangs"),
    "garbage": (dict(garbage=bytes(range(250)) * 20), "not MAVLink"),
    "wrong instance": (
        dict(system=7),
        f"system 7: start it with '-i {PORTS.px4_number(1)}' and MAV_SYS_ID 2",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_the_rest_flies_on(autopilot, in_flight, hurried, fault, caplog):
    options, words = FAULTS[fault]
    found, texts = autopilot(2, "continue", 0.8 if fault == "hanging" else 30.0)
    peers = [ScriptedPx4(0, in_flight), ScriptedPx4(1, in_flight, **options)]
    for peer in peers:
        peer.start()
    commands = fly(found, 1100, 2)
    assert words in said(texts, 1) and "iris_1" in said(texts, 1)
    assert words in caplog.text and "the others fly on" in caplog.text  # in the terminal
    assert not said(texts, 0)
    assert found.states[0] == Peer.LOCKSTEP and found.states[1] in (Peer.LOST, Peer.HANGING)
    assert commands[-1][0].any() and not commands[-1][1].any()
    peers[1].resume.set()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_flight_where_that_is_asked(autopilot, in_flight, hurried, fault):
    options, words = FAULTS[fault]
    found, _ = autopilot(2, "stop", 0.8 if fault == "hanging" else 30.0)
    peers = [ScriptedPx4(0, in_flight), ScriptedPx4(1, in_flight, **options)]
    for peer in peers:
        peer.start()
    with pytest.raises(AutopilotError, match="px4_loss:=continue") as caught:
        fly(found, 1100, 2)
    assert words in str(caught.value)
    peers[1].resume.set()


@pytest.mark.parametrize("late_us", [2**64 - 1, 2**63, 2**62])
def test_answers_from_the_future_do_not_turn_the_lockstep_off(autopilot, in_flight, late_us):
    found, texts = autopilot(2, "continue")
    for i, edit in enumerate(
        (lambda t_us, controls: (t_us, controls), lambda t_us, controls: (late_us, controls))
    ):
        ScriptedPx4(i, in_flight, edit=edit).start()
    commands = np.array(fly(found, 300, 2))
    assert (found.states == Peer.LOCKSTEP).all() and not texts
    np.testing.assert_array_equal(commands[100:, 0], commands[100:, 1])


def test_answers_of_a_clock_that_stands_still_count_once(autopilot, in_flight, hurried):
    found, _ = autopilot(2, "continue", 0.2)
    for i, edit in enumerate(
        (lambda t_us, controls: (t_us, controls), lambda t_us, controls: (0, controls))
    ):
        ScriptedPx4(i, in_flight, edit=edit).start()
    begin = time.monotonic()
    commands = fly(found, 900, 2)
    assert found.states.tolist() == [Peer.LOCKSTEP, Peer.HANGING]
    assert commands[-1][0].any() and not commands[-1][1].any()
    assert time.monotonic() - begin < 60.0  # each wait for an answer would have been 0.2 s


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 3e38])
def test_controls_of_px4_are_numbers_in_range(autopilot, in_flight, wrong):
    found, _ = autopilot(1)
    ScriptedPx4(0, in_flight, edit=lambda t_us, controls: (t_us, [wrong] * 16)).start()
    commands = np.array(fly(found, 100))
    assert found.states[0] == Peer.LOCKSTEP
    assert np.abs(commands).max() <= 1.0


@pytest.fixture
def hurried(monkeypatch):
    """A PX4 that does not answer gets the next readings soon."""
    monkeypatch.setattr(px4_link, "ALIGN_S", 0.001)


def fly_until(found, condition, n, begin):
    """Flies on from the reading `begin`, and returns the next; a busy machine lets a peer lag."""
    while not condition() and begin < 50_000:
        fly(found, 10, n, begin)
        begin += 10
    return begin


def fly_until_lockstep(found, n, begin):
    """Flies on from the reading `begin`."""
    fly_until(found, lambda: (found.states == Peer.LOCKSTEP).all(), n, begin)


def test_one_that_only_waits_for_its_clock_gets_it(autopilot, in_flight, hurried):
    """As PX4 in OFFBOARD before the first set-point: no answers, but heartbeats, for 3.6 s."""
    found, texts = autopilot(2, "stop", 0.3)
    peers = (
        ScriptedPx4(0, in_flight),
        ScriptedPx4(1, in_flight, beats=True, waits=range(600, 1500)),
    )
    for peer in peers:
        peer.start()
    fly(found, 590, 2)
    before = found.commands.copy()
    commands = np.array(fly(found, 900, 2, 590))
    assert before.all() and found.states.tolist() == [Peer.LOCKSTEP, Peer.SILENT]
    assert commands[50, 1].any() and not commands[70:, 1].any()  # sitl_gazebo's 0.2 s
    assert commands[:, 0].any(axis=1).all()
    fly_until_lockstep(found, 2, 1490)
    assert (found.states == Peer.LOCKSTEP).all() and found.commands.all()
    assert "hang" not in said(texts, 1)


def test_one_that_answers_some_readings_is_not_waited_for(autopilot, in_flight, hurried):
    """As PX4 on a rover that is disarmed: its controls count, and time goes on."""
    found, texts = autopilot(1, "stop", 0.3)
    ScriptedPx4(0, in_flight, waits=[k for k in range(100, 400) if k % 10]).start()
    fly(found, 110)
    states = []
    for k in range(110, 380):
        commands = fly(found, 1, 1, k)
        states.append(found.states[0])
    assert set(states) == {Peer.SILENT} and commands[0].any()
    fly_until_lockstep(found, 1, 380)
    assert found.states[0] == Peer.LOCKSTEP and not said(texts, 0)


def test_one_whose_heartbeats_stop_as_well_hangs(autopilot, in_flight, hurried):
    found, texts = autopilot(1, "continue", 0.3)
    peer = ScriptedPx4(0, in_flight, beats=True, hang_after=600)
    peer.start()
    fly(found, 700)
    assert found.states[0] == Peer.SILENT and not said(texts, 0)
    fly(found, 800, 1, 700)
    assert found.states[0] == Peer.HANGING and "no heartbeat: it hangs" in said(texts, 0)
    peer.resume.set()


def test_one_that_pauses_before_its_first_heartbeat_is_given_time(autopilot, in_flight, hurried):
    """As PX4 may while it starts up on a busy machine."""
    found, texts = autopilot(1, "stop", 0.3)
    ScriptedPx4(0, in_flight, waits=range(100, 600)).start()
    fly(found, 590)
    assert found.states[0] == Peer.SILENT
    fly_until_lockstep(found, 1, 590)
    assert found.states[0] == Peer.LOCKSTEP and not said(texts, 0)


def test_one_that_answers_again_is_taken_back(autopilot, in_flight, hurried):
    found, texts = autopilot(1, "continue", 0.8)
    peer = ScriptedPx4(0, in_flight, hang_after=300)
    peer.start()
    fly(found, 1100)
    assert found.states[0] == Peer.HANGING
    assert len([m for m in peer.heard if m.get_type() == "HIL_SENSOR"]) <= 300
    peer.resume.set()
    begin = 1100
    while found.states[0] != Peer.LOCKSTEP and begin < 500_000:
        fly(found, 100, 1, begin)
        begin += 100
    assert "answers again" in said(texts, 0)


def test_a_reset_starts_a_new_px4_and_leaves_the_others(autopilot, in_flight, build, folder):
    """The processes only sleep; scripted peers connect in their place."""
    found, texts = autopilot(2, installation=px4_process.find(str(build)), folder=folder)
    peers = [ScriptedPx4(i, in_flight) for i in range(2)]
    for peer in peers:
        peer.start()
    fly(found, 300, 2)
    assert (found.states == Peer.LOCKSTEP).all() and found.commands.all()
    old, answered = found.pids, len(peers[1].heard)
    found.reset(np.array([True, False]))
    assert found.states.tolist() == [Peer.AWAITED, Peer.LOCKSTEP]
    assert found.pids[0] != old[0] and found.pids[1] == old[1]
    with pytest.raises(ProcessLookupError):
        os.kill(old[0], 0)
    peers[0].join(5.0)
    assert not peers[0].is_alive()
    ScriptedPx4(0, in_flight).start()
    assert not found.states[0] and len(peers[1].heard) == answered
    fly(found, 300, 2, 300)
    assert (found.states == Peer.LOCKSTEP).all() and found.commands.all()
    assert not said(texts, 0) + said(texts, 1)
    found.reset()
    assert found.states.tolist() == [Peer.AWAITED] * 2


def test_nine_with_one_that_is_killed_and_reset(autopilot, in_flight, build, folder):
    """The processes only sleep; scripted peers connect in their place."""
    found, texts = autopilot(
        9, "continue", installation=px4_process.find(str(build)), folder=folder
    )
    peers = [ScriptedPx4(i, in_flight) for i in range(9)]
    for peer in peers:
        peer.start()
    begin = fly_until(found, lambda: (found.states == Peer.LOCKSTEP).all(), 9, 0)
    os.kill(found.pids[4], signal.SIGKILL)
    begin = fly_until(found, lambda: found.states[4] == Peer.LOST, 9, begin)
    others = np.arange(9) != 4
    assert "was ended by SIGKILL" in said(texts, 4)
    assert (found.states[others] == Peer.LOCKSTEP).all() and not found.commands[4].any()
    old = found.pids
    found.reset(~others)
    assert [now == then for now, then in zip(found.pids, old)] == others.tolist()
    peers[4].join(5.0)
    ScriptedPx4(4, in_flight).start()
    fly_until(found, lambda: found.commands.any(axis=1).all(), 9, begin)
    assert (found.states == Peer.LOCKSTEP).all() and found.commands.any(axis=1).all()


def test_one_that_was_started_by_hand_may_be_replaced(autopilot, in_flight):
    found, texts = autopilot(2, "continue")
    for i, options in enumerate(({}, {"die_after": 100})):
        ScriptedPx4(i, in_flight, **options).start()
    fly(found, 200, 2)
    assert found.states.tolist() == [Peer.LOCKSTEP, Peer.LOST]
    ScriptedPx4(1, in_flight).start()
    begin = 200
    while found.states[1] != Peer.LOCKSTEP and begin < 50_000:
        fly(found, 10, 2, begin)
        begin += 10
    assert "was replaced" in said(texts, 1) and found.commands.any(axis=1).all()
    assert not found.estimates().ready[1]


def test_what_real_px4_cannot_do_is_refused(autopilot, monkeypatch, tmp_path):
    monkeypatch.delenv("PX4_BUILD", raising=False)
    found, _ = autopilot(1)
    with pytest.raises(AutopilotError, match="started externally.*px4:=FOLDER"):
        found.reset()
    for refused in (found.save, lambda: found.load({})):
        with pytest.raises(AutopilotError, match="cannot be (saved|loaded).*embedded"):
            refused()
    for option, words in (("mission", "upload it"), ("params", "PX4_BUILD")):
        scenario = Scenario(fleet("iris", 1), autopilot="px4", **{option: str(tmp_path)})
        with pytest.raises(AutopilotError, match=f"{option} cannot be given.*{words}"):
            build_autopilot(
                AutopilotContext(scenario, None, (0.0,) * 3, (0.0,) * 3, None, True, print, None)
            )


def test_a_taken_port_is_named(autopilot):
    autopilot()
    with pytest.raises(AutopilotError, match=f"{PORTS.simulator(0)} .*in use"):
        autopilot()


def test_frames_are_found_between_garbage_and_across_pieces():
    sender = mavlink.MAVLink(None, 5, 1)
    frame = mavlink.MAVLink_hil_actuator_controls_message(8, [0.5] * 16, 129, 1).pack(sender)
    broken = bytearray(frame)
    broken[20] ^= 1
    data = b"\xfd\x00nonsense" + frame + bytes(broken) + frame
    for size in (1, 7, len(data)):
        reader = FrameReader(("HIL_ACTUATOR_CONTROLS",))
        found = [
            item for k in range(0, len(data), size) for item in reader.feed(data[k : k + size])
        ]
        # Half a frame at the end may still grow: feed what follows.
        found += reader.feed(bytes(300))
        assert [(name, system, int(m["time_usec"])) for name, system, m in found] == [
            ("HIL_ACTUATOR_CONTROLS", 5, 8)
        ] * 2
        assert reader.garbage >= 10 + len(frame)


def test_the_scenario_knows_what_to_do_on_a_loss():
    assert Scenario(fleet("iris", 1), px4_loss="continue").px4_loss == "continue"
    with pytest.raises(ScenarioError, match="px4_loss"):
        Scenario(fleet("iris", 1), px4_loss="cry")
