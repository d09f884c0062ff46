"""Rates of all MAVLink messages of a vehicle on both of PX4's links, on the ground and in hover.

python tests/support/stream_probe.py --autopilot px4 --record   real PX4, see PX4_BUILD
python tests/support/stream_probe.py                  hold the embedded stack against that
python tests/support/stream_probe.py --table          the table of docs/px4.md, from the same
"""

import argparse
import contextlib
import json
import socket
import tempfile
from collections import Counter
from pathlib import Path

from own_ports import PORTS
from xtdrone_core import Scenario
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.framing import frames
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.simulation import Simulation

RECORDED = Path(__file__).resolve().parents[1] / "data" / "px4_streams.json"
TICK_US = 20_000
AUTO_TAKEOFF, AUTO_LOITER = (1, 4, 2), (4, 3)
SPEED = 4.0  # real PX4 sends from threads that follow simulated time, if that does not rush
SECONDS = 20.0  # of each measurement: PING comes each 10 s
LINKS = {
    "ground_station": (PORTS.ground_station_local(0), PORTS.ground_station, mavlink.MAV_TYPE_GCS),
    "offboard": (PORTS.offboard_local(0), PORTS.offboard(0), mavlink.MAV_TYPE_ONBOARD_CONTROLLER),
}


class Client:
    """One end of a link of vehicle 0.

    Attributes:
        silent: It sends no heartbeats.
        heard: (simulated time [us], message id, frame) in the order of their arrival.
    """

    def __init__(self, link: str):
        local, remote, self._type = LINKS[link]
        self._far = ("127.0.0.1", local)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", remote))
        self._socket.setblocking(False)
        self._encoder, self._decoder = mavlink.MAVLink(None, 255, 190), mavlink.MAVLink(None)
        self._beat_us = 0
        self.silent = False
        self.heard = []

    def send(self, message) -> None:
        self._socket.sendto(message.pack(self._encoder), self._far)

    def tick(self, t_us: int) -> None:
        """Takes in what has come, and sends heartbeats."""
        if t_us >= self._beat_us and not self.silent:
            self._beat_us = t_us + 500_000
            self.send(
                mavlink.MAVLink_heartbeat_message(
                    self._type, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3
                )
            )
        with contextlib.suppress(BlockingIOError):
            while data := self._socket.recv(65536):
                self.heard += [
                    (t_us, frame.message_id, data[frame.start : frame.end])
                    for frame in frames(data)
                    if frame.component == 1
                ]

    def messages(self, kind: str, since: int = 0) -> list:
        """Those of a kind among what was heard, from an index on."""
        return [message for _, message in self.timed(kind, since)]

    def timed(self, kind: str, since: int = 0) -> list:
        """As messages(), each with its time [us]."""
        number = getattr(mavlink, f"MAVLINK_MSG_ID_{kind}")
        return [
            (t_us, self._decoder.decode(bytearray(frame)))
            for t_us, found, frame in self.heard[since:]
            if found == number
        ]

    def last(self, kind: str):
        """The newest message of a kind, or None."""
        number = getattr(mavlink, f"MAVLINK_MSG_ID_{kind}")
        return next(
            (
                self._decoder.decode(bytearray(frame))
                for _, found, frame in reversed(self.heard)
                if found == number
            ),
            None,
        )

    def close(self) -> None:
        self._socket.close()


