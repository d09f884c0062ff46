"""Starts Betaflight's SITL, configured for a vehicle."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from xtdrone_core.vehicle import Vehicle

from ..errors import AutopilotError
from ..peers.motors import match
from ..peers.process import PeerProcess, find_binary
from .sticks import IDLE, MIN_CHECK, RATES

# Quad X with its default direction of motors: rear right, front right, rear left, front left.
PLACES = ((135, -1), (45, 1), (-135, 1), (-45, -1))
_ALLOWED = "iris, solo, crazyflie, tello, heavy_lifter, or another quadrotor as an X"
_CONFIGURE_S = 20.0  # wall time for Betaflight to take its configuration [s]
# P, I, D and feed-forward for an iris, its largest angular acceleration [rad/s^2], and the time
# constant of its motors [s].
GAINS = {"roll": (45, 60, 30, 0), "pitch": (45, 60, 30, 0), "yaw": (45, 40, 0, 0)}
OF_IRIS = 101.4, 69.7, 14.7
_MOTOR_OF_IRIS = 0.0125
_MOST = 250  # of a gain in Betaflight
# What has to differ from Betaflight's defaults. GPS is off, since positions are held from outside.
CONFIGURATION = (
    "feature -GPS", "set motor_pwm_protocol = PWM", "set acc_calibration = 0,0,0,1",
    "set small_angle = 180", f"set min_check = {MIN_CHECK:.0f}",
    f"set motor_idle = {IDLE * 1e4:.0f}", "set rates_type = ACTUAL", "set rc_smoothing = OFF",
    # A simulation that stands still for a moment is no lost transmitter.
    "set failsafe_delay = 200", *(f"rxfail {channel} h" for channel in range(5)),
    *(f"set {axis}_{name} = {value}" for axis, rate in zip(("roll", "pitch", "yaw"), RATES)
      for name, value in (("rc_rate", rate // 10), ("srate", rate // 10), ("expo", 0))),
    "aux 0 0 0 1700 2100 0 0")  # AUX1: ARM; without another one it is ACRO


def motors(model: Vehicle) -> Sequence[int]:
    """For each rotor of a vehicle the number of Betaflight's motor, from 0.

    Raises:
        AutopilotError: It is no quadrotor as an X.
    """
    return match(model, PLACES, "Betaflight", _ALLOWED)


def gains(model: Vehicle, turn_max: Sequence[float]) -> list[str]:
    """Settings of the rate loops: an iris's, by how much quicker a vehicle and its motors are.

    Args:
        model: The vehicle.
        turn_max: (3,) its largest angular acceleration about each axis [rad/s^2].
    """
    quick = _MOTOR_OF_IRIS / model.rotors[0].time_constant_up
    return [f"set {term}_{axis} = {min(round(value * quick * of_iris / most), _MOST)}"
            for (axis, values), of_iris, most in zip(GAINS.items(), OF_IRIS, turn_max)
            for term, value in zip("pidf", values)]


def find(path: str) -> Path | None:
    """The SITL that a scenario or BETAFLIGHT_BUILD names; None if neither does.

    Raises:
        AutopilotError: There is no such program.
    """
    return find_binary(path, "BETAFLIGHT_BUILD", "Betaflight", "obj/betaflight_*_SITL",
                       "Betaflight's folder after 'make TARGET=SITL', or the binary "
                       "obj/betaflight_..._SITL")


class BetaflightProcess(PeerProcess):
    """One running Betaflight, in its own process group and its own folder."""

    def __init__(self, binary: Path, name: str, model: Vehicle, turn_max: Sequence[float],
                 folder: Path | None):
        """Configures and starts Betaflight.

        Args:
            binary: Its SITL.
            name: Name of the vehicle.
            model: The vehicle.
            turn_max: (3,) its largest angular acceleration about each axis [rad/s^2].
            folder: Run folder for console and files; None = a temporary one, deleted by stop().

        Raises:
            AutopilotError: It cannot be started, or does not take its configuration.
        """
        super().__init__("Betaflight", name, folder)
        self._configure(binary, [*CONFIGURATION, *gains(model, turn_max), "save", ""])
        by_line = ["stdbuf", "-oL"] if shutil.which("stdbuf") else []  # what it said at the end
        self.run([*by_line, binary], {})

    def refusal(self) -> str:
        """Why it does not arm, in Betaflight's words; empty if its console has none."""
        found = re.findall(r"Arming disabled: (.*)", self.console.read_text(errors="replace"))
        return found[-1] if found else ""

    def _configure(self, binary, lines):
        """Writes its eeprom.bin; Betaflight then ends."""
        file = self.work / "betaflight.cli"
        file.write_text("\n".join(lines))
        try:
            done = subprocess.run([binary, "--config", file], cwd=self.work, timeout=_CONFIGURE_S,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AutopilotError(f"cannot configure Betaflight '{binary}': {error}") from error
        said = done.stdout.decode(errors="replace")
        refused = re.findall(r".*(?:###ERROR|INVALID|ERROR IN).*", said)
        if done.returncode or refused or not (self.work / "eeprom.bin").is_file():
            raise AutopilotError(f"Betaflight '{binary}' does not take its configuration "
                                 f"({file}): {(refused or said.splitlines() or ['no output'])[-1]}")
