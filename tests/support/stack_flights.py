"""One vehicle flown in the lockstep by MAVLink messages, without a socket."""

import contextlib
import hashlib
import io
import math
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from xtdrone_autopilot.navigation.mission_items import MISSION, Item, fields_of
from xtdrone_core import Mode, Scenario
from xtdrone_core.contracts import Observer
from xtdrone_core.mavlink.client import MavlinkClient, Refused
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs import snapshot as snapshot_files
from xtdrone_core.scenario.vehicles import fleet, parse_vehicles
from xtdrone_dynamics.earth.geodesy import to_geodetic
from xtdrone_sim.simulation import Simulation

HEIGHT = 5.0  # of a take-off [m]
NAN = math.nan
REL = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
POSITION, VELOCITY, ACCELERATION = 0xDF8 & ~0x400, 0xFC7 & ~0x800, 0xC3F & ~0x800  # type masks


_SNAPSHOTS = tempfile.TemporaryDirectory(prefix="xtdrone-flights-")
_BEGUN: dict[tuple, tuple[Path, list[str]]] = {}  # snapshot and texts of each begin of a flight


class _Each(Observer):
    def __init__(self, look):
        self.on_step = look


def contents(snapshot: Path) -> str:
    """A hash of all that a snapshot holds, but for the padding of its records."""
    found = hashlib.sha256()

    def add(array):
        for field in array.dtype.names or ():
            add(array[field])
        if array.dtype.names is None:
            found.update(array.tobytes())

    with zipfile.ZipFile(snapshot) as file:
        for name in file.namelist():
            data = file.read(name)
            add(
                np.load(io.BytesIO(data), max_header_size=snapshot_files.MAX_HEADER)
                if name.endswith(".npy")
                else np.frombuffer(data, "u1")
            )
    return found.hexdigest()


def each_step(simulation, look):
    """Calls look(t_us, state, sensors) after each step."""
    simulation.observers.append(_Each(look))


class Link:
    """A link without a socket; what is sent on it is dropped."""

    vehicle, system, kind, sender, source, clock_us, signer = 0, 1, 0, None, (255, 190), None, None


def from_client(message, system=255, component=190):
    """A message as it comes in, with the ids of its sender."""
    (received,) = mavlink.MAVLink(None).parse_buffer(
        message.pack(mavlink.MAVLink(None, system, component))
    )
    return received


class NoLinks:
    """Stands where Links stands, keeps what was answered."""

    def __init__(self):
        self.replies = []

    def reply(self, link, message):
        self.replies.append(message)

    def hear_station(self, link, t_us):
        """Texts that wait for a ground station, which no flight here is about."""


class Sent:
    """Stands where Links stands, and keeps what is sent to all clients."""

    def __init__(self):
        self.messages, self.texts = [], []

    def broadcast(self, i, message):
        self.messages.append(message)

    def broadcast_text(self, i, messages, t_us):
        self.texts += [message.text for message in messages]

    def hurry(self, i, name, t_us):
        """A heartbeat."""


class InProcess:
    """A client's link to the vehicle of a flight; send() returns once the vehicle has answered."""

    system = Link.sender

    def __init__(self, flight):
        self.send, self._replies = flight.send, flight.links.replies

    @contextlib.contextmanager
    def listen(self, *kinds):
        self._replies.clear()
        yield self._next

    def _next(self, seconds):
        assert self._replies, "no answer, and none will come"
        return self._replies.pop(0)


