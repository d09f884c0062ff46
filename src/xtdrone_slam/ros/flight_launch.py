"""The simulation, bridge, cameras and pilot of a live run, by a roslaunch on the same master."""

import argparse
import contextlib
import os
import signal
import subprocess
import time
from types import TracebackType

import rospy

from xtdrone_core import ControlError, resources
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.parent import tied

from ..errors import SlamError
from ..flight import trajectories, worlds
from ..flight.options import FlightOptions

_LANDING_S = 60.0  # wall time for the landing [s]
# Signals that end the roslaunch, and the wall time that it gets for each [s].
_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))


class FlightLaunch:
    """Context manager of a flight's roslaunch: all of its nodes end with the context."""

    def __init__(self, options: FlightOptions, args: argparse.Namespace) -> None:
        """Starts launch/slam_flight.launch.

        Args:
            options: The flight.
            args: Options of the node `benchmark`: speed, name, record, instance and wait are read.

        Raises:
            SlamError: No such world or trajectory, or the world cannot be varied.
        """
        (x, y, _), _, yaw, *_ = trajectories.load(options.trajectory).at(0.0)
        folder = run_folder.runs_root() / "worlds"
        world = worlds.vary(
            options.world, options.light, options.texture, folder / f"{options.label}.world"
        )
        self._instance, self._wait_s = args.instance, args.wait
        port = os.environ["ROS_MASTER_URI"].rpartition(":")[2].rstrip("/")
        arguments = {
            "vehicles": f"{options.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}",
            "world": world,
            "seed": options.seed,
            "gps": options.gps,
            "speed": args.speed,
            "trajectory": options.trajectory,
            "name": args.name,
            "record": args.record,
            "instance": args.instance,
        }
        self._process = subprocess.Popen(
            ["roslaunch", "-p", port, str(resources.root() / "launch" / "slam_flight.launch")]
            + [f"{name}:={value}" for name, value in arguments.items()],
            start_new_session=True,
            preexec_fn=tied(signal.SIGTERM),
        )

    def __enter__(self) -> "FlightLaunch":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is not None:
            return
        for number, seconds in _SIGNALS:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
                return

    def connect(self) -> ControlClient:
        """Returns a client of the simulation, once it answers.

        Raises:
            ControlError: It does not answer in time.
            SlamError: The roslaunch has ended before.
        """
        end_s = time.monotonic() + self._wait_s
        while self._process.poll() is None:
            try:
                return ControlClient(self._instance, self._wait_s)  # it may still be compiling
            except ControlError:
                if time.monotonic() > end_s:
                    raise
                time.sleep(0.1)
        raise SlamError("the simulation ended before the flight: see its messages above")

    def await_landing(self) -> None:
        """Waits for the roslaunch to end: the pilot stops the simulation after the landing."""
        end_s = time.monotonic() + _LANDING_S
        while self._process.poll() is None and time.monotonic() < end_s and not rospy.is_shutdown():
            time.sleep(0.1)
