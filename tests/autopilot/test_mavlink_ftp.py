"""Files over MAVLink FTP: a vehicle's own logs and parameters can be read, and nothing else."""

import struct
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from xtdrone_autopilot.mavlink.description import metadata
from xtdrone_autopilot.mavlink.dialect import mavlink
from xtdrone_autopilot.mavlink.files.ftp import BURST, ROOM, FileServer

LIST, OPEN, READ, CRC, BURST_READ, TERMINATE = 3, 4, 5, 14, 15, 1
ACK, NAK = 128, 129
BAD_SIZE, NO_SESSION, END, UNKNOWN, PROTECTED, NOT_FOUND = 3, 4, 6, 7, 9, 10
HEAD = struct.Struct("<HBBBBBxI")
LOG = bytes(range(256)) * 40  # more than a burst holds


class Client:
    """Asks a FileServer of two vehicles, whose files lie in a folder with others."""

    def __init__(self, folder):
        for name, data in (("a/log001.ulg", LOG), ("a/log002.ulg", b""), ("b/log001.ulg", b"b"),
                           ("a.params", b"# own\n"), ("secret", b"secret")):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / "a/link.ulg").symlink_to(folder / "secret")
        log = SimpleNamespace(flush=lambda i: None,
                              files=lambda i: sorted((folder / "ab"[i]).glob("*.ulg")))
        self.replies = []
        self.links = SimpleNamespace(reply=lambda link, message: self.replies.append(message))
        self.server = FileServer(log, [folder / "a.params", folder / "b.params"], self.links)

    def ask(self, opcode, data=b"", offset=0, size=None, vehicle=0, sender="me", session=0):
        """(ACK or NAK, data) of each message that answers."""
        self.replies.clear()
        payload = HEAD.pack(65535, session, opcode, len(data) if size is None else size, 0, 0,
                            offset) + data
        self.server.handle(SimpleNamespace(kind=0, vehicle=vehicle, sender=sender),
                           mavlink.MAVLink_file_transfer_protocol_message(
                               0, vehicle + 1, 1, payload.ljust(251, b"\0")))
        out = []
        for k, message in enumerate(self.replies):
            payload = bytes(message.payload)
            sequence, _, kind, size, asked, last, _ = HEAD.unpack_from(payload)
            assert (sequence, asked) == (k, opcode)
            assert last == (kind == ACK and opcode == BURST_READ and k == len(self.replies) - 1)
            out.append((kind, payload[HEAD.size:HEAD.size + size]))
        return out


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return Client(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize("path, offset, expected", [
    (b"/", 0, [(ACK, b"Dlog\0Dparams\0Detc\0")]), (b"", 1, [(ACK, b"Dparams\0Detc\0")]),
    (b"/", 3, [(NAK, bytes([END]))]), (b"/etc", 0, [(ACK, b"Dextras\0")]),
    (b"/log", 0, [(ACK, b"Flog001.ulg\t10240\0Flog002.ulg\t0\0")]),
    (b"log/\0rest", 1, [(ACK, b"Flog002.ulg\t0\0")]),
    (b"/params", 0, [(ACK, b"Fa.params\t6\0")])])
def test_folders_are_listed(client, path, offset, expected):
    assert client.ask(LIST, path, offset) == expected


def test_many_files_come_in_pieces(tmp_path):
    client = Client(tmp_path)
    for k in range(60):
        (tmp_path / f"a/log{k:03d}.ulg").write_bytes(b"")
    names, count = b"", 0
    while (answer := client.ask(LIST, b"/log", count)[0])[0] == ACK:
        names += answer[1]
        count += answer[1].count(b"\0")
    assert count == 60 and names.count(b"log059") == 1 and answer == (NAK, bytes([END]))


def test_a_file_is_read_piece_by_piece_and_in_bursts(client):
    assert client.ask(OPEN, b"/log/log001.ulg") == [(ACK, struct.pack("<I", len(LOG)))]
    assert client.ask(READ, offset=7, size=100) == [(ACK, LOG[7:107])]
    assert client.ask(READ, offset=len(LOG) - 5, size=100) == [(ACK, LOG[-5:])]
    assert client.ask(READ, offset=len(LOG), size=1) == [(NAK, bytes([END]))]
    first = client.ask(BURST_READ, size=ROOM)
    assert len(first) == BURST
    rest = client.ask(BURST_READ, offset=BURST * ROOM, size=ROOM)
    second = client.ask(BURST_READ, offset=2 * BURST * ROOM, size=ROOM)
    assert b"".join(data for _, data in first + rest + second) == LOG
    assert client.ask(CRC, b"/log/log001.ulg") == [(ACK, struct.pack(
        "<I", zlib.crc32(LOG, 0xFFFFFFFF) ^ 0xFFFFFFFF))]
    assert client.ask(TERMINATE) == [(ACK, b"")]
    assert client.ask(READ, size=5) == [(NAK, bytes([NO_SESSION]))]


def test_clients_and_vehicles_do_not_share_sessions(client):
    client.ask(OPEN, b"/log/log001.ulg", vehicle=1)
    assert client.ask(READ, size=5, vehicle=1) == [(ACK, b"b")]
    assert client.ask(READ, size=5, vehicle=0) == [(NAK, bytes([NO_SESSION]))]
    assert client.ask(READ, size=5, vehicle=1, sender="other") == [(NAK, bytes([NO_SESSION]))]


def test_a_log_that_grows_is_read_as_long_as_it_was(tmp_path):
    client = Client(tmp_path)
    client.ask(OPEN, b"/log/log001.ulg")
    with open(tmp_path / "a/log001.ulg", "ab") as file:
        file.write(b"more")
    assert client.ask(READ, offset=len(LOG) - 1, size=9) == [(ACK, LOG[-1:])]
    (tmp_path / "a/log001.ulg").unlink()
    assert client.ask(READ, size=9)[0][0] == NAK


def test_component_metadata_is_read_as_it_is(client):
    data = metadata.files()[metadata.GENERAL]
    path = metadata.GENERAL.encode()
    assert client.ask(CRC, path) == [(ACK, struct.pack("<I", metadata.crc32(data)))]
    assert client.ask(OPEN, path) == [(ACK, struct.pack("<I", len(data)))]
    assert b"".join(part for _, part in client.ask(BURST_READ)) == data


@pytest.mark.parametrize("opcode", range(6, 14))
def test_nothing_is_written(client, opcode):
    assert client.ask(opcode, b"/log/log001.ulg") == [(NAK, bytes([PROTECTED]))]


@pytest.mark.parametrize("opcode", [LIST, OPEN, CRC])
@pytest.mark.parametrize("path", [
    b"/..", b"/../secret", b"/log/../../secret", b"/log/link.ulg", b"/etc/passwd", b"//etc/passwd",
    b"/log/..%2f..%2fsecret", b"..\\secret", b"/log/\xff\xfe", b"~", b"/log/log001.ulg/x",
    b"/params/b.params", b"/log/" + b"x" * 230, b"@PARAM/param.pck"])
def test_no_path_leads_out(client, opcode, path):
    assert client.ask(opcode, path) == [(NAK, bytes([NOT_FOUND]))]


@given(opcode=st.integers(0, 255), data=st.binary(max_size=ROOM), size=st.integers(0, 255),
       offset=st.integers(0, 2**32 - 1))
def test_any_request_gets_an_answer_and_never_a_foreign_file(client, opcode, data, size, offset):
    answers = client.ask(opcode, data, offset, size)
    assert answers and all(kind in (ACK, NAK) for kind, _ in answers)
    assert not any(b"secret" in text for _, text in answers)
    if size > ROOM:
        assert answers == [(NAK, bytes([BAD_SIZE]))]


def test_sessions_of_a_thousand_senders_are_bounded(client):
    for k in range(1000):
        client.ask(OPEN, b"/log/log001.ulg", sender=k)
    assert len(client.server._sessions) < 100
    assert client.ask(200) == [(NAK, bytes([UNKNOWN]))]
