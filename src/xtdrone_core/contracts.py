"""Interfaces between engine, autopilot, Agents and observers.

A class that implements one of these protocols needs nothing else. Callers use the protocol only:
no hasattr, no private attributes. Optional features are protocols of their own (Renderer,
RangeCaster, Viewer, WorldEditor, Regroupable, RemovableVehicles, ExternalPose,
LandingTargetTaker, Telemetered, Logging, SettableParameters; Attachable, GoalCounter, GoalTaker,
SlotProvider and Reporting of an Agent). An implementation inherits from those that it supports;
callers check with required() at construction, so that a missing feature is reported before the
flight.

`mask` is (N,) bool and selects vehicles; None selects all. save() returns a Snapshot: plain data
and NumPy arrays by name, which snapshot.write() stores without pickle. load() restores it in
the same scenario, and the flight continues bit for bit.
"""

from __future__ import annotations  # so that a command that only names a contract needs no NumPy

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from .errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from .fleet_model import FleetModel
    from .runs.log_file import LogGaps
    from .runs.snapshot import Rows
    from .scenario.scenario import Scenario
    from .state import (
        Contacts,
        Estimates,
        FleetState,
        Reading,
        SensorBatch,
        SensorDescription,
        SetPoints,
    )

Snapshot = Mapping[str, Any]  # numbers, strings, lists, arrays, and mappings of these
Part = TypeVar("Part")


class Stateful(Protocol):
    """A part with internal state."""

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets the selected vehicles to the start of the scenario; the others are left unchanged.

        A reset vehicle continues exactly as a new one would, including its random streams.
        """

    def save(self) -> Snapshot:
        """Returns copies of the complete internal state."""

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save()."""


class Engine(Stateful, Protocol):
    """Moves bodies and detects contacts; actuators, wind and sensors are simulated elsewhere."""

    state: FleetState

    def step(self, wrench: np.ndarray, joint_targets: np.ndarray, dt_us: int) -> FleetState:
        """Advances all bodies under a wrench that is constant through the step.

        Args:
            wrench: (N, B, 6) on each body of each vehicle, force [N] then torque about the
                body's origin [N m], both in the world frame; gravity is the engine's own.
                Body 0 is the base, whose origin is FleetState.pos.
            joint_targets: (N, J) target position of each driven joint [rad] or [m].
            dt_us: Length of the step [us].

        Returns:
            The state after the step. The engine owns it and overwrites it at the next step;
            `actuator` is left to the caller.

        Raises:
            EngineError: A vehicle's state is not finite any more.
        """

    def contacts(self) -> Contacts:
        """Returns the contacts after the last step."""

    def set_payload(self, vehicle: int, mass: float, pos: np.ndarray) -> None:
        """Attaches a point mass [kg] to a vehicle at pos (3,), body [m]; replaces the last one.

        FleetState, sensors and wrenches still refer to the empty vehicle's centre of gravity.
        """

    def close(self) -> None:
        """Frees windows, processes and sockets. May be called twice."""


@runtime_checkable
class Renderer(Protocol):
    """An engine with its own cameras and lidars."""

    def scene(
        self, largest: tuple[int, int], samples: int
    ) -> Any:  # a class of a package above this one
        """A scene with the interface of xtdrone_sim.rendering.scene.RenderedScene.

        Args:
            largest: Width and height of the largest image [pixels].
            samples: Per pixel.
        """


@runtime_checkable
class RangeCaster(Protocol):
    """An engine with its own range finders."""

    def beam(self, vehicle: int, point: np.ndarray, direction: np.ndarray) -> float:
        """Distance [m] from a point (3,) of the world along a direction (3,) to the first surface
        that is not the vehicle's own, or inf.
        """


@runtime_checkable
class Viewer(Protocol):
    """An engine with a window."""

    def open_viewer(self) -> None:
        """Opens the window."""


