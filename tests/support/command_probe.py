"""What an autopilot answers to each MAVLink command and mode, on the ground and in the hover.

    python tests/support/command_probe.py --autopilot px4 --out tests/data/px4_commands.json
    python tests/support/command_probe.py                  compare the embedded stack with that file
    python tests/support/command_probe.py --frame 3        by COMMAND_INT in that frame

Commands come as from a ground station, on its link, by COMMAND_LONG. After each the vehicle is
brought back: disarmed in AUTO.LOITER, or hovering in AUTO.LOITER.
"""

import argparse
import json
import math
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

from own_ports import PORTS
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import Mode, custom_mode
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

RECORDED = Path(__file__).resolve().parents[1] / "data" / "px4_commands.json"
HEIGHT = 10.0  # of the hover [m]
ANSWER_S = 1.0  # no answer within this simulated time is none ...
EMBEDDED_ANSWER_S = 0.1  # ... from the embedded stack, which answers in the next step
MIN_WALL_S = 0.1  # real PX4 takes messages in by the wall clock
STATES = ("landed", "hover")
VALUES = {"zeros": 0.0, "ones": 1.0, "nan": math.nan}
RESULT = {
    int(number): entry.name.removeprefix("MAV_RESULT_").lower()
    for number, entry in mavlink.enums["MAV_RESULT"].items()
    if "ENUM_END" not in entry.name
}
NONE = "no answer"
UNSET = 0x7FFFFFFF  # x and y of a COMMAND_INT without a place
NAN = math.nan
# Values with a meaning of their own: name of the command, first parameters; the rest is 0.
_SPECIAL = (
    ("REQUEST_MESSAGE", 9999.0),
    ("REQUEST_MESSAGE", 33.0),
    ("REQUEST_MESSAGE", -1.0),
    ("SET_MESSAGE_INTERVAL", 331.0, NAN),
    ("SET_MESSAGE_INTERVAL", 9999.0, 1e6),
    ("SET_MESSAGE_INTERVAL", 30.0, 0.0),
    ("SET_MESSAGE_INTERVAL", 30.0, -1.0),
    ("SET_MESSAGE_INTERVAL", 30.0, 20000.0),
    ("SET_MESSAGE_INTERVAL", 30.0, -5.0),
    ("GET_MESSAGE_INTERVAL", 30.0),
    ("GET_MESSAGE_INTERVAL", 9999.0),
    ("COMPONENT_ARM_DISARM", 5.0),
    ("COMPONENT_ARM_DISARM", -1.0),
    ("DO_SET_MODE", 1.0, 99.0),
    ("DO_SET_MODE", 1.0, 4.0, 99.0),
    ("DO_SET_MODE", 1.0, 4.0, 0.0),
    ("DO_SET_MODE", 4.0),
    ("DO_SET_MODE", 64.0),
    ("DO_SET_MODE", 80.0),
    ("DO_SET_MODE", 72.0),
    ("DO_SET_MODE", 1.0, 4.0, 9.0),
    ("DO_SET_MODE", 1.0, 3.0, 2.0),
    *(("DO_SET_STANDARD_MODE", float(k)) for k in range(2, 10)),
    ("DO_REPOSITION", -1.0, 1.0, 0.0, NAN, NAN, NAN, NAN),
    ("DO_REPOSITION", -1.0, 0.0, 0.0, NAN, NAN, NAN, NAN),
    ("DO_REPOSITION", -1.0, 3.0),
    ("DO_CHANGE_SPEED", 1.0, 3.0, -1.0),
    ("DO_CHANGE_SPEED", 0.0, -5.0),
    ("NAV_TAKEOFF", 0.0, 0.0, 0.0, NAN, NAN, NAN, NAN),
    ("DO_ORBIT", 10.0, 2.0, 0.0, 0.0, NAN, NAN, NAN),
    ("DO_ORBIT", 1e6, 2.0),
    ("MISSION_START", 5.0),
    ("GET_HOME_POSITION",),
)
# They end the vehicle, its parameters or its origin, and so the probe.
_LEFT_OUT = {
    "landed": (
        "PREFLIGHT_REBOOT_SHUTDOWN",
        "PREFLIGHT_STORAGE",
        "DO_FLIGHTTERMINATION",
        "SET_GPS_GLOBAL_ORIGIN",
        "DO_UPGRADE",
        "ACTUATOR_TEST",
        "INJECT_FAILURE",
    ),
    "hover": (
        "PREFLIGHT_REBOOT_SHUTDOWN",
        "PREFLIGHT_STORAGE",
        "DO_FLIGHTTERMINATION",
        "SET_GPS_GLOBAL_ORIGIN",
        "DO_UPGRADE",
        "INJECT_FAILURE",
    ),
}


