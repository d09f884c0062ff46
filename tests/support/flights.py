"""Flights without an engine: exact states of prescribed motions, at 250 Hz, for estimators.

The states obey the engines' integration: pos(k) = pos(k-1) + vel(k) dt, vel(k) =
vel(k-1) + acc(k) dt, and ang_vel(k) turns quat(k-1) into quat(k).
"""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from sensor_models import SensorSuite
from xtdrone_autopilot.estimation.ekf import Ekf
from xtdrone_autopilot.parameters.store import ParameterStore
from xtdrone_core import FleetState, SensorBlock
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth.magnetic_field import earth_field

ORIGIN = (math.radians(47.397742), math.radians(8.545594), 488.0)
FIELD = earth_field(*ORIGIN)
N = 8  # vehicles that fly alike
DT = 0.004
REST = 3.0  # every flight begins at rest [s]


def ramp(t, start, length):
    """From 0 to 1 with continuous acceleration."""
    x = np.clip((t - start) / length, 0, 1)
    return x**3 * (10 - 15 * x + 6 * x * x)


def integrated(vel):
    return np.cumsum(vel, axis=0) * DT


def hover(t):
    """Climbs to 5 m and stays, facing north."""
    pos = np.zeros((len(t), 3))
    pos[:, 2] = 5 * ramp(t, REST, 4)
    return pos, np.full(len(t), np.pi / 2)


def circles(t):
    """8 m/s on a circle of 12 m, nose along the path."""
    phase = integrated(8 / 12 * ramp(t, REST + 4, 4))
    pos = np.stack([12 * np.sin(phase), 12 * (1 - np.cos(phase)), 5 * ramp(t, REST, 4)], axis=1)
    return pos, phase


def steps(t):
    """Velocity steps of 10 m/s to and fro on each axis, and turns of 90 degrees between them."""
    vel = np.zeros((len(t), 3))
    vel[:, 2] = 2 * (ramp(t, REST, 1.5) - ramp(t, REST + 4, 1.5))
    yaw = np.zeros(len(t))
    for k, start in enumerate(np.arange(REST + 7, t[-1] - 12, 12)):
        axis = k % 2
        vel[:, axis] += 10 * (
            ramp(t, start, 1.5) - 2 * ramp(t, start + 3, 3) + ramp(t, start + 7.5, 1.5)
        )
        yaw += np.pi / 2 * ramp(t, start + 9.5, 1.5)
    return integrated(vel), yaw


FLIGHTS = {flight.__name__: flight for flight in (hover, circles, steps)}


def states(flight, seconds, n=1):
    """Yields the FleetState of n vehicles that fly alike, step by step: the same object."""
    t = np.arange(round(seconds / DT)) * DT
    pos, yaw = flight(t)
    vel = np.diff(pos, axis=0, prepend=pos[:1]) / DT
    acc = np.diff(vel, axis=0, prepend=vel[:1]) / DT
    up = acc + [0, 0, GRAVITY]
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    left = np.cross(up, np.stack([np.cos(yaw), np.sin(yaw), 0 * yaw], axis=1))
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    turn = Rotation.from_matrix(np.stack([np.cross(left, up), left, up], axis=2))
    quat = turn.as_quat()
    rate = np.zeros((len(t), 3))
    rate[1:] = (turn[:-1].inv() * turn[1:]).as_rotvec() / DT
    state = FleetState.zeros(n, 4)
    for k in range(len(t)):
        state.t_us = k * 4000
        state.pos[:], state.quat[:], state.vel[:] = pos[k], quat[k], vel[k]
        state.ang_vel[:], state.acc[:] = rate[k], acc[k]
        yield state


def block(kind, pos=(0.0, 0.0, 0.0), quat=(0.0, 0.0, 0.0, 1.0), **tags):
    """A sensor of a vehicle."""
    return SensorBlock(kind, kind, pos, quat, tags)


def sensors(n, gps="rtk", imu="adis16448", seed=3, antenna=(0.0, 0.0, 0.0), more=(), **imu_tags):
    """The usual sensors of n vehicles, and more."""
    blocks = (
        block("imu", preset=imu, **imu_tags),
        block("magnetometer"),
        block("barometer"),
        block("gps", antenna, preset=gps),
        *more,
    )
    return SensorSuite([blocks] * n, ORIGIN, FIELD, seed)


class Log:
    """What an estimator believed in a flight, less the truth; every fifth step."""

    def __init__(self):
        names = "pos", "vel", "quat", "true_quat", "pos_std", "vel_std", "att_std", "ready"
        self._rows = {name: [] for name in names}

    def add(self, ekf, state):
        for name, value in (
            ("pos", ekf.pos - state.pos),
            ("vel", ekf.vel - state.vel),
            ("quat", ekf.quat),
            ("true_quat", state.quat),
            ("pos_std", ekf.pos_std),
            ("vel_std", ekf.vel_std),
            ("att_std", ekf.att_std),
            ("ready", ekf.ready),
        ):
            self._rows[name].append(value.copy())

    def __getitem__(self, name):
        """Rows (samples, n, ...) of a name; `turn` is the error of the attitude."""
        if name != "turn":
            return np.array(self._rows[name])
        told, true = (
            Rotation.from_quat(np.reshape(self[key], (-1, 4))) for key in ("quat", "true_quat")
        )
        return (told * true.inv()).as_rotvec().reshape(*np.shape(self._rows["quat"])[:2], 3)


def fly(flight, seconds, n=N, suite=None, ekf=None, spoil=None, since=3.0, wind=None, **parameters):
    """Flies n vehicles alike; spoil(batch, k) may change what the sensors said.

    Returns the Ekf and its Log; the parameters are those of the flight stack.
    """
    suite = suite or sensors(n)
    ekf = ekf or Ekf(n, ORIGIN, FIELD)
    values = ParameterStore(n).values
    for name, value in parameters.items():
        values[name] = value
    log = Log()
    for k, state in enumerate(states(flight, seconds, n)):
        batch = suite.step(state, state.t_us, wind)
        if spoil:
            spoil(batch, k)
        ekf.step(batch, values)
        if state.t_us >= since * 1e6 and k % 5 == 0:
            log.add(ekf, state)
    return ekf, log


def rms(rows):
    """Root mean square over samples and vehicles."""
    return np.sqrt(np.mean(rows**2, axis=(0, 1)))


def degrees(turn):
    """Angles of rotation vectors."""
    return np.degrees(np.linalg.norm(turn, axis=-1))
