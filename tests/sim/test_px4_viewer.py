"""HIL_STATE_QUATERNION for PX4's own viewer, decoded by pymavlink and held against the truth."""

import socket

import numpy as np
import pytest

from xtdrone_control.agents import SquareAgent
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.ports import Ports
from xtdrone_dynamics.earth.geodesy import to_local_array
from xtdrone_dynamics.quaternion import rotate_inverse_array
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.viewing import px4_viewer
from xtdrone_sim.viewing.px4_viewer import Px4Viewer

N = 2


@pytest.fixture
def viewers():
    found = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(N)]
    for i, each in enumerate(found):
        each.bind(("127.0.0.1", Ports().viewer(i)))
        each.setblocking(False)
    yield found
    for each in found:
        each.close()


def newest(viewer):
    """The last message that came, and how many there were."""
    decoder, message, count = mavlink.MAVLink(None), None, 0
    while True:
        try:
            data = viewer.recv(4096)
        except BlockingIOError:
            return message, count
        [message] = decoder.parse_buffer(data)
        count += 1


def test_ports_are_px4s():
    assert [Ports(0).viewer(i) for i in (0, 7)] == [19410, 19417]
    assert Ports(2).viewer(1) == 25411


def test_viewer_gets_the_true_state(viewers, monkeypatch):
    monkeypatch.setattr(px4_viewer, "MIN_PERIOD_S", 0.0)
    scenario = Scenario(vehicles="iris@0,0; iris@3,1,0,1", speed=0.0, wind="4,1,0")
    simulation = Simulation(scenario, None, SquareAgent(N), links=False)
    simulation.observers.append(Px4Viewer(simulation.scenario, simulation.world))
    counts = np.zeros(N, dtype=int)
    try:
        for until_us in (3_000_000, 7_500_000):
            while simulation.t_us < until_us:
                simulation.step()
                read = (
                    [newest(viewer) for viewer in viewers] if simulation.t_us % 20_000 == 0 else []
                )
                counts += [count for _, count in read] or 0
            for i, (message, _) in enumerate(read):
                compare(message, simulation, i)
    finally:
        simulation.close()
    assert list(counts) == [375] * N
    assert simulation.state.pos[:, 2].min() > 1.0


def compare(message, simulation, i):
    state, world = simulation.state, simulation.world
    assert message.get_type() == "HIL_STATE_QUATERNION" and message.get_srcSystem() == i + 1
    assert message.time_usec == simulation.t_us
    place = [np.radians(message.lat * 1e-7), np.radians(message.lon * 1e-7), message.alt * 1e-3]
    origin = world.latitude, world.longitude, world.altitude
    np.testing.assert_allclose(to_local_array([place], *origin)[0], state.pos[i], atol=0.02)
    east, north, up = state.vel[i]
    np.testing.assert_allclose(
        [message.vx, message.vy, message.vz], 100 * np.array([north, east, -up]), atol=0.51
    )
    np.testing.assert_allclose(
        [message.rollspeed, message.pitchspeed, message.yawspeed],
        state.ang_vel[i] * [1, -1, -1],
        atol=1e-6,
    )
    w, x, y, z = message.attitude_quaternion
    # The nose, FRD's x, as the world's east and north.
    nose = np.array([2 * (x * y + w * z), 1 - 2 * (y * y + z * z)])
    a, b, c, d = state.quat[i]
    np.testing.assert_allclose(nose, [1 - 2 * (b * b + c * c), 2 * (a * b + d * c)], atol=1e-6)
    acc = rotate_inverse_array(state.quat[i : i + 1], state.acc[i : i + 1])[0] / 9.80665 * 1000
    np.testing.assert_allclose(
        [message.xacc, message.yacc, message.zacc], acc * [1, -1, -1], atol=0.51
    )


def test_without_a_viewer_the_flight_goes_on():
    simulation = Simulation(Scenario(vehicles="iris*1"), None, links=False)
    simulation.observers.append(Px4Viewer(simulation.scenario, simulation.world))
    for _ in range(50):
        simulation.step()
    simulation.close()
    simulation.close()
