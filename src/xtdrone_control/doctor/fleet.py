"""The checks of `xtdrone doctor` on a running fleet."""

import os
import select
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from xtdrone_core.mavlink import signing
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import ROS_NAME, from_custom_mode
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import ControlClient

from .finding import FAULT, OK, WARNING, Finding

Health: TypeAlias = Mapping[str, Any]  # JSON of Autopilot.health()
Messages: TypeAlias = dict[str, mavlink.MAVLink_message]  # by type, such as HEARTBEAT

CLOCK_TOLERANCE = 0.05  # relative error of the simulation speed
SLOW_SET_POINTS = 2.0  # PX4 leaves OFFBOARD below this rate [Hz]
HIGH_RATIO = 0.5  # test ratio that is reported as high
SYSTEM_ID = 254  # MAVLink system id of this program, an additional ground station
SILENT_S = 5.0  # simulated time without a message after which a link counts as silent [s]
_RATIOS = {
    "velocity": "vel_ratio",
    "position": "pos_horiz_ratio",
    "height": "pos_vert_ratio",
    "magnetometer": "mag_ratio",
}


def findings(
    client: ControlClient, instance: int, listen_s: float, key: bytes | None = None
) -> Iterator[Finding]:
    """Yields findings about a simulation and each of its vehicles.

    Args:
        client: Client of the simulation's control socket.
        instance: Instance of the simulation.
        listen_s: Wall time to listen to the vehicles [s].
        key: 32 bytes, if the simulation's links are signed with a key.
    """
    status = client.request("status")
    names = status["vehicles"]
    if status["paused"]:
        yield Finding(
            WARNING,
            "simulation",
            f"paused at {status['t_us'] * 1e-6:.1f} s",
            "run 'xtdrone control resume'",
        )
    before = client.request("health")
    own = ports.Ports(instance)
    links = [own.ground_station_local(i) for i in range(len(names))]
    heard = listen(own, links, listen_s, key)
    after = client.request("health")
    if not status["paused"]:
        yield _speed(status, after["t_us"] - before["t_us"], listen_s)
    seconds = (after["t_us"] - before["t_us"]) * 1e-6
    health = after["health"] or [{} for _ in names]
    for i, name in enumerate(names):
        earlier = before["health"][i] if before["health"] else {}
        results = list(
            vehicle_findings(
                name, links[i], health[i], earlier, seconds, heard[i], status["paused"]
            )
        )
        if all(finding.level == OK for finding in results):
            words = "; ".join(finding.text for finding in results)
            results = [Finding(OK, name, words)]
        yield from results


def _speed(status: dict[str, Any], simulated_us: int, listen_s: float) -> Finding:
    """Checks whether the simulation runs at the requested speed; status: JSON."""
    factor, wanted = simulated_us * 1e-6 / listen_s, status["speed"]
    text = f"{status['n']} vehicles at {factor:.2f} x real time"
    if wanted and factor < (1 - 3 * CLOCK_TOLERANCE) * wanted:
        return Finding(
            WARNING,
            "simulation",
            f"{text}, {wanted:g} was requested",
            "stop other programs, fly fewer vehicles, or reduce the speed with 'xtdrone "
            "control speed'",
        )
    return Finding(OK, "simulation", text)


def listen(
    own: ports.Ports, links: Sequence[int], seconds: float, key: bytes | None
) -> list[Messages]:
    """Receives the latest message of each type of each vehicle, as an additional link peer.

    Args:
        own: Ports of the simulation.
        links: UDP port of each vehicle's link.
        seconds: Wall time [s].
        key: 32 bytes, if the links are signed with a key.
    """
    n = len(links)
    heard: list[Messages] = [{} for _ in range(n)]
    parser = mavlink.MAVLink(None, SYSTEM_ID, 190)
    parser.robust_parsing = True
    if key:
        parser.signing.secret_key, parser.signing.sign_outgoing = key, True
        parser.signing.timestamp, parser.signing.link_id = signing.now(), 1 + os.getpid() % 255
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        own.join_ground_station(sock)
        for i in range(n):
            ping = mavlink.MAVLink_ping_message(0, i, 0, 0)
            sock.sendto(ping.pack(parser), ("127.0.0.1", links[i]))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([sock], [], [], left)[0]:
                break
            try:
                data = sock.recv(65536)
            except OSError:  # a vehicle's port is closed: reported as no answer
                continue
            for message in parser.parse_buffer(data) or ():
                i = message.get_srcSystem() - 1
                if 0 <= i < n and message.get_srcComponent() == mavlink.MAV_COMP_ID_AUTOPILOT1:
                    heard[i][message.get_type()] = message
    return heard


