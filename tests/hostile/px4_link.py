"""What a broken PX4 says on its simulator link and in its telemetry, beside one that is whole.

Vehicle 0 has the good PX4, vehicle 1 the other one; strangers send telemetry as well.
"""

import math
import socket
import warnings

import numpy as np

from own_ports import PORTS
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_flight_controllers.px4 import link as px4_link
from xtdrone_flight_controllers.px4.link import Peer, SimulatorLink
from xtdrone_flight_controllers.px4.telemetry import FleetTelemetry

from .common import Crash, Kind, Nonsense, Obeyed, mutated_bytes
from .mavlink import message

STEP_US = 4000
_ORIGIN = (math.radians(47.4), math.radians(8.5), 488.0)
_HEARD = [
    mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    for name in (
        "HEARTBEAT",
        "LOCAL_POSITION_NED",
        "ATTITUDE_QUATERNION",
        "EXTENDED_SYS_STATE",
        "SYS_STATUS",
        "COMMAND_ACK",
        "STATUSTEXT",
        "GPS_GLOBAL_ORIGIN",
    )
]
_ANSWER = mavlink.MAVLink_hil_actuator_controls_message


class KIND(Kind):
    """The simulation's ends of the links of two PX4s, and what stands for these."""

    share = 100

    def start(self, folder):
        """Connects both PX4s."""
        warnings.simplefilter("error", RuntimeWarning)
        px4_link.ANSWER_S = px4_link.LOOK_S = 0.001  # the broken one is not worth waiting for
        px4_link.ALIGN_S = 0.0
        self.lost, self.t_us = [], 0
        self.link = SimulatorLink(
            2,
            lambda i, why: self.lost.append((i, why)),
            lambda i, text: None,
            PORTS,
            lambda i: None,
        )
        self.telemetry = FleetTelemetry(
            2, _ORIGIN, np.zeros((2, 3)), False, lambda i, severity, text: text.encode(), PORTS
        )
        self.good, self.broken = self._connected(0), None
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", PORTS.camera_local(1)))
        self.stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.target = ("127.0.0.1", self.telemetry.port)

    def make(self, rng, index):
        """Bytes of the simulator link, and datagrams of the telemetry with who sends them."""
        sender = mavlink.MAVLink(None, rng.choice((2, 2, 2, 2, 1, 3, 255, 0)), 1)
        stream = b"".join(self._piece(rng, sender) for _ in range(rng.choice((1, 1, 2, 5))))
        datagrams = []
        for _ in range(rng.randrange(3)):
            kind = rng.choice(_HEARD)
            wild = rng.sample(kind.fieldnames, rng.randrange(1, 3))
            frame = bytes(
                message(rng, kind, wild).pack(
                    mavlink.MAVLink(None, rng.choice((1, 2, 3, 0, 255)), 1)
                )
            )
            datagrams.append(
                (frame if rng.random() < 0.8 else mutated_bytes(rng, frame), rng.random() < 0.5)
            )
        return stream, datagrams

    def _piece(self, rng, sender):
        pick = rng.random()
        if pick < 0.1:
            return rng.randbytes(rng.choice((1, 30, 3000)))
        time = rng.choice((0, self.t_us, self.t_us + STEP_US, 2**64 - 1, 2**63, 2**62, 2**53 + 1))
        controls = [
            rng.choice((0.5, math.nan, math.inf, -math.inf, 3e38, -3e38)) for _ in range(16)
        ]
        frame = bytes(_ANSWER(time, controls, rng.choice((0, 129, 255)), 1).pack(sender))
        if pick < 0.2:
            kind = rng.choice(_HEARD)
            frame = bytes(message(rng, kind, kind.fieldnames).pack(sender))
        return mutated_bytes(rng, frame) if pick > 0.8 else frame

    def try_one(self, value):
        """One step with what both PX4s send."""
        stream, datagrams = value
        self.t_us += STEP_US
        if self.broken is None or self.link.state[1] == Peer.LOST:
            if self.broken is not None:
                self.broken.close()
            self.broken = self._connected(1)
        share = (self.t_us // STEP_US % 100) / 100
        self.good.sendall(_packed(0, _ANSWER(self.t_us, [share] * 16, 129, 1)))
        try:
            self.broken.sendall(stream)
        except OSError:  # it was given up
            pass
        self.link.exchange(self.t_us, [b"readings"] * 2)
        self._drain()
        if self.link.state[0] != Peer.LOCKSTEP or any(i == 0 for i, _ in self.lost):
            raise Crash(f"the good PX4 is lost: {self.lost}")
        if not np.allclose(self.link.controls[0], share):
            raise Obeyed(f"the good PX4 asks for {share}, not {self.link.controls[0]}")
        if not (np.abs(self.link.controls) <= 1.0).all():
            raise Nonsense(f"controls {self.link.controls}")
        self._try_telemetry(datagrams)

    def _try_telemetry(self, datagrams):
        before = self._estimates()
        for data, genuine in datagrams:
            (self.udp if genuine else self.stranger).sendto(data, self.target)
        self.telemetry.step(self.t_us)
        after = self._estimates()
        if not all(np.isfinite(array).all() for array in after):
            raise Nonsense(f"estimates {after}")
        for old, new in zip(before, after):
            if (old[0] != new[0]).any():
                raise Obeyed("the estimate of the good PX4 has changed")
            if not any(genuine for _, genuine in datagrams) and (old[1] != new[1]).any():
                raise Obeyed("a stranger has changed an estimate")
        self.telemetry.health()

    def _estimates(self):
        found = self.telemetry.estimates()
        return [
            array.copy()
            for array in (
                found.pos,
                found.quat,
                found.vel,
                found.ang_vel,
                found.armed,
                found.landed,
                found.mode,
                found.ready,
            )
        ]

    def close(self):
        """Ends it."""
        for part in (self.link, self.telemetry, self.good, self.broken, self.udp, self.stranger):
            if part is not None:
                part.close()

    def _drain(self):
        for sock in (self.good, self.broken):
            sock.setblocking(False)
            try:
                while sock.recv(1 << 16):
                    pass
            except OSError:
                pass
            sock.setblocking(True)

    def _connected(self, i):
        sock = socket.create_connection(("127.0.0.1", PORTS.simulator(i)))
        self.link.listen(1.0)
        return sock


def _packed(i, one) -> bytes:
    return bytes(one.pack(mavlink.MAVLink(None, i + 1, 1)))
