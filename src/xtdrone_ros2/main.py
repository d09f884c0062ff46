"""The process of ROS 2, which gets a FleetDescription on standard input, and ends with it.

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

from xtdrone_core import ControlError, XtdroneError, extras
from xtdrone_core.errors import failure
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_dynamics.earth.geoid import geoid_height

from .description import FleetDescription
from .errors import Ros2Error

_IN = 0  # standard input
_NODE = "/xtdrone"


class _Ros2Process:
    """The node, its publishers and commands, and the loop that serves them."""

    def __init__(self, description: FleetDescription):
        from .cameras import Cameras
        from .commands import Commands
        from .feed import Feed
        from .goals import Goals
        from .publishing import Publisher
        from .simulation_services import SimulationServices
        from .topics import pegasus, px4_out
        from .topics.row import Fleet, numbered
        from .wire.node import Node
        from .wire.recorder import Recorder
        from .wire.types import Types

        fleet = Fleet(
            tuple(description.names),
            description.origin,
            geoid_height(*description.origin[:2]),
            np.array(description.offsets),
            np.array(description.vehicle_types, np.uint8),
            np.array(description.vtol, np.bool_),
        )
        self._feed = Feed(description.ring, fleet.n)
        types = Types(description.distribution)
        self._recorder = (
            None
            if description.record == "none"
            else Recorder(
                Path(description.folder) / "bags" / "ros2",
                description.record,
                description.topics,
                types,
                _log,
            )
        )
        self._node = Node(types, _NODE, description.domain, description.address, self._recorder)
        self._publisher = Publisher(
            self._node,
            fleet,
            round(1e6 / description.rate),
            (
                (
                    pegasus.TOPICS if description.truth else pegasus.READINGS,
                    lambda i: numbered(pegasus.NAMESPACE, i),
                ),
                (px4_out.TOPICS, lambda i: f"{px4_out.namespace(i)}/fmu/out"),
            ),
            moving_frames=description.truth,
        )
        self._commands = Commands(
            self._node,
            fleet.names,
            description.namespaces,
            description.vehicle_types,
            description.instance,
            description.px4,
            description.mavros,
            description.rotors,
        )
        self._cameras = Cameras(
            self._node, self._publisher.frames, description.namespaces, description.cameras
        )
        if description.control and description.truth:
            SimulationServices(self._node, description.instance)
            Goals(self._node, description.instance, _log)
            self._commands.parameters.offer(_NODE, description.options, description.instance)
        self._node.announce()
        self._client = ControlClient(description.instance) if description.control else None
        self._lost = 0

    def run(self) -> None:
        """Works until standard input ends."""
        poll = select.poll()
        for source in (_IN, self._node, self._commands, self._client):
            if source is not None:
                poll.register(source, select.POLLIN)
        if self._client is not None:
            self._client.ask("subscribe", barrier=True, truth=False)
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
                    t_us = self._client.next_time()
                    self._steps()
                    self._cameras.publish(self._client)
                    self._client.done(t_us)

    def _steps(self) -> None:
        for t_us, vehicles in self._feed.read():
            if self._recorder is not None:
                self._recorder.now_us = t_us
            self._commands.step(t_us, vehicles)
            self._publisher.publish(t_us, vehicles)
        if self._feed.lost > self._lost:
            _log(
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


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> NoReturn:
    """Runs until standard input ends, and exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the flight, and that this process
    description = FleetDescription.from_json(json.loads(sys.stdin.readline()))
    try:
        try:
            process = _Ros2Process(description)
        except ImportError as error:
            raise Ros2Error(extras.lacking("ROS 2", error, "ros2")) from error
        print("ready", flush=True)
        sys.stdout = sys.stderr  # output from now on is for the simulation's log
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
