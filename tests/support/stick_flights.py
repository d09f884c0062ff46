"""A flight by scripted sticks, of which the flight log has sticks and motion."""

import numpy as np

from stack_flights import Flight
from xtdrone_core import Mode
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import run_folder

SECONDS = 24.0  # of the script
BUTTONS = 5


def script(t_s):
    """Sticks up, clockwise, forward and right at a time, -1 to 1: each by turns, to and fro."""
    turn, within = divmod(t_s, 2.0)
    stick = np.zeros(4)
    stick[int(turn) % 4] = 0.5 * np.sign(np.sin(np.pi * within)) * (1.0 if turn < 6 else 0.7)
    return stick


def flown(name="sticks", vehicle="tello", log="full"):
    """Takes off, flies the script in ALTCTL and hovers without sticks for 2 s.

    Returns:
        The log of the flight, and the time at which the script began [s].
    """
    folder = run_folder.create(name)
    flight = Flight(vehicle, folder, log=log)
    flight.take_off()
    begin = flight.simulation.t_us

    def send():
        up, clockwise, forward, right = script((flight.simulation.t_us - begin) * 1e-6)
        flight.send(
            mavlink.MAVLink_manual_control_message(
                1,
                round(1000 * forward),
                round(1000 * right),
                round(500 + 500 * up),
                round(1000 * clockwise),
                BUTTONS,
            )
        )

    send()
    assert flight.autopilot.commander.set_mode(0, Mode.ALTCTL, flight.simulation.t_us).accepted
    flight.run(SECONDS, send)
    assert flight.mode == Mode.ALTCTL
    flight.run(2.0)
    flight.simulation.close()
    return next((folder / "ulog").glob("*/*.ulg")), begin * 1e-6