@runtime_checkable
class WorldEditor(Protocol):
    """An engine whose vehicles can be moved, and that takes further models, during a flight.

    A state (13,) is that of a body's frame: position [m], quaternion xyzw, velocity [m/s], all
    in the world, and angular velocity in the body's frame [rad/s].
    """

    inserted: tuple[Any, ...]  # the xtdrone_sim.world.models.WorldModels inserted so far

    def place(self, vehicle: int, state: np.ndarray) -> None:
        """Moves the base of a vehicle to a state (13,); its joints stay as they are."""

    def insert(self, model: Any) -> None:  # a class of a package above this one
        """Adds a WorldModel, at rest where its `start` says.

        Raises:
            EngineError: The engine cannot take it.
        """

    def remove(self, index: int) -> None:
        """Removes inserted[index]; later ones move up."""

    def inserted_states(self) -> np.ndarray:
        """States (P, 13) of the inserted models' bodies."""

    def place_inserted(self, index: int, state: np.ndarray) -> None:
        """Moves inserted[index] to a state (13,); a static one has no velocity."""

    def push_inserted(self, index: int, wrench: np.ndarray) -> None:
        """Applies a wrench (6,) to inserted[index] during the next step.

        Force [N], then torque about its centre of gravity [N m], world.
        """


@runtime_checkable
class Slinger(Protocol):
    """An engine with cables."""

    # Classes of a package above this one.
    def sling(self, models: Sequence[Any], cables: Sequence[Any]) -> None:
        """Adds WorldModels that hang on xtdrone_sim.world.loads.Cables, at the start.

        Raises:
            EngineError: The engine cannot take them.
        """


@runtime_checkable
class Gripping(Protocol):
    """An engine with grippers, which hold inserted models."""

    def grip(self, vehicle: int, gripper: int, closed: bool) -> None:
        """Closes or opens a gripper, the number of a vehicle's.

        A closed one holds the first inserted model that its link touches, until it is opened or
        is pulled off with more than its force; then it holds nothing until it is opened.
        """

    def held(self, vehicle: int, gripper: int) -> str:
        """Returns the name of the model that a gripper holds; empty for none."""


@runtime_checkable
class Regroupable(Protocol):
    """An engine or autopilot that continues a flight with more or fewer vehicles."""

    def regroup(self, before: Any, rows: Rows) -> None:  # Self, which Python 3.10 lacks
        """Takes over state and links of the vehicles that were in the former fleet, too.

        Args:
            before: An engine or autopilot of the same class, which is closed afterwards.
            rows: Where the vehicles were in its fleet.
        """


@runtime_checkable
class RemovableVehicles(Protocol):
    """An autopilot that can stop flying single vehicles, such as one with a process for each."""

    def remove_vehicle(self, i: int) -> None:
        """Ends what flies vehicle i; the arrays keep its row, and its messages end.

        May be called twice.
        """


@dataclass(frozen=True)
class AutopilotContext:
    """Everything that an autopilot is built from."""

    scenario: Scenario
    fleet: FleetModel  # the vehicles that it flies
    origin: Sequence[float]  # latitude, longitude [rad] and height [m] of the world's origin
    magnetic_field: Sequence[float]  # (3,) world ENU [T]
    folder: Path | None  # run folder for logs; None writes none
    links: bool  # open the MAVLink ports
    on_text: Callable[[int, int, str], None]  # takes each message: vehicle, severity, text
    sensors: SensorBatch  # the readings of each step are written to it


class Autopilot(Stateful, Protocol):
    """Turns sensor readings into actuator commands, and communicates by MAVLink."""

    @classmethod
    def for_scenario(cls, context: AutopilotContext) -> Autopilot:
        """Returns the autopilot of a scenario's fleet.

        Raises:
            XtdroneError: The scenario asks for something that it cannot do.
        """

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: readings at t_us in, actuator commands (N, A) out.

        Commands are 0..1, or -1..1 for bidirectional actuators, as in PX4.
        """

    def estimates(self) -> Estimates:
        """The fleet's state as the autopilot estimates it."""

    def apply(self, set_points: SetPoints) -> None:
        """Applies an Agent's set-points and requests from the next step on."""

    def health(self) -> list[dict]:
        """A mapping for each vehicle: mode, armed, not_ready (the reason, or ""), and more."""

    def interrupt(self) -> None:
        """Stops waiting for a peer; safe to call in signal handlers."""

    def close(self) -> None:
        """Closes links and logs. May be called twice."""