class Flight:
    """One iris in the air, spoken to by MAVLink messages."""

    def __init__(self, vehicle="iris", folder=None, **scenario):
        self.said = []
        vehicles = parse_vehicles(vehicle) if "@" in vehicle else fleet(vehicle, 1)
        self.simulation = Simulation(
            Scenario(vehicles, speed=0.0, **{"gps": "rtk", **scenario}), folder, links=False
        )
        self.autopilot = self.simulation.autopilot
        self.autopilot.outbox.on_text = lambda i, severity, text: self.said.append(text)
        self.links = NoLinks()
        self.messages = self.autopilot.messages(self.links)
        self._observers = len(self.simulation.observers)

    def once(self, begin):
        """Flies begin(self), or goes on from where that led when it began from the same state.

        It is flown where it is looked at on the way, by log files or observers.
        """
        simulation = self.simulation
        if simulation.folder is not None or len(simulation.observers) > self._observers:
            begin(self)
            return self
        start = Path(_SNAPSHOTS.name) / "start.npz"
        simulation.save(start)
        key = (begin.__qualname__, repr(simulation.scenario), contents(start))
        if key in _BEGUN:
            path, said = _BEGUN[key]
            simulation.load(path)
            self.said += said
            return self
        before = len(self.said)
        begin(self)
        path = Path(_SNAPSHOTS.name) / f"{len(_BEGUN)}.npz"  # it may have called this function
        simulation.save(path)
        _BEGUN[key] = path, self.said[before:]
        return self

    def take_off(self):
        """Hovers at HEIGHT."""
        return self.once(Flight._take_off)

    def _take_off(self):
        self.wait(lambda: self.autopilot.status["ready"][0], 5)
        self.autopilot.parameters.set(0, "MIS_TAKEOFF_ALT", HEIGHT)
        self.autopilot.commander.take_off(0, math.nan, self.simulation.t_us)
        assert self.autopilot.commander.arm(0, self.simulation.t_us).accepted
        self.wait(lambda: self.mode == Mode.LOITER, 15)
        self.run(3)

    @property
    def mode(self):
        return Mode(self.autopilot.status["mode"][0])

    @property
    def pos(self):
        """True position [m]."""
        return self.simulation.state.pos[0].copy()

    @property
    def vel(self):
        """True velocity [m/s]."""
        return self.simulation.state.vel[0].copy()

    def run(self, seconds, each=None, rate=50):
        """Simulated seconds; `each` is called at the rate [Hz]."""
        for k in range(round(seconds * 250)):
            if each is not None and k % (250 // rate) == 0:
                each()
            self.simulation.step()

    def wait(self, condition, seconds):
        for _ in range(round(seconds * 250)):
            self.simulation.step()
            if condition():
                return
        raise AssertionError(f"not within {seconds} s; said: {self.said}")

    def send(self, message):
        self.messages.handle(Link, message)

    def offboard(self):
        assert self.autopilot.commander.set_mode(0, Mode.OFFBOARD, self.simulation.t_us).accepted

    def target(self, frame, mask, **values):
        """Sends SET_POSITION_TARGET_LOCAL_NED with only the fields given."""
        fields = dict.fromkeys(
            ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz", "yaw", "yaw_rate"), 0.0
        )
        self.send(
            mavlink.MAVLink_set_position_target_local_ned_message(
                0, 1, 1, frame, mask, **{**fields, **values}
            )
        )


def item(origin, command, east=None, north=None, z=0.0, p=(0.0, 0.0, 0.0, NAN), frame=REL):
    """An item at a place [m] east and north of the world's origin."""
    if east is None:
        return Item(command, mavlink.MAV_FRAME_MISSION, p, 0, 0, z)
    lat, lon = to_geodetic(east, north, origin[0], origin[1])
    return Item(
        command, frame, p, round(math.degrees(lat) * 1e7), round(math.degrees(lon) * 1e7), z
    )


class MissionFlight(Flight):
    """A flight that uploads missions."""

    def item(self, command, *args, **kwargs):
        return item(self.autopilot.origin, command, *args, **kwargs)

    def upload(self, items, kind=MISSION):
        """The whole protocol; returns the result of the acknowledgement."""
        try:
            MavlinkClient(1, InProcess(self)).upload([fields_of(one) for one in items], kind)
        except Refused as error:
            return error.result
        return mavlink.MAV_MISSION_ACCEPTED

    def ready(self):
        self.wait(lambda: self.autopilot.status["ready"][0], 5)
        return self

    def start(self):
        """AUTO.MISSION and arming."""
        assert self.set_mode(Mode.MISSION).accepted
        assert self.autopilot.commander.arm(0, self.simulation.t_us).accepted

    def set_mode(self, mode):
        return self.autopilot.commander.set_mode(0, mode, self.simulation.t_us)

    def set(self, **parameters):
        for name, value in parameters.items():
            self.autopilot.parameters.set(0, name, value)

    def seq(self):
        return int(self.autopilot.missions.seq[0])

    @property
    def armed(self):
        return bool(self.autopilot.status["armed"][0])


def hover_command(f):
    """The common rotor command at which thrust equals weight."""
    c, b, a = f.autopilot.status["thrust_poly"][0]
    weight = f.simulation.fleet.vehicle["mass"][0] * 9.80665
    return (-b + math.sqrt(b * b - 4 * a * (c - weight))) / (2 * a)
