"""Drives rovers and the boat through their modes by a script, and records what each stack does.

    PX4_BUILD=... python tests/support/rover_modes.py

writes what real PX4 does to tests/data/px4_rover_modes.json: by vehicle and mode, whether the mode
is taken over and the vehicle armed in it, and the controls that go to the outputs at the end of
each of SCRIPT's rows. A mode of a flight, of which nothing is sent, is not armed: MISSION without
a mission, OFFBOARD without set-points.
"""

import json
import sys
import tempfile
from pathlib import Path

from px4_references import Recording
from stack_flights import MissionFlight
from xtdrone_core import Mode
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import custom_mode, from_custom_mode

RECORD = Path(__file__).resolve().parents[1] / "data" / "px4_rover_modes.json"
VEHICLES = "rover", "r1_rover", "boat"
MODES = (
    Mode.MANUAL,
    Mode.ACRO,
    Mode.LOITER,
    Mode.STABILIZED,
    Mode.POSCTL,
    Mode.ALTCTL,
    Mode.MISSION,
    Mode.RTL,
    Mode.OFFBOARD,
    Mode.LAND,
    Mode.TAKEOFF,
)
# Throttle and roll stick, seconds; the sticks are those of a joystick with its throttle centred.
SCRIPT = (0.0, 0.0, 1.0), (0.3, 0.0, 1.0), (0.3, 0.4, 0.4), (-0.2, 0.0, 0.4), (0.0, 0.0, 1.0)


def script(mode, vehicle):
    """Tries a mode: whether it is taken over, armed and kept, and controls (rows, outputs).

    Args:
        mode: A Mode.
        vehicle: With send(message), wait(seconds, each), mode(), armed(), controls() and, between
            modes, stop(each).

    Returns:
        What is recorded of it.
    """
    main, sub = custom_mode(mode) >> 16 & 255, custom_mode(mode) >> 24
    answer = {}

    def command(number, *values):
        vehicle.send(
            mavlink.MAVLink_command_long_message(
                1, 1, number, 0, *values, *[0.0] * (7 - len(values))
            )
        )

    def stick(throttle, roll):
        return lambda: vehicle.send(
            mavlink.MAVLink_manual_control_message(
                1, 0, round(1000 * roll), round(500 + 500 * throttle), 0, 0
            )
        )

    vehicle.wait(1.0, stick(0.0, 0.0))
    command(mavlink.MAV_CMD_DO_SET_MODE, 1, main, sub)
    vehicle.wait(1.2, stick(0.0, 0.0))  # heartbeats come once a second
    answer["mode"] = vehicle.mode() == mode
    command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    vehicle.wait(0.6, stick(0.0, 0.0))
    answer["armed"] = vehicle.armed()
    if answer["armed"]:
        answer["controls"] = []
        for throttle, roll, seconds in SCRIPT:
            vehicle.wait(seconds, stick(throttle, roll))
            answer["controls"].append([round(float(value), 2) for value in vehicle.controls()])
        answer["stays"] = vehicle.mode() == mode
        command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 21196)
        vehicle.stop(stick(0.0, 0.0))
    return answer


class Embedded:
    """A vehicle of the embedded stack, as script() drives it."""

    def __init__(self, vehicle, world):
        self._flight = MissionFlight(vehicle, world=world).ready()
        self.send, self.wait = self._flight.send, self._flight.run

    def stop(self, each):
        """Does nothing: each mode has a vehicle of its own."""

    def mode(self):
        """The mode it is in."""
        return self._flight.mode

    def armed(self):
        """Whether it is armed."""
        return bool(self._flight.autopilot.status["armed"][0])

    def controls(self):
        """Commands of its outputs."""
        return self._flight.autopilot.commands[0].copy()

    def close(self):
        """Ends the simulation."""
        self._flight.simulation.close()


class Px4:
    """A vehicle of real PX4, as script() drives it."""

    def __init__(self, folder, vehicle, world):
        params = Path(folder) / "alone.params"
        params.write_text("1\t1\tNAV_DLL_ACT\t0\t6\n1\t1\tCOM_RC_IN_MODE\t1\t6\n")
        self._flight = Recording(
            folder, 0.0, 1, vehicle=vehicle, gps="rtk", world=world, params=str(params)
        )
        self._flight.await_ready()
        self.send = self._flight.station.send

    def wait(self, seconds, each):
        """Goes on for so many seconds; `each` is called at 50 Hz."""
        for k in range(round(seconds * 250)):
            if k % 5 == 0:
                each()
            self._flight.station.step()

    def stop(self, each):
        """Waits until it stands, for the next mode."""
        self.wait(3.0, each)

    def mode(self):
        """The mode of its last heartbeat."""
        return from_custom_mode(self._flight.station.last("HEARTBEAT").custom_mode)

    def armed(self):
        """Whether it is armed."""
        return bool(self._flight.simulation.autopilot.armed[0])

    def controls(self):
        """Commands of its outputs."""
        return self._flight.simulation.autopilot.commands[0].copy()

    def close(self):
        """Ends PX4."""
        self._flight.close()


def record():
    """Drives all vehicles through all modes by real PX4."""
    found = {}
    for vehicle in VEHICLES:
        with tempfile.TemporaryDirectory() as folder:
            driven = Px4(Path(folder), vehicle, "lake" if vehicle == "boat" else "empty")
            try:
                found[vehicle] = {mode.name: script(mode, driven) for mode in MODES}
            finally:
                driven.close()
        print(vehicle, json.dumps(found[vehicle]), flush=True)
    return found


def written(found):
    """The record as text, one mode a line."""
    vehicles = (
        f' "{vehicle}": {{\n'
        + ",\n".join(f'  "{mode}": {json.dumps(answer)}' for mode, answer in modes.items())
        + "}"
        for vehicle, modes in found.items()
    )
    return "{\n" + ",\n".join(vehicles) + "\n}\n"


if __name__ == "__main__":
    RECORD.write_text(written(record()))
    sys.exit()