def vehicle_findings(
    name: str,
    port: int,
    health: Health,
    earlier: Health,
    seconds: float,
    heard: Messages,
    paused: bool,
) -> Iterator[Finding]:
    """Yields findings about one vehicle, from its health report or else its MAVLink streams.

    Args:
        name: Name of the vehicle.
        port: UDP port of its link.
        health: Health report, {} if it has none.
        earlier: Health report before.
        seconds: Simulated time between the two [s].
        heard: Messages that came.
        paused: Whether the simulation is paused.
    """
    yield from _link(name, port, heard, paused)
    if "test_ratios" not in health:  # real PX4, whose health comes over MAVLink
        health = _from_mavlink(heard)
    if not health:
        return
    state = "armed" if health["armed"] else "disarmed"
    yield Finding(
        WARNING if health["failsafe"] else OK,
        name,
        f"{health['mode']}, {state}" + (", a failsafe is in force" if health["failsafe"] else ""),
        "see its messages in the ground station or in console/autopilot.log; changing "
        "the mode ends it"
        if health["failsafe"]
        else "",
    )
    if health["not_ready"]:
        yield Finding(WARNING, name, f"would not arm: {health['not_ready']}")
    yield from _failsafes(name, health)
    yield from _estimator(name, health)
    yield from _battery(name, health)
    yield from _peers(name, health, earlier)
    yield from _set_points(name, health, earlier, seconds)


def _failsafes(name: str, health: Health) -> Iterator[Finding]:
    """Yields active failsafe conditions with advice; else the configured failsafe actions."""
    for words, advice in health.get("failing", {}).values():
        yield Finding(WARNING, name, words, advice)
    if not health.get("failing") and health.get("answers"):
        yield Finding(
            OK,
            name,
            "failsafes: "
            + ", ".join(
                f"{condition.replace('_', ' ')} {word}"
                for condition, word in health["answers"].items()
            ),
        )


def _peers(name: str, health: Health, earlier: Health) -> Iterator[Finding]:
    """Yields the peers of each link, as they were before this program sent messages itself."""
    heard = {
        kind.replace("_", " "): link["heard_s"]
        for kind, link in earlier.get("links", {}).items()
        if link["heard_s"] is not None
    }
    silent = [f"{kind} for {age:.0f} s" for kind, age in heard.items() if age > SILENT_S]
    speaks = [kind for kind, age in heard.items() if age <= SILENT_S]
    if silent and health["armed"]:
        yield Finding(
            WARNING,
            name,
            f"nothing received from {', '.join(silent)}",
            "check that the program still runs, or take over by another link",
        )
    if speaks:
        yield Finding(OK, name, f"receives {', '.join(speaks)}")


def _link(name: str, port: int, heard: Messages, paused: bool) -> Iterator[Finding]:
    if not heard and not paused:
        yield Finding(
            FAULT,
            name,
            f"nothing comes back from its ground-station link, UDP {port}",
            "check that the simulation runs with links, that --key is given where it "
            "has one, and that no firewall holds back UDP on loopback",
        )
    elif "PING" in heard or heard:
        yield Finding(OK, name, f"link answers on UDP {port}")


