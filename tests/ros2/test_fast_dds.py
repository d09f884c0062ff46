"""A simulation of nine vehicles and a C++ program on Debian's Fast DDS: sensors and a flight."""

import contextlib

import pytest

pytest.importorskip("cyclonedds")

import fast_dds
from processes import SimulationProcess
from xtdrone_core.runs.ports import Ports
from xtdrone_ros2.topics import pegasus, px4_out
from xtdrone_ros2.topics.row import STATE_RATE

N = 9
DOMAIN = 70 + Ports().instance
HEIGHT = 1.0
STEP_NS = 4_000_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not fast_dds.installed(), reason=fast_dds.MISSING),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return fast_dds.compiled(tmp_path_factory.mktemp("fast_dds"))


@contextlib.contextmanager
def simulated(folder, *options):
    simulation = SimulationProcess(folder, "--ros2", "true", "--ros2_domain", DOMAIN, *options)
    try:
        yield simulation
    finally:
        simulation.said = simulation.stop()


def topics():
    """All that vehicles publish, and the time."""
    every = [("/clock", "rosgraph_msgs/Clock")]
    for i in range(N):
        every += [(f"/drone{i}/{row.name}", row.type) for row in pegasus.TOPICS]
        every += [
            (f"{px4_out.namespace(i)}/fmu/out/{row.name}", row.type) for row in px4_out.TOPICS
        ]
    return every


@pytest.mark.long
def test_nine_vehicles_are_heard_and_one_is_flown(program, tmp_path):
    """Every reading of every sensor arrives, at 250 Hz for the IMU, while vehicle 3 takes off."""
    with simulated(tmp_path, "--n", N, "--log", "none") as simulation:
        user = fast_dds.FastDdsUser(program, tmp_path, DOMAIN, 60.0, topics(), ("/px4_3", HEIGHT))
        try:
            heard, word = user.results()
        finally:
            user.close()
    assert word == "flown", simulation.said
    assert "lost" not in simulation.said
    assert [topic for topic, one in heard.items() if one.bad] == []
    assert [topic for topic, one in heard.items() if not one.count] == []
    for i in range(N):
        imu = heard[f"/drone{i}/sensors/imu"]
        assert imu.count > 250 and (imu.minimum, imu.maximum) == (STEP_NS, STEP_NS)
        for row in pegasus.TOPICS:
            if row.period_us == STATE_RATE:
                one = heard[f"/drone{i}/{row.name}"]
                assert (one.minimum, one.maximum) == (5 * STEP_NS, 5 * STEP_NS), row.name
        for name in ("mag", "gps", "gps_twist"):
            one = heard[f"/drone{i}/sensors/{name}"]
            assert one.maximum - one.minimum <= STEP_NS, name  # its period, to a step
    pose = heard["/drone3/state/pose"].last
    assert pose[3] == pytest.approx(HEIGHT, abs=0.6)
    assert heard["/px4_3/fmu/out/vehicle_status"].last[3] == 2  # armed
    assert heard["/fmu/out/vehicle_status"].last[3] == 1
