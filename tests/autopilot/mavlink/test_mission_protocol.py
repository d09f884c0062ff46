"""The mission protocol under any order of messages: an upload is all or nothing."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from xtdrone_autopilot.mavlink.mission_protocol import BUSY_US, MissionProtocol
from xtdrone_autopilot.navigation.mission_items import (
    CAPACITY,
    Item,
    ItemError,
    check_all,
    check_item,
    opaque_id,
)
from xtdrone_autopilot.state.clock import StepClock
from xtdrone_autopilot.state.handlers import declared
from xtdrone_core.mavlink.dialect import mavlink

ODD = [0.0, 1.0, 3.0, -1.0, math.nan, math.inf, -math.inf, 1e30, 255.0]
KINDS = [0, 1, 2, 255, 7]
COMMANDS = [
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    93,
    112,
    177,
    178,
    179,
    189,
    206,
    2000,
    5001,
    5002,
    5003,
    5004,
    5100,
    84,
    0,
    65535,
]


class Store:
    """Stands where Missions stands."""

    def __init__(self):
        self.stored = {kind: [] for kind in CAPACITY}
        self.history = []

    def items(self, i, kind):
        return self.stored[kind]

    def is_for_vtol(self, i):
        return False

    def replace(self, i, kind, items):
        self.history.append((kind, len(items)))
        self.stored[kind] = list(items)


class Link:
    vehicle, system = 0, 1
    sender = None


def sent_by(message, system):
    """The message as a parser gives it, with a sender."""
    sender = mavlink.MAVLink(None, system, 190)
    receiver = mavlink.MAVLink(None)
    return receiver.parse_buffer(message.pack(sender))[0]


numbers = st.sampled_from(ODD)
seqs = st.integers(0, 5) | st.sampled_from([65535, 2000])
kinds = st.sampled_from(KINDS)
places = st.sampled_from([0, 473977420, 85455940, 0x7FFFFFFF, -(1 << 31), 910000000])
messages = st.one_of(
    st.builds(lambda n, k: mavlink.MAVLink_mission_count_message(1, 1, n, k), seqs, kinds),
    st.builds(
        lambda s, f, c, p, x, y, z, k: mavlink.MAVLink_mission_item_int_message(
            1, 1, s, f, c, 0, 1, *p, x, y, z, k
        ),
        seqs,
        st.sampled_from([0, 2, 3, 5, 6, 1, 255]),
        st.sampled_from(COMMANDS),
        st.tuples(*[numbers] * 4),
        places,
        places,
        numbers,
        kinds,
    ),
    st.builds(
        lambda s, f, c, p, x, y, z, k: mavlink.MAVLink_mission_item_message(
            1, 1, s, f, c, 0, 1, *p, x, y, z, k
        ),
        seqs,
        st.sampled_from([0, 2, 3]),
        st.sampled_from(COMMANDS),
        st.tuples(*[numbers] * 4),
        numbers,
        numbers,
        numbers,
        kinds,
    ),
    st.builds(lambda k: mavlink.MAVLink_mission_request_list_message(1, 1, k), kinds),
    st.builds(lambda s, k: mavlink.MAVLink_mission_request_int_message(1, 1, s, k), seqs, kinds),
    st.builds(lambda s, k: mavlink.MAVLink_mission_request_message(1, 1, s, k), seqs, kinds),
    st.builds(
        lambda t, k: mavlink.MAVLink_mission_ack_message(1, 1, t, k),
        st.sampled_from([0, 1, 15]),
        kinds,
    ),
    st.builds(lambda k: mavlink.MAVLink_mission_clear_all_message(1, 1, k), kinds),
)


def protocol(say=lambda i, severity, text: None):
    store, replies, clock = Store(), [], StepClock()

    def reply(link, message):
        message.pack(mavlink.MAVLink(None, 1, 1))  # it can be sent
        replies.append(message)

    protocol = MissionProtocol(store, reply, say, lambda i: 0, clock)
    handlers = dict(declared(protocol, "receives"))
    protocol.handle = lambda link, message: handlers[message.get_type()](link, message)
    return protocol, store, replies, clock


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(messages, st.sampled_from([255, 254]), st.integers(0, 3_000_000)), max_size=25
    )
)
def test_any_order_of_messages_leaves_only_whole_missions(sequence):
    server, store, _, clock = protocol()
    t_us, counted = 0, set()
    for message, system, pause in sequence:
        t_us += pause
        if message.get_type() == "MISSION_COUNT":
            counted.add((message.mission_type, message.count))
        clock.t_us = t_us
        server.handle(Link, sent_by(message, system))
        server.step()
        for kind, items in store.stored.items():
            for seq, item in enumerate(items):
                check_item(kind, seq, item)
            check_all(kind, items)
    for kind, length in store.history:
        assert length == 0 or (kind, length) in counted


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["good", "lost", "twice", "ahead"]), max_size=30), st.integers(1, 6)
)
def test_an_upload_through_a_bad_link_arrives_unchanged(fates, count):
    """Messages are lost, doubled or come early; the sender answers each request."""
    server, store, replies, clock = protocol()
    fates = iter([*fates, *["good"] * 100])
    items = [
        mavlink.MAVLink_mission_item_int_message(
            1, 1, k, 3, 16, 0, 1, 0, 0, 0, math.nan, 473977420 + k, 85455940, 5.0, 0
        )
        for k in range(count)
    ]
    server.handle(Link, sent_by(mavlink.MAVLink_mission_count_message(1, 1, count, 0), 255))
    while replies[-1].get_type() != "MISSION_ACK":
        wanted = replies[-1].seq
        asked, fate = len(replies), next(fates)
        if fate == "ahead" and wanted + 1 < count:
            server.handle(Link, sent_by(items[wanted + 1], 255))
        elif fate != "lost":
            for _ in range(2 if fate == "twice" else 1):
                server.handle(Link, sent_by(items[wanted], 255))
                if replies[-1].get_type() == "MISSION_ACK":
                    break
        while len(replies) == asked:
            clock.t_us += 500_000
            server.step()
    assert replies[-1].type == mavlink.MAV_MISSION_ACCEPTED
    assert [item.x for item in store.stored[0]] == [item.x for item in items]


@pytest.mark.parametrize("system, port", [(254, 1), (254, 2), (255, 2)])
def test_another_sender_is_told_that_an_upload_is_in_progress(system, port):
    """As PX4 does; also one with the same ids, which another address tells apart."""
    server, store, replies, clock = protocol()

    def say(message, system, port):
        link = type("From", (Link,), {"sender": ("127.0.0.1", port)})
        server.handle(link, sent_by(message, system))
        return replies[-1]

    def item(seq):
        return mavlink.MAVLink_mission_item_int_message(
            1, 1, seq, 3, 16, 0, 1, 0, 0, 0, 0, 1, 1, 5.0, 0
        )

    count = mavlink.MAVLink_mission_count_message(1, 1, 2, 0)
    say(count, 255, 1)
    assert say(count, system, port).type == mavlink.MAV_MISSION_ERROR
    assert say(item(0), system, port).type == mavlink.MAV_MISSION_ERROR and store.history == []
    assert say(item(0), 255, 1).seq == 1
    assert say(item(1), 255, 1).type == mavlink.MAV_MISSION_ACCEPTED
    say(count, 255, 1)
    clock.t_us += BUSY_US + 1  # the first one is gone
    assert say(count, system, port).get_type() == "MISSION_REQUEST_INT"
    assert say(item(0), 255, 1).type == mavlink.MAV_MISSION_ERROR


UPLOADED = {  # of each kind one item that stays, and one of a fence that bounds nothing
    0: [(16, 3, 473977420, 85455940)],
    1: [(5003, 3, 473977420, 85455940), (16, 3, 473977420, 85455940)],
    2: [(5100, 3, 473977420, 85455940)],
}


def upload(server, kind):
    """Uploads the items of a kind; returns them as they were sent."""
    items = [
        mavlink.MAVLink_mission_item_int_message(
            1, 1, k, frame, command, 0, 1, 20.0, 0, 0, 0, x, y, 5.0, kind
        )
        for k, (command, frame, x, y) in enumerate(UPLOADED[kind])
    ]
    count = mavlink.MAVLink_mission_count_message(1, 1, len(items), kind)
    for message in (count, *items):
        server.handle(Link, sent_by(message, 255))
    return items


@pytest.mark.parametrize("kind, cleared", [(0, [0]), (1, [1]), (2, [2]), (255, [0, 1, 2])])
def test_clearing_a_kind_leaves_the_others(kind, cleared):
    server, store, replies, _ = protocol()
    for each in CAPACITY:
        upload(server, each)
    assert all(store.stored.values())
    server.handle(Link, sent_by(mavlink.MAVLink_mission_clear_all_message(1, 1, kind), 255))
    assert replies[-1].type == mavlink.MAV_MISSION_ACCEPTED
    assert [each for each in CAPACITY if not store.stored[each]] == cleared


def test_a_kind_that_does_not_exist_is_not_cleared():
    server, _, replies, _ = protocol()
    server.handle(Link, sent_by(mavlink.MAVLink_mission_clear_all_message(1, 1, 7), 255))
    assert replies[-1].type == mavlink.MAV_MISSION_UNSUPPORTED


@pytest.mark.parametrize("kind", [0, 1])
def test_only_of_a_fence_it_is_said_that_an_item_bounds_nothing(kind):
    said = []
    server, store, _, _ = protocol(lambda i, severity, text: said.append(text))
    upload(server, kind)
    assert len(store.stored[kind]) == len(UPLOADED[kind])
    assert len(said) == kind and all("bound nothing" in text for text in said)


@pytest.mark.parametrize(
    "frame, command, given, told",
    [(3, 16, (473977420, 85455940), (47.397742, 8.545594)), (2, 178, (7, 9), (7.0, 9.0))],
)
def test_an_old_request_gets_degrees_and_numbers_that_are_no_place_as_they_are(
    frame, command, given, told
):
    server, store, replies, _ = protocol()
    params = (1.0, 5.0, -1.0, 0.0)
    store.stored[0] = [Item(command, frame, params, *given, 5.0)]
    server.handle(Link, sent_by(mavlink.MAVLink_mission_request_message(1, 1, 0, 0), 255))
    item = replies[-1]
    assert item.get_type() == "MISSION_ITEM"
    assert (item.x, item.y) == pytest.approx(told, rel=1e-9)


def test_errors_carry_a_result_of_mavlink():
    error = ItemError(mavlink.MAV_MISSION_UNSUPPORTED, "why")
    assert error.result == 3 and str(error) == "why"


@pytest.mark.parametrize("command", [16, 19, 93, 112])
@pytest.mark.parametrize("seconds", [3e38, 86401.0, -1.0])
def test_no_item_waits_for_ever(command, seconds):
    with pytest.raises(ItemError, match="item 4 .*(longer than|up to|negative)") as caught:
        check_item(0, 4, Item(command, 3, (seconds, 0.0, 0.0, 0.0), 10, 10, 5.0))
    assert caught.value.result == mavlink.MAV_MISSION_INVALID_PARAM1


@pytest.mark.parametrize("k, result", [(0, 6), (1, 7), (2, 8), (3, 9)])
def test_no_parameter_is_larger_than_fits(k, result):
    for value in (3e38, math.inf, -math.inf):
        params = [0.0] * 4
        params[k] = value
        with pytest.raises(ItemError) as caught:
            check_item(0, 0, Item(177, 2, tuple(params), 0, 0, 0.0))
        assert caught.value.result == result


@pytest.mark.parametrize(
    "kind, item, number",
    [
        (1, Item(5003, 0, (50.0, 0.0, 0.0, 0.0), 473977420, 85455940, 0.0), 3186982565),
        (2, Item(5100, 3, (0.0, 0.0, 0.0, 0.0), 473977420, 85455940, 20.0), 1101918810),
    ],
)
def test_items_have_px4s_numbers(kind, item, number):
    """Those that real PX4 v1.15.4 gave in MISSION_ACK, MISSION_COUNT and MISSION_CURRENT."""
    assert opaque_id([item]) == number
    assert opaque_id([]) == 0
    server, _, replies, _ = protocol()
    server.handle(Link, sent_by(mavlink.MAVLink_mission_count_message(1, 1, 1, kind), 255))
    server.handle(
        Link,
        sent_by(
            mavlink.MAVLink_mission_item_int_message(
                1, 1, 0, item.frame, item.command, 0, 1, *item.params, item.x, item.y, item.z, kind
            ),
            255,
        ),
    )
    assert (replies[-1].type, replies[-1].opaque_id) == (mavlink.MAV_MISSION_ACCEPTED, number)
    server.handle(Link, sent_by(mavlink.MAVLink_mission_request_list_message(1, 1, kind), 255))
    assert (replies[-1].count, replies[-1].opaque_id) == (1, number)
    server.handle(Link, sent_by(mavlink.MAVLink_mission_clear_all_message(1, 1, kind), 255))
    assert replies[-1].opaque_id == 0
