"""The process of ROS 2: told what is simulated by standard input, it ends with it.

Each byte on standard input says that there is a step in the ring. At each tick of the control
socket it answers when all steps up to there are published, so an unpaced simulation never runs
away from it.
"""

import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np

from xtdrone_core import ControlError, XtdroneError
from xtdrone_core.errors import failure
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_dynamics.earth.geoid import geoid_height

from .errors import Ros2Error

_IN = 0  # standard input
_NODE = "/xtdrone"


class _Process:
    """The loop."""

    def __init__(self, told: dict):
        from .cameras import Cameras
        from .commands import Commands
        from .feed import Feed
        from .publishing import Publisher
        from .simulation_services import SimulationServices
        from .topics import pegasus, px4_out
        from .topics.row import Fleet, numbered
        from .wire.node import Node
        from .wire.recorder import Recorder
        from .wire.types import Types

        fleet = Fleet(
            tuple(told["names"]),
            tuple(told["origin"]),
            geoid_height(*told["origin"][:2]),
            np.array(told["offsets"]),
            np.array(told["vehicle_type"], np.uint8),
            np.array(told["vtol"], np.bool_),
        )
        self._told = told
        self._feed = Feed(told["ring"], fleet.n)
        types = Types(told["distribution"])
        self._recorder = (
            None
            if told["record"] == "none"
            else Recorder(
                Path(told["folder"]) / "bags" / "ros2", told["record"], told["topics"], types, _say
            )
        )
        self._node = Node(types, _NODE, told["domain"], told["address"], self._recorder)
        self._publisher = Publisher(
            self._node,
            fleet,
            round(1e6 / told["rate"]),
            (
                (pegasus.TOPICS, lambda i: numbered(pegasus.NAMESPACE, i)),
                (px4_out.TOPICS, lambda i: f"{px4_out.namespace(i)}/fmu/out"),
            ),
        )
        self._commands = Commands(
            self._node,
            fleet.names,
            told["vehicle_type"],
            told["instance"],
            told["px4"],
            told["mavros"],
            told["rotors"],
        )
        self._cameras = Cameras(self._node, self._publisher.frames, told["names"], told["cameras"])
        if told["control"]:
            SimulationServices(self._node, told["instance"])
            self._commands.parameters.offer(_NODE, told["options"], told["instance"])
        self._node.announce()
        self._client = ControlClient(told["instance"]) if told["control"] else None
        self._lost = 0

    def run(self) -> None:
        """Works until standard input ends."""
        poll = select.poll()
        for source in (_IN, self._node, self._commands, self._client):
            if source is not None:
                poll.register(source, select.POLLIN)
        if self._client is not None:
            self._client.ask("subscribe", barrier=True)
            subscribed = False
        while True:
            ready = {number for number, _ in poll.poll()}
            if _IN in ready and not os.read(_IN, 65536):
                return
            self._steps()
            self._node.handle()
            self._commands.handle()
            if self._client is not None and self._client.fileno() in ready:
                if not subscribed:
                    self._client.answer()
                    subscribed = True
                while self._client.ready(0.0):
                    t_us, _ = self._client.next_tick()
                    self._steps()
                    self._cameras.publish(self._client)
                    self._client.done(t_us)

    def _steps(self):
        for t_us, vehicles in self._feed.read():
            if self._recorder is not None:
                self._recorder.now_us = t_us
            self._commands.step(t_us, vehicles)
            self._publisher.publish(t_us, vehicles)
        if self._feed.lost > self._lost:
            _say(
                f"{self._feed.lost - self._lost} steps were lost: this machine is too slow for "
                "what is subscribed to"
            )
            self._lost = self._feed.lost

    def close(self) -> None:
        """Completes the bag, and leaves the domain."""
        if self._recorder is not None:
            self._recorder.close()
        self._commands.close()
        self._node.close()


def _say(text):
    print(text, file=sys.stderr, flush=True)


def main() -> NoReturn:
    """Runs until standard input ends, and exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the flight, and that this process
    told = json.loads(sys.stdin.readline())
    try:
        try:
            process = _Process(told)
        except ImportError as error:
            raise Ros2Error(f"it needs {error.name}: pip install 'xtdrone[ros2]'") from error
        print("ready", flush=True)
        sys.stdout = sys.stderr  # what is said from now on is for the simulation's log
        try:
            process.run()
        except ControlError:  # the simulation has ended
            pass
        except Exception as error:
            raise Ros2Error(f"it ends: {failure('a step', error)}") from error
        finally:
            process.close()
    except XtdroneError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)  # threads that wait for silent vehicles are not waited for


if __name__ == "__main__":
    main()