@runtime_checkable
class ExternalPose(Protocol):
    """An autopilot that fuses an external pose, from a vision system or ground truth."""

    def take_pose(self, i: int, t_us: int, pos: np.ndarray, quat: np.ndarray) -> None:
        """Takes an externally measured pose of vehicle i.

        Args:
            i: The vehicle.
            t_us: Simulated time of the measurement [us].
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """


@runtime_checkable
class LandingTargetTaker(Protocol):
    """An autopilot that lands on a target which is seen, in AUTO.PRECLAND and missions."""

    def take_landing_target(self, i: int, t_us: int, pos: np.ndarray) -> None:
        """Takes where the landing target of vehicle i was.

        Args:
            i: The vehicle.
            t_us: Simulated time of the measurement [us].
            pos: (3,) of the target, world [m].
        """


@runtime_checkable
class AimsCameras(Protocol):
    """An autopilot with camera mounts that an Agent may turn."""

    def turns_camera(self, i: int) -> bool:
        """Returns whether vehicle i has a mount that turns its camera all around."""

    def aim_camera(self, i: int, position: np.ndarray | None) -> None:
        """Makes the camera mount of vehicle i look at a place from now on.

        Args:
            i: The vehicle.
            position: (3,) world [m]; None for straight ahead.
        """


@runtime_checkable
class CommandsGrippers(Protocol):
    """An autopilot that takes orders to grippers beside its set-points."""

    def command_gripper(self, i: int, gripper: int, grab: bool) -> None:
        """Closes or opens a gripper of vehicle i while it is armed, as MAV_CMD_DO_GRIPPER does.

        Args:
            i: The vehicle.
            gripper: Its number, from 0, in the order of the channels.
            grab: Whether it closes.

        Raises:
            XtdroneError: The vehicle has no such gripper.
        """


@runtime_checkable
class Telemetered(Protocol):
    """An autopilot whose estimates come by telemetry, later than they were true."""

    def estimated_us(self) -> np.ndarray:
        """(N,) simulated time at which each position was estimated [us]."""


@runtime_checkable
class Logging(Protocol):
    """An autopilot that writes logs of its own."""

    def collect_gaps(self, gaps: LogGaps) -> None:
        """Called once, before the first step: what the disk does not take is noted there."""


@runtime_checkable
class SettableParameters(Protocol):
    """An autopilot whose parameters can be set in process."""

    def set_parameter(self, i: int, name: str, value: float) -> None:
        """Sets a parameter of vehicle i."""


class Observer:
    """Is called at each step of a simulation and changes nothing. Inherit and override.

    Observers are called in the order of Simulation.observers.

    Examples:
        >>> import xtdrone as xd
        >>> class Heights(xd.Observer):
        ...     period_us = 100_000
        ...     heights = []
        ...
        ...     def on_step(self, t_us, state, sensors):
        ...         self.heights.append(state.pos[0, 2])
        >>> with xd.Simulation(xd.Scenario(vehicles="iris"), observers=[Heights()]) as sim:
        ...     sim.run(1.0)
        >>> len(Heights.heights)
        10
    """

    period_us = 0  # between two calls of on_step() [us]; 0 for every step
    wants_readings = False  # cameras and lidars are sampled only while an observer sets this

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Called before the first step after construction, and after a load()."""

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Called after each step whose time is a multiple of period_us.

        The arrays are overwritten by the next step.
        """

    def on_reading(self, reading: Reading) -> None:
        """Called with each image or scan when it arrives."""

    def on_text(self, t_us: int, vehicle: int | None, severity: int, text: str) -> None:
        """Called with each message of a flight stack, or of the simulation (vehicle None).

        The severity is as in MAVLink.
        """

    def on_event(self, t_us: int, name: str, values: Mapping[str, Any]) -> None:
        """Called with each event of the flight, as events.jsonl has it."""

    def on_reset(self, t_us: int, mask: np.ndarray) -> None:
        """Called when vehicles (mask (N,) bool) have been reset."""

    def close(self) -> None:
        """The simulation has ended. May be called twice."""


