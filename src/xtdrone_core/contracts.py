"""The three seams of the workspace: Engine, Autopilot, Agent."""

from typing import Protocol

import numpy as np

from .state import Estimates, FleetState, SensorBatch, SetPoints


class Engine(Protocol):
    """Moves rigid bodies and renders. Rotors, wind and sensors are not its business.

    An engine that draws for cameras and measures for lidars itself has a method scene(largest,
    samples) too, which gives what xtdrone_sim.rendering.sensors asks, as rendering.RenderedScene
    does for all others; one that measures for range finders has beam(vehicle, point, direction),
    as rendering.Beams.
    """

    state: FleetState

    def reset(self) -> FleetState:
        """Every vehicle back to its pose of the scenario, at rest, at time 0."""

    def step(self, wrench: np.ndarray, dt_us: int) -> FleetState:
        """Advances all bodies under a wrench that is constant through the step.

        Args:
            wrench: (N, 6) force [N] then torque about the centre of gravity
                [N m], both in the world frame; gravity is the engine's own.
            dt_us: Length of the step [us].

        Returns:
            The state after the step. The engine owns it and overwrites it at
            the next step; rotor_vel is left to the caller.
        """

    def contacts(self) -> list[tuple[str, str]]:
        """Pairs of names (vehicles or models of the world) that touch now."""

    def set_payload(self, vehicle: int, mass: float, pos) -> None:
        """A point mass [kg] fixed to a vehicle at pos (3,), body [m]; in place of the last one.

        FleetState, sensors and wrenches go on to refer to the empty vehicle's centre of gravity.
        """

    def spawn(self, spec) -> None:
        """Adds a vehicle (a VehicleSpec) to the running world, as the last of the fleet."""

    def delete(self, name: str) -> None:
        """Removes a vehicle from the running world."""

    def render(self, vehicle: int, camera: str) -> np.ndarray:
        """An image of one vehicle's camera, (H, W, 3) uint8, or (H, W) float depth [m]."""

    def close(self) -> None:
        """Frees windows, processes and sockets. May be called twice."""


class Autopilot(Protocol):
    """Turns sensor readings into rotor commands, and speaks MAVLink to the outside."""

    def step(self, t_us: int, sensors: SensorBatch) -> np.ndarray:
        """One lockstep step: readings at t_us in, rotor commands (N, R) in 0..1 out."""

    def estimates(self) -> Estimates:
        """What the autopilot believes now."""

    def apply(self, set_points: SetPoints) -> None:
        """Takes an Agent's wishes, in force from the next step on, as OFFBOARD set-points."""

    def close(self) -> None:
        """Closes links and logs. May be called twice."""


class Agent(Protocol):
    """Decides where to go, inside the lockstep."""

    done: bool  # the flight may end

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Set-points for the whole fleet from what its autopilots believe."""
