"""Request handlers of a simulation's control socket."""

import math
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from xtdrone_core import ControlError, XtdroneError
from xtdrone_core.contracts import CommandsGrippers, GoalTaker, required
from xtdrone_core.errors import failure, unknown_name
from xtdrone_core.runs import parent
from xtdrone_core.runs.control_link import ControlServer, pack
from xtdrone_core.scenario.disturbances import parse_disturbance

from ..errors import WorldError
from ..rendering.frame_publisher import FramePublisher
from . import world_requests
from .controlled import Answer, ControlledSimulation, Handler, Request

MAX_STEPS = 1_000_000
MIN_SPEED, MAX_SPEED = 0.001, 1e6  # besides 0
AWAIT_BRIDGE_S = 30.0  # wall time that its start waits for a bridge that was announced [s]
BARRIER_S = 1.0  # wall time that an unpaced simulation waits for the bridge [s]
PAUSE_POLL_S = 0.05

_T = TypeVar("_T")


class ControlRequests:
    """One control socket: its requests, the clock for its subscribers, the bridge's barrier.

    Attributes:
        server: The socket.
        handlers: What answers a request, by its name.
    """

    def __init__(self, simulation: ControlledSimulation, server: ControlServer) -> None:
        """Answers on this server from now on, and closes it at the end.

        Raises:
            ControlError: There is no room for images.
        """
        self._simulation = simulation
        self._places = simulation.state.pos.tolist()  # where the vehicles stand at the start
        self._late = False  # a late bridge has been reported
        self.handlers: dict[str, Handler] = {
            "disturb": self._disturb,
            "disturbed": self._disturbed,
            "event": self._event,
            "goal": self._goal,
            "grip": self._grip,
            "health": self._health,
            "load": self._load,
            "navigation": self._navigation,
            "pause": self._pause,
            "places": lambda request: {"places": self._places},
            "race": self._race,
            "reset": self._reset,
            "resume": self._resume,
            "save": self._save,
            "sensors": self._sensors,
            "speed": self._speed,
            "status": self._status,
            "step": self._step,
            "stop": self._stop,
            "wind": self._wind,
            **world_requests.handlers(simulation),
        }
        self.server = server
        server.warn = simulation.say
        self._publisher: FramePublisher | None = None
        try:
            if len(simulation.rendered):
                simulation.say(
                    f"cameras and lidars are drawn by {simulation.rendered.renderer}", severity=6
                )
                self._publisher = FramePublisher(simulation.rendered, simulation.scenario.instance)
                simulation.observers.append(self._publisher)
        except BaseException:
            self.close()
            raise

    def handle(self, op: str, request: Request) -> Answer:
        """The answer to one request.

        Raises:
            ControlError: It is invalid.
        """
        handler = self.handlers.get(op)
        if handler is None:
            raise ControlError(
                f"unknown request '{op[:40]}': choose one of {', '.join(sorted(self.handlers))}"
            )
        try:
            return handler(request) or {}
        except ControlError:
            raise
        except WorldError as error:
            raise ControlError(str(error), error.code) from error
        except XtdroneError as error:
            raise ControlError(str(error)) from error
        except Exception as error:  # one request has failed: the fleet flies on
            text = failure(f"request '{op}'", error)
            self._simulation.say(text)
            raise ControlError(text) from error

    def tick(self) -> None:
        """Every 20 ms: publishes the clock, answers requests, waits for the bridge if unpaced."""
        simulation, server = self._simulation, self.server
        server.tick(simulation.t_us, simulation.state, self._table)
        self.answer()
        if simulation.pacer.speed == 0.0 and server.has_barrier:
            in_time = server.barrier(simulation.t_us, self.handle, BARRIER_S)
            if not in_time and not self._late:
                self._late = True
                simulation.say(
                    f"the bridge was {BARRIER_S:g} s late at "
                    f"{simulation.t_us * 1e-6:.2f} s; continuing without it"
                )

    def answer(self) -> None:
        """Answers the requests that have come in."""
        self.server.poll(self.handle)

    def idle(self) -> None:
        """Answers while the simulation is paused."""
        begin = time.monotonic()
        self.server.poll(self.handle, PAUSE_POLL_S)
        self._simulation.pacer.held(time.monotonic() - begin, self._simulation.t_us)

    def await_bridge(self) -> None:
        """Waits for the bridge to connect, so that it does not miss the start of the flight."""
        end = time.monotonic() + AWAIT_BRIDGE_S
        while not self.server.has_barrier and not self._simulation.stopping:
            self.server.poll(self.handle, PAUSE_POLL_S)
            if time.monotonic() > end:
                self._simulation.say(
                    f"no bridge within {AWAIT_BRIDGE_S:g} s; continuing without it"
                )
                return

    def close(self) -> None:
        """Closes the socket. May be called twice."""
        self.server.close()

    def _table(self, name: str) -> dict[str, Any]:
        entities = self._simulation.entities
        parts = {"models": entities.models, "links": entities.direct_links}[name]
        return {"names": list(parts), "states": pack(entities.table(parts.values()))}

    def _status(self, request: Request) -> Answer:
        simulation = self._simulation
        return {
            "t_us": simulation.t_us,
            "paused": simulation.pacer.paused,
            "speed": simulation.pacer.speed,
            "real_time_factor": round(simulation.real_time_factor(), 3),
            "real_time_factor_now": round(simulation.pacer.recent_factor(simulation.t_us), 3),
            "n": simulation.scenario.n,
            "launch": parent.launch(),
            "vehicles": [spec.name for spec in simulation.scenario.vehicles],
            "namespaces": list(simulation.scenario.namespaces),
            "folder": str(simulation.folder) if simulation.folder else None,
            "gravity": simulation.world.gravity,
        }

    def _health(self, request: Request) -> Answer:
        return {"t_us": self._simulation.t_us, "health": self._simulation.autopilot.health()}

    def _race(self, request: Request) -> Answer:
        race = self._simulation.race
        if race is None:
            raise ControlError("there is no race: start the simulation with --track NAME")
        return {"t_us": self._simulation.t_us, **race.status()}

    def _goal(self, request: Request) -> Answer:
        goal = request.get("goal")
        if (
            not isinstance(goal, list)
            or len(goal) != 3
            or not all(isinstance(x, (int, float)) and math.isfinite(x) for x in goal)
        ):
            raise ControlError(f"goal {goal!r:.60} is not allowed: give [x, y, z] in metres")
        self._taker().take_goal([float(x) for x in goal])
        return {"t_us": self._simulation.t_us}

    def _grip(self, request: Request) -> Answer:
        simulation = self._simulation
        names = [spec.name for spec in simulation.scenario.vehicles]
        vehicle, grab, gripper = (request.get(key) for key in ("vehicle", "grab", "gripper"))
        if vehicle not in names:
            raise ControlError(unknown_name("vehicle", str(vehicle), names))
        if not isinstance(grab, bool) or not isinstance(gripper, (int, type(None))):
            raise ControlError(
                'a gripper is commanded by {"op": "grip", "vehicle": NAME, "grab": true or false}, '
                'of several by "gripper", its number from 0'
            )
        autopilot = required(
            simulation.autopilot,
            CommandsGrippers,  # type: ignore[type-abstract]  # a protocol
            f"autopilot '{simulation.scenario.autopilot}' commands no gripper here",
            "send it MAV_CMD_DO_GRIPPER",
        )
        autopilot.command_gripper(names.index(vehicle), gripper or 0, grab)
        return {"t_us": simulation.t_us}

    def _navigation(self, request: Request) -> Answer:
        return {"t_us": self._simulation.t_us, **self._taker().navigation()}

    def _taker(self) -> GoalTaker:
        agent = self._simulation.agent
        if not isinstance(agent, GoalTaker):
            raise ControlError("this flight takes no goals: start one with `xtdrone fly goals`")
        return agent

    def _sensors(self, request: Request) -> Answer:
        for_s = request.get("for_s", math.inf)
        if not isinstance(for_s, (int, float)) or not for_s > 0:
            raise ControlError(
                f"for_s {for_s!r:.40} is not allowed: give simulated seconds above "
                "0, or leave it out for as long as the simulation runs"
            )
        if self._publisher is None:
            return {"sensors": []}
        return {"sensors": self._publisher.publish(self._simulation.t_us + for_s * 1e6)}

    def _pause(self, request: Request) -> Answer:
        self._simulation.pacer.pause()
        return {"t_us": self._simulation.t_us}

    def _resume(self, request: Request) -> Answer:
        self._simulation.pacer.resume()
        return {"t_us": self._simulation.t_us}

    def _step(self, request: Request) -> Answer:
        n = request.get("n", 1)
        if not isinstance(n, int) or not 1 <= n <= MAX_STEPS:
            raise ControlError(
                f"{n!r:.40} steps are not allowed: give 1 to {MAX_STEPS} (4 ms each)"
            )
        self._simulation.pacer.pause(n)
        return {"t_us": self._simulation.t_us + n * self._simulation.step_us}

    def _speed(self, request: Request) -> Answer:
        speed = request.get("speed")
        if not isinstance(speed, (int, float)) or not (
            speed == 0 or MIN_SPEED <= speed <= MAX_SPEED
        ):
            raise ControlError(
                f"speed {speed!r:.40} is not allowed: 1 is real time, 0 as fast as "
                f"possible; give 0, or {MIN_SPEED:g} to 1e6"
            )
        self._simulation.pacer.set_speed(float(speed), self._simulation.t_us)
        return {"speed": float(speed)}

    def _event(self, request: Request) -> Answer:
        name, values = request.get("event"), request.get("values", {})
        if not isinstance(name, str) or not isinstance(values, dict):
            raise ControlError(
                'an event has a name and values: {"op": "event", "event": "landed", "values": {}}'
            )
        values = {k: v for k, v in values.items() if k not in ("t_us", "event", "folder")}
        self._simulation.event(self._simulation.t_us, name, **values)
        return {"t_us": self._simulation.t_us}

    def _disturb(self, request: Request) -> Answer:
        text = request.get("disturbance")
        if not isinstance(text, str):
            raise ControlError(
                'a disturbance is a string: {"op": "disturb", "disturbance": "rotor iris_0 2 0"}'
            )
        simulation = self._simulation
        names = [spec.name for spec in simulation.scenario.vehicles]
        simulation.plant.disturbances.add(parse_disturbance(text, names, simulation.t_us))
        return {"t_us": simulation.t_us}

    def _disturbed(self, request: Request) -> Answer:
        plant = self._simulation.plant
        return {
            "t_us": self._simulation.t_us,
            "disturbances": plant.disturbances.in_force(),
            "wind": plant.actuators.wind.mean(axis=0).round(2).tolist(),
        }

    def _wind(self, request: Request) -> Answer:
        text, simulation = request.get("wind"), self._simulation
        if not isinstance(text, str) or "field=" in text:
            raise ControlError(
                'a wind is a string without a file: {"op": "wind", "wind": '
                '"2,0,0"}; "" is still air'
            )
        simulation.plant.change_wind(text)
        simulation.event(simulation.t_us, "wind", wind=text)
        return {"t_us": simulation.t_us}

    def _reset(self, request: Request) -> Answer:
        vehicles = request.get("vehicles")
        if vehicles is not None and not (
            isinstance(vehicles, list)
            and all(isinstance(vehicle, (str, int)) for vehicle in vehicles)
        ):
            raise ControlError('a reset names vehicles: {"op": "reset", "vehicles": ["iris_0"]}')
        return self._done(self._simulation.reset, vehicles)

    def _save(self, request: Request) -> Answer:
        return self._done(self._simulation.save, self._file(request))

    def _load(self, request: Request) -> Answer:
        return self._done(self._simulation.load, self._file(request))

    def _done(self, act: Callable[[_T], None], argument: _T) -> Answer:
        act(argument)
        return {"t_us": self._simulation.t_us}

    def _file(self, request: Request) -> Path:
        """Path of a snapshot in the run folder; clients cannot write elsewhere."""
        folder, name = self._simulation.folder, request.get("name", "snapshot")
        if folder is None:
            raise ControlError(
                "this simulation has no run folder for snapshots: start it without --no_run_folder"
            )
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
            raise ControlError(
                f"'{name}' is no name for a snapshot: use letters, digits, '_' and '-'"
            )
        return folder / f"{name}.snapshot"

    def _stop(self, request: Request) -> Answer:
        self._simulation.stop()
        return {"t_us": self._simulation.t_us}