def cases(state: str) -> dict:
    """The seven parameters of each command, by (its number, which): what is tried."""
    found = {}
    for number, entry in mavlink.enums["MAV_CMD"].items():
        name = entry.name.removeprefix("MAV_CMD_")
        if "ENUM_END" in name or name in _LEFT_OUT[state]:
            continue
        for label, value in VALUES.items():
            found[f"{name} {label}"] = number, [value] * 7
    numbers = {entry.name: number for number, entry in mavlink.enums["MAV_CMD"].items()}
    for name, *values in _SPECIAL:
        found[" ".join([name, *(f"{value:g}" for value in values)])] = (
            numbers[f"MAV_CMD_{name}"],
            [*values, *[0.0] * (7 - len(values))],
        )
    for mode in Mode:
        number = custom_mode(mode)
        found[f"DO_SET_MODE {mode.name}"] = (
            mavlink.MAV_CMD_DO_SET_MODE,
            [1.0, float(number >> 16 & 0xFF), float(number >> 24 & 0xFF), 0.0, 0.0, 0.0, 0.0],
        )
    return found


class Station:
    """A ground station beside a simulation that it steps itself."""

    def __init__(self, autopilot: str, folder: Path):
        (folder / "console").mkdir(exist_ok=True)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", PORTS.ground_station))
        self._socket.setblocking(False)
        self._sender = mavlink.MAVLink(None, 255, 190)
        self._parser = mavlink.MAVLink(None)
        self._parser.robust_parsing = True
        self._partner = None
        self._answer_s = EMBEDDED_ANSWER_S if autopilot == "embedded" else ANSWER_S
        self._wall_s = 0.0 if autopilot == "embedded" else MIN_WALL_S
        self._beat_us = 0
        self.heard = []
        self.simulation = Simulation(
            Scenario(fleet("iris", 1), autopilot=autopilot, speed=0.0, gps="rtk"), folder
        )

    def run(self, seconds: float, until=lambda: False) -> bool:
        """Steps for so long, or until it holds; whether it did."""
        end, wall = self.simulation.t_us + seconds * 1e6, time.monotonic() + self._wall_s
        while self.simulation.t_us < end or time.monotonic() < wall:
            self.simulation.step()
            self._listen()
            if self.simulation.t_us - self._beat_us >= 1_000_000 and self._partner:
                self._beat_us = self.simulation.t_us
                self.send(mavlink.MAVLink_heartbeat_message(6, 8, 0, 0, 4, 3))
            if until():
                return True
        return False

    def send(self, message) -> None:
        """Sends one message to the vehicle."""
        self._socket.sendto(message.pack(self._sender), self._partner)

    def _listen(self):
        while True:
            try:
                data, self._partner = self._socket.recvfrom(65536)
            except BlockingIOError:
                return
            self.heard += self._parser.parse_buffer(data) or ()

    def command(self, number: int, values: list, frame: int | None = None) -> str:
        """The result of a command, in words; with a frame it is sent as COMMAND_INT."""
        self.heard.clear()
        if frame is None:
            message = mavlink.MAVLink_command_long_message(1, 1, number, 0, *values)
        else:
            place = (UNSET if math.isnan(v) else round(v * 1e7) for v in values[4:6])
            message = mavlink.MAVLink_command_int_message(
                1, 1, frame, number, 0, 0, *values[:4], *place, values[6]
            )
        self.send(message)

        def answers():
            return [
                m.result
                for m in self.heard
                if m.get_type() == "COMMAND_ACK"
                and m.command == number
                and m.result != mavlink.MAV_RESULT_IN_PROGRESS
            ]

        self.run(self._answer_s, answers)
        return RESULT.get(answers()[0], str(answers()[0])) if answers() else NONE

    def mode(self, mode: Mode) -> str:
        """Asks for a mode."""
        number = custom_mode(mode)
        return self.command(
            mavlink.MAV_CMD_DO_SET_MODE,
            [1.0, float(number >> 16 & 0xFF), float(number >> 24 & 0xFF), 0.0, 0.0, 0.0, 0.0],
        )

    def arm(self, on: bool) -> str:
        """Arms, or disarms by force."""
        return self.command(
            mavlink.MAV_CMD_COMPONENT_ARM_DISARM, [float(on), 0.0 if on else 21196.0, *[0.0] * 5]
        )

    def armed(self) -> bool:
        """Whether its last heartbeat says so."""
        beats = [m for m in self.heard if m.get_type() == "HEARTBEAT" and m.get_srcComponent() == 1]
        return not beats or bool(beats[-1].base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)

    def set_takeoff_height(self) -> None:
        """Has it take off to the height of the hover."""
        self.send(
            mavlink.MAVLink_param_set_message(
                1, 1, b"MIS_TAKEOFF_ALT", HEIGHT, mavlink.MAV_PARAM_TYPE_REAL32
            )
        )

    def height(self) -> float:
        """True height [m]."""
        return float(self.simulation.state.pos[0, 2])

    def bring_back(self, state: str) -> None:
        """To the state in which the next command is tried."""
        self.command(mavlink.MAV_CMD_DO_SET_HOME, [1.0, *[0.0] * 6])
        if state == "landed":
            self.arm(False)
            self.mode(Mode.LOITER)
            return
        if self.height() < 0.5 * HEIGHT:
            for _ in range(10):
                if self.mode(Mode.TAKEOFF) == "accepted" and self.arm(True) == "accepted":
                    break
                self.run(1.0)
            if not self.run(40.0, lambda: self.height() > 0.9 * HEIGHT):
                raise AssertionError(f"it does not take off: {self.height():.1f} m")
            self.run(3.0)
        assert self.mode(Mode.LOITER) == "accepted"

    def close(self) -> None:
        """Ends the simulation."""
        self._socket.close()
        self.simulation.close()


