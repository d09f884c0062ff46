"""All ports of a simulation as a function of its instance; instance 0 has PX4's numbers.

Vehicle i (0 to 249) of each fleet has system id i + 1. PX4 itself sends the offboard links of all
vehicles past the tenth to port 14549, where the system id tells them apart; that is kept. A MAVROS
answers whoever sent to it last, so it cannot share a port: from the tenth vehicle on MAVROS has
ports of its own, and speaks first. The ROS bridge has its own link, so that 14540 + i stays free
for MAVSDK and 14550 for a ground station while ROS runs. All bridge links go to one port, since
there is one bridge for the fleet.

Instance I adds 3000 * I to each of them, so that several fleets fly on one machine; PX4 does the
same with its own ports where it is started as number 3000 * I + i. No two ranges touch, within an
instance or between two, and all lie below 32768, where Linux's ephemeral ports begin; this leaves
room for five instances. Gazebo's and ROS's masters are no part of this: see gazebo_master().
"""

import argparse
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import ControlError, ScenarioError, XtdroneError
from ..scenario.options import number, number_type

MAX_VEHICLES = 250  # MAVLink system ids 251 to 255 are left to ground stations
INSTANCES = 5
SHIFT = 3000  # shift of every port from one instance to the next
VARIABLE = "XTDRONE_INSTANCE"  # environment variable with the default instance

_GAZEBO_MASTER = 11345
_VIEWER = 19410  # as PX4's SIH has it
_ALONE = 10  # offboard ports, as PX4 has them; the last one is shared
# First port and number of ports of instance 0. Those of PX4 are PX4's; ours lie where 3000 * I
# leaves room between them.
_RANGES = {
    "simulator": (4560, MAX_VEHICLES),  # TCP, simulator link of real PX4
    "ardupilot": (4810, 100),  # UDP, JSON interface of real ArduPilot
    "gimbal_local": (13030, MAX_VEHICLES),  # real PX4's link to a gimbal
    "gimbal": (13280, MAX_VEHICLES),
    "camera": (14030, MAX_VEHICLES),  # real PX4's link to an onboard camera
    "camera_local": (14280, MAX_VEHICLES),
    "offboard": (14540, _ALONE),
    "ground_station": (14550, 1),
    "offboard_local": (14580, MAX_VEHICLES),
    "control": (14900, 1),  # TCP, pause, step, speed and the clock of one simulation
    "web": (14910, 1),  # TCP, the page of the browser station
    "replay": (14912, 1),  # TCP, the page of a recorded flight
    "foxglove": (14914, 1),  # TCP, the live server for Foxglove and Lichtblick
    "start": (14911, 1),  # TCP, the start page of `xtdrone web`
    "tuning": (14913, 1),  # TCP, the tuning page of `xtdrone tune --web`
    "bridge": (14940, 1),
    "bridge_local": (15000, MAX_VEHICLES),
    "mavros": (15250, MAX_VEHICLES),  # MAVROS's own ports where vehicles share PX4's
    "ground_station_local": (18570, MAX_VEHICLES),
}


def default_instance() -> int:
    """XTDRONE_INSTANCE of the environment, else 0.

    Raises:
        ScenarioError: The variable holds something else.
    """
    instance: int = number(
        VARIABLE, os.environ.get(VARIABLE, "") or 0, 0, INSTANCES - 1, whole=True
    )
    return instance


def check_links(n: int) -> None:
    """Refuses MAVLink links for more vehicles than there are system ids.

    Raises:
        ScenarioError: n is too large.
    """
    if n > MAX_VEHICLES:
        raise ScenarioError(
            f"{n} vehicles with MAVLink links are not allowed: give at most "
            f"{MAX_VEHICLES} (one system id each), or fly them by an Agent without "
            "links, as 'xtdrone fly' does"
        )


