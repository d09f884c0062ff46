"""The participant as others see it: bytes, qualities of service, ROS 2's graph."""

import time

import numpy as np
import pytest

pytest.importorskip("cyclonedds")

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import Policy

from xtdrone_core.runs.ports import Ports
from xtdrone_ros2.errors import Ros2Error
from xtdrone_ros2.wire import node as dds, quality
from xtdrone_ros2.wire.layout import Layout
from xtdrone_ros2.wire.types import DISTRIBUTIONS, Types

POSE = "geometry_msgs/msg/PoseStamped"
DOMAIN = 60 + Ports().instance


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.005)


@pytest.fixture(params=DISTRIBUTIONS)
def node(request):
    node = dds.Node(Types(request.param), "/team/xtdrone", DOMAIN)
    yield node
    node.close()


def test_bytes_arrive_as_they_were_written(node):
    got = []
    writer = node.writer("/a/pose", POSE, quality.DEFAULT)
    node.reader("/a/pose", POSE, got.append, quality.DEFAULT)
    layout = Layout(node.types, node.types.message(POSE, header={"frame_id": "map"}))
    record = layout.records(1)
    until(lambda: writer.wanted)
    for k in range(5):
        record["pose.position"] = k
        writer.write(record.tobytes())
    until(lambda: node.handle() or len(got) == 5)
    assert got[4] == record.tobytes()
    assert np.array([node.types.read(data, POSE).pose.position.x for data in got]).tolist() == [
        0.0,
        1.0,
        2.0,
        3.0,
        4.0,
    ]


def test_nobody_is_written_to_without_a_subscriber_of_its_kind(node):
    writer = node.writer("/b", POSE, quality.SENSOR)
    assert not writer.wanted
    node.reader("/b", POSE, lambda data: None, quality.DEFAULT)  # wants it reliable: no match
    until(lambda: writer.entity.get_offered_incompatible_qos_status().total_count)
    assert not writer.wanted
    node.reader("/b", POSE, lambda data: None, quality.SENSOR)
    until(lambda: writer.wanted)


def test_who_comes_late_gets_what_is_latched(node):
    got = []
    writer = node.writer("/tf_static", "tf2_msgs/msg/TFMessage", quality.LATCHED)
    assert writer.wanted
    data = node.types.serialised(node.types.message("tf2_msgs/msg/TFMessage", transforms=[{}]))
    writer.write(data)
    node.reader("/tf_static", "tf2_msgs/msg/TFMessage", got.append, quality.LATCHED)
    until(lambda: node.handle() or got)
    assert got == [data]


def test_the_graph_of_ros_2(node):
    """`ros2 node list` reads ros_discovery_info, `ros2 topic list` DDS's own discovery."""
    kind = "rmw_dds_common/msg/ParticipantEntitiesInfo"
    writer = node.writer("/drone0/state/pose", POSE, quality.SENSOR)
    reader = node.reader("/cmd", POSE, lambda data: None, quality.SENSOR)
    node.announce()
    got = []
    graph = dds.Reader(node, "ros_discovery_info", kind, quality.LATCHED, got.append)
    until(lambda: node.handle() or got)
    told = node.types.read(got[-1], kind)
    (own,) = told.node_entities_info_seq
    assert (own.node_namespace, own.node_name) == ("/team", "xtdrone")
    ids = [bytes(gid.data[:16]) for seq in (own.writer_gid_seq, own.reader_gid_seq) for gid in seq]
    assert ids == [writer.entity.get_guid().bytes, reader.entity.get_guid().bytes]
    assert len(told.gid.data) == {"humble": 24, "jazzy": 16}[node.types.distribution]
    builtin = BuiltinDataReader(node.participant, BuiltinTopicDcpsPublication)
    found = {}
    until(
        lambda: (
            found.update({p.topic_name: p for p in builtin.take(50)})
            or "rt/drone0/state/pose" in found
        )
    )
    seen = found["rt/drone0/state/pose"]
    assert seen.type_name == "geometry_msgs::msg::dds_::PoseStamped_"
    assert seen.qos[Policy.Reliability] == Policy.Reliability.BestEffort
    assert graph is not None


def test_a_service_answers_its_caller(node):
    """As rmw_cyclonedds_cpp calls it: 8 bytes of the client's, 8 of the call's number, the rest."""
    kind = "std_srvs/srv/Trigger"
    node.service(
        "/a/go",
        kind,
        lambda request: node.types.message(f"{kind}_Response", success=True, message="gone"),
    )
    node.announce()
    got = []
    asking = dds.Writer(node, "rq/a/goRequest", f"{kind}_Request", quality.DEFAULT)
    answers = dds.Reader(node, "rr/a/goReply", f"{kind}_Response", quality.DEFAULT, got.append)
    until(lambda: asking.wanted and answers.entity.get_subscription_matched_status().current_count)
    whose = bytes(range(16))
    request = node.types.serialised(node.types.blank(f"{kind}_Request"))
    asking.write(request[:4] + whose + request[4:])
    until(lambda: node.handle() or got)
    (data,) = got
    assert data[4:20] == whose
    response = node.types.read(data[:4] + data[20:], f"{kind}_Response")
    assert (response.success, response.message) == (True, "gone")


def test_a_slow_subscriber_loses_what_it_does_not_take(node, monkeypatch):
    writer = node.writer("/slow", POSE, quality.DEFAULT)
    monkeypatch.setattr(dds, "ddspy_write", lambda number, data: -10)  # a time-out
    writer.write(b"")
    monkeypatch.setattr(dds, "ddspy_write", lambda number, data: -5)
    with pytest.raises(Ros2Error, match="DDS does not take a message of rt/slow"):
        writer.write(b"")


def test_an_address_that_is_not_ours():
    with pytest.raises(Ros2Error, match=r"DDS cannot start on 192\.0\.2\.1"):
        dds.Node(Types(), "/xtdrone", DOMAIN, "192.0.2.1")