def probe(autopilot: str, folder: Path, states=STATES, only=(), frame=None) -> dict:
    """The answer to each case, by state and case; with a frame by COMMAND_INT."""
    station = Station(autopilot, folder)
    try:
        station.run(20.0)
        station.set_takeoff_height()
        found = {}
        for state in states:
            station.bring_back(state)
            found[state] = answers = {}
            for name, (number, values) in cases(state).items():
                if only and not any(part in name for part in only):
                    continue
                answers[name] = station.command(number, values, frame)
                if answers[name] not in ("unsupported", "denied"):
                    station.bring_back(state)
        return found
    finally:
        station.close()


def differences(found: dict, reference: dict) -> list[str]:
    """One line for each case that is answered otherwise."""
    return [
        f"{state}: {name}: {answer}, PX4 {reference[state].get(name, 'not recorded')}"
        for state, answers in found.items()
        for name, answer in answers.items()
        if reference[state].get(name) != answer
    ]


def main() -> int:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--autopilot", default="embedded")
    parser.add_argument("--out", type=Path, help="write the answers there, not compare")
    parser.add_argument("--frame", type=int, help="MAV_FRAME: sends COMMAND_INT")
    parser.add_argument("only", nargs="*", help="parts of names of commands")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XTDRONE_RUNS"] = folder
        found = probe(args.autopilot, Path(folder), only=args.only, frame=args.frame)
    if args.out:
        args.out.write_text(json.dumps(found, indent=0) + "\n")
        return 0
    lines = differences(found, json.loads(RECORDED.read_text()))
    print("\n".join(lines) or "as recorded")
    print(f"{sum(map(len, found.values()))} cases, {len(lines)} differ", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
