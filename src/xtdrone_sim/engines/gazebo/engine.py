"""The Gazebo 11 engine: gzserver in its own process, stepped in lockstep by our plugin.

The wrench is constant over a step and ODE integrates semi-implicitly, like
MuJoCo in the embedded engine. Both hold the gyroscopic torque constant over the
step, and both engines add the same correction, so their flights agree closely.
Actuators, wind and sensors are those of this project, not Gazebo's.
"""

import hashlib
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetModel, FleetState, Vehicle, VehicleSpec, resources
from xtdrone_core.contracts import RangeCaster, Renderer, Snapshot, Viewer, WorldEditor
from xtdrone_core.runs.parent import tied
from xtdrone_core.runs.ports import gazebo_master
from xtdrone_core.state import Contacts

from ...errors import EngineError
from ...rendering.scene import FURTHEST
from ...vehicles.pose import body_frames, start_pose
from ...world import World
from ...world.models import WorldModel
from ..body import Masses, apply_wrench
from .channel import Channel
from .scene import GazeboScene, scanners
from .world import joint_name, link_name, model_sdf, shape_name, world_sdf

_PLUGIN = "libxtdrone_lockstep.so"
_CHATTER = re.compile(
    r"\[(Msg|Dbg)\]|\[Err\] \[OpenAL|Audio will be disabled|ALSA lib|AL lib|"
    "Couldn't find a preferred IP"
)
_REFUSED = "X Error of failed request"  # the display refuses the first window
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STEP_S = 0.004  # physics step until the first step sets it [s]
START_S = 60.0  # wall-clock time-out of gzserver's start [s]
MODELS_S = 60.0  # wall-clock time-out of an inserted or removed model [s]
_LOOP_S = 0.03  # longer than the plugin waits for requests in Gazebo's world loop [s]
_STOP_S = 3.0
_TRIES = 5  # starts of gzserver and of gzclient, which now and then fail by no fault of ours
_OPEN_S = 15.0  # wall-clock time after which gzclient counts as started [s]
_TELL_S = 0.5  # wall-clock time to wait for the exit status of a process [s]
_TIME = struct.Struct("<d")
_WEIGHT = struct.Struct("<11d")
_RAYS = struct.Struct("<5d")
_WIDTH = 13  # numbers per body: pos, quat, vel, ang_vel


class Operation(IntEnum):
    """Requests to the plugin; they must match lockstep_world.cc."""

    STEP = 1
    RESET = 2
    FLEET = 3
    JOINTS = 4
    CONTACTS = 5
    PAYLOAD = 6
    CAST = 7
    SCANNERS = 8
    PLACE = 9
    INSERT = 10
    REMOVE = 11
    STATES = 12
    MOVE = 13
    PUSH = 14
    TYRES = 15


