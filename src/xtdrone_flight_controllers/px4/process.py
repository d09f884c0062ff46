"""Starts and stops real PX4 instances; none keeps running after the simulation."""

import math
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.runs.ports import Ports
from xtdrone_core.vehicle import Vehicle
from xtdrone_dynamics.abilities.camera_mount import AXES, mount_servos, sense
from xtdrone_dynamics.constants import GRAVITY

from ..common.process import PeerProcess

_AIRFRAME = 22000  # SYS_AUTOSTART of the airframe generated for a vehicle that PX4 has none for
# Vehicle type: PX4's own airframe.
_KNOWN = {"iris": "none_iris"} | {
    name: f"gazebo-classic_{name}"
    for name in ("plane", "standard_vtol", "tiltrotor", "tailsitter", "rover", "r1_rover", "boat")
}
_MAV_TYPES = {3: 15, 4: 2, 6: 13, 8: 14}  # number of rotors to MAV_TYPE
_GIMBAL = 420  # PX4's output functions of AXES begin here
_FIXED = {"MAV_SYS_ID", "MAV_TYPE", "SYS_AUTOSTART", "SYS_AUTOCONFIG"}  # from the fleet
_ACCELEROMETER_BIAS_LIMIT = 0.8  # EKF2_ABL_LIM [m/s^2]
_LONGEST_DELAY = 0.2  # EKF2_DELAY_MAX of PX4 [s]


def simulation_defaults(gps_latency: float) -> dict[str, float]:
    """PX4 parameters (name: value) with another default in this simulation.

    Simulated accelerometers are not calibrated: their turn-on bias, 0.2 m/s^2 (1 sigma), would fail
    PX4's arming check, which allows 3/4 of EKF2_ABL_LIM, on every third vehicle. PX4's start-up for
    simulators sets EKF2_GPS_DELAY to 10 ms, with which the position lags behind a later fix.

    IMU_GYRO_CAL_EN starts PX4's module gyro_calibration, which changes its interval on arming and
    disarming from a thread of its own. PX4's timer on Linux has let go of its lock and marked the
    callout as not queued while that thread runs, and queues it a second time afterwards, which cuts
    off all callouts behind it; the battery simulator among them falls silent.

    Args:
        gps_latency: From the time at which a fix is true to its arrival [s].
    """
    defaults = {
        "EKF2_ABL_LIM": _ACCELEROMETER_BIAS_LIMIT,
        "EKF2_GPS_DELAY": 1000.0 * gps_latency,
        "IMU_GYRO_CAL_EN": 0.0,
    }
    return (
        defaults
        if gps_latency <= _LONGEST_DELAY
        else defaults | {"EKF2_DELAY_MAX": 1000.0 * gps_latency}
    )


@dataclass(frozen=True)
class Px4Installation:
    """The PX4 binary to start and its start-up scripts."""

    binary: Path
    etc: Path  # folder of the start-up scripts, with init.d-posix/rcS


def find(path: str) -> Px4Installation | None:
    """Finds the PX4 that a scenario or the environment names.

    Args:
        path: Build folder or binary; empty = the environment variable PX4_BUILD.

    Returns:
        The installation; None if neither names one, and PX4 is started externally.

    Raises:
        AutopilotError: The path has no executable PX4, or no start-up scripts beside it.
    """
    given = path or os.environ.get("PX4_BUILD", "")
    if not given:
        return None
    place = Path(given).expanduser().absolute()
    binary = place if place.is_file() else place / "bin" / "px4"
    if not binary.is_file():
        raise AutopilotError(
            f"no PX4 at '{given}': give a build folder with bin/px4 in it (for "
            "example build/px4_sitl_default), or the px4 binary"
        )
    if not os.access(binary, os.X_OK):
        raise AutopilotError(f"'{binary}' is not executable: chmod +x it, or give another PX4")
    binary = binary.resolve()
    for etc in (
        binary.parents[1] / "etc",
        binary.parents[1] / "share" / "px4" / "etc",
        binary.parent / "etc",
    ):
        if (etc / "init.d-posix" / "rcS").is_file():
            return Px4Installation(binary, etc)
    raise AutopilotError(
        f"'{binary}' has no etc/init.d-posix/rcS beside it: give the build folder "
        "of px4_sitl_default, or an installed px4 with its etc folder"
    )


