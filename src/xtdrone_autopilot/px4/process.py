"""Starts and stops real PX4 instances, so that none outlives the simulation."""

import ctypes
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core.ports import Ports, system_id
from xtdrone_core.vehicle import Vehicle
from xtdrone_dynamics.constants import GRAVITY

from ..errors import AutopilotError

_STOP_S = 2.0  # wall time that PX4 gets to close its log [s]
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _CAP_SYS_NICE = 1, 24, 23
_libc = ctypes.CDLL(None, use_errno=True)
_AIRFRAME = 22000  # number of the airframe that is written for a vehicle PX4 does not know
_KNOWN = {"iris": "none_iris"}  # PX4's own airframes of our vehicles, without a simulator's plugins
_MAV_TYPES = {3: 15, 4: 2, 6: 13, 8: 14}  # number of rotors to MAV_TYPE
_FIXED = {"MAV_SYS_ID", "MAV_TYPE", "SYS_AUTOSTART", "SYS_AUTOCONFIG"}  # follow from the fleet
# Simulated accelerometers come uncalibrated: their turn-on bias, 0.2 m/s^2 (1 sigma), exceeds what
# PX4 lets a vehicle arm with, 3/4 of this limit [m/s^2], on every third vehicle.
_AFTER_AIRFRAME = "param set-default EKF2_ABL_LIM 0.8\n"


@dataclass(frozen=True)
class Px4Installation:
    """A PX4 that can be started."""

    binary: Path
    etc: Path  # its start-up scripts


def find(path: str) -> Px4Installation | None:
    """The PX4 that a scenario or the environment names.

    Args:
        path: Build folder or binary; empty = that of the environment's PX4_BUILD.

    Returns:
        The installation; None where nothing is named: PX4 is started externally.

    Raises:
        AutopilotError: No PX4 is there.
    """
    given = path or os.environ.get("PX4_BUILD", "")
    if not given:
        return None
    place = Path(given).expanduser().absolute()
    binary = place if place.is_file() else place / "bin" / "px4"
    if not binary.is_file():
        raise AutopilotError(f"no PX4 at '{given}': give a build folder with bin/px4 in it (for "
                             "example build/px4_sitl_default), or the px4 binary")
    if not os.access(binary, os.X_OK):
        raise AutopilotError(f"'{binary}' is not executable: chmod +x it, or give another PX4")
    binary = binary.resolve()
    for etc in (binary.parents[1] / "etc", binary.parents[1] / "share" / "px4" / "etc",
                binary.parent / "etc"):
        if (etc / "init.d-posix" / "rcS").is_file():
            return Px4Installation(binary, etc)
    raise AutopilotError(f"'{binary}' has no etc/init.d-posix/rcS beside it: give the build folder "
                         "of px4_sitl_default, or an installed px4 with its etc folder")


