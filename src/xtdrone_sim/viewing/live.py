"""The window of a running simulation, in a process of its own.

The simulation writes poses into a ring in shared memory and never waits for the window: a window
that is closed, stopped, or loses its display does not touch the flight. What is in the scene goes
through the window's standard input, a line of JSON each time it changes; at its end the window
closes.
"""

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from xtdrone_core import FleetState, Vehicle, VehicleSpec
from xtdrone_core.runs.frame_ring import FrameWriter, path_of
from xtdrone_core.runs.parent import end, tied
from xtdrone_core.windows import display

from ..errors import EngineError
from ..world import World
from ..world.models import WorldModel
from .flights import blank_state
from .live_flight import SceneDescription

_log = logging.getLogger(__name__)
PERIOD_S = 0.02  # wall time between two poses in the ring [s]
READY = b"ready\n"  # what the window writes when it is open
_MODULE = "xtdrone_sim.viewing.live_process"
_CLOSE_S = 5.0  # wall time that the window gets to close [s]


class InsertedStates(Protocol):
    """What an engine knows of models that were inserted into the world."""

    def inserted_states(self) -> np.ndarray:
        """Returns their states (P, 13)."""


class LiveWindow:
    """The simulation's end: starts the window and sends it what is where.

    Attributes:
        process: The window's; None once it has ended.
        ring: What has the poses; None once the window has ended.
    """

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        instance: int,
        inserted: tuple[WorldModel, ...],
    ) -> None:
        """Opens the window.

        Args:
            world: The world.
            specs, models: The vehicles of the fleet.
            instance: Instance of the simulation.
            inserted: Models that were inserted into the world.

        Raises:
            EngineError: It cannot open, for example without a display.
        """
        if not display.is_named():
            raise EngineError("gui needs a display: set DISPLAY, or run without gui")
        self._world, self._specs, self._instance = world, specs, instance
        self._joints = blank_state(models).joint_pos.shape
        self._due = 0.0
        self.ring: FrameWriter | None = None
        self.process: subprocess.Popen[bytes] | None = None
        process = self.process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=tied(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdin is not None
        assert process.stdout is not None and process.stderr is not None
        self._pipe = process.stdin
        try:
            self.ring = self._send_scene(inserted)
            if process.stdout.readline() != READY:
                process.stdin.close()
                reason = display.failure_reason(process.stderr.read().decode(errors="replace"))
                raise EngineError(
                    f"the window of the flight does not open: {reason}; run without gui"
                )
        except BaseException:
            self.close()
            raise
        # What Qt and OpenGL write later would fill the pipe.
        threading.Thread(target=process.stderr.read, daemon=True).start()

    def show(
        self, state: FleetState, inserted: tuple[WorldModel, ...], engine: InsertedStates
    ) -> None:
        """Shows a state, unless the last one was just now.

        Args:
            state: The state of the fleet.
            inserted: Models that were inserted into the world.
            engine: Asked for their states if they are needed.
        """
        now = time.monotonic()
        if now < self._due or self.process is None or self.ring is None:
            return
        self._due = now + PERIOD_S
        if self.process.poll() is not None:
            if self.process.returncode != 0:
                _log.warning(
                    "the window of the flight has ended with status %d; the flight goes on",
                    self.process.returncode,
                )
            self.close()
            return
        if inserted is not self._inserted:
            self.ring.close()
            self.ring = self._send_scene(inserted)
        self.ring.write(
            state.t_us,
            {
                "pos": state.pos,
                "quat": state.quat,
                "joint_pos": state.joint_pos,
                "inserted": engine.inserted_states(),
            },
        )

    def close(self) -> None:
        """Closes the window. May be called twice."""
        if self.process is not None:
            process, self.process = self.process, None
            end(process, _CLOSE_S)
        if self.ring is not None:
            self.ring.close()
            self.ring = None

    def _send_scene(self, inserted: tuple[WorldModel, ...]) -> FrameWriter:
        """Sends what is in the scene; returns the ring that has the poses from now on."""
        self._inserted = inserted
        n = len(self._specs)
        arrays: list[Any] = [["pos", "<f8", [n, 3]], ["quat", "<f8", [n, 4]]]
        if self._joints[1]:
            arrays.append(["joint_pos", "<f8", list(self._joints)])
        if inserted:
            arrays.append(["inserted", "<f8", [len(inserted), 13]])
        ring = FrameWriter(path_of(os.getpid(), self._instance, "window"), arrays)
        scene = SceneDescription(
            world=str(self._world.sdf),
            added=self._world.added,
            ring=str(ring.path),
            arrays=arrays,
            vehicles=[(spec.type, spec.name, spec.pos, spec.yaw) for spec in self._specs],
            inserted=[model.plain() for model in inserted],
        )
        with contextlib.suppress(BrokenPipeError):  # it has ended, which show() notices
            self._pipe.write(f"{scene.to_json()}\n".encode())
            self._pipe.flush()
        return ring
