"""`xtdrone doctor`: checks of this machine and of a running fleet, with advice.

Every finding is ok, a warning or a fault. The checks of the machine do not use a running
simulation; those of the fleet use its control socket, and MAVLink as an additional ground station.
"""

import argparse
import importlib.util
import inspect
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from xtdrone_core import extras, libraries
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import ControlError, XtdroneError
from xtdrone_core.mavlink import key_file
from xtdrone_core.resources import root
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.run_folder import runs_root

from .finding import FAULT, OK, WARNING, Finding

EXAMPLES = """examples:
  xtdrone doctor                               check this machine and the running fleet, if any
  xtdrone doctor --json                        the same as JSON
"""
LISTEN_S = 2.5  # wall time to listen to the vehicles [s]


def register(subparsers: Subparsers) -> None:
    """Adds `xtdrone doctor` to the command line."""
    parser = subparsers.add_parser(
        "doctor", help="check this machine and a running fleet", epilog=EXAMPLES
    )
    parser.add_argument("--json", action="store_true", help="findings as JSON")
    ports.add_option(parser)
    key_file.add_option(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    findings = []
    key = key_file.read_key(args.key) if args.key else None
    for check in (*MACHINE, lambda: fleet(args.instance, key=key)):
        for finding in check():
            findings.append(finding)
            if not args.json:
                print(finding, flush=True)
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    return 1 if any(finding.level == FAULT for finding in findings) else 0


# The machine ----------------------------------------------------------------------------------


def packages() -> Iterator[Finding]:
    """Checks Python and the packages that pyproject.toml requires."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 10):  # noqa: UP036  (a checkout's src/ runs with any Python)
        yield Finding(
            FAULT, "Python", version, "install Python 3.10 or newer, and the project in it"
        )
    missing = []
    try:
        wanted = metadata.requires("xtdrone") or []
    except metadata.PackageNotFoundError:
        yield Finding(
            FAULT,
            "Python",
            "the workspace is not installed in this environment",
            "run scripts/setup.sh, then '. scripts/env.sh'",
        )
        return
    for requirement in wanted:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        if "extra ==" in requirement:
            continue
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Finding(
            FAULT,
            "Python",
            f"missing: {', '.join(missing)}",
            f"{sys.executable} -m pip install {' '.join(missing)}",
        )
    else:
        yield Finding(OK, "Python", f"{version} with all packages")


def ros() -> Iterator[Finding]:
    """Checks roscore, roslaunch, ROS_PACKAGE_PATH and the mavros_msgs package."""
    if not (root() / "scripts/env.sh").is_file():
        yield Finding(OK, "ROS", "not used: nodes and launch files are in a checkout, not in pip's")
        return
    if shutil.which("roslaunch") is None:
        yield Finding(
            WARNING,
            "ROS",
            "roslaunch is not found: 'xtdrone' works without it, launch files do not",
            "run scripts/setup.sh, or source ROS",
        )
        return
    yield Finding(OK, "ROS", f"roslaunch at {shutil.which('roslaunch')}")
    path = os.environ.get("ROS_PACKAGE_PATH", "").split(":")
    ours = root() / "src"
    if not any(p and Path(p).resolve() in (ours.resolve(), ours.parent.resolve()) for p in path):
        yield Finding(
            FAULT,
            "ROS_PACKAGE_PATH",
            "does not contain the workspace's src",
            f"run '. {ours.parent}/scripts/env.sh' in this shell",
        )
    else:
        yield Finding(OK, "ROS_PACKAGE_PATH", "contains the workspace")
    try:
        from mavros_msgs.msg import State

        yield Finding(OK, "mavros_msgs", f"from {Path(inspect.getfile(State)).parents[2]}")
    except ImportError as error:
        yield Finding(
            FAULT,
            "mavros_msgs",
            f"cannot be imported: {error}",
            "run scripts/setup.sh, then '. scripts/env.sh'",
        )
    yield Finding(
        OK,
        "MAVROS",
        "installed"
        if _has_package("mavros")
        else "not installed; the workspace's bridge replaces it",
    )
    if _has_package("rviz"):
        yield Finding(OK, "rviz", "installed")
    else:
        yield Finding(
            WARNING, "rviz", "not installed: rviz:=true is refused", libraries.advice(["rviz"])
        )


def _has_package(name: str) -> bool:
    """Returns whether ROS finds a package."""
    rospack = shutil.which("rospack")
    return (
        rospack is not None
        and subprocess.run([rospack, "find", name], capture_output=True).returncode == 0
    )


def programs() -> Iterator[Finding]:
    """Checks Gazebo and PX4, which are optional."""
    gazebo = root() / ".setup" / "gazebo11"
    if (gazebo / "libxtdrone_lockstep.so").exists():
        yield Finding(OK, "Gazebo", f"set up in {gazebo}")
    else:
        yield Finding(OK, "Gazebo", "not set up; engine 'embedded' does not need it")
    px4 = os.environ.get("PX4_BUILD")
    if not px4:
        yield Finding(OK, "PX4", "PX4_BUILD is not set; autopilot 'embedded' does not need it")
    elif any((Path(px4) / at).is_file() for at in ("", "bin/px4")):
        yield Finding(OK, "PX4", f"built in {px4}")
    else:
        yield Finding(
            FAULT,
            "PX4",
            f"PX4_BUILD is '{px4}', but there is no bin/px4",
            "set it to PX4's build folder, or unset it",
        )


def display() -> Iterator[Finding]:
    """Checks the display and the libraries of viewers, and off-screen OpenGL for cameras."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen:
        yield Finding(OK, "display", screen)
    else:
        yield Finding(
            WARNING,
            "display",
            "none: --gui and rviz cannot open a window",
            "set DISPLAY, or fly without a window",
        )
    if importlib.util.find_spec("pyqtgraph") is None:
        yield Finding(WARNING, "viewers", "pyqtgraph is not installed", extras.install("view"))
    else:
        yield _viewer("viewers", libraries.missing_for_qt())
    if shutil.which("Xvfb"):
        yield Finding(OK, "Xvfb", "viewers draw pictures without a display")
    else:
        yield Finding(
            WARNING,
            "Xvfb",
            "not installed: viewers draw no picture without a display",
            libraries.advice(["xvfb"]),
        )
    from xtdrone_sim.rendering import offscreen

    try:
        yield Finding(OK, "OpenGL", f"cameras render through {offscreen.backend().upper()}")
    except (XtdroneError, OSError, subprocess.SubprocessError) as error:
        yield Finding(WARNING, "OpenGL", f"no camera images: {error}")


def _viewer(subject: str, lacking: Sequence[str]) -> Finding:
    """Checks the libraries that a viewer opens."""
    if lacking:
        return Finding(
            WARNING,
            subject,
            f"cannot open a window without {', '.join(lacking)}",
            libraries.advice(libraries.packages(lacking)),
        )
    return Finding(OK, subject, "its libraries are installed")


def system() -> Iterator[Finding]:
    """Checks resource limits, disk space, clock and compiled kernels."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 3 * ports.MAX_VEHICLES + 256
    if hard != resource.RLIM_INFINITY and hard < needed:
        vehicles = max(0, (hard - 256) // 3)
        yield Finding(
            WARNING,
            "open files",
            f"at most {hard}: enough for {vehicles} vehicles",
            f"raise it with 'ulimit -Hn {needed}'",
        )
    else:
        yield Finding(
            OK,
            "open files",
            f"{soft} now, no limit"
            if hard == resource.RLIM_INFINITY
            else f"{soft} now, up to {hard}",
        )
    folder = runs_root()
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        yield Finding(
            FAULT,
            "run folders",
            f"'{existing}' cannot be written",
            "set XTDRONE_RUNS to a folder that can be written",
        )
    elif free < 1 << 30:
        yield Finding(
            WARNING,
            "run folders",
            f"{free / 1e6:.0f} MB are left on '{existing}'",
            "remove old runs, or set XTDRONE_RUNS to another disk",
        )
    else:
        yield Finding(OK, "run folders", f"{folder}, {free / 1e9:.0f} GB free")
    yield _clock()
    from xtdrone_dynamics.kernel_cache import cache_root
    from xtdrone_sim.warm_up import is_warm

    if is_warm():
        yield Finding(OK, "kernels", f"compiled, in {cache_root()}")
    else:
        yield Finding(
            WARNING,
            "kernels",
            "not compiled yet: the first start takes a minute",
            "run 'xtdrone warmup'",
        )


def _clock() -> Finding:
    """Checks the clock that paces real time: a sleep of 1 ms may take 5 ms on average."""
    begin = time.monotonic()
    for _ in range(20):
        time.sleep(0.001)
    each = (time.monotonic() - begin) / 20
    if each > 0.005:
        return Finding(
            WARNING,
            "clock",
            f"a pause of 1 ms takes {each * 1e3:.1f} ms: flights in real time will be uneven",
            "stop other programs, or use fewer vehicles",
        )
    return Finding(OK, "clock", f"a pause of 1 ms takes {each * 1e3:.1f} ms")


def taken_ports() -> Iterator[Finding]:
    """Finds programs that use the ports of a simulation."""
    import psutil

    tcp_ports, udp_ports = _named_ports()
    held: dict[tuple[str, str], list[int]] = {}
    for connection in psutil.net_connections("inet"):
        if not connection.laddr:
            continue
        number, tcp = connection.laddr.port, connection.type == socket.SOCK_STREAM
        if tcp and connection.status != psutil.CONN_LISTEN:
            continue
        what = (tcp_ports if tcp else udp_ports).get(number)
        if what is not None:
            held.setdefault((what, _program(connection.pid)), []).append(number)
    simulated = {what.partition(",")[2] for what, _ in held if what.startswith("control socket")}
    for (what, program), numbers in sorted(held.items()):
        span = f"{min(numbers)}" if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"
        if " links" in what and what.partition(",")[2] not in simulated:
            yield Finding(
                WARNING,
                "port",
                f"{span} ({what}) is used by {program}, and no simulation runs",
                "stop that program, or no vehicle can start",
            )
        else:
            yield Finding(OK, "port", f"{span} ({what}) is used by {program}")
    if not held:
        yield Finding(OK, "ports", "all free")


def _named_ports() -> tuple[dict[int, str], dict[int, str]]:
    """Returns the purpose of each TCP and UDP port of every instance."""
    tcp: dict[int, str] = {11311: "ROS master"}
    udp: dict[int, str] = {}
    for own in map(ports.Ports, range(ports.INSTANCES)):
        which = f", instance {own.instance}" if own.instance else ""
        tcp[own.control] = f"control socket{which}"
        for kind, name in (
            ("web", "browser station"),
            ("replay", "replay"),
            ("foxglove", "Foxglove server"),
        ):
            tcp.update(dict.fromkeys(own.range(kind), name + which))
        udp[own.ground_station], udp[own.bridge] = f"ground station{which}", f"ROS bridge{which}"
        for kind, name in (
            ("ground_station_local", "ground-station links"),
            ("offboard_local", "offboard links"),
            ("bridge_local", "bridge links"),
        ):
            udp.update(dict.fromkeys(own.range(kind), name + which))
    return tcp, udp


def _program(pid: int | None) -> str:
    import psutil

    if pid is None:
        return "another user's program"
    try:
        words = " ".join(Path(w).name for w in psutil.Process(pid).cmdline()[:5]).split()
        return f"{' '.join(words)[:80] or 'a program'} (process {pid})"
    except psutil.Error:
        return f"process {pid}"


MACHINE = (packages, ros, programs, display, system, taken_ports)


# The fleet ------------------------------------------------------------------------------------


def fleet(instance: int, listen_s: float = LISTEN_S, key: bytes | None = None) -> Iterator[Finding]:
    """Yields findings about the running simulation of an instance; key: of its links."""
    from . import fleet as doctor_fleet

    try:
        client = ControlClient(instance)
    except ControlError:
        yield Finding(
            OK, "simulation", f"none answers on control port {ports.Ports(instance).control}"
        )
        return
    try:
        yield from doctor_fleet.findings(client, instance, listen_s, key)
    except ControlError as error:
        yield Finding(FAULT, "simulation", str(error), "see its console, or stop and start it")
    finally:
        client.close()
