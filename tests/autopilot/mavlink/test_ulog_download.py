"""Flight logs over MAVLink: pymavlink and mavsdk fetch them from a running simulation."""

import io
from types import SimpleNamespace

import numpy as np
import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink
from pyulog import ULog

from own_ports import PORTS
from waiting import LIMIT_S, until
from xtdrone_autopilot.mavlink.files import log_download as ulog_download
from xtdrone_autopilot.mavlink.streams import layout
from xtdrone_autopilot.state.handlers import declared

CHUNK = 512 * 90  # bytes asked for at once, as QGroundControl does: they fit a socket's buffer


def heartbeat(link):
    link.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 0)


def client(vehicle=0):
    """A ground station on the offboard link of one vehicle."""
    link = mavutil.mavlink_connection(
        f"udpout:127.0.0.1:{PORTS.offboard_local(vehicle)}",
        source_system=255,
        source_component=190,
        dialect="common",
    )
    heartbeat(link)
    assert link.wait_heartbeat(timeout=LIMIT_S) is not None
    link.target_system, link.target_component = vehicle + 1, 1
    return link


def ask(link, send, kind, condition="True"):
    """The first message of a kind that meets a condition (in pymavlink's words).

    What is lost while this process stands still is asked for again, as ground stations do. Each
    time it says that it is there: texts only go to ground stations heard in the last 2.5 s.
    """

    def asked():
        heartbeat(link)
        send()
        return link.recv_match(condition, type=kind, blocking=True, timeout=2.0)

    return until(asked, f"a {kind} comes")


def entries(link, first=0, last=0xFFFF):
    """LOG_ENTRY messages that answer a request for the list."""
    found = {}

    def complete():
        link.mav.log_request_list_send(link.target_system, 1, first, last)
        while (m := link.recv_match(type="LOG_ENTRY", blocking=True, timeout=2.0)) is not None:
            found[m.id] = m
            if not m.num_logs or m.id >= m.last_log_num:
                return True

    until(complete, "the list of logs is there")
    return list(found.values())


def download(link, number, size):
    """The bytes of a log; what is lost on the way is asked for again."""
    data, have = bytearray(size), np.zeros(size, dtype=bool)

    def complete():
        first = int(np.argmin(have))
        end = min(first + CHUNK, size)
        link.mav.log_request_data_send(link.target_system, 1, number, first, end - first)
        while (m := link.recv_match(type="LOG_DATA", blocking=True, timeout=1.0)) is not None:
            assert m.id == number and m.count <= 90
            data[m.ofs : m.ofs + m.count] = bytes(m.data[: m.count])
            have[m.ofs : m.ofs + m.count] = True
            if m.ofs + m.count >= end:
                break
        return have.all()

    until(complete, "the log is there")
    link.mav.log_request_end_send(link.target_system, 1)
    return bytes(data)


@pytest.mark.parametrize("size", [0, 1, 89, 90, 91, 500, 12 * 90])
def test_frames_carry_the_bytes(size):
    data = np.random.default_rng(size).integers(0, 3, size).astype(np.uint8)
    out = np.zeros(ulog_download.FRAMES_PER_PIECE * ulog_download.FRAME, dtype=np.uint8)
    item = layout("LOG_DATA")
    data.flags.writeable = False
    length = ulog_download.frames_of_data(data, 7000, 3, item.id, item.crc_extra, 9, 250, out)
    parser = mavlink.MAVLink(None)
    messages = parser.parse_buffer(out[:length].tobytes())
    assert [m.get_seq() for m in messages] == [(250 + k) % 256 for k in range(len(messages))]
    assert {(m.get_srcSystem(), m.id) for m in messages} == {(9, 3)}
    assert b"".join(bytes(m.data[: m.count]) for m in messages) == data.tobytes()
    assert [m.ofs for m in messages] == [7000 + 90 * k for k in range(len(messages))]


class CountedLinks:
    """Stands where Links stands; counts the bytes that each address gets."""

    def __init__(self):
        self.sent = {}

    def take_sequence(self, link, frames):
        return 0

    def send_frames(self, link, frames, address):
        self.sent[address] = self.sent.get(address, 0) + len(frames)


