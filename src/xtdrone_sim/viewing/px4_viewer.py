"""True states for PX4's own viewer: HIL_STATE_QUATERNION by UDP, as PX4's SIH sends it.

PX4 number k sends to UDP 19410 + k (ROMFS/px4fmu_common/init.d-posix/px4-rc.mavlink of v1.15.4).
"""

import contextlib
import socket
import time

import numpy as np

from xtdrone_core import FleetState, Scenario, SensorBatch, frames
from xtdrone_core.contracts import Observer
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth.geodesy import to_geodetic_array
from xtdrone_dynamics.quaternion import rotate_inverse_array

from ..world import World

MIN_PERIOD_S = 0.015  # wall time between two states: a viewer draws no more [s]


class Px4Viewer(Observer):
    """Sends each vehicle's true state 50 times per second, and waits for nobody."""

    period_us = TICK_US

    def __init__(self, scenario: Scenario, world: World) -> None:
        """Opens the socket; append it to the observers of the simulation."""
        ports = scenario.ports
        self._addresses = [("127.0.0.1", ports.viewer(i)) for i in range(scenario.n)]
        self._encoders = [
            mavlink.MAVLink(None, ports.system_id(i), mavlink.MAV_COMP_ID_AUTOPILOT1)
            for i in range(scenario.n)
        ]
        self._origin = world.latitude, world.longitude, world.altitude
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._due = 0.0

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Sends one message for each vehicle."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + MIN_PERIOD_S
        places = to_geodetic_array(state.pos, *self._origin)
        quat, vel = frames.quat_enu_ned(state.quat), frames.enu_ned(state.vel)
        rates = frames.flu_frd(state.ang_vel)
        acc = frames.flu_frd(rotate_inverse_array(state.quat, state.acc)) / GRAVITY * 1e3
        for i, encoder in enumerate(self._encoders):
            lat, lon = np.degrees(places[i, :2]) * 1e7
            x, y, z, w = quat[i]
            message = mavlink.MAVLink_hil_state_quaternion_message(
                t_us,
                [w, x, y, z],
                *rates[i],
                round(lat),
                round(lon),
                round(places[i, 2] * 1e3),
                *_short(vel[i] * 100.0),
                0,
                0,
                *_short(acc[i]),
            )
            data = message.pack(encoder)
            encoder.seq = (encoder.seq + 1) % 256
            with contextlib.suppress(OSError):  # no viewer there, or it is slow
                self._socket.sendto(data, self._addresses[i])

    def close(self) -> None:
        """Closes the socket. May be called twice."""
        self._socket.close()


def _short(values: np.ndarray) -> list[int]:
    """Rounds to MAVLink's int16."""
    return [int(value) for value in np.clip(np.round(values), -32768, 32767)]
