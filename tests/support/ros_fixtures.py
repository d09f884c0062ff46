"""Fixtures of the tests that need ROS: a master on a free port, nodes as processes."""

import contextlib
import importlib.util
import itertools
import os
import signal
import socket
import subprocess
import sys
import xmlrpc.client
from pathlib import Path

import pytest

from own_ports import PORTS
from waiting import LIMIT_S, until

ROOT = Path(__file__).resolve().parents[2]
NODES = ROOT / "src" / "xtdrone_control" / "nodes"
GENERATED = ROOT / ".setup" / "ros"
needs_ros = pytest.mark.skipif(
    importlib.util.find_spec("rospy") is None, reason="ROS is not installed here"
)
if GENERATED.is_dir() and str(GENERATED) not in sys.path:
    sys.path.append(str(GENERATED))


# Between the ports of XTDrone (see xtdrone_core.runs.ports) and ROS's and Gazebo's own, so that
# none is taken between its choice and its use. Each instance has its own, and each is given once;
# another test run begins elsewhere.
_SHARE = 320
_FIRST = 11_400 + _SHARE * PORTS.instance
_PORTS = itertools.islice(
    itertools.cycle(range(_FIRST, _FIRST + _SHARE)), 97 * os.getpid() % _SHARE, None
)


def free_port() -> int:
    """A TCP port of loopback that nobody uses."""
    for port in _PORTS:
        with socket.socket() as sock:
            try:
                sock.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def environment(master_port: int, folder) -> dict:
    """The environment of scripts/env.sh with a master and a ROS_HOME of its own."""
    return {
        **os.environ,
        "ROS_MASTER_URI": f"http://127.0.0.1:{master_port}",
        "ROS_IP": "127.0.0.1",
        "ROS_HOME": str(folder / "ros_home"),
        "XTDRONE_RUNS": str(folder / "runs"),
        "PYTHONUNBUFFERED": "1",
        "PATH": f"{ROOT / 'scripts/ros'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{GENERATED}",
        "ROS_PACKAGE_PATH": str(ROOT / "src"),
    }


class Processes:
    """Processes that end with the test, each in a group of its own."""

    def __init__(self, env):
        self.env = env
        self._running = []

    def start(self, *command) -> subprocess.Popen:
        """Starts one; its standard output and error come together."""
        process = subprocess.Popen(
            list(map(str, command)),
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._running.append(process)
        return process

    def ask(self, call, *arguments):
        """What the ROS master answers to a call of its API; None while it does not."""
        master = xmlrpc.client.ServerProxy(self.env["ROS_MASTER_URI"])
        try:
            code, _, value = getattr(master, call)("/tests", *arguments)
        except OSError:
            return None
        return value if code == 1 else None

    def parameter(self, name):
        """A parameter of the ROS master; None while there is none, or no master."""
        return self.ask("getParam", name)

    def names(self) -> tuple[set[str], set[str]]:
        """Topics that somebody publishes or hears, and services."""
        published, heard, services = self.ask("getSystemState")
        return {name for name, _ in published + heard}, {name for name, _ in services}

    def await_vehicles(self, running):
        """Waits until the bridge of a launch has said which vehicles there are."""
        try:
            until(lambda: self.parameter("/xtdrone/vehicles"), "the bridge is up", running)
        except AssertionError:
            pytest.fail(self.stop(running))

    def run(self, *command, timeout=LIMIT_S) -> subprocess.CompletedProcess:
        """Runs one to its end; where that does not come, ends everything."""
        try:
            return subprocess.run(
                list(map(str, command)),
                env=self.env,
                text=True,
                timeout=timeout,
                capture_output=True,
            )
        except subprocess.TimeoutExpired:
            self.close()
            raise

    def stop(self, process) -> str:
        """Ends one as Ctrl-C does, and returns what it printed."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        try:
            return process.communicate(timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise

    def left(self) -> dict[int, str]:
        """Pids and command lines of all that these started and that is there now.

        Found by their ROS_HOME: roslaunch gives each node a session of its own.
        """
        mark, found = f"ROS_HOME={self.env['ROS_HOME']}\0".encode(), {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                if mark in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        return found

    def close(self):
        """Ends them all, the last one first; then what a roslaunch may have left."""
        try:
            for process in reversed(self._running):
                if process.poll() is None:
                    self.stop(process)
                process.stdout.close()
        finally:
            for pid in self.left():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def ros(tmp_path):
    """A ROS master on a free port; ros.start and ros.run start processes that know it.

    roscore's own, without /rosout, which nobody here hears and which takes seconds to end.
    """
    port = free_port()
    processes = Processes(environment(port, tmp_path))
    try:
        master = processes.start("rosmaster", "--core", "-p", port)
        until(lambda: processes.parameter("/") is not None, "the ROS master answers", master)
        yield processes
    finally:
        processes.close()
