"""Starts ArduPilot's software in the loop, and writes the parameters of a vehicle for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xtdrone_core.runs.ports import Ports
from xtdrone_core.vehicle import Vehicle

from ..common.process import PeerProcess, find_binary
from . import frames

_OF_IRIS = 101.0  # largest angular acceleration of an iris about roll or pitch [rad/s^2]
_LOOP_HZ = 250  # loop rate of ArduPilot: one loop a step
_FRAME_HZ = 500  # frame rate of the JSON interface
_INSTANCES = 100  # instances of ArduPilot (-I) for each instance of the simulation


@dataclass(frozen=True)
class ArduPilotInstallation:
    """The binary to start."""

    binary: Path


def find(path: str) -> ArduPilotInstallation | None:
    """Finds the ArduPilot that a scenario or the environment names.

    Args:
        path: Binary `arducopter`, or a folder with it; empty = the environment variable
            ARDUPILOT_BUILD.

    Returns:
        The installation; None if neither names one, and ArduPilot is started externally.

    Raises:
        AutopilotError: There is no such program.
    """
    binary = find_binary(
        path,
        "ARDUPILOT_BUILD",
        "ArduPilot",
        "bin/arducopter",
        "a build folder with bin/arducopter in it (for example build/sitl), or "
        "the arducopter binary",
    )
    return None if binary is None else ArduPilotInstallation(binary)


class ArduPilotProcess(PeerProcess):
    """One running ArduCopter, in its own process group and its own folder."""

    def __init__(
        self,
        installation: ArduPilotInstallation,
        i: int,
        name: str,
        model: Vehicle,
        turn_max: float,
        origin: Sequence[float],
        telemetry: int,
        folder: Path | None,
        ports: Ports,
        start: int = 1,
    ):
        """Starts ArduCopter.

        Args:
            installation: What to start.
            i: Index in the fleet.
            name: Name of the vehicle.
            model: The vehicle.
            turn_max: Its largest angular acceleration of roll or pitch [rad/s^2].
            origin: Latitude, longitude [rad] and height [m] of the world's origin.
            telemetry: UDP port of the simulation's telemetry.
            folder: Run folder for console and logs; None = a temporary one, deleted by stop().
            ports: Ports of the simulation.
            start: Number of this start in the run, from 1; each start has its own folder.

        Raises:
            AutopilotError: The operating system cannot start the process.
        """
        super().__init__("ArduPilot", name, folder, start)
        if folder is not None:
            self.keep_logs("logs", folder / "dataflash" / name)
        defaults = self.work / "defaults.parm"
        defaults.write_text(
            "".join(f"{key} {value:g}\n" for key, value in parameters_of(model, turn_max).items())
        )
        lat, lon, alt = origin
        self.run(
            [
                installation.binary,
                "--model",
                "JSON:127.0.0.1",
                "--wipe",
                "--instance",
                number(i, ports),
                "--sysid",
                ports.system_id(i),
                "--sim-port-out",
                ports.ardupilot(i),
                "--defaults",
                defaults,
                "--home",
                f"{math.degrees(lat):.9f},{math.degrees(lon):.9f},{alt:.3f},0",
                "--serial0",
                f"udpclient:127.0.0.1:{ports.ground_station}",
                "--serial1",
                f"udpclient:127.0.0.1:{telemetry}",
                "--serial2",
                f"udpclient:127.0.0.1:{ports.offboard(i)}",
            ],
            {},
        )


def number(i: int, ports: Ports) -> int:
    """ArduPilot's own instance number (-I) of vehicle i, which shifts its other ports."""
    return ports.number(i) + _INSTANCES * ports.instance


def parameters_of(model: Vehicle, turn_max: float) -> dict[str, float]:
    """ArduPilot parameters (name: value) of a multirotor.

    Gains of the rate loop are those of ArduPilot for a quadrotor of the iris's size, by how much
    quicker the vehicle turns. Offsets and scales that differ from their defaults tell ArduPilot
    that its sensors are calibrated.

    Raises:
        AutopilotError: ArduPilot has no frame for it.
    """
    frame_class, order = frames.motors(model)
    ratio = _OF_IRIS / turn_max if turn_max > 0.0 else 1.0
    parameters = {
        "FRAME_CLASS": frame_class,
        "FRAME_TYPE": 1,
        "SCHED_LOOP_RATE": _LOOP_HZ,
        "SIM_RATE_HZ": _FRAME_HZ,
        "SIM_SPEEDUP": 1000,
        "FS_THR_ENABLE": 0,
        "FS_GCS_ENABLE": 0,
        "BATT_MONITOR": 0,
        "MOT_THST_EXPO": 1.0,
        "MOT_SPIN_ARM": 0.03,
        "MOT_SPIN_MIN": 0.05,
        "MOT_SPIN_MAX": 1.0,
        "MOT_PWM_MIN": 1000,
        "MOT_PWM_MAX": 2000,
        "MOT_BAT_VOLT_MAX": 0,
        "SERIAL1_PROTOCOL": 2,
        "SERIAL2_PROTOCOL": 2,
    }
    for axis in ("RLL", "PIT"):
        parameters |= {
            f"ATC_RAT_{axis}_P": 0.135 * ratio,
            f"ATC_RAT_{axis}_I": 0.135 * ratio,
            f"ATC_RAT_{axis}_D": 0.0036 * ratio,
        }
    for k in range(len(order)):
        parameters[f"SERVO{k + 1}_FUNCTION"] = 33 + k if k < 8 else 82 + k - 8
    for name, value in zip("XYZ", (5, 13, -18)):  # offsets of its simulated compasses
        parameters |= {f"COMPASS_OFS{k}_{name}": value for k in ("", "2", "3")}
    return parameters
