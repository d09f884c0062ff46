"""Whoever lacks the key of the links: messages unsigned or wrongly signed, repetitions, garbage."""

import hashlib
import socket

import numpy as np

from own_ports import PORTS
from xtdrone_autopilot.navigation.mission_items import CAPACITY
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.signing import now
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.warm_up import ensure_warm

from .common import Crash, Kind, Nonsense, Obeyed, mutated_bytes
from .mavlink import columns, message

STEPS = 2
CHECK = 50  # inputs between two questions whether the owner of the key is still served
_KEY = hashlib.sha256(b"the owner's").digest()
_HARMFUL = (
    "PARAM_SET",
    "SET_MODE",
    "COMMAND_LONG",
    "COMMAND_INT",
    "MISSION_COUNT",
    "SETUP_SIGNING",
    "MISSION_CLEAR_ALL",
    "SET_POSITION_TARGET_LOCAL_NED",
    "HEARTBEAT",
    "MANUAL_CONTROL",
    "VISION_POSITION_ESTIMATE",
    "RADIO_STATUS",
    "LOG_ERASE",
    "FILE_TRANSFER_PROTOCOL",
)


def packer(key=None, system=255, component=190, link_id=3, timestamp=0):
    """pymavlink's end of a link."""
    made = mavlink.MAVLink(None, system, component)
    made.signing.secret_key, made.signing.sign_outgoing = key, key is not None
    made.signing.link_id, made.signing.timestamp = link_id, timestamp
    return made


class KIND(Kind):
    """Two vehicles at rest, ready to fly, whose links a key guards."""

    share = 150

    def prepare(self):
        """Makes the fleet ready, without links."""
        ensure_warm()
        self.simulation = Simulation(Scenario(fleet("iris", 2), speed=0.0, gps="rtk"), links=False)
        self.autopilot = self.simulation.autopilot
        while not self.autopilot.status["ready"].all():
            self.simulation.step()
        self.kinds = [kind for _, kind in sorted(mavlink.mavlink_map.items())]
        self.harmful = [
            mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")] for name in _HARMFUL
        ]

    def start(self, folder):
        """Opens the links, and records what the owner of the key says to them."""
        self.autopilot.open_links(_KEY)
        self.links = [of_kind[0] for of_kind in self.autopilot.links.by_kind if of_kind[0].signer]
        self.said = []
        self.autopilot.outbox.on_text = lambda i, severity, text: self.said.append(text)
        self.owner, self.stranger = self._socket(), self._socket()
        self.sign = packer(_KEY, timestamp=now())
        self.recorded = []
        for k in range(20):
            data = bytes(
                mavlink.MAVLink_param_set_message(1, 1, b"MPC_XY_CRUISE", 3.0 + k % 2, 9).pack(
                    self.sign
                )
            )
            self._send(self.owner, data, k)
            self.recorded.append(data)
        self._step()
        self.before, self.tried = self._state(), 0

    @staticmethod
    def _socket():
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        return sock

    def make(self, rng, index):
        """Datagrams, and to which of the guarded links."""
        return [self._datagram(rng) for _ in range(rng.choice((1, 1, 3, 30)))], index

    def _datagram(self, rng):
        pick = rng.random()
        if pick < 0.1:
            size = rng.choice((0, 9, 280, 4000))
            return rng.choice((b"", b"\xfd", b"\xfe")) + rng.randbytes(size)
        if pick < 0.3:
            data = self.recorded[rng.randrange(len(self.recorded))]
            return data if pick < 0.15 else mutated_bytes(rng, data)
        kind = rng.choice(self.harmful if pick < 0.7 else self.kinds)
        wild = [name for name, *_ in columns(kind) if rng.random() < 0.3]
        made = message(rng, kind, wild)
        key = rng.choice((None, bytes(32), hashlib.sha256(b"a stranger's").digest()))
        sender = packer(
            key,
            rng.choice((255, 1, 2, 240)),
            rng.choice((190, 1)),
            rng.randrange(256),
            rng.choice((0, now(), 2**48 - 2)),
        )
        data = bytes(
            made.pack(sender, force_mavlink1=key is None and kind.id < 256 and rng.random() < 0.3)
        )
        return mutated_bytes(rng, data) if pick > 0.9 else data

    def try_one(self, value):
        """Sends them, and looks whether anything has changed."""
        datagrams, index = value
        for datagram in datagrams:
            self._send(self.stranger, datagram, index)
        self._step()
        failed = [text for text in self.said if "please report" in text]
        self.said.clear()
        if failed:
            raise Crash(failed[0])
        if not np.isfinite(self.simulation.state.pos).all():
            raise Nonsense("the position is not finite")
        after = self._state()
        for name, value in self.before.items():
            if value != after[name]:
                self.before = after
                raise Obeyed(f"{name} changed")
        if self._read(self.stranger):
            raise Obeyed("a stranger got an answer, or telemetry")
        self.tried += 1
        if self.tried % CHECK == 0:
            self._check_owner()

    def close(self):
        """Ends it."""
        self.simulation.close()

    def _send(self, sock, data, index):
        port = (PORTS.ground_station_local, PORTS.offboard_local)[index % 2](0)
        sock.sendto(data, ("127.0.0.1", port))

    def _step(self):
        for _ in range(STEPS):
            self.simulation.step()

    def _read(self, sock):
        found = []
        while True:
            try:
                found.append(sock.recv(65536))
            except BlockingIOError:
                return found

    def _check_owner(self):
        """Whoever has the key is still answered, on both links."""
        for index in range(2):
            self._read(self.owner)
            ping = mavlink.MAVLink_ping_message(0, 77, 0, 0)
            self._send(self.owner, bytes(ping.pack(self.sign)), index)
            self._step()
            if not self._read(self.owner):
                raise Crash("the owner of the key is not answered any more")

    def _state(self):
        """What a stranger must not change."""
        a, status = self.autopilot, self.autopilot.status
        names = (
            "mode",
            "armed",
            "failsafe",
            "home_set",
            "offboard_kind",
            "offboard_count",
            "target_speed",
            "stick_forward",
            "stick_up",
            "gcs_t",
        )
        return {
            "a parameter": a.parameters.values.tobytes(),
            "a mission": [a.missions.items(0, kind) for kind in CAPACITY],
            "the key": [link.signer.key for link in self.links],
            "a peer": [sorted(link.peers) for link in self.links],
            "an interval": a.links.intervals[:2].tobytes(),
            **{name: status[name].tobytes() for name in names},
        }
