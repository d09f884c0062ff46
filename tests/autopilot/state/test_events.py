"""PX4's events: EVENT messages with their texts, and what ground stations ask for again."""

import json
import lzma
import struct

import numpy as np
import pytest

from stack_flights import Flight, Sent
from xtdrone_autopilot.mavlink.description import metadata
from xtdrone_autopilot.safety.arming_checks import CHECKS
from xtdrone_autopilot.state.clock import StepClock
from xtdrone_autopilot.state.events import EVENTS, Events, event_number
from xtdrone_autopilot.state.outbox import CRITICAL, INFO, Outbox
from xtdrone_autopilot.state.reasons import ABORTED_LANDINGS, QUADCHUTES
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode

AUTOPILOT = 1 << 24


@pytest.fixture
def outbox():
    box = Outbox(2, StepClock(5_000_000, 2))
    box.links = Sent()
    return box


@pytest.mark.parametrize(
    "text, number, arguments",
    [
        ("Armed by external command", 9489139, b"\4"),  # as real PX4 v1.15.4 sends them
        ("Disarmed by landing", 16017271, b"\6"),
        ("Takeoff detected", 4277609, b""),
        ("Using default takeoff altitude: 2.5 m", 3878855, struct.pack("<f", 2.5)),
        (
            "RTL: start return at 519 m (30 m above destination)",
            5383828,
            struct.pack("<ii", 519, 30),
        ),
    ],
)
def test_a_text_that_ends_in_a_tab_is_an_event_as_well(outbox, text, number, arguments):
    outbox.say(0, INFO, text + "\t")
    (event,) = outbox.links.messages
    assert "".join(outbox.links.texts) == text + "\t"
    assert event.id == AUTOPILOT | number
    assert bytes(event.arguments) == arguments.ljust(40, b"\0")
    assert (event.sequence, event.event_time_boot_ms, event.log_levels) == (65526, 5000, 0x66)


def test_other_texts_are_none(outbox):
    outbox.say(0, INFO, "Takeoff detected")
    outbox.say(0, INFO, "something else\t")
    assert outbox.links.messages == [] and len(outbox.links.texts) == 2


@pytest.mark.parametrize(
    "name",
    [
        *(f"vtol_att_ctrl_quadchute_{end}" for _, end in QUADCHUTES.values()),
        *(
            f"fixedwing_position_control_landing_abort_status_{end}"
            for _, end in ABORTED_LANDINGS.values()
        ),
    ],
)
def test_quad_chutes_and_aborted_landings_have_an_event(outbox, name):
    outbox.say(0, CRITICAL, "Quad-chute triggered\t", (name,))
    (event,) = outbox.links.messages
    assert event.id == AUTOPILOT | event_number(name) and event.log_levels == 0x62


def test_arguments_that_the_text_lacks_are_given(outbox):
    outbox.say(
        1,
        INFO,
        "Failsafe activated\t",
        ("commander_failsafe_enter", 0, "Land", "GCS connection loss"),
    )
    (event,) = outbox.links.messages
    assert event.id == AUTOPILOT | 9751178
    assert bytes(event.arguments[:6]) == struct.pack("<IBB", 0, 7, 2)


def test_a_failsafe_is_told_as_by_px4():
    flight = Flight().take_off()
    flight.autopilot.outbox.links = sent = Sent()
    flight.autopilot.parameters.set(0, "COM_LOW_BAT_ACT", 2)
    flight.autopilot.parameters.set(0, "COM_FAIL_ACT_T", 3)
    flight.autopilot.failsafes.begin(0, flight.autopilot.failsafes.conditions["battery_critical"])
    (event,) = sent.messages
    assert event.id == AUTOPILOT | 13704694
    assert bytes(event.arguments[4:8]) == struct.pack("<BHB", 7, 3, 4)  # land, 3 s, critical
    assert "Failsafe activated: entering Hold for 3 seconds" in flight.said


def test_refusals_are_told_as_by_px4():
    flight = Flight().take_off()
    flight.autopilot.outbox.links = sent = Sent()
    commander = flight.autopilot.commander
    assert not commander.disarm(0).accepted
    assert not commander.set_mode(0, Mode.MISSION, flight.simulation.t_us).accepted
    ids = [message.id & 0xFFFFFF for message in sent.messages]
    assert ids == [9091509, 10503063]
    assert bytes(sent.messages[1].arguments[:5]) == b"\0\0\4\4\3"  # as recorded of PX4
    assert "Switching to Mission is currently not available" in flight.said


def test_each_vehicle_counts_its_events_and_sends_the_last_again():
    """They soon begin anew, as PX4's."""
    events = Events(2)
    assert events.begun().tolist() == [False, False]
    for k in range(25):
        events.of_text(0, "Takeoff detected", (), k)
    assert events.sequence.tolist() == [14, 65525]
    assert events.begun().tolist() == [True, False]
    assert [m.sequence for m in events.again(0, 13, 14)] == [13, 14]
    assert [m.sequence for m in events.again(0, 65535, 0)] == [65535, 0]
    gone, there = events.again(0, 65530, 65531, 255, 190)
    assert gone.get_type() == "RESPONSE_EVENT_ERROR" and there.sequence == 65531
    assert (gone.sequence, gone.sequence_oldest_available) == (65530, 65531)
    assert (gone.target_system, gone.target_component) == (255, 190)
    assert len(events.again(0, 0, 65535)) <= 20
    events.reset(np.array([True, False]))
    assert not events.begun().any()
    assert events.again(0, 14, 14)[0].get_type() == "RESPONSE_EVENT_ERROR"


def test_the_metadata_explains_every_event():
    text = json.loads(lzma.decompress(metadata.files()["etc/extras/all_events.json.xz"]))
    component = text["components"]["1"]
    told = {group: of["events"] for group, of in component["event_groups"].items()}
    assert {int(number) for number in told["default"]} == {event.number for event in EVENTS}
    checks = {check.number for check in CHECKS} | {11047904, 1914663}  # and PX4's summaries
    assert {int(number) for group in ("arming_check", "health") for number in told[group]} == checks
    assert component["supported_protocols"] == ["health_and_arming_check"]
    groups = component["navigation_mode_groups"]["groups"]
    assert groups["17"] == [33816576] and groups["3"] == [67371008]  # as of PX4
    for event in (event for events in told.values() for event in events.values()):
        assert event["message"].count("{") <= len(event.get("arguments", []))
        for argument in event.get("arguments", []):
            kind = argument["type"]
            assert not kind.startswith("px4::") or kind.removeprefix("px4::") in component["enums"]


def test_a_ground_station_that_goes_and_comes_back_is_told():
    flight = Flight()
    flight.messages.handle(
        HeardOn,
        mavlink.MAVLink_heartbeat_message(
            mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3
        ),
    )
    for _ in range(130):
        flight.run(0.1)
        flight.messages.check()
    assert flight.said.count("Connection to ground station lost") == 1
    flight.messages.handle(
        HeardOn,
        mavlink.MAVLink_heartbeat_message(
            mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3
        ),
    )
    flight.messages.check()
    assert flight.said[-1] == "GCS connection regained"


class HeardOn:
    vehicle, system, kind, sender = 0, 1, 0, None