def test_a_thousand_downloads_take_as_long_as_one(tmp_path):
    """In one tick all together get so many pieces, in turn."""
    (tmp_path / "log.ulg").write_bytes(bytes(range(1, 251)) * 4000)
    links = CountedLinks()
    downloads = ulog_download.LogDownload(
        SimpleNamespace(files=lambda i: [tmp_path / "log.ulg"]), None, links
    )
    receives = dict(declared(downloads, "receives"))
    for k in range(1000):
        receives["LOG_REQUEST_DATA"](
            SimpleNamespace(vehicle=0, system=1, kind=1, sender=k, remote=None),
            mavlink.MAVLink_log_request_data_message(1, 1, 0, 0, 10**6),
        )
    for tick in range(1, 201):
        downloads.step()
        assert len(links.sent) <= ulog_download.PIECES_PER_TICK * tick
    assert len(set(links.sent.values())) == 1 and len(links.sent) == 1000


@pytest.mark.slow
def test_pymavlink_lists_and_fetches_the_running_log(simulate):
    simulation = simulate("--n", 2, "--gps", "rtk", "--speed", 5)
    simulation.wait_until(5_000_000)
    link = client(1)
    (entry,) = entries(link)
    assert (entry.id, entry.num_logs, entry.last_log_num) == (0, 1, 0)
    data = download(link, 0, entry.size)
    (path,) = simulation.folder.glob("run/ulog/iris_1/*.ulg")
    assert data == path.read_bytes()[: len(data)]
    log = ULog(io.BytesIO(data))
    assert not log.file_corruption and log.last_timestamp > 4_000_000
    # From the middle; behind the end there is one empty piece.
    m = ask(
        link,
        lambda: link.mav.log_request_data_send(2, 1, 0, 1000, 50),
        "LOG_DATA",
        "LOG_DATA.ofs == 1000",
    )
    assert m.count == 50 and bytes(m.data[:50]) == data[1000:1050]
    assert (
        ask(
            link,
            lambda: link.mav.log_request_data_send(2, 1, 0, 1 << 30, 90),
            "LOG_DATA",
            f"LOG_DATA.ofs == {1 << 30}",
        ).count
        == 0
    )
    ask(
        link,
        lambda: link.mav.log_request_data_send(2, 1, 7, 0, 90),
        "STATUSTEXT",
        "'there is no log 7' in STATUSTEXT.text",
    )
    link.close()


@pytest.mark.slow
def test_erasing_begins_a_new_log(simulate):
    simulation = simulate("--gps", "rtk", "--speed", 5)
    link = client()
    before = entries(link)[0]
    simulation.wait_until(4_000_000)
    link.mav.log_erase_send(1, 1)
    after = entries(link)[0]
    assert (after.id, after.num_logs) == (0, 1) and before.num_logs == 1
    (path,) = simulation.folder.glob("run/ulog/iris_0/*.ulg")
    assert path.name == "log002.ulg"
    simulation.stop()
    log = ULog(str(path))
    assert not log.file_corruption
    assert min(d.data["timestamp"][0] for d in log.data_list) > 3_000_000


@pytest.mark.slow
def test_a_simulation_without_logs_says_so(simulate):
    simulate("--gps", "rtk", "--log", "none")
    link = client()
    (entry,) = entries(link)
    assert entry.num_logs == 0


@pytest.mark.slow
@pytest.mark.long  # pymavlink downloads above, mavsdk by FTP in test_mavsdk_plugins.py
def test_mavsdk_downloads_a_log(simulate, tmp_path):
    from mavsdk import ComponentType, Configuration, Mavsdk
    from mavsdk.plugins.log_files import LogFiles, LogFilesResult

    simulation = simulate("--gps", "rtk", "--speed", 3)
    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    try:
        mavsdk.add_any_connection(f"udpin://127.0.0.1:{PORTS.offboard(0)}")
        until(mavsdk.get_systems, "mavsdk hears the vehicle")
        files = LogFiles(mavsdk.get_systems()[0])
        simulation.wait_until(2_000_000)
        (entry,) = files.get_entries()
        size = entry.size_bytes
        target = tmp_path / "fetched.ulg"
        results = []
        files.download_log_file_async(entry, str(target), lambda result, *_: results.append(result))
        until(lambda: results and results[-1] != LogFilesResult.NEXT, "the download has ended")
        assert results[-1] == LogFilesResult.SUCCESS
        (path,) = simulation.folder.glob("run/ulog/iris_0/*.ulg")
        assert target.read_bytes() == path.read_bytes()[:size]
    finally:
        mavsdk.destroy()
