"""The file services against the flight stack's file server, and against a silent vehicle."""

import contextlib
import errno
import queue
import zlib
from types import SimpleNamespace as Fields

import pytest

from xtdrone_autopilot.mavlink.files.ftp import FileServer
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_mavros import remote_files
from xtdrone_mavros.remote_files import RemoteFiles
from xtdrone_mavros.services import SERVICES, ServiceFailed

LOG = bytes(range(256)) * 5  # several messages


class Loop:
    """A FleetLink whose one vehicle is a FileServer, or nobody."""

    def __init__(self, server=None):
        self.server, self.box = server, queue.SimpleQueue()

    @contextlib.contextmanager
    def inbox(self, i, *message_ids):
        yield self.box

    def send(self, i, message):
        if self.server is not None:
            data = bytearray(message.pack(mavlink.MAVLink(None, 240, 191)))
            self.server.handle(
                Fields(kind=0, vehicle=i, system=i + 1, sender="me"),
                mavlink.MAVLink(None).decode(data),
            )

    def reply(self, link, message):
        self.box.put(message)


@pytest.fixture
def vehicle(tmp_path):
    (tmp_path / "log001.ulg").write_bytes(LOG)
    loop = Loop()
    loop.server = FileServer(
        Fields(flush=lambda i: None, files=lambda i: [tmp_path / "log001.ulg"]), None, loop
    )
    return Fields(files=RemoteFiles(loop, 0))


def call(vehicle, name, **request):
    """The fields of a service's response."""
    return {row.name: row.answer for row in SERVICES}[f"ftp/{name}"](vehicle, Fields(**request))


def test_a_log_is_found_read_and_checked(vehicle):
    entries, done, error = call(vehicle, "list", dir_path="/log")
    assert (done, error) == (True, 0)
    assert entries == [dict(name="log001.ulg", type=0, size=len(LOG))]
    path = "/log/log001.ulg"
    assert call(vehicle, "open", file_path=path, mode=0) == (len(LOG), True, 0)
    with pytest.raises(ServiceFailed, match="is open"):
        call(vehicle, "open", file_path=path, mode=0)
    assert call(vehicle, "read", file_path=path, offset=0, size=9999) == (LOG, True, 0)
    assert call(vehicle, "read", file_path=path, offset=1000, size=7) == (LOG[1000:1007], True, 0)
    crc = zlib.crc32(LOG, 0xFFFFFFFF) ^ 0xFFFFFFFF  # MAVLink's has no inversion
    assert call(vehicle, "checksum", file_path=path) == (crc, True, 0)
    assert call(vehicle, "close", file_path=path) == (True, 0)
    assert call(vehicle, "close", file_path=path) == (False, errno.EBADF)


def test_what_fails_has_the_errors_of_mavros(vehicle):
    """The first as recorded; an error that MAVROS does not translate leaves the one before."""
    assert call(vehicle, "list", dir_path="/no_such_folder") == ([], False, 0)
    assert call(vehicle, "open", file_path="/no_such_file", mode=0) == (0, False, 0)
    assert call(vehicle, "open", file_path="/no_such_file", mode=7) == (0, False, errno.EINVAL)
    assert call(vehicle, "close", file_path="/no_such_file") == (False, errno.EBADF)
    assert call(vehicle, "checksum", file_path="/no_such_file") == (0, False, errno.EBADF)
    assert call(vehicle, "read", file_path="/no_such_file", offset=0, size=1) == (
        b"",
        False,
        errno.EBADF,
    )
    assert call(vehicle, "write", file_path="/no_such_file", offset=0, data=b"x") == (
        False,
        errno.EBADF,
    )
    assert call(vehicle, "rename", old_path="a" * 200, new_path="b" * 50) == (
        False,
        errno.ENAMETOOLONG,
    )
    for name, request in (
        ("mkdir", dict(dir_path="/log/new")),
        ("rmdir", dict(dir_path="/log")),
        ("remove", dict(file_path="/log/log001.ulg")),
        ("truncate", dict(file_path="/log/log001.ulg", length=1)),
    ):
        assert call(vehicle, name, **request)[0] is False, name


def test_files_and_folders_are_made_and_removed(vehicle):
    assert call(vehicle, "mkdir", dir_path="/new") == (True, 0)
    assert call(vehicle, "open", file_path="/new/a", mode=2) == (0, True, 0)
    assert call(vehicle, "write", file_path="/new/a", offset=0, data=LOG) == (True, 0)
    assert call(vehicle, "close", file_path="/new/a") == (True, 0)
    assert call(vehicle, "rmdir", dir_path="/new") == (False, errno.ENOTEMPTY)
    assert call(vehicle, "list", dir_path="/new")[0] == [dict(name="a", type=0, size=len(LOG))]
    assert call(vehicle, "remove", file_path="/new/a") == (True, 0)
    assert call(vehicle, "rmdir", dir_path="/new") == (True, 0)


def test_a_silent_vehicle_times_out(monkeypatch):
    monkeypatch.setattr(remote_files, "WAIT_S", 0.05)
    silent = Fields(files=RemoteFiles(Loop(), 0))
    assert call(silent, "list", dir_path="/") == ([], False, errno.ETIMEDOUT)
    with silent.files.lock, pytest.raises(ServiceFailed, match="in progress"):
        call(silent, "list", dir_path="/")