@dataclass(frozen=True)
class Ports:
    """The ports of one instance, the environment's where none is given.

    `..._local` are the vehicle's own ends. Ports and system ids follow the numbers of the vehicles,
    which keep theirs when others are taken out of the fleet.
    """

    instance: int = field(default_factory=default_instance)
    numbers: tuple[int, ...] = ()  # numbers of the vehicles; empty: 0 and up

    def __post_init__(self) -> None:
        instance = number("instance", self.instance, 0, INSTANCES - 1, whole=True)
        object.__setattr__(self, "instance", instance)

    @property
    def control(self) -> int:
        """TCP port of the control socket."""
        return self.range("control").start

    @property
    def web(self) -> int:
        """TCP port of the browser station's page."""
        return self.range("web").start

    @property
    def replay(self) -> int:
        """TCP port of the page of a recorded flight."""
        return self.range("replay").start

    @property
    def foxglove(self) -> int:
        """TCP port of the live server for Foxglove."""
        return self.range("foxglove").start

    def viewer(self, i: int) -> int:
        """Port on which PX4's own viewer receives the state of vehicle i; it is not bound here."""
        return _VIEWER + self.px4_number(i)

    def number(self, i: int) -> int:
        """Number of vehicle i of the fleet."""
        return self.numbers[i] if self.numbers else i

    def system_id(self, i: int) -> int:
        """MAVLink system id of vehicle i."""
        return system_id(self.number(i))

    @property
    def start(self) -> int:
        """TCP port of the start page."""
        return self.range("start").start

    @property
    def tuning(self) -> int:
        """TCP port of the tuning page."""
        return self.range("tuning").start

    @property
    def ground_station(self) -> int:
        """Port to which every vehicle sends its ground station's link."""
        return self.range("ground_station").start

    @property
    def bridge(self) -> int:
        """Port to which every vehicle sends its bridge's link."""
        return self.range("bridge").start

    def offboard(self, i: int) -> int:
        """Port to which vehicle i sends its offboard link: 14540 + i up to nine, then 14549."""
        return self.range("offboard")[min(self.number(i), _ALONE - 1)]

    def ground_station_local(self, i: int) -> int:
        """Vehicle i's end of the ground station's link."""
        return self.range("ground_station_local").start + self.number(i)

    def offboard_local(self, i: int) -> int:
        """Vehicle i's end of the offboard link."""
        return self.range("offboard_local").start + self.number(i)

    def bridge_local(self, i: int) -> int:
        """Vehicle i's end of the bridge's link."""
        return self.range("bridge_local").start + self.number(i)

    def camera_local(self, i: int) -> int:
        """Real PX4 i's end of its link to an onboard camera."""
        return self.range("camera_local").start + self.number(i)

    def mavros(self, i: int) -> int:
        """Own port of the MAVROS of vehicle i: PX4's remote port as long as nobody shares it.

        A vehicle, real PX4 too, sends to the port from which it is spoken to first.
        """
        number = self.number(i)
        return self.offboard(i) if number < _ALONE - 1 else self.range("mavros").start + number

    def simulator(self, i: int) -> int:
        """TCP port on which we wait for real PX4 i."""
        return self.range("simulator").start + self.number(i)

    def ardupilot(self, i: int) -> int:
        """UDP port on which we wait for real ArduPilot i."""
        return self.range("ardupilot").start + self.number(i)

    def px4_number(self, i: int) -> int:
        """The number (-i) of vehicle i's real PX4, from which PX4 derives its ports."""
        return SHIFT * self.instance + self.number(i)

    def join_ground_station(self, sock: socket.socket) -> bool:
        """Binds a program's UDP socket to the ground station's port, or where that is taken to any.

        Real PX4 answers for ever the address that spoke first on this link. It is the same one for
        all programs that take their turns on this port, and for QGroundControl after them.

        Returns:
            Whether it has that port.
        """
        try:
            sock.bind(("127.0.0.1", self.ground_station))
        except OSError:
            sock.bind(("127.0.0.1", 0))
            return False
        return True

    def range(self, kind: str) -> range:
        """All ports of a kind; see the table of this module."""
        first, count = _RANGES[kind]
        first += SHIFT * self.instance
        return range(first, first + count)

    @staticmethod
    def kinds() -> tuple[str, ...]:
        """Names of the kinds of ports."""
        return tuple(_RANGES)

    def free(self) -> bool:
        """Returns whether the ports of the first vehicle of this instance are free."""
        tcp = (self.control, self.web, self.replay, self.foxglove, self.simulator(0))
        udp = (self.ground_station_local(0), self.offboard_local(0), self.bridge_local(0))
        return not any(in_use(port, tcp=True) for port in tcp) and not any(map(in_use, udp))


def system_id(number: int) -> int:
    """MAVLink system id of the vehicle with a number."""
    return number + 1


def gazebo_master(instance: int, uri: str = "") -> str:
    """Address of the instance's Gazebo master: the port of the given one, plus the instance."""
    head, _, port = (uri or f"http://127.0.0.1:{_GAZEBO_MASTER}").rpartition(":")
    return f"{head}:{int(port) + instance}" if port.isdecimal() else uri


def in_use(port: int, tcp: bool = False) -> bool:
    """Returns whether a process has bound a port on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as sock:
        if tcp:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def open_udp(
    port: int, taken: Callable[[], XtdroneError], address: str = "127.0.0.1"
) -> socket.socket:
    """Opens a UDP socket that does not block.

    Args:
        port: Its port.
        taken: Makes the error of a port that is in use.
        address: IPv4 address on which it listens; "" for all.

    Raises:
        XtdroneError: The one that taken() makes.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.bind((address, port))
    except OSError as error:
        sock.close()
        raise taken() from error
    sock.setblocking(False)
    return sock


def require_free(ports: Ports) -> None:
    """Refuses an instance whose control port another simulation has.

    Raises:
        ControlError: The port is taken.
    """
    if in_use(ports.control, tcp=True):
        raise control_taken(ports.control)


def control_taken(port: int) -> ControlError:
    """The error of a control port that another simulation has."""
    return ControlError(
        f"control port {port} (TCP) is in use: another simulation is running; {advice()}"
    )


def advice() -> str:
    """For a message about a taken port: which instance is free."""
    free = next((k for k in range(INSTANCES) if Ports(k).free()), None)
    if free is None:
        return "stop it first: no instance is free"
    return f"stop it first, or give --instance {free} (instance:={free}), which is free"


def add_option(parser: argparse.ArgumentParser) -> None:
    """--instance of a program that speaks to a running simulation."""
    parser.add_argument(
        "--instance",
        metavar="I",
        default=default_instance(),
        type=number_type("instance", 0, INSTANCES - 1, whole=True),
        help=f"of the simulation, 0 to {INSTANCES - 1} ({VARIABLE}, or else 0)",
    )


def add_wait(parser: argparse.ArgumentParser, what: str = "the simulation") -> None:
    """The option --wait of what connects to a running simulation: for what, for how long."""
    parser.add_argument(
        "--wait",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help=f"time-out for {what} to appear (60)",
    )
