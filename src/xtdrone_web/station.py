"""The simulation's end of the browser station: an observer that copies the newest state.

It writes into a ring in shared memory and never waits. Whatever happens to the web server, which
is a process of its own, does not touch the flight.
"""

import logging
import os
import secrets
import time

import numpy as np

from xtdrone_core import ControlError, FleetState, SensorBatch
from xtdrone_core.contracts import GoalTaker, Observer, SlotProvider
from xtdrone_core.runs.companion import Companion
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.runs.frame_ring import FrameWriter, path_of
from xtdrone_core.runs.ports import Ports
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.world import load_world

from .description import CameraDescription, StationDescription, describe, to_plain
from .errors import WebError
from .frame import VEHICLE, blank

_log = logging.getLogger(__name__)
PERIOD_S = 0.015  # wall time between two states in the ring, at least [s]
STEPS = 32  # number of the last steps whose times the ring has
_ROTORS = VEHICLE["actuator"].shape[0]
LOCAL = "127.0.0.1"
RingArrays = tuple[tuple[str, str, tuple[int, ...]], ...]  # name, type and shape of each


class Station(Observer):
    """Starts the page's server of a simulation, and writes the state for it.

    Attributes:
        url: Address of the page, with the token for pilots.
        watch_url: Address of the page for viewers.
    """

    period_us = 0  # the end of each step is noted, for the latency of the sticks

    def __init__(self, simulation: Simulation, address: str = LOCAL):
        """Starts the server and waits until it listens.

        Args:
            simulation: The Simulation; append this to its observers.
            address: IPv4 address on which the page is served.

        Raises:
            WebError: The server cannot start, for example because its port is taken.
        """
        self._plant, self._autopilot = simulation.plant, simulation.autopilot
        n = simulation.scenario.n
        self._records = blank(n)
        self._steps = np.zeros((STEPS, 2))  # end [s] and processor time [s] of the last steps
        self._count, self._due, self._cpu = 0, 0.0, 0.0
        self._simulation = simulation  # kept whole, as its Agent comes later
        self._passages = np.zeros(n, dtype="<i8")
        self._start_z = np.zeros(n)  # where the vehicles stood at the start [m]
        arrays = (
            ("vehicles", "|u1", (n * VEHICLE.itemsize,)),
            ("steps", "<f8", (STEPS, 2)),
            ("passages", "<i8", (n,)),
            ("takes_goals", "|u1", (1,)),
        )
        self._ring = FrameWriter(
            path_of(os.getpid(), simulation.scenario.instance, "web"), list(arrays)
        )
        token = secrets.token_urlsafe(18)
        try:
            self._server = Companion(
                "xtdrone_web.live.main",
                to_plain(_described(simulation, str(self._ring.path), arrays, token, address)),
                lambda line: _log.warning("web: %s", line),
            )
        except ControlError as error:
            self._ring.close()
            raise WebError(f"the page does not open: {error}") from error
        except BaseException:
            self._ring.close()
            raise
        port = Ports(simulation.scenario.instance).web
        self.watch_url = f"http://{address if address != '0.0.0.0' else LOCAL}:{port}/"
        self.url = f"{self.watch_url}#token={token}"

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Shows the start."""
        self._start_z[:] = state.pos[:, 2]
        self._write(t_us, state, sensors)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Notes the time of each step, and copies the state at each tick."""
        now, cpu = time.monotonic(), time.thread_time()
        self._steps[self._count % STEPS] = now, cpu - self._cpu
        self._count, self._cpu = self._count + 1, cpu
        if t_us % TICK_US == 0 and now >= self._due:
            self._due = now + PERIOD_S
            self._write(t_us, state, sensors)

    def close(self) -> None:
        """Ends the server. May be called twice."""
        self._server.close()
        self._ring.close()

    def _write(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        r, estimates = self._records, self._autopilot.estimates()
        r["pos"], r["quat"], r["vel"], r["rates"] = state.pos, state.quat, state.vel, state.ang_vel
        r["est_pos"], r["est_quat"], r["est_vel"] = estimates.pos, estimates.quat, estimates.vel
        count = min(state.actuator.shape[1], _ROTORS)
        r["actuator"][:, :count] = state.actuator[:, :count]
        r["wind"] = self._plant.actuators.wind
        r["voltage"], r["current"] = sensors.battery_voltage, sensors.battery_current
        r["range"] = sensors.range_distance
        r["height"] = state.pos[:, 2] - self._start_z
        r["crashed"] = self._simulation.monitor.crashed
        for name in ("mode", "armed", "landed", "ready"):
            r[name] = getattr(estimates, name)
        agent, race = self._simulation.agent, self._simulation.race
        r["slot"] = (
            agent.slot_positions(t_us, state.pos) if isinstance(agent, SlotProvider) else np.nan
        )
        if race is not None:
            self._passages[:] = race.laps.count
        self._ring.write(
            t_us,
            {
                "vehicles": r.view(np.uint8),
                "passages": self._passages,
                "takes_goals": np.array([isinstance(agent, GoalTaker)], dtype=np.uint8),
                "steps": np.roll(self._steps, -(self._count % STEPS), axis=0),
            },
        )


def _described(
    simulation: Simulation, ring: str, arrays: RingArrays, token: str, address: str
) -> StationDescription:
    scenario = simulation.scenario
    return StationDescription(
        instance=scenario.instance,
        folder=str(simulation.folder or ""),
        key=scenario.key,
        px4="px4" in scenario.autopilots,
        control=simulation.requests is not None,
        shared_origin=scenario.origin == "shared",
        # The world's own file, without the gates of a track, which the page draws.
        scene=describe(load_world(scenario.world), scenario.vehicles, simulation.fleet.vehicles),
        cameras=tuple(
            CameraDescription(camera["vehicle"], camera["sensor"], camera["kind"])
            for camera in simulation.rendered_sensors()
        ),
        track=scenario.track,
        ghost=scenario.ghost,
        ring=ring,
        arrays=arrays,
        token=token,
        address=address,
    )