@runtime_checkable
class Agent(Stateful, Protocol):
    """A controller inside the lockstep: estimates in, set-points out."""

    period_us: int  # between two calls of step() [us]
    done: bool  # the flight is complete

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns set-points for the whole fleet from the autopilots' estimates."""


class Flight(Protocol):
    """The part of a simulation that an Attachable Agent may access."""

    scenario: Scenario
    folder: Path | None  # run folder
    fleet: FleetModel
    autopilot: Autopilot
    t_us: int
    observers: list[Observer]
    log_gaps: LogGaps

    @property
    def state(self) -> FleetState:
        """The true state now."""

    @property
    def sensors(self) -> SensorBatch:
        """The last readings."""

    def rendered_sensors(self) -> list[SensorDescription]:
        """The cameras and lidars, as RenderedSensors.describe() gives them."""


@runtime_checkable
class Attachable(Protocol):
    """An Agent that needs more than estimates, for recording or for camera images."""

    def attach(self, flight: Flight) -> None:
        """Called once, before the flight.

        Raises:
            XtdroneError: The flight lacks what the Agent needs.
        """


@runtime_checkable
class Reporting(Protocol):
    """An Agent with results after its flight."""

    def report(self, folder: Path) -> object:
        """Writes results and plots to the run folder, and prints a summary."""


@runtime_checkable
class GoalCounter(Protocol):
    """An Agent that counts the goals it reached, for the summary of the flight."""

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Number of goals reached and in all, by the name of the goals, such as "corners"."""


@runtime_checkable
class GoalTaker(Protocol):
    """An Agent that takes goals during its flight, such as those of the page."""

    def take_goal(self, goal: Sequence[float]) -> None:
        """Flies to a goal (3,), world [m], in place of the one before.

        Raises:
            XtdroneError: It is no place where it may fly.
        """

    def navigation(self) -> Mapping[str, Any]:
        """Returns values for JSON: what it does and knows.

        state: in words. goal: (3,) [m], or None. path: (P, 3) way that was planned [m].
        trajectory: (K, 3) what is flown, with its stop [m]. map: low (2,) [m], resolution [m],
        shape (2,), and cells, base64 of a byte for each column in the order of rows of x: 0
        unseen, 1 free, 2 occupied at the heights of the flight.
        """


@runtime_checkable
class SlotProvider(Protocol):
    """An Agent that assigns a slot of a formation to each vehicle."""

    def slot_positions(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns the slot of each vehicle, (N, 3) world [m]; NaN for a vehicle without one.

        Args:
            t_us: Simulated time [us].
            pos: (N, 3) where the vehicles are, world [m].
        """


@runtime_checkable
class GroundVehicleAware(Protocol):
    """An Agent that ends the flight of rovers and boats otherwise than that of aircraft."""

    drives: np.ndarray  # (N,) bool, which vehicles are rovers or boats


@runtime_checkable
class HealthAware(Protocol):
    """An Agent that asks how far the vehicles' missions are."""

    health: Callable[[], Sequence[Mapping[str, Any]]]  # of each vehicle, as Autopilot.health()


def goals_missed(goals: Mapping[str, tuple[int, int]]) -> bool:
    """Returns whether a GoalCounter has not reached all of its goals."""
    return any(reached < total for reached, total in goals.values())


def required(part: object, protocol: type[Part], what: str, instead: str) -> Part:
    """Returns the part if it implements the protocol.

    Args:
        part: An engine or autopilot.
        protocol: Renderer, RangeCaster, Viewer, ExternalPose or SettableParameters.
        what: The part and the missing feature, for example "autopilot 'px4' takes no pose".
        instead: What the user can do.

    Raises:
        ScenarioError: It does not implement it.
    """
    if not isinstance(part, protocol):
        raise ScenarioError(f"{what}: {instead}")
    return part