def _from_mavlink(heard: Messages) -> Health:
    """Returns the health report of a vehicle as far as its MAVLink streams contain it."""
    beat, system, status = (heard.get(k) for k in ("HEARTBEAT", "SYS_STATUS", "ESTIMATOR_STATUS"))
    if beat is None:
        return {}
    mode = from_custom_mode(beat.custom_mode)
    armed = bool(beat.base_mode & mavlink.MAV_MODE_FLAG_SAFETY_ARMED)
    not_ready = (
        system is not None
        and not armed
        and not (system.onboard_control_sensors_health & mavlink.MAV_SYS_STATUS_PREARM_CHECK)
    )
    health: dict[str, Any] = {
        "mode": ROS_NAME[mode] if mode is not None else f"mode {beat.custom_mode:#x}",
        "armed": armed,
        "failsafe": beat.system_status == mavlink.MAV_STATE_CRITICAL,
        "not_ready": "its arming checks fail; QGroundControl shows which" if not_ready else "",
        "battery": None,
        "test_ratios": {},
        "aligned": True,
        "located": True,
        "aid_sources": {},
    }
    if system is not None and system.battery_remaining >= 0:
        health["battery"] = system.battery_remaining / 100
        health["voltage"] = system.voltage_battery / 1000
    if status is not None:
        health["test_ratios"] = {word: getattr(status, field) for word, field in _RATIOS.items()}
        health["aligned"] = bool(status.flags & mavlink.ESTIMATOR_ATTITUDE)
        health["located"] = bool(
            status.flags & (mavlink.ESTIMATOR_POS_HORIZ_ABS | mavlink.ESTIMATOR_POS_HORIZ_REL)
        )
    return health


def _estimator(name: str, health: Health) -> Iterator[Finding]:
    in_use = [source for source, used in health["aid_sources"].items() if used]
    if not health["aligned"]:
        yield Finding(
            WARNING,
            name,
            "the estimator has no attitude yet",
            "leave the vehicle at rest for a second",
        )
        return
    if not health["located"]:
        yield Finding(
            WARNING, name, "the estimator has no position", "it needs GPS, or poses on vision_pose"
        )
    elif health["aid_sources"] and not {"GPS", "vision"} & set(in_use):
        yield Finding(
            WARNING,
            name,
            "the estimator flies on inertial sensors alone",
            "bring GPS or vision back, or land",
        )
    refused = {aid: ratio for aid, ratio in health["test_ratios"].items() if ratio > 1.0}
    high = {aid: ratio for aid, ratio in health["test_ratios"].items() if HIGH_RATIO < ratio <= 1.0}
    if refused:
        words = ", ".join(f"{aid} (test ratio {ratio:.1f})" for aid, ratio in refused.items())
        yield Finding(
            WARNING,
            name,
            f"the estimator refuses {words}",
            "that sensor disagrees with the others: look at 'xtdrone plot' of its flight log",
        )
    elif high:
        words = ", ".join(f"{aid} {ratio:.2f}" for aid, ratio in high.items())
        yield Finding(OK, name, f"test ratios below 1, the highest: {words}")
    else:
        yield Finding(OK, name, f"estimator uses {', '.join(in_use) or 'its sensors'}")


def _battery(name: str, health: Health) -> Iterator[Finding]:
    if health["battery"] is None:
        return
    text = f"battery {health['battery']:.0%}, {health['voltage']:.1f} V"
    if health["battery"] < 0.07:
        yield Finding(FAULT, name, text, "land at once")
    elif health["battery"] < 0.15:
        yield Finding(WARNING, name, text, "land soon")
    else:
        yield Finding(OK, name, text)


def _set_points(name: str, health: Health, earlier: Health, seconds: float) -> Iterator[Finding]:
    """Checks the rate of an offboard controller's set-points, in simulated time."""
    if "set_points" not in health or not earlier or seconds <= 0:
        return
    rate = (health["set_points"] - earlier["set_points"]) / seconds
    offboard = health["mode"] == "OFFBOARD"
    if offboard and rate < SLOW_SET_POINTS:
        yield Finding(
            FAULT,
            name,
            f"OFFBOARD with {rate:.1f} set-points a second: the failsafe is near",
            "send them at 20 Hz or more, even if unchanged",
        )
    elif rate > 0:
        yield Finding(OK, name, f"{rate:.0f} set-points a second")
