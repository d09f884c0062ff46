"""Requests that the plugin in gzserver does not understand end the flight with a reason."""

import struct

import numpy as np
import pytest

from xtdrone_core import Scenario, resources
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.errors import EngineError
from xtdrone_sim.simulation import Simulation

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.slow,
    pytest.mark.skipif(
        not (resources.root() / ".setup/gazebo11/libxtdrone_lockstep.so").is_file(),
        reason="Gazebo 11 is not set up: scripts/setup_gazebo.sh",
    ),
]
PAYLOAD, CAST, SCANNERS = 6, 7, 8  # operations of lockstep_world.cc


def request(operation, body=b""):
    return struct.pack("<II", operation, len(body)) + body


@pytest.mark.long
@pytest.mark.parametrize(
    "garbage",
    [
        request(99),
        struct.pack("<II", 1, 2**32 - 1),
        request(1, b"x"),
        request(PAYLOAD, np.full(11, np.nan).tobytes()),
        request(CAST, np.full(8, 1e300).tobytes()),
        request(SCANNERS, b"nobody\tlink\tlidar\t1 2 3\n"),
    ],
    ids=["operation", "length", "step", "payload", "cast", "scanners"],
)
def test_garbage_on_the_plugins_socket_ends_with_a_reason(garbage):
    simulation = Simulation(Scenario(fleet("iris", 1), engine="gazebo", speed=0.0), links=False)
    try:
        simulation.step()
        processes = list(simulation.engine.processes)
        simulation.engine.channel.socket.sendall(garbage)
        with pytest.raises(EngineError, match="gzserver (has ended|answers)") as error:
            for _ in range(3):
                simulation.step()
        assert "\n" not in str(error.value)
    finally:
        simulation.close()
    assert all(process.poll() is not None for process in processes)