class Px4Process:
    """One running instance, in a process group and a folder of its own."""

    def __init__(self, installation: Px4Installation, i: int, name: str, model: Vehicle,
                 folder: Path | None, ports: Ports | None = None, start: int = 1,
                 parameters: Mapping[str, float] | None = None):
        """Starts PX4.

        Args:
            installation: What to start.
            i: Index in the fleet.
            name: Of the vehicle.
            model: The vehicle; one that PX4 has no airframe for gets one from its SDF.
            folder: The run folder; None: logs go with the process.
            ports: Of the simulation; None = those of the environment's instance.
            start: How often it has been started in this run; each has a folder of its own.
            parameters: Of PX4, which it has from its start on.

        Raises:
            AutopilotError: The system refuses to start it.
        """
        self._temporary = None
        ports = ports or Ports()
        if folder is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="xtdrone-px4-"))
        work = (self._temporary or folder / "px4") / (name if start == 1 else f"{name}.{start}")
        work.mkdir(parents=True, exist_ok=True)
        if folder is not None:
            logs = folder / "ulog" / name
            logs.mkdir(parents=True, exist_ok=True)
            (work / "log").symlink_to(logs.absolute())
        etc = work / "start-up"
        shutil.copytree(installation.etc, etc, copy_function=os.symlink)
        airframe = _write_airframe(etc / "init.d-posix" / "airframes", model, parameters or {})
        if ports.instance:
            _shift(etc / "init.d-posix", ports, i)
        self.console = (folder / "console" if folder is not None else work) / f"{name}.log"
        command = [installation.binary, "-i", ports.px4_number(i), "-d", etc,
                   "-s", "etc/init.d-posix/rcS", "-w", work]
        parent = os.getpid()
        with open(self.console, "ab") as console:
            try:
                self._process = subprocess.Popen(
                    list(map(str, command)), stdin=subprocess.DEVNULL, stdout=console,
                    stderr=subprocess.STDOUT, start_new_session=True, cwd=work,
                    env={**os.environ, "PX4_SIM_MODEL": airframe},
                    preexec_fn=lambda: _confine(parent))
            except (OSError, subprocess.SubprocessError) as error:
                raise AutopilotError(f"cannot start PX4 '{installation.binary}': "
                                     f"{error}") from error

    @property
    def pid(self) -> int:
        """Of the process, which leads its group."""
        return self._process.pid

    def end(self) -> str:
        """How the process ended, in words; empty while it runs."""
        status = self._process.poll()
        if status is None:
            return ""
        if status < 0:
            return f"was ended by {signal.Signals(-status).name}"
        lines = [line.strip() for line in self.console.read_text(errors="replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "it said nothing")
        return f"ended with status {status}: {last} (its console: {self.console})"

    def stop(self, wait: bool = True) -> None:
        """Ends the process and whatever it started; may be called twice.

        Args:
            wait: False only asks it to end, so that a fleet ends together; call again then.
        """
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            if not wait:
                return
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                pass
        if wait:
            self._signal(signal.SIGKILL)
            self._process.wait()
            if self._temporary is not None:
                shutil.rmtree(self._temporary, ignore_errors=True)

    def _signal(self, number):
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass


def _confine(parent):
    """In the child: it ends with its parent, and takes no real-time priority."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before that took effect
        os._exit(1)
    _libc.prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))


def _write_airframe(folder, model, parameters) -> str:
    """Adds what PX4 shall know of a vehicle to its airframes; gives the airframe's name."""
    airframe = _KNOWN.get(model.type)
    if airframe is None:
        airframe = f"none_{model.type}"
        (folder / f"{_AIRFRAME}_{airframe}").write_text(airframe_of(model))
    script, = folder.glob(f"[0-9]*_{airframe}")
    lines = [f"param set {name} {_number(value)}" for name, value in parameters.items()
             if name not in _FIXED]
    text = script.read_text()
    script.unlink()  # may be a link to PX4's own
    script.write_text("\n".join([text, *lines, ""]))
    (folder / f"{script.name}.post").write_text(_AFTER_AIRFRAME)
    return airframe


def _number(value: float) -> str:
    """As PX4's shell reads it: an integer without a point."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.9g}"


def _shift(scripts, ports, i) -> None:
    """Has PX4 keep its system id, and send where the clients of its instance listen.

    PX4 derives all of its own ports from its number, but its system id as well, which ends at
    250, and past the tenth vehicle it sends to the first instance's ports.

    Raises:
        AutopilotError: The scripts are not those of a PX4 that we know.
    """
    parameters, links = scripts / "px4-rc.params", scripts / "px4-rc.mavlink"
    text = links.read_text() if links.is_file() else ""
    shared = re.compile(r"^.*udp_offboard_port_remote=14549\b.*$", re.M)
    station = re.compile(r"^(mavlink start .*-u \$udp_gcs_port_local)\b", re.M)
    if not parameters.is_file() or not shared.search(text) or not station.search(text):
        raise AutopilotError(f"the start-up scripts of this PX4 cannot be shifted to instance "
                             f"{ports.instance}: use instance 0, or PX4 1.13 or newer")
    text = shared.sub(f"udp_offboard_port_remote={ports.offboard(i)}", text)
    text = station.sub(rf"\1 -o {ports.ground_station}", text)
    number = f"{parameters.read_text()}\nparam set MAV_SYS_ID {system_id(i)}\n"
    for path, content in ((links, text), (parameters, number)):
        path.unlink()  # a link to PX4's own
        path.write_text(content)


def airframe_of(model: Vehicle) -> str:
    """PX4's airframe script of a vehicle: rotors and hover throttle as its SDF has them."""
    lines = ["#!/bin/sh", ". ${R}etc/init.d/rc.mc_defaults",
             f"param set-default MAV_TYPE {_MAV_TYPES.get(len(model.rotors), 2)}",
             "param set-default CA_AIRFRAME 0",
             f"param set-default CA_ROTOR_COUNT {len(model.rotors)}"]
    for k, rotor in enumerate(model.rotors):
        turn = rotor.direction * rotor.moment_constant  # PX4: positive turns counter-clockwise
        lines += [f"param set-default CA_ROTOR{k}_PX {rotor.pos[0]:.5f}",
                  f"param set-default CA_ROTOR{k}_PY {-rotor.pos[1]:.5f}",
                  f"param set-default CA_ROTOR{k}_KM {turn:.5f}",
                  f"param set-default PWM_MAIN_FUNC{k + 1} {101 + k}"]
    return "\n".join([*lines, f"param set-default MPC_THR_HOVER {hover_command(model):.3f}", ""])


def hover_command(model: Vehicle) -> float:
    """The common rotor command 0..1 at which the thrust equals the weight."""
    def lift(command):
        return sum(rotor.motor_constant * min(rotor.max_rot_velocity, rotor.zero_position_armed
                                              + command * rotor.input_scaling) ** 2
                   * rotor.axis[2] for rotor in model.rotors)

    commands = np.linspace(0.0, 1.0, 1001)
    return float(np.interp(model.mass * GRAVITY, [lift(c) for c in commands], commands))
