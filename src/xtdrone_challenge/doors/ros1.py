"""Nodes of ROS 1: a master of their own, with MAVROS's and XTDrone's topics, without the truth."""

import shutil
import socket
import sys
import xmlrpc.client
from pathlib import Path
from typing import Any, ClassVar

import xtdrone_control
import xtdrone_sim
from xtdrone_core import Scenario

from ..errors import ChallengeError
from ..programs import Processes
from .door import Door, against_the_rules, await_servers

_CALLER = "/challenge_judge"


class Ros1Door(Door):
    """A ROS master, and the bridge."""

    control: ClassVar[bool] = True

    def check(self) -> None:
        """Refuses a machine without ROS 1.

        Raises:
            ChallengeError: It has none.
        """
        if shutil.which("rosmaster") is None:
            raise ChallengeError(
                "there is no ROS 1 here: `make setup` installs it, and `. scripts/env.sh` finds it"
            )

    def open(self, simulation: Any, processes: Processes, folder: Path) -> None:
        """Starts the master and what serves the team, then closes the control socket to others.

        Raises:
            ChallengeError: They do not answer.
        """
        port = _free_port()
        self._uri = f"http://127.0.0.1:{port}"
        self._master: Any = xmlrpc.client.ServerProxy(self._uri)
        self._home = folder / "ros"
        self._home.mkdir()
        scenario, told = simulation.scenario, self.environment(simulation.scenario)

        def start(name: str, *words: object) -> None:
            processes.start(words, told, self._home / f"{name}.log")

        start("master", "rosmaster", "--core", "-p", port)
        logs = str(self._home)
        await_servers(simulation, lambda: self._ask("getPid") is not None, logs)
        self._ask("setParam", "/use_sim_time", True)
        nodes, clients = Path(xtdrone_control.__file__).parent / "nodes", 1
        start("bridge", sys.executable, nodes / "bridge", "--blind")
        start("communication", sys.executable, nodes / "communication")
        if simulation.rendered_sensors():
            cameras = Path(xtdrone_sim.__file__).parent / "nodes" / "cameras"
            start("cameras", sys.executable, cameras)
            clients += 1
        server = simulation.requests.server
        await_servers(
            simulation,
            lambda: (
                server.connections == clients
                and server.has_subscriber
                and all(self._serves(spec.name) for spec in scenario.vehicles)
            ),
            logs,
        )
        server.admit_no_more()

    def _serves(self, name: str) -> bool:
        """Whether XTDrone's communication node has a vehicle; it comes after the bridge."""
        state = self._ask("getSystemState")
        return state is not None and f"/xtdrone/{name}/cmd" in dict(state[1])

    def _ask(self, call: str, *arguments: object) -> Any:  # what the master answers
        try:
            code, _, value = getattr(self._master, call)(_CALLER, *arguments)
        except OSError:
            return None
        return value if code == 1 else None

    def environment(self, scenario: Scenario) -> dict[str, str]:
        """The master."""
        return {
            "ROS_MASTER_URI": self._uri,
            "ROS_IP": "127.0.0.1",
            "ROS_HOME": str(self._home),
            "PYTHONUNBUFFERED": "1",
        }

    def forbidden(self) -> str:
        """Asks the master who subscribes to what."""
        state = self._ask("getSystemState")
        if state is None:
            return ""
        return against_the_rules({topic: nodes[0] for topic, nodes in state[1]})


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


DOOR = Ros1Door