class Probe:
    """A simulation of one iris, and clients on its links."""

    def __init__(self, autopilot: str, folder: Path, params: str = ""):
        folder.mkdir(exist_ok=True)
        run_folder.prepare(folder)
        self.simulation = Simulation(
            Scenario(
                fleet("iris", 1),
                autopilot=autopilot,
                params=params,
                speed=SPEED if autopilot == "px4" else 0.0,
            ),
            folder,
        )
        self.clients = {link: Client(link) for link in LINKS}
        self.station = self.clients["ground_station"]

    def run(self, seconds: float, until=lambda: False) -> bool:
        """Simulated seconds, or until a condition holds; says whether it did."""
        end = self.simulation.t_us + round(seconds * 1e6)
        while self.simulation.t_us < end:
            self.simulation.run(until_us=self.simulation.t_us + TICK_US)
            for client in self.clients.values():
                client.tick(self.simulation.t_us)
            if until():
                return True
        return False

    def command(self, number: int, *params: float) -> int | None:
        """Result of a command to which the ground station gets an answer, else None."""
        since = len(self.station.heard)
        self.station.send(
            mavlink.MAVLink_command_long_message(
                1, 1, number, 0, *params, *[0.0] * (7 - len(params))
            )
        )

        def answers():
            return [
                m.result for m in self.station.messages("COMMAND_ACK", since) if m.command == number
            ]

        self.run(1.0, answers)
        return answers()[0] if answers() else None

    def _prearmed(self):
        status = self.station.last("SYS_STATUS")
        return (
            status and status.onboard_control_sensors_health & mavlink.MAV_SYS_STATUS_PREARM_CHECK
        )

    def _mode(self):
        number = self.station.last("HEARTBEAT").custom_mode
        return number >> 16 & 255, number >> 24 & 255

    def wait_ready(self) -> None:
        """Until the vehicle may be armed."""
        assert self.run(60.0, self._prearmed)
        self.run(2.0)

    def take_off(self) -> None:
        """Until it hovers in AUTO.LOITER."""
        assert self.command(mavlink.MAV_CMD_DO_SET_MODE, *AUTO_TAKEOFF) == 0
        assert self.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1) == 0
        assert self.run(30.0, lambda: self._mode() == AUTO_TAKEOFF[1:])  # the heartbeat is older
        assert self.run(30.0, lambda: self._mode() == AUTO_LOITER)
        self.run(2.0)

    def rates(self, seconds: float) -> dict:
        """Link -> message -> rate [Hz] over some time from now on."""
        since = {link: len(client.heard) for link, client in self.clients.items()}
        self.run(seconds)
        out = {}
        for link, client in self.clients.items():
            counts = Counter(number for _, number, _ in client.heard[since[link] :])
            out[link] = {
                mavlink.mavlink_map[number].msgname: round(count / seconds, 2)
                for number, count in sorted(counts.items())
            }
        return out

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.simulation.close()


def measure(autopilot: str, seconds: float = SECONDS) -> dict:
    """State of the vehicle -> as of Probe.rates()."""
    with tempfile.TemporaryDirectory(prefix="xtdrone-") as folder:
        probe = Probe(autopilot, Path(folder))
        try:
            probe.wait_ready()
            landed = probe.rates(seconds)
            probe.take_off()
            return {"landed": landed, "hover": probe.rates(seconds)}
        finally:
            probe.close()


def differences(wanted: dict, found: dict, seconds: float) -> list[str]:
    """A line for each rate that is not the wanted one, to 3 % and one message."""
    lines = []
    for state, links in wanted.items():
        for link, rates in links.items():
            for name in sorted({*rates, *found[state][link]}):
                a, b = rates.get(name, 0.0), found[state][link].get(name, 0.0)
                if abs(a - b) > 0.03 * max(a, b) + 1.0 / seconds:
                    lines.append(f"{state}, {link}: {name} at {b:g} Hz, PX4 {a:g} Hz")
    return lines


def table(wanted: dict, found: dict) -> str:
    """PX4's rates and the embedded stack's in the hover [Hz]."""
    rows = [
        "| message | ground station: PX4 | here | offboard: PX4 | here |",
        "|---|---|---|---|---|",
    ]
    for name in sorted(
        {name for tables in (wanted, found) for link in LINKS for name in tables["hover"][link]}
    ):
        cells = [
            f"{tables['hover'][link].get(name, 0):g}"
            for link in LINKS
            for tables in (wanted, found)
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--autopilot", default="embedded", help="embedded or px4")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    parser.add_argument("--table", action="store_true", help="print a table")
    args = parser.parse_args()
    found = measure(args.autopilot)
    if args.record:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
        return
    wanted = json.loads(RECORDED.read_text())
    lines = differences(wanted, found, SECONDS)
    print(table(wanted, found) if args.table else "\n".join([*lines, f"{len(lines)} differ"]))


if __name__ == "__main__":
    main()
