"""How well a plane follows the attitude and the rates that it is asked for, in a loiter."""

import math
from typing import NamedTuple

import numpy as np

from stack_flights import MissionFlight, each_step
from xtdrone_core import Mode
from xtdrone_dynamics.quaternion import to_euler


class Loiter(NamedTuple):
    """Root mean squares of the errors of a loiter."""

    bank: float  # [deg]
    pitch: float  # [deg]
    rates: np.ndarray  # (3,) about the body's axes [deg/s]
    height: float  # standard deviation [m]


def loiter(seconds=40.0, **options):
    """Takes off, loiters for 40 s, then judges; returns a Loiter."""
    flight = MissionFlight(vehicle="plane", seed=2, log="none", **options)
    try:
        flight.wait(lambda: flight.autopilot.status["ready"][0], 60)
        flight.autopilot.commander.take_off(0, math.nan, flight.simulation.t_us)
        assert flight.autopilot.commander.arm(0, flight.simulation.t_us).accepted
        flight.wait(lambda: flight.mode == Mode.LOITER, 40)
        flight.run(40)
        rows = []

        def look(t_us, state, sensors):
            status = flight.autopilot.status[0]
            roll, pitch, _ = to_euler(*state.quat[0])
            wanted_roll, wanted_pitch, _ = to_euler(*status["sp_quat"])
            rates = status["sp_rates"] - state.ang_vel[0]
            rows.append((wanted_roll - roll, wanted_pitch - pitch, *rates, state.pos[0, 2]))

        each_step(flight.simulation, look)
        flight.run(seconds)
    finally:
        flight.simulation.close()
    errors = np.array(rows)
    rms = np.degrees(np.sqrt((errors[:, :5] ** 2).mean(axis=0)))
    return Loiter(rms[0], rms[1], rms[2:], errors[:, 5].std())
