"""The window of a running simulation, in a process of its own.

The simulation writes poses into a ring in shared memory and never waits for the window: a window
that is closed, stopped, or loses its display does not touch the flight. What is in the scene goes
through the window's standard input, a line of JSON each time it changes; at its end the window
closes.
"""

import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtdrone_core import FleetState, Vehicle, VehicleSpec, XtdroneError
from xtdrone_core.runs.frame_ring import FrameReader, FrameWriter, path_of
from xtdrone_core.runs.parent import end, tied

from ..errors import EngineError, ViewError
from ..vehicles.sdf import load_vehicle
from ..world import World, load_world
from ..world.models import WorldModel
from . import display
from .flights import TRAIL_S, blank_state

_log = logging.getLogger(__name__)
PERIOD_S = 0.02  # wall time between two poses in the ring [s]
_READY = b"ready\n"
_NICE = 5  # without a graphics card the window would take the flight's processor
_CLOSE_S = 5.0  # wall time that the window gets to close
_FACTOR_S = 2.0  # wall time over which the speed is measured
_LATE_S = 0.7  # wall time without a pose after which the simulation counts as paused
_TRAIL_STEP_US = 100_000
_AFTER = 20.0  # seconds of trail that are kept, of a fleet that flies faster than real time


class LiveWindow:
    """The simulation's end: starts the window and tells it what is where."""

    def __init__(
        self,
        world: World,
        specs: Sequence[VehicleSpec],
        models: Sequence[Vehicle],
        instance: int,
        inserted: tuple[WorldModel, ...],
    ):
        """Opens the window.

        Args:
            world: The world.
            specs, models: The fleet's VehicleSpecs and Vehicles.
            instance: Of the simulation.
            inserted: Models that were inserted into the world.

        Raises:
            EngineError: It cannot open, for example without a display.
        """
        if not display.named():
            raise EngineError("gui needs a display: set DISPLAY, or run without gui")
        self._world, self._specs, self._instance = world, specs, instance
        self._joints = blank_state(models).joint_pos.shape
        self._ring: FrameWriter | None = None
        self._due = 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=tied(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            self._tell(inserted)
            if self._process.stdout.readline() != _READY:
                raise EngineError(
                    f"the window of the flight does not open: {self._reason()}; run without gui"
                )
        except BaseException:
            self.close()
            raise
        # What Qt and OpenGL say later would fill the pipe.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def show(self, state: FleetState, inserted: tuple[WorldModel, ...], engine: Any) -> None:
        """Shows a state, unless the last one was just now.

        Args:
            state: Of the fleet.
            inserted: Models that were inserted into the world.
            engine: Whose inserted_states() are asked for, if they are needed.
        """
        now = time.monotonic()
        if now < self._due or self._process is None:
            return
        self._due = now + PERIOD_S
        if self._process.poll() is not None:
            if self._process.returncode != 0:
                _log.warning(
                    "the window of the flight has ended with status %d; the flight goes on",
                    self._process.returncode,
                )
            self.close()
            return
        if inserted is not self._inserted:
            self._tell(inserted)
        self._ring.write(
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
        if self._process is not None:
            process, self._process = self._process, None
            end(process, _CLOSE_S)
        if self._ring is not None:
            self._ring.close()
            self._ring = None

    def _tell(self, inserted):
        """Tells the window what is in the scene, and the ring with the poses from now on."""
        self._inserted = inserted
        if self._ring is not None:
            self._ring.close()
        n = len(self._specs)
        arrays = [["pos", "<f8", [n, 3]], ["quat", "<f8", [n, 4]]]
        if self._joints[1]:
            arrays.append(["joint_pos", "<f8", list(self._joints)])
        if inserted:
            arrays.append(["inserted", "<f8", [len(inserted), 13]])
        self._ring = FrameWriter(path_of(os.getpid(), self._instance, "window"), arrays)
        line = {
            "world": str(self._world.sdf),
            "added": self._world.added,
            "ring": str(self._ring.path),
            "arrays": arrays,
            "vehicles": [[spec.type, spec.name, spec.pos, spec.yaw] for spec in self._specs],
            "inserted": [model.plain() for model in inserted],
        }
        try:
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # it has ended, which the next call notices
            pass

    def _reason(self):
        """Why the window has ended."""
        self._process.stdin.close()
        return display.reason(self._process.stderr.read().decode(errors="replace"))


class LiveFlight:
    """The window's end; see Replay for the attributes."""

    live = True

    def __init__(self, line: str):
        """From the first line of the simulation.

        Raises:
            XtdroneError: Its world or vehicles are not here.
        """
        said = json.loads(line)
        specs = tuple(
            VehicleSpec(kind, name, tuple(pos), yaw) for kind, name, pos, yaw in said["vehicles"]
        )
        self.world = load_world(said["world"], tuple(said["added"]))
        self.models = [load_vehicle(spec.type) for spec in specs]
        self.vehicles = specs
        self.names = [spec.name for spec in specs]
        self.name = self.world.name
        self.everything = np.array([spec.pos for spec in specs], dtype=float)
        self.t_s = 0.0
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()  # further ones, from any thread
        self._state = blank_state(self.models)
        self._state.pos[:] = self.everything
        self._past: deque[tuple[int, np.ndarray]] = deque()
        self._news: deque[tuple[float, float]] = deque()  # wall time, simulated time
        self._take(said)

    def update(self) -> None:
        """Takes in what came since the last call."""
        while not self.lines.empty():
            self._take(json.loads(self.lines.get()))
        for t_us, data in self._reader.read():
            state = self._state
            if t_us < state.t_us:  # a snapshot was loaded
                self._past.clear()
                self._news.clear()
            state.t_us, self.t_s = t_us, t_us * 1e-6
            state.pos[:], state.quat[:] = data["pos"], data["quat"]
            state.joint_pos[:] = data.get("joint_pos", state.joint_pos)
            self._inserted = self._inserted[0], data.get("inserted", ())
            if not self._past or t_us - self._past[-1][0] >= _TRAIL_STEP_US:
                self._past.append((t_us, data["pos"]))
                while t_us - self._past[0][0] > _AFTER * 1e6:
                    self._past.popleft()
            self._news.append((time.monotonic(), self.t_s))
            while self._news[-1][0] - self._news[0][0] > _FACTOR_S:
                self._news.popleft()

    def state(self, t_s: float) -> FleetState:
        """The fleet now, whatever the time."""
        return self._state

    def trail(self, t_s: float, seconds: float = TRAIL_S) -> np.ndarray:
        """Positions (K, N, 3) in the last seconds, the latest last [m]."""
        kept = [pos for t_us, pos in self._past if t_us * 1e-6 >= self.t_s - seconds]
        return np.stack([*kept, self._state.pos, self._state.pos][-max(2, len(kept) + 1) :])

    def factor(self) -> str:
        """The speed of the simulation, in words."""
        if len(self._news) < 2 or time.monotonic() - self._news[-1][0] > _LATE_S:
            return "paused"
        (begin, first), (end, last) = self._news[0], self._news[-1]
        return f"{(last - first) / max(end - begin, 1e-3):.2g} x"

    def inserted(self) -> tuple:
        """Models that were inserted into the world, and their states (P, 13)."""
        return self._inserted

    def caption(self, t_s: float) -> str:
        """None: the events of a flight are not sent."""
        return ""

    def _take(self, said):
        self._reader = FrameReader(said["ring"], said["arrays"])
        models = tuple(WorldModel.restore(plain) for plain in said["inserted"])
        states = np.array([[*model.start.pos, *model.start.quat, *[0.0] * 6] for model in models])
        self._inserted = models, states


def main() -> int:
    """The process of the window; returns its exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the flight, and that the window
    os.nice(_NICE)
    try:
        from .cameras import Camera
        from .commands import WINDOW
        from .window import QtCore, QtWidgets, Window

        flight = LiveFlight(sys.stdin.readline())
        application = QtWidgets.QApplication(["xtdrone"])
        window = Window(flight, Camera(), WINDOW)
    except (XtdroneError, ViewError) as error:
        print(error, file=sys.stderr)
        return 1
    quit_soon = QtCore.QTimer(application, interval=100)
    ended = threading.Event()

    def listen():
        for line in sys.stdin:
            flight.lines.put(line)
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    quit_soon.timeout.connect(lambda: window.close() if ended.is_set() else None)
    quit_soon.start()
    window.show()
    application.processEvents()
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