class Px4Process(PeerProcess):
    """One running PX4 instance, in its own process group and its own folder."""

    def __init__(
        self,
        installation: Px4Installation,
        i: int,
        name: str,
        model: Vehicle,
        folder: Path | None,
        ports: Ports | None = None,
        start: int = 1,
        parameters: Mapping[str, float] | None = None,
        defaults: Mapping[str, float] | None = None,
    ):
        """Starts PX4.

        Args:
            installation: The PX4 to start.
            i: Index in the fleet.
            name: Name of the vehicle.
            model: The vehicle; if PX4 has no airframe for it, one is generated from its SDF.
            folder: Run folder for console and logs; None = a temporary one, deleted by stop().
            ports: Ports of the simulation; None = those of the environment's instance.
            start: Number of this start in the run, from 1; each start has its own folder.
            parameters: PX4 parameters (name: value) that the start-up script sets.
            defaults: The same, in place of PX4's own defaults.

        Raises:
            AutopilotError: The operating system cannot start the process.
        """
        super().__init__("PX4", name, folder, start)
        ports = ports or Ports()
        if folder is not None:
            self.keep_logs("log", folder / "ulog" / name)
        etc = self.work / "start-up"
        shutil.copytree(installation.etc, etc, copy_function=os.symlink)
        airframe = _write_airframe(
            etc / "init.d-posix" / "airframes", model, parameters or {}, defaults or {}
        )
        if ports.instance:
            _shift(etc / "init.d-posix", ports, i)
        self.run(
            [
                installation.binary,
                "-i",
                ports.px4_number(i),
                "-d",
                etc,
                "-s",
                "etc/init.d-posix/rcS",
                "-w",
                self.work,
            ],
            {"PX4_SIM_MODEL": airframe},
        )


def _write_airframe(
    folder: Path, model: Vehicle, parameters: Mapping[str, float], defaults: Mapping[str, float]
) -> str:
    """Adds the airframe and parameters of a vehicle to folder; returns the airframe's name."""
    airframe = _KNOWN.get(model.type)
    if airframe is None:
        airframe = f"none_{model.type}"
        (folder / f"{_AIRFRAME}_{airframe}").write_text(airframe_of(model))
    (script,) = folder.glob(f"[0-9]*_{airframe}")
    usual = [f"param set-default {name} {_number(value)}" for name, value in defaults.items()]
    lines = [
        f"param set {name} {_number(value)}"
        for name, value in parameters.items()
        if name not in _FIXED
    ]
    text = script.read_text()
    script.unlink()  # may be a link to the file of the PX4 installation
    script.write_text("\n".join([text, *usual, *lines, ""]))
    # Once more at the end: PX4's start-up for simulators sets some of these in between.
    (folder / f"{script.name}.post").write_text("\n".join([*usual, ""]))
    return airframe


