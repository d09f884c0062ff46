"""Bags of our own writer, and the inputs and outputs that pass serialised messages."""

import json
import subprocess
import sys

from ros_fixtures import needs_ros, ros  # noqa: F401
from small_disk import files_end_at
from waiting import LIMIT_S
from xtdrone_core.runs.log_file import LogGaps

pytestmark = needs_ros
KIND = "std_msgs/String", "992ce8a1687cec8c8bd883ec73ca41d1", "string data\n"


def text(words):
    return len(words).to_bytes(4, "little") + words


def filled(path, count, gaps=None):
    """A bag of two topics with a message on each every 10 ms; more than one chunk."""
    from xtdrone_ros1.bag import Bag

    bag = Bag(path, gaps)
    numbers = [bag.connection(topic, *KIND) for topic in ("/a", "/b")]
    for k in range(count):
        for number in numbers:
            bag.write(number, 10_000 * k, text(b"%d of %d" % (k, number) + 500 * b"."))
    return bag


def read(path):
    from rosbags.rosbag1 import Reader

    with Reader(path) as bag:
        assert all(c.digest == KIND[1] and c.msgdef.data == KIND[2] for c in bag.connections)
        return [
            (connection.topic, t_ns, data[4:].rstrip(b"."))
            for connection, t_ns, data in bag.messages()
        ]


def test_a_bag_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "ros.bag"
    bag = filled(path, 300)
    assert not path.exists()
    bag.close()
    bag.close()
    assert path.stat().st_size > 3 * (64 << 10)
    found = read(path)
    assert len(found) == 600
    assert sorted(found) == sorted(
        (topic, 10_000_000 * k, b"%d of %d" % (k, number))
        for k in range(300)
        for number, topic in enumerate(("/a", "/b"))
    )
    said = subprocess.run(["rosbag", "info", path], capture_output=True, text=True).stdout
    assert "messages:    600" in said and "duration:    3.0s" in said, said


def test_an_empty_bag_is_valid(tmp_path):
    path = tmp_path / "ros.bag"
    filled(path, 0).close()
    assert read(path) == []


def test_a_bag_whose_writer_was_killed_is_restored_but_for_its_last_chunk(tmp_path):
    filled(tmp_path / "ros.bag", 300)
    cut = tmp_path / "cut.bag"
    cut.write_bytes((tmp_path / "ros.bag.active").read_bytes())
    done = subprocess.run(["rosbag", "reindex", cut], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = read(cut)
    assert 600 - (64 << 10) // 500 < len(found) < 600
    assert {topic for topic, *_ in found} == {"/a", "/b"}


def test_a_bag_on_a_full_disk_lacks_chunks_and_is_complete_once_there_is_space(tmp_path):
    """Files that may not grow further stand for the disk that is full."""
    gaps = LogGaps(tmp_path, list)
    bag = filled(tmp_path / "ros.bag", 300, gaps)
    size = (tmp_path / "ros.bag.active").stat().st_size
    with files_end_at(size + 1000):
        for k in range(300, 600):
            bag.write(0, 10_000 * k, text(b"lost" + 500 * b"."))
    assert (tmp_path / "ros.bag.active").stat().st_size == size
    for k in range(600, 900):
        bag.write(1, 10_000 * k, text(b"found" + 500 * b"."))
    bag.close()
    (gap,) = gaps.table()
    ((begin, end),) = gap["missing_s"]
    found = [t_ns * 1e-9 for _, t_ns, _ in read(tmp_path / "ros.bag")]
    assert gap["log"] == "ros.bag" and 2.5 < begin < 3.0 and 5.0 < end < 6.0
    assert not [t_s for t_s in found if begin + 1e-3 < t_s < end - 1e-3] and max(found) == 8.99


LISTENER = """
import json, sys, threading, time, rospy
from std_msgs.msg import String
from xtdrone_ros1.topics import Input, Output
rospy.init_node("listener", disable_rostime=True)
first, second, own = [], [], []
Input("/words", "std_msgs/String", lambda data: first.append(len(data)))
Input("/words", "std_msgs/String", lambda data: second.append(len(data)))
Input("/own", "std_msgs/String", lambda data: own.append(data[4:].decode()))
output = Output("/own", "std_msgs/String")
while not output.wanted(): time.sleep(0.01)
for k in range(1000): output.publish(len(str(k)).to_bytes(4, "little") + str(k).encode())
while len(first) < int(sys.argv[1]): time.sleep(0.01)
names = [thread.name for thread in threading.enumerate()]
print(json.dumps([first, second, own, names.count("inputs"),
                  sum(name in ("/words", "/own") for name in names)]), flush=True)
"""
TALKER = """
import time, rospy
from std_msgs.msg import String
rospy.init_node("talker", anonymous=True)
words = rospy.Publisher("/words", String, queue_size=100)
while not words.get_num_connections(): time.sleep(0.01)
for size in [1, 10, 2_000_000] * 20: words.publish("x" * size)
time.sleep(1.0)
"""


def test_an_input_gets_every_message_of_every_publisher_in_one_thread(ros):  # noqa: F811
    listener = ros.start(sys.executable, "-c", LISTENER, "120")
    for _ in range(2):  # the second one after the first has gone
        done = ros.run(sys.executable, "-c", TALKER)
        assert done.returncode == 0, done.stderr
    said = listener.communicate(timeout=LIMIT_S)[0]
    first, second, own, readers, others = json.loads(said.splitlines()[-1])
    assert first == second == [size + 4 for size in [1, 10, 2_000_000]] * 40
    assert own == [str(k) for k in range(1000)]
    assert (readers, others) == (1, 0)
