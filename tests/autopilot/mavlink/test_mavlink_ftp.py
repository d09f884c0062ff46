"""Files over MAVLink FTP: a vehicle's own logs and parameters can be read, others written."""

import errno
import struct
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from xtdrone_autopilot.mavlink.description import metadata
from xtdrone_autopilot.mavlink.files.ftp import BURST, FileServer
from xtdrone_autopilot.mavlink.files.written import MAX, QUOTA, WrittenFiles
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.ftp import DATA_SIZE

LIST, OPEN, READ, CRC, BURST_READ, TERMINATE = 3, 4, 5, 14, 15, 1
CREATE, WRITE, REMOVE, MKDIR, RMDIR, OPEN_TO_WRITE, TRUNCATE, RENAME = range(6, 14)
ACK, NAK = 128, 129
BAD_SIZE, NO_SESSION, END, UNKNOWN, EXISTS, PROTECTED, NOT_FOUND = 3, 4, 6, 7, 8, 9, 10
HEAD = struct.Struct("<HBBBBBxI")
LOG = bytes(range(256)) * 40  # more than a burst holds


class Client:
    """Asks a FileServer of two vehicles, whose files lie in a folder with others."""

    def __init__(self, folder):
        for name, data in (
            ("a/log001.ulg", LOG),
            ("a/log002.ulg", b""),
            ("b/log001.ulg", b"b"),
            ("a.params", b"# own\n"),
            ("secret", b"secret"),
        ):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        (folder / "a/link.ulg").symlink_to(folder / "secret")
        log = SimpleNamespace(
            flush=lambda i: None, files=lambda i: sorted((folder / "ab"[i]).glob("*.ulg"))
        )
        self.replies = []
        self.links = SimpleNamespace(reply=lambda link, message: self.replies.append(message))
        self.server = FileServer(log, [folder / "a.params", folder / "b.params"], self.links)

    def ask(self, opcode, data=b"", offset=0, size=None, vehicle=0, sender="me", session=0):
        """(ACK or NAK, data) of each message that answers."""
        self.replies.clear()
        payload = (
            HEAD.pack(65535, session, opcode, len(data) if size is None else size, 0, 0, offset)
            + data
        )
        self.server.handle(
            SimpleNamespace(kind=0, vehicle=vehicle, system=vehicle + 1, sender=sender),
            mavlink.MAVLink_file_transfer_protocol_message(
                0, vehicle + 1, 1, payload.ljust(251, b"\0")
            ),
        )
        out = []
        for k, message in enumerate(self.replies):
            payload = bytes(message.payload)
            sequence, _, kind, size, asked, last, _ = HEAD.unpack_from(payload)
            assert (sequence, asked) == (k, opcode)
            assert last == (kind == ACK and opcode == BURST_READ and k == len(self.replies) - 1)
            out.append((kind, payload[HEAD.size : HEAD.size + size]))
        return out


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return Client(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize(
    "path, offset, expected",
    [
        (b"/", 0, [(ACK, b"Dlog\0Dparams\0Detc\0")]),
        (b"", 1, [(ACK, b"Dparams\0Detc\0")]),
        (b"/", 3, [(NAK, bytes([END]))]),
        (b"/etc", 0, [(ACK, b"Dextras\0")]),
        (b"/log", 0, [(ACK, b"Flog001.ulg\t10240\0Flog002.ulg\t0\0")]),
        (b"log/\0rest", 1, [(ACK, b"Flog002.ulg\t0\0")]),
        (b"/params", 0, [(ACK, b"Fa.params\t6\0")]),
    ],
)
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
    first = client.ask(BURST_READ, size=DATA_SIZE)
    assert len(first) == BURST
    rest = client.ask(BURST_READ, offset=BURST * DATA_SIZE, size=DATA_SIZE)
    second = client.ask(BURST_READ, offset=2 * BURST * DATA_SIZE, size=DATA_SIZE)
    assert b"".join(data for _, data in first + rest + second) == LOG
    assert client.ask(CRC, b"/log/log001.ulg") == [
        (ACK, struct.pack("<I", zlib.crc32(LOG, 0xFFFFFFFF) ^ 0xFFFFFFFF))
    ]
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


@pytest.mark.parametrize(
    "path",
    [b"/log/log001.ulg", b"log/new", b"//params/./a.params", b"/etc", b"/", b"/new\0/log/new"],
)
def test_logs_and_parameters_are_not_written(client, path):
    for opcode in (CREATE, REMOVE, MKDIR, RMDIR, OPEN_TO_WRITE, TRUNCATE, RENAME):
        if opcode == RENAME or b"\0" not in path:
            assert client.ask(opcode, path) == [(NAK, bytes([PROTECTED]))]


def test_a_file_is_made_written_read_and_removed(tmp_path):
    client, done = Client(tmp_path), [(ACK, b"")]
    assert client.ask(MKDIR, b"/maps") == done
    assert client.ask(CREATE, b"/maps/a.txt") == [(ACK, bytes(4))]
    assert client.ask(WRITE, b"cd", offset=2) == [(ACK, struct.pack("<I", 2))]
    assert client.ask(WRITE, b"ab") == [(ACK, struct.pack("<I", 2))]
    assert client.ask(LIST, b"/", 3) == [(ACK, b"Dmaps\0")]
    assert client.ask(LIST, b"/maps") == [(ACK, b"Fa.txt\t4\0")]
    assert client.ask(OPEN, b"/maps/a.txt", sender="other") == [(ACK, struct.pack("<I", 4))]
    assert client.ask(READ, sender="other", size=9) == [(ACK, b"abcd")]
    assert client.ask(WRITE, b"x", sender="other") == [(NAK, bytes([2, errno.EBADF]))]
    assert client.ask(TRUNCATE, b"/maps/a.txt", 3) == done
    assert client.ask(RENAME, b"/maps/a.txt\0/b.txt") == done
    assert client.ask(OPEN_TO_WRITE, b"/b.txt") == [(ACK, struct.pack("<I", 3))]
    assert client.ask(RMDIR, b"/maps") == done and client.ask(REMOVE, b"/b.txt") == done
    assert client.ask(LIST, b"/", 3) == [(NAK, bytes([END]))]
    assert client.ask(LIST, b"/", 3, vehicle=1) == [(NAK, bytes([END]))]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.params", "b", "secret"]


def _full(files):
    for k in range(MAX - len(files.entries)):
        files.make_folder((str(k),))


@pytest.mark.parametrize(
    "number, change",
    [
        (errno.EEXIST, lambda f: f.make_folder(("folder",))),
        (errno.ENOENT, lambda f: f.make_folder(("missing", "new"))),
        (errno.ENOTDIR, lambda f: f.make_folder(("file", "new"))),
        (errno.EINVAL, lambda f: f.make_folder(("..",))),
        (errno.EINVAL, lambda f: f.open(("a\tb",))),
        (errno.ENOTEMPTY, lambda f: f.remove_folder(("folder",))),
        (errno.ENOTDIR, lambda f: f.remove_folder(("file",))),
        (errno.EISDIR, lambda f: f.remove(("folder",))),
        (errno.EISDIR, lambda f: f.open(("folder",))),
        (errno.ENOENT, lambda f: f.truncate(("missing",), 1)),
        (errno.ENOENT, lambda f: f.rename(("missing",), ("new",))),
        (errno.EINVAL, lambda f: f.rename(("folder",), ("folder", "in", "itself"))),
        (errno.EEXIST, lambda f: f.rename(("folder",), ("file",))),
        (errno.ENOSPC, lambda f: f.write(f.open(("file",)), QUOTA, b"x")),
        (errno.ENOSPC, lambda f: f.truncate(("file",), 2**32 - 1)),
        (errno.ENOSPC, lambda f: (_full(f), f.open(("one more",)))),
    ],
)
def test_what_cannot_be_written_is_refused_by_its_number(number, change):
    files = WrittenFiles()
    files.make_folder(("folder",))
    files.write(files.open(("folder", "inside")), 0, b"inside")
    files.open(("file",))
    with pytest.raises(OSError, match=rf"Errno {number}\b"):
        change(files)
    assert files.entries["file",] == b"" and files.entries["folder", "inside"] == b"inside"


def test_errors_are_those_of_px4(client):
    client.ask(MKDIR, b"/again")
    assert client.ask(MKDIR, b"/again") == [(NAK, bytes([EXISTS]))]
    assert client.ask(RMDIR, b"/no_such_folder") == [(NAK, bytes([NOT_FOUND]))]
    assert client.ask(REMOVE, b"/again") == [(NAK, bytes([2, errno.EISDIR]))]
    assert client.ask(RMDIR, b"/again") == [(ACK, b"")]
    client.ask(TERMINATE)
    assert client.ask(WRITE, b"x") == [(NAK, bytes([NO_SESSION]))]


@pytest.mark.parametrize("opcode", [LIST, OPEN, CRC])
@pytest.mark.parametrize(
    "path",
    [
        b"/..",
        b"/../secret",
        b"/log/../../secret",
        b"/log/link.ulg",
        b"/etc/passwd",
        b"//etc/passwd",
        b"/log/..%2f..%2fsecret",
        b"..\\secret",
        b"/log/\xff\xfe",
        b"~",
        b"/log/log001.ulg/x",
        b"/params/b.params",
        b"/log/" + b"x" * 230,
        b"@PARAM/param.pck",
    ],
)
def test_no_path_leads_out(client, opcode, path):
    assert client.ask(opcode, path) == [(NAK, bytes([NOT_FOUND]))]


@given(
    opcode=st.integers(0, 255),
    data=st.binary(max_size=DATA_SIZE),
    size=st.integers(0, 255),
    offset=st.integers(0, 2**32 - 1),
)
def test_any_request_gets_an_answer_and_never_a_foreign_file(client, opcode, data, size, offset):
    answers = client.ask(opcode, data, offset, size)
    assert answers and all(kind in (ACK, NAK) for kind, _ in answers)
    assert not any(b"secret" in text for _, text in answers)
    if size > DATA_SIZE:
        assert answers == [(NAK, bytes([BAD_SIZE]))]


def test_sessions_of_a_thousand_senders_are_bounded(client):
    for k in range(1000):
        client.ask(OPEN, b"/log/log001.ulg", sender=k)
    assert client.server.n_open < 100
    assert client.ask(200) == [(NAK, bytes([UNKNOWN]))]