def _number(value: float) -> str:
    """A number as PX4's `param set` parses it: integers without a decimal point."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.9g}"


def _shift(scripts: Path, ports: Ports, i: int) -> None:
    """Sets MAV_SYS_ID and PX4's remote UDP ports for a simulation instance other than 0.

    PX4 derives its local ports from its instance number (`-i`), which is what a simulation
    instance shifts. It also derives MAV_SYS_ID, which ends at 250, from that number; and from
    the tenth vehicle on its remote ports are those of instance 0. So the scripts are edited.

    Raises:
        AutopilotError: The start-up scripts lack the lines to edit (PX4 older than 1.13).
    """
    parameters, links = scripts / "px4-rc.params", scripts / "px4-rc.mavlink"
    text = links.read_text() if links.is_file() else ""
    shared = re.compile(r"^.*udp_offboard_port_remote=14549\b.*$", re.M)
    station = re.compile(r"^(mavlink start .*-u \$udp_gcs_port_local)\b", re.M)
    if not parameters.is_file() or not shared.search(text) or not station.search(text):
        raise AutopilotError(
            f"the start-up scripts of this PX4 cannot be shifted to instance "
            f"{ports.instance}: use instance 0, or PX4 1.13 or newer"
        )
    text = shared.sub(f"udp_offboard_port_remote={ports.offboard(i)}", text)
    text = station.sub(rf"\1 -o {ports.ground_station}", text)
    number = f"{parameters.read_text()}\nparam set MAV_SYS_ID {ports.system_id(i)}\n"
    for path, content in ((links, text), (parameters, number)):
        path.unlink()  # a link to the file of the PX4 installation
        path.write_text(content)


def airframe_of(model: Vehicle) -> str:
    """PX4's airframe script of a vehicle, with rotors and hover thrust from its SDF."""
    lines = [
        "#!/bin/sh",
        ". ${R}etc/init.d/rc.mc_defaults",
        f"param set-default MAV_TYPE {_MAV_TYPES.get(len(model.rotors), 2)}",
        "param set-default CA_AIRFRAME 0",
        f"param set-default CA_ROTOR_COUNT {len(model.rotors)}",
    ]
    for k, rotor in enumerate(model.rotors):
        turn = rotor.direction * rotor.moment_constant  # CA_ROTORn_KM > 0: counter-clockwise
        lines += [
            f"param set-default CA_ROTOR{k}_PX {rotor.pos[0]:.5f}",
            f"param set-default CA_ROTOR{k}_PY {-rotor.pos[1]:.5f}",
            f"param set-default CA_ROTOR{k}_KM {turn:.5f}",
            f"param set-default PWM_MAIN_FUNC{k + 1} {101 + k}",
        ]
    return "\n".join(
        [
            *lines,
            *_gimbal_of(model),
            f"param set-default MPC_THR_HOVER {hover_command(model):.3f}",
            "",
        ]
    )


def _gimbal_of(model: Vehicle) -> list[str]:
    """Lines by which PX4 turns the servos of a camera mount.

    MNT_DO_STAB 2 stabilises a locked yaw. With 1, which is roll and pitch as well, PX4 v1.15 takes
    the vehicle's attitude off once more in each cycle until the first command, so that the mount
    swings from end to end.
    """
    servos = mount_servos(model).values()
    if not servos:
        return []
    values: dict[str, float] = {"MNT_MODE_IN": 4, "MNT_MODE_OUT": 0, "MNT_DO_STAB": 2}
    reversed_outputs = 0
    for servo in servos:
        axis, turns = servo.name.removeprefix("gimbal_").upper(), sense(model, servo)
        values[f"MNT_RANGE_{axis}"] = 2.0 * math.degrees(abs(servo.input_scaling))
        values[f"MNT_OFF_{axis}"] = 0.0 - math.degrees(turns * servo.zero_position_armed)
        values[f"PWM_MAIN_FUNC{servo.channel + 1}"] = _GIMBAL + AXES.index(servo.name)
        reversed_outputs |= (turns * servo.input_scaling < 0.0) << servo.channel
    values["PWM_MAIN_REV"] = reversed_outputs
    return [f"param set-default {name} {value:g}" for name, value in values.items()]


def hover_command(model: Vehicle) -> float:
    """Command 0..1, the same for all rotors, at which the thrust equals the weight."""

    def lift(command: float) -> float:
        return sum(
            rotor.motor_constant
            * min(rotor.max_rot_velocity, rotor.zero_position_armed + command * rotor.input_scaling)
            ** 2
            * rotor.axis[2]
            for rotor in model.rotors
        )

    commands = np.linspace(0.0, 1.0, 1001)
    return float(np.interp(model.mass * GRAVITY, [lift(c) for c in commands], commands))
