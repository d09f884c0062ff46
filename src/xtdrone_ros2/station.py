"""The simulation's end of ROS 2: an observer that hands each step to a process of its own.

That process speaks DDS. It gets the steps by a ring in shared memory and follows the control
socket; commands go from it to the vehicles by MAVLink. Whatever happens to it does not touch the
flight.
"""

import logging
import os
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_core import ControlError, FleetState, Scenario, SensorBatch, Vehicle
from xtdrone_core.contracts import Observer
from xtdrone_core.runs.companion import Companion
from xtdrone_core.runs.frame_ring import path_of
from xtdrone_dynamics.abilities.vehicle_type import NOT_VTOL, vehicle_types, vtol_types

from .description import FleetDescription, OptionValue, RotorRange
from .errors import Ros2Error
from .feed import Feeder

if TYPE_CHECKING:  # slow to import
    from xtdrone_sim.simulation import Simulation

_log = logging.getLogger(__name__)


class Ros2Station(Observer):
    """Starts the process, and feeds it."""

    period_us = 0  # every step

    def __init__(self, simulation: "Simulation"):
        """Starts the process and waits until it has joined its domain.

        Args:
            simulation: The Simulation; append this to its observers.

        Raises:
            Ros2Error: Its libraries are missing, or DDS cannot start.
        """
        scenario = simulation.scenario
        if scenario.ros2_record != "none" and simulation.folder is None:
            raise Ros2Error(
                f"ros2_record '{scenario.ros2_record}' needs a run folder: leave out one of them"
            )
        self._autopilot = simulation.autopilot
        try:
            self._feeder = Feeder(path_of(os.getpid(), scenario.instance, "ros2"), scenario.n)
            self._process = Companion(
                "xtdrone_ros2.main",
                describe(simulation, str(self._feeder.path)).to_json(),
                lambda line: _log.warning("ros2: %s", line),
            )
        except ControlError as error:
            self.close()
            raise Ros2Error(f"ROS 2 does not start: {error}") from error
        except BaseException:
            self.close()
            raise

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Hands over the start."""
        self.on_step(t_us, state, sensors)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Hands over a step."""
        self._feeder.write(t_us, state, sensors, self._autopilot)
        self._process.wake()

    def close(self) -> None:
        """Ends the process. May be called twice."""
        for part in ("_process", "_feeder"):
            if part in vars(self):
                getattr(self, part).close()


def describe(simulation: "Simulation", ring: str) -> FleetDescription:
    """Returns the description of a Simulation; ring: path of the ring with its steps."""
    scenario, world, fleet = simulation.scenario, simulation.world, simulation.fleet
    vtol = vtol_types(fleet) != NOT_VTOL
    shared = scenario.origin == "shared"
    return FleetDescription(
        ring=ring,
        instance=scenario.instance,
        px4=scenario.has_real_px4,
        control=simulation.requests is not None,
        names=[spec.name for spec in scenario.vehicles],
        namespaces=scenario.namespaces,
        origin=(world.latitude, world.longitude, world.altitude),
        offsets=[[0.0] * 3 if shared else list(spec.pos) for spec in scenario.vehicles],
        vehicle_types=np.where(vtol, 0, vehicle_types(fleet)).tolist(),
        vtol=vtol.tolist(),
        rotors=[
            _rotors(vehicle, name) for vehicle, name in zip(fleet.vehicles, scenario.autopilots)
        ],
        cameras=simulation.rendered_sensors(),
        domain=scenario.ros2_domain,
        address=scenario.ros2_address,
        rate=scenario.ros2_rate,
        record=scenario.ros2_record,
        topics=scenario.ros2_topics,
        folder=str(simulation.folder or ""),
        truth=scenario.ros2_truth,
        mavros=scenario.ros2_mavros,
        distribution=scenario.ros2_distribution,
        options=_options(scenario),
    )


def _rotors(vehicle: Vehicle, autopilot: str) -> list[RotorRange]:
    """Returns the rotors of a vehicle whose flight stack takes actuator commands, else none."""
    return (
        [
            RotorRange(
                rotor.channel,
                rotor.zero_position_armed,
                rotor.input_scaling,
                rotor.max_rot_velocity,
            )
            for rotor in vehicle.rotors
        ]
        if autopilot == "embedded"
        else []
    )


def _options(scenario: Scenario) -> dict[str, OptionValue]:
    """Returns the options that are one number, word or truth value."""
    values = {name: getattr(scenario, name) for name in Scenario.options()}
    return {
        name: OptionValue(values[name], declared.help)
        for name, (_, declared) in Scenario.options().items()
        if type(values[name]) in (bool, int, float, str)
    }