class GazeboEngine(RangeCaster, Renderer, Viewer, WorldEditor):
    """Simulates a fleet in Gazebo 11.

    Implements xtdrone_core.contracts.Engine.

    Attributes:
        state: The fleet's true state, overwritten at every step.
        specs: The VehicleSpecs of the fleet.
        models: Their Vehicles, in the same order.
        inserted: The WorldModels that were inserted since the start.
        server: The process of gzserver.
        processes: All processes that run, in the order of their start.
        opening: The thread that keeps gzclient open, or None.
        environment: The environment of the processes.
        folder: Temporary folder with the world and the logs.
    """

    def __init__(
        self,
        world: World,
        specs: tuple[VehicleSpec, ...],
        models: tuple[Vehicle, ...],
        instance: int = 0,
    ):
        """Starts gzserver with the world and the vehicles.

        Args:
            world: The world.
            specs: The VehicleSpecs of the scenario.
            models: Their Vehicles, in the same order.
            instance: Number of the simulation instance; shifts the port of Gazebo's master.

        Raises:
            EngineError: Gazebo 11 is not set up, or does not start.
        """
        self.specs, self.models = tuple(specs), tuple(models)
        self._setup = resources.root() / ".setup" / "gazebo11"
        self._fleet = FleetModel.of(self.models)
        self._masses = Masses(self._fleet)
        self._loaded = np.zeros(self._fleet.n, dtype=bool)  # carries a payload
        n, bodies = self._fleet.body.shape
        self.state = FleetState.zeros(
            n,
            self._fleet.actuator.shape[1],
            self._fleet.joint.shape[1],
            bodies,
            self._fleet.tyre.shape[1],
        )
        self.inserted: tuple[WorldModel, ...] = ()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.opening: threading.Thread | None = None  # keeps gzclient open
        self._closing = False
        self._channels: list[Channel] = []  # the one for steps, and the one for images
        plugin = self._setup / _PLUGIN
        if not plugin.is_file():
            raise EngineError(
                "Gazebo 11 is not set up: run scripts/setup_gazebo.sh, or use engine:=embedded"
            )
        _refuse_stale(self._setup)
        self.environment = self.read_environment(world, instance)
        self.folder = Path(tempfile.mkdtemp(prefix="xtdrone-gazebo-"))
        try:
            self._start(world, plugin)
            self._name_fleet()
        except BaseException:
            self.close()
            raise

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets these vehicles to their poses of the scenario, at rest and without payloads.

        Raises:
            EngineError: gzserver has ended.
        """
        chosen = np.ones(len(self.specs), dtype=bool) if mask is None else np.asarray(mask)
        for i in np.flatnonzero(chosen & self._loaded).tolist():
            self.set_payload(i, 0.0, (0.0, 0.0, 0.0))
        poses = [
            (there, start_pose(spec, model).to(frame))
            for there, spec, model in zip(chosen, self.specs, self.models, strict=True)
            for frame in body_frames(model)
        ]
        table = np.array(
            [[*pose.pos, *pose.quat] if there else [np.nan] * 7 for there, pose in poses]
        )
        acc = self.state.acc.copy()
        self._take(Operation.RESET, table.tobytes(), 0.0)
        self.state.acc[~chosen] = acc[~chosen]
        self.state.actuator[chosen] = 0.0

    def save(self) -> dict[str, Any]:
        """Not supported, for the reason given in load().

        Raises:
            EngineError: Always.
        """
        raise EngineError(
            "Gazebo does not tell all that its next step depends on: to save a "
            "flight, use engine:=embedded"
        )

    def load(self, snapshot: Snapshot) -> None:
        """Not supported: the contacts and the solver state of Gazebo cannot be set from outside.

        Raises:
            EngineError: Always.
        """
        raise EngineError("Gazebo cannot go on from a snapshot: use engine:=embedded")

    def step(self, wrench: np.ndarray, joint_targets: np.ndarray, dt_us: int) -> FleetState:
        """Advances all bodies by one step; see Engine.

        Raises:
            EngineError: gzserver has ended, or the state of a vehicle is no longer finite.
        """
        dt, state, masses = dt_us * 1e-6, self.state, self._masses
        apply_wrench(masses.records, wrench, state.body_quat, state.body_ang_vel, dt, self._applied)
        asked = _TIME.pack(dt) + self._applied.tobytes()
        if self._jointed:
            asked += joint_targets[self._moving].tobytes()
        self._take(Operation.STEP, asked, 1.0 / dt)
        state.t_us += dt_us
        return state

    def contacts(self) -> Contacts:
        """Returns the contacts after the last step; see Engine.

        Raises:
            EngineError: gzserver has ended, or its answer is of another plugin.
        """
        lines = [line.split("	") for line in self.channel.text(Operation.CONTACTS).splitlines()]
        try:
            normals = np.array([line[2:] for line in lines], dtype=float).reshape(len(lines), 3)
        except ValueError:
            raise EngineError(
                "gzserver's contacts have no normals: build the plugin again by "
                "scripts/setup_gazebo.sh"
            ) from None
        names = tuple(sorted({name for line in lines for name in line[:2]}))
        pairs = [[names.index(name) for name in line[:2]] for line in lines]
        return Contacts(names, np.array(pairs, dtype=np.int64).reshape(-1, 2), normals)

    def set_payload(self, vehicle: int, mass: float, pos: npt.ArrayLike) -> None:
        """Fixes a point mass to a vehicle and replaces its previous one; see Engine."""
        total, centre, _ = self._masses.load(vehicle, float(mass), pos)
        self._loaded[vehicle] = mass > 0.0
        inertia = self._masses.records[vehicle, 0]["inertia"]
        row = self._masses.records[vehicle, 0]["row"]
        self.channel.request(Operation.PAYLOAD, _WEIGHT.pack(row, total, *centre, *inertia))

    def place(self, vehicle: int, state: np.ndarray) -> None:
        """Moves the base of a vehicle; see WorldEditor."""
        acc = self.state.acc.copy()
        row = float(self._masses.records[vehicle, 0]["row"])
        self._take(Operation.PLACE, np.array([row, *state]).tobytes(), 0.0)
        self.state.acc[:] = acc

    def insert(self, model: WorldModel) -> None:
        """Adds a model; see WorldEditor.

        Raises:
            EngineError: Gazebo does not take it, or has ended.
        """
        self.channel.request(Operation.INSERT, model_sdf(model).encode())
        self._await_models(
            lambda: self._has(model.name), f"Gazebo does not take model '{model.name}'"
        )
        self.inserted = *self.inserted, model

    def remove(self, index: int) -> None:
        """Removes an inserted model; see WorldEditor.

        Raises:
            EngineError: Gazebo does not remove it, or has ended.
        """
        name = self.inserted[index].name
        self.channel.request(Operation.REMOVE, name.encode())
        self._await_models(lambda: not self._has(name), f"Gazebo does not remove '{name}'")
        self.inserted = *self.inserted[:index], *self.inserted[index + 1 :]

    def inserted_states(self) -> np.ndarray:
        """States (P, 13) of the inserted models; see WorldEditor."""
        return self._states([model.name for model in self.inserted])

    def place_inserted(self, index: int, state: np.ndarray) -> None:
        """Moves an inserted model; see WorldEditor."""
        self.channel.ask(
            Operation.MOVE,
            self.inserted[index].name,
            numbers=np.asarray(state, dtype=float).tobytes(),
        )

    def push_inserted(self, index: int, wrench: np.ndarray) -> None:
        """Applies a wrench during the next step; see WorldEditor."""
        name = self.inserted[index].name.encode()
        self.channel.request(Operation.PUSH, np.asarray(wrench, dtype=float).tobytes() + name)

    @property
    def channel(self) -> Channel:
        """The channel for steps and requests."""
        return self._connected(0)

    def _connected(self, k: int) -> Channel:
        if k >= len(self._channels):
            raise EngineError("gzserver is not running: build a new engine")
        return self._channels[k]

    def _states(self, names: Sequence[str]) -> np.ndarray:
        if not names:
            return np.zeros((0, _WIDTH))
        data = self.channel.request(
            Operation.STATES,
            "".join(f"{name}\n" for name in names).encode(),
            size=8 * _WIDTH * len(names),
        )
        return np.frombuffer(data).reshape(-1, _WIDTH).copy()

    def _has(self, name: str) -> bool:
        return bool(np.isfinite(self._states([name])).all())

    def _await_models(self, done: Callable[[], bool], complaint: str) -> None:
        """Waits until Gazebo's world loop, which pauses without requests, has done its part."""
        end = time.monotonic() + MODELS_S
        while not done():
            if time.monotonic() > end:
                raise EngineError(f"{complaint}: {self._complaint()}")
            time.sleep(_LOOP_S)

    def cast(
        self,
        vehicle: int,
        pos: npt.ArrayLike,
        directions: np.ndarray,
        longest: float,
        body: int = 0,
    ) -> np.ndarray:
        """Casts rays; returns the distance to the first collision shape of any other model.

        Args:
            vehicle: Index of the vehicle that carries the sensor; its own shapes are ignored.
            pos: (3,) origin of the rays, world frame [m].
            directions: (M, 3) unit vectors, world frame; (3,) for a single ray.
            longest: Maximum range [m].
            body: Body that carries the sensor; unused, as Gazebo ignores the whole vehicle.

        Returns:
            (M,) [m]; inf where the ray hits nothing.

        Raises:
            EngineError: gzserver has ended.
        """
        head = _RAYS.pack(self._masses.records[vehicle, 0]["row"], longest, *np.asarray(pos))
        return np.frombuffer(
            self.channel.request(
                Operation.CAST,
                head + np.asarray(directions).tobytes(),
                size=8 * (np.size(directions) // 3),
            )
        )

    def beam(self, vehicle: int, point: npt.ArrayLike, direction: npt.ArrayLike) -> float:
        """Range from a point along a direction to the first shape of any other model [m]."""
        return float(self.cast(vehicle, point, np.asarray(direction), FURTHEST)[0])

    def scene(self, _largest: tuple[int, int], _samples: int) -> GazeboScene:
        """The scene for cameras and lidars, drawn by Gazebo's sensors at the sizes in the SDF.

        Raises:
            EngineError: Gazebo cannot render on this machine.
        """
        return GazeboScene(self._connected(1), self.specs, self.models, self.cast)

    def open_viewer(self) -> None:
        """Opens gzclient on the running world; the simulation goes on when it is closed.

        Raises:
            EngineError: No display is available.
        """
        if not os.environ.get("DISPLAY"):
            raise EngineError("gui needs a display: set DISPLAY, or run without gui")
        client = self._start_process("gzclient", [])
        self.opening = threading.Thread(target=self._keep_open, args=(client,), daemon=True)
        self.opening.start()

    def _keep_open(self, client: "subprocess.Popen[bytes]") -> None:
        """Starts gzclient again if it crashes at its start, as Gazebo 11's does now and then.

        It returns when gzclient has ended: what a thread started is ended with that thread.
        """
        for _ in range(_TRIES - 1):
            begin = time.monotonic()
            closed_by_user = client.wait() == 0
            if closed_by_user or self._closing or time.monotonic() - begin > _OPEN_S:
                return
            client = self._start_process("gzclient", [])
        client.wait()

    def close(self) -> None:
        """Terminates gzclient and gzserver. May be called twice."""
        for channel in reversed(self._channels):
            channel.close()
        self._closing = True
        while self.processes or (self.opening is not None and self.opening.is_alive()):
            if self.processes:
                _stop(self.processes.pop())
            elif self.opening is not None:
                self.opening.join(_TELL_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    # gzserver ---------------------------------------------------------------------------------

    def read_environment(self, world: World, instance: int) -> dict[str, str]:
        script = f". '{self._setup / 'env.sh'}' && env -0"
        text = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
        environment = dict(item.split("=", 1) for item in text.decode().split("\0") if item)
        around = world.sdf.parent.parent  # models are beside the folder of worlds
        for name, folders in (
            ("GAZEBO_MODEL_PATH", (around, around / "models", resources.root() / "models")),
            ("GAZEBO_RESOURCE_PATH", (world.sdf.parent,)),
        ):
            environment[name] = ":".join([*map(str, folders), environment.get(name, "")])
        environment["GAZEBO_MASTER_URI"] = gazebo_master(instance, environment["GAZEBO_MASTER_URI"])
        return environment

    def _start(self, world: World, plugin: Path) -> None:
        refuse_taken_port(self.environment["GAZEBO_MASTER_URI"])
        path, looks = self.folder / "lockstep", self.folder / "looks"
        (self.folder / "scenario.world").write_text(self._sdf(world, plugin, path, looks))
        if not os.environ.get("DISPLAY"):  # needed without cameras too: Gazebo opens a display
            self.environment["DISPLAY"] = self._open_display()
        with _listener(path) as main, _listener(looks) as second:
            self._channels.append(self._serve(main))
            self._channels.append(self._accept(second))

    def _serve(self, listener: socket.socket) -> Channel:
        """Starts gzserver, again if the display refuses its first window; returns its channel."""
        for _ in range(_TRIES):
            self.server = self._start_process(
                "gzserver", ["--verbose", "-u", self.folder / "scenario.world"]
            )
            try:
                return self._accept(listener)
            except EngineError as error:
                if not self._says(_REFUSED):
                    raise
                refused = error
                self.processes.remove(self.server)
                _stop(self.server)  # Xlib's exit hangs in a thread of gzserver
                (self.folder / "gzserver.log").unlink()
        raise refused

    def _sdf(self, world: World, plugin: Path, path: Path, looks: Path) -> str:
        return world_sdf(world, self.specs, self.models, plugin, path, looks, STEP_S)

    def _accept(self, listener: socket.socket) -> Channel:
        end = time.monotonic() + START_S
        while not select.select([listener], [], [], 0.1)[0]:
            # Without our plugin it would go on running.
            if (
                self.server.poll() is not None
                or time.monotonic() > end
                or self._says("Failed to load plugin", _PLUGIN)
                or self._says(_REFUSED)
            ):
                raise EngineError(f"gzserver does not start: {self._complaint()}")
        return Channel(listener.accept()[0], self._complaint)

    def _open_display(self) -> str:
        """Starts a virtual display for Gazebo's cameras; returns its name."""
        reading, writing = os.pipe()
        with open(reading) as answer:
            self._start_process(
                "Xvfb",
                ["-displayfd", writing, "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset"],
                os.environ,
                (writing,),
            )
            os.close(writing)
            said = select.select([answer], [], [], START_S)[0]
            number = answer.readline().strip() if said else ""
        if not number:
            raise EngineError(
                "Xvfb does not start, without which Gazebo draws nothing: "
                f"{self._complaint('Xvfb')}"
            )
        return f":{number}"

    def _start_process(
        self,
        program: str,
        words: Sequence[object],
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> "subprocess.Popen[bytes]":
        environment = self.environment if environment is None else environment
        with open(self.folder / f"{program}.log", "ab") as log:
            process = subprocess.Popen(
                [_which(program, environment["PATH"]), *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=pass_fds,
                start_new_session=True,
                preexec_fn=tied(),
            )
        self.processes.append(process)
        return process

    def _says(self, *words: str) -> bool:
        """Whether a line of gzserver's log has all of these words."""
        return any(all(word in line for word in words) for line in self._said())

    def _said(self, program: str = "gzserver") -> list[str]:
        """Lines that a program has logged so far."""
        text = _COLOUR.sub("", (self.folder / f"{program}.log").read_text(errors="replace"))
        return [line.strip() for line in text.splitlines() if line.strip()]

    def _complaint(self, program: str = "gzserver") -> str:
        """The last error line of a program's log, and the signal that ended the program."""
        lines = [line for line in self._said(program) if not _CHATTER.match(line)]
        errors = [line for line in lines if "[Err]" in line or "rror" in line]
        words = (errors or lines)[-1:]
        process = next(each for each in self.processes if _program(each).endswith(program))
        try:
            status = process.wait(_TELL_S)
            words += [signal.Signals(-status).name] if status < 0 else []
        except subprocess.TimeoutExpired:
            pass
        return "; ".join(words) or "it says nothing"

    # The fleet --------------------------------------------------------------------------------

    def _name_fleet(self) -> None:
        """Exchanges the order of all bodies, joints and tyres with the plugin."""
        pairs = list(zip(self.specs, self.models, strict=True))
        self.channel.ask(
            Operation.FLEET,
            "".join(
                f"{spec.name}\t{link_name(k)}\n"
                for spec, model in pairs
                for k in range(len(model.bodies))
            ),
        )
        self.channel.ask(
            Operation.JOINTS,
            "".join(
                f"{spec.name}\t{joint_name(k)}\n"
                for spec, model in pairs
                for k in range(len(model.joints))
            ),
        )
        tyres = [
            (i, shape)
            for i, model in enumerate(self.models)
            for shape in model.shapes
            if shape.tyre >= 0
        ]
        self._tyres = np.array([(i, shape.tyre) for i, shape in tyres], dtype=int).reshape(-1, 2)
        if tyres:
            self.channel.ask(
                Operation.TYRES,
                "".join(f"{self.specs[i].name}\t{shape_name(shape.name)}\n" for i, shape in tyres),
            )
        self.channel.request(Operation.SCANNERS, scanners(self.specs, self.models).encode())
        rows = self._masses.records["row"]
        self._used, self._base = rows >= 0, rows[:, 0]
        self._applied = np.zeros((rows.max() + 1, 6))
        count = self._fleet.vehicle["joints"]
        self._moving = np.arange(self._fleet.joint.shape[1]) < count[:, None]
        self._jointed = bool(self._moving.any())
        self._joints_end = len(self._applied) * _WIDTH + 2 * int(self._moving.sum())
        self._state_size = 8 * (self._joints_end + 3 * len(self._tyres))

    def _take(self, operation: int, body: bytes, rate: float) -> None:
        """Takes over the state that a request is answered with; see Channel.request()."""
        state, size = self.state, len(self._applied) * _WIDTH
        numbers = np.frombuffer(self.channel.request(operation, body, size=self._state_size))
        if not np.isfinite(numbers).all():
            table = numbers[:size].reshape(-1, _WIDTH)[self._base]
            wrong = np.flatnonzero(~np.isfinite(table).all(axis=1))
            broken = f"'{self.specs[int(wrong[0])].name}'" if len(wrong) else "a joint"
            raise EngineError(
                f"the state of {broken} is not finite any more at "
                f"{state.t_us * 1e-6:.3f} s: look for an absurd force or parameter"
            )
        bodies = numbers[:size].reshape(-1, _WIDTH)
        table = bodies[self._base] if self._jointed else bodies
        np.subtract(table[:, 7:10], state.vel, out=state.acc)
        state.acc *= rate
        state.pos[:], state.quat[:] = table[:, 0:3], table[:, 3:7]
        state.vel[:], state.ang_vel[:] = table[:, 7:10], table[:, 10:13]
        if self._jointed:
            state.joint_pos[self._moving], state.joint_vel[self._moving] = (
                numbers[size : self._joints_end].reshape(-1, 2).T
            )
            state.body_pos[self._used] = bodies[:, 0:3]
            state.body_quat[self._used] = bodies[:, 3:7]
            state.body_vel[self._used] = bodies[:, 7:10]
            state.body_ang_vel[self._used] = bodies[:, 10:13]
        if len(self._tyres):
            state.tyre_load[:] = 0.0
            np.add.at(
                state.tyre_load, tuple(self._tyres.T), numbers[self._joints_end :].reshape(-1, 3)
            )


def _program(process: "subprocess.Popen[bytes]") -> str:
    """The path of the program that a process was started with."""
    words = process.args
    return str(words[0] if isinstance(words, list) else words)


def _listener(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def _which(program: str, path: str) -> str:
    program_path = shutil.which(program, path=path)
    if program_path is None:
        raise EngineError(f"there is no {program}: run scripts/setup_gazebo.sh")
    return program_path


def _stop(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_STOP_S)
            return
        except ProcessLookupError:
            process.wait()
            return
        except subprocess.TimeoutExpired:
            continue


def _refuse_stale(setup: Path) -> None:
    """Compares the plugin's sources with those that the set-up script recorded at the build.

    Raises:
        EngineError: The sources have changed since the build.
    """
    sources = sorted((resources.root() / "src/xtdrone_sim/engines/gazebo/plugin").glob("[!.]*"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in [*sources, setup / "env.sh"]))
    note = setup / "plugin"
    if not note.is_file() or note.read_text().strip() != digest.hexdigest()[:16]:
        raise EngineError(
            "the Gazebo plugin was built of other sources: run scripts/setup_gazebo.sh again"
        )


def refuse_taken_port(uri: str) -> None:
    """Checks the master's address before gzserver starts, which would not report a conflict.

    Raises:
        EngineError: The port is in use, or the address is invalid.
    """
    try:
        port = urlsplit(uri).port
    except ValueError:
        port = None
    if not port:
        raise EngineError(
            f"GAZEBO_MASTER_URI is '{uri}': give an address with a port, like "
            "http://127.0.0.1:11345"
        )
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError as error:
            raise EngineError(
                f"port {port} (TCP) is in use: another Gazebo is running; stop it, "
                "give another --instance, or set GAZEBO_MASTER_URI to another "
                "port"
            ) from error
