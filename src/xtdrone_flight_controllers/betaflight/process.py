"""Starts Betaflight's SITL, configured for a vehicle."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.vehicle import Vehicle

from ..common.motors import match
from ..common.process import PeerProcess, find_binary
from .sticks import IDLE, MIN_CHECK, RATES

# Quad X with its default direction of motors: rear right, front right, rear left, front left.
PLACES = ((135, -1), (45, 1), (-135, 1), (-45, -1))
_ALLOWED = "iris, solo, or another quadrotor as an X"
_SLOWEST_MOTOR = 0.015  # time constant [s]; heavy_lifter (0.05) and crazyflie (0.02) tipped over
_CONFIGURE_S = 20.0  # wall time for Betaflight to take its configuration [s]
# P, I, D and feed-forward, found with an iris.
GAINS = {"roll": (45, 60, 30, 0), "pitch": (45, 60, 30, 0), "yaw": (45, 40, 0, 0)}
# Settings other than Betaflight's defaults. GPS is off, since positions are held from outside.
CONFIGURATION = (
    "feature -GPS",
    "set motor_pwm_protocol = PWM",
    "set acc_calibration = 0,0,0,1",
    "set small_angle = 180",
    f"set min_check = {MIN_CHECK:.0f}",
    f"set motor_idle = {IDLE * 1e4:.0f}",
    "set rates_type = ACTUAL",
    "set rc_smoothing = OFF",
    # A simulation that stands still for a moment is no lost transmitter.
    "set failsafe_delay = 200",
    *(f"rxfail {channel} h" for channel in range(5)),
    *(
        f"set {axis}_{name} = {value}"
        for axis, rate in zip(("roll", "pitch", "yaw"), RATES)
        for name, value in (("rc_rate", rate // 10), ("srate", rate // 10), ("expo", 0))
    ),
    *(
        f"set {term}_{axis} = {value}"
        for axis, values in GAINS.items()
        for term, value in zip("pidf", values)
    ),
    "aux 0 0 0 1700 2100 0 0",
)  # AUX1: ARM; without another one it is ACRO


def motors(model: Vehicle) -> Sequence[int]:
    """Returns the number of Betaflight's motor, from 0, for each rotor of a vehicle.

    Raises:
        AutopilotError: It is no quadrotor as an X, or its motors are too slow.
    """
    slowest = max((rotor.time_constant_up for rotor in model.rotors), default=0.0)
    if slowest > _SLOWEST_MOTOR:
        raise AutopilotError(
            f"the motors of '{model.type}', whose time constant is {slowest:g} s, "
            f"are too slow for Betaflight's rate loops ({_SLOWEST_MOTOR:g} s at "
            f"most): give {_ALLOWED}, or fly autopilot:=embedded"
        )
    return match(model, PLACES, "Betaflight", _ALLOWED)


def find(path: str) -> Path | None:
    """The SITL that a scenario or BETAFLIGHT_BUILD names; None if neither does.

    Raises:
        AutopilotError: There is no such program.
    """
    return find_binary(
        path,
        "BETAFLIGHT_BUILD",
        "Betaflight",
        "obj/betaflight_*_SITL",
        "Betaflight's folder after 'make TARGET=SITL', or the binary obj/betaflight_..._SITL",
    )


class BetaflightProcess(PeerProcess):
    """One running Betaflight, in its own process group and its own folder."""

    def __init__(self, binary: Path, name: str, folder: Path | None):
        """Configures and starts Betaflight.

        Args:
            binary: Its SITL.
            name: Name of the vehicle.
            folder: Run folder for console and files; None = a temporary one, deleted by stop().

        Raises:
            AutopilotError: It cannot be started, or does not take its configuration.
        """
        super().__init__("Betaflight", name, folder)
        self._configure(binary, [*CONFIGURATION, "save", ""])
        by_line = ["stdbuf", "-oL"] if shutil.which("stdbuf") else []  # writes its last lines
        self.run([*by_line, binary], {})

    def refusal(self) -> str:
        """Why it does not arm, in Betaflight's words; empty if its console has none."""
        reasons = re.findall(r"Arming disabled: (.*)", self.console.read_text(errors="replace"))
        return reasons[-1] if reasons else ""

    def _configure(self, binary: Path, lines: Sequence[str]) -> None:
        """Writes its eeprom.bin; Betaflight then ends."""
        file = self.work / "betaflight.cli"
        file.write_text("\n".join(lines))
        try:
            done = subprocess.run(
                [binary, "--config", file],
                cwd=self.work,
                timeout=_CONFIGURE_S,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AutopilotError(f"cannot configure Betaflight '{binary}': {error}") from error
        said = done.stdout.decode(errors="replace")
        refused = re.findall(r".*(?:###ERROR|INVALID|ERROR IN).*", said)
        if done.returncode or refused or not (self.work / "eeprom.bin").is_file():
            raise AutopilotError(
                f"Betaflight '{binary}' does not take its configuration "
                f"({file}): {(refused or said.splitlines() or ['no output'])[-1]}"
            )
