"""The seams of the workspace, complete: whoever implements one needs nothing else to be used.

Nothing reaches around a seam: no hasattr, no private attribute of a neighbour. What not every
implementation can do is a protocol of its own (Renderer, RangeCaster, Viewer, ExternalPose,
SettableParameters; Attachable and Reporting of an Agent).
An implementation says that it has one by inheriting from it; whoever needs it asks at
construction, through required(), and the user hears of it before the flight.

`mask` is (N,) bool, the vehicles meant; None means all of them. save() gives a Snapshot:
plain data and NumPy arrays by name, which snapshot.write() stores without pickle. load() of the
same scenario takes it back, and the flight goes on bit for bit.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from .errors import ScenarioError
from .state import Estimates, FleetState, Reading, SensorBatch, SetPoints

if TYPE_CHECKING:
    from pathlib import Path

    from .fleet_model import FleetModel
    from .scenario import Scenario

Snapshot = Mapping[str, Any]  # numbers, texts, lists, arrays, and mappings of these
Part = TypeVar("Part")


class Stateful(Protocol):
    """What every part with a memory can do."""

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles back to the start of the scenario; the others are not touched by a bit.

        A vehicle that was reset goes on as a fresh one would, its random streams included.
        """

    def save(self) -> Snapshot:
        """All that the future depends on, as copies."""

    def load(self, snapshot: Snapshot) -> None:
        """Goes on from what save() gave."""


class Engine(Stateful, Protocol):
    """Moves bodies and finds contacts. Actuators, wind and sensors are not its business."""

    state: FleetState

    def step(self, wrench: np.ndarray, joint_targets: np.ndarray, dt_us: int) -> FleetState:
        """Advances all bodies under a wrench that is constant through the step.

        Args:
            wrench: (N, B, 6) on each body of each vehicle, force [N] then torque about the
                body's origin [N m], both in the world frame; gravity is the engine's own.
                Body 0 is the base, whose origin is FleetState.pos.
            joint_targets: (N, J) where each driven joint is to be [rad] or [m].
            dt_us: Length of the step [us].

        Returns:
            The state after the step. The engine owns it and overwrites it at the next step;
            `actuator` is left to the caller.

        Raises:
            EngineError: A vehicle's state is not finite any more.
        """

    def contacts(self) -> list[tuple[str, str]]:
        """Pairs of names (vehicles or models of the world) that touch now, sorted."""

    def set_payload(self, vehicle: int, mass: float, pos: np.ndarray) -> None:
        """A point mass [kg] fixed to a vehicle at pos (3,), body [m]; in place of the last one.

        FleetState, sensors and wrenches go on to refer to the empty vehicle's centre of gravity.
        """

    def close(self) -> None:
        """Frees windows, processes and sockets. May be called twice."""


@runtime_checkable
class Renderer(Protocol):
    """An engine that draws for cameras and measures for lidars itself."""

    def scene(self, largest: tuple[int, int], samples: int) -> Any:
        """What xtdrone_sim.rendering.sensors draws with, as rendering.scene.RenderedScene.

        Args:
            largest: Width and height of the largest image [pixels].
            samples: Per pixel.
        """


@runtime_checkable
class RangeCaster(Protocol):
    """An engine that measures for range finders itself."""

    def beam(self, vehicle: int, point: np.ndarray, direction: np.ndarray) -> float:
        """Distance [m] from a point (3,) of the world along a direction (3,) to the first surface
        that is not the vehicle's own, or inf.
        """


@runtime_checkable
class Viewer(Protocol):
    """An engine with a window."""

    def open_viewer(self) -> None:
        """Opens it."""


class Autopilot(Stateful, Protocol):
    """Turns sensor readings into actuator commands, and speaks MAVLink to the outside."""

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: readings at t_us in, actuator commands (N, A) out.

        Commands are 0..1, or -1..1 for actuators that go both ways, as PX4 has them.
        """

    def estimates(self) -> Estimates:
        """The fleet's state as the autopilot estimates it."""

    def apply(self, set_points: SetPoints) -> None:
        """Takes an Agent's set-points and requests, in force from the next step on."""

    def health(self) -> list[dict]:
        """A mapping for each vehicle: mode, armed, not_ready (why not, or ""), and more."""

    def interrupt(self) -> None:
        """Ends waiting for a peer; safe in signal handlers."""

    def close(self) -> None:
        """Closes links and logs. May be called twice."""


@runtime_checkable
class ExternalPose(Protocol):
    """An autopilot that takes a pose from outside, from a vision system or the truth."""

    def take_pose(self, i: int, t_us: int, pos: np.ndarray, quat: np.ndarray) -> None:
        """A pose of vehicle i that something outside measured.

        Args:
            i: The vehicle.
            t_us: Simulated time at which it was true [us].
            pos: (3,) centre of gravity, world [m].
            quat: (4,) xyzw, body to world.
        """


@runtime_checkable
class SettableParameters(Protocol):
    """An autopilot whose parameters can be set in process."""

    def set_parameter(self, i: int, name: str, value: float) -> None:
        """Sets a parameter of vehicle i."""


class Observer:
    """Sees each step of a simulation and changes nothing of it. Inherit; replace what you need.

    Observers are called in the order of Simulation.observers.
    """

    period_us = 0  # between two calls of on_step() [us]; 0 for every step
    wants_readings = False  # cameras and lidars look only while some observer wants it

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Called before the first step after construction, and after a load()."""

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Called after each step whose time is a multiple of period_us.

        The arrays are overwritten by the next step.
        """

    def on_reading(self, reading: Reading) -> None:
        """Called with each image or scan when it arrives."""

    def on_reset(self, t_us: int, mask: np.ndarray) -> None:
        """Called when vehicles (mask (N,) bool) have been put back to their start."""

    def close(self) -> None:
        """The simulation has ended. May be called twice."""


@runtime_checkable
class Agent(Stateful, Protocol):
    """Decides where to go, inside the lockstep."""

    period_us: int  # between two calls of step() [us]
    done: bool  # the flight may end

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Set-points for the whole fleet from what its autopilots estimate."""


class Flight(Protocol):
    """What an Agent that is Attachable may know of the simulation that it flies in."""

    scenario: "Scenario"
    folder: "Path | None"  # of the run
    fleet: "FleetModel"
    autopilot: Autopilot
    t_us: int
    observers: list[Observer]

    @property
    def state(self) -> FleetState:
        """The true state now."""

    @property
    def sensors(self) -> SensorBatch:
        """The last readings."""

    def rendered_sensors(self) -> list[dict]:
        """The cameras and lidars, as RenderedSensors.describe() gives them."""


@runtime_checkable
class Attachable(Protocol):
    """An Agent that needs more than estimates: it records, or shows images to a program."""

    def attach(self, flight: Flight) -> None:
        """Called once, before the flight.

        Raises:
            XtdroneError: The flight lacks what the Agent needs.
        """


@runtime_checkable
class Reporting(Protocol):
    """An Agent that has something to say after its flight."""

    def report(self, folder: "Path") -> object:
        """Adds figures and plots to the run folder, and prints what its user wants to know."""


def required(part: object, protocol: type[Part], what: str, instead: str) -> Part:
    """The part itself, where it has the protocol.

    Args:
        part: An engine or autopilot.
        protocol: Renderer, RangeCaster, Viewer, ExternalPose or SettableParameters.
        what: The part and what it cannot do, for example "autopilot 'px4' takes no pose".
        instead: What the user can do.

    Raises:
        ScenarioError: It does not have it.
    """
    if not isinstance(part, protocol):
        raise ScenarioError(f"{what}: {instead}")
    return part
