"""Services of the vehicle's files, over MAVLink FTP."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from .row import Service, ServiceFailed


@contextlib.contextmanager
def _alone(v: Any) -> Iterator[Any]:
    """The vehicle's RemoteFiles, for one call at a time."""
    if not v.files.lock.acquire(blocking=False):
        raise ServiceFailed("another call of the file services is in progress")
    try:
        yield v.files
    finally:
        v.files.lock.release()


def list_folder(v: Any, q: Any) -> tuple:
    with _alone(v) as files:
        entries = files.list(q.dir_path)
        return entries or [], entries is not None, files.error


def open_file(v: Any, q: Any) -> tuple:
    with _alone(v) as files:
        if q.file_path in files.sessions:
            raise ServiceFailed(f"{q.file_path} is open")
        size = files.open(q.file_path, q.mode)
        return size or 0, size is not None, files.error


def read_file(v: Any, q: Any) -> tuple:
    with _alone(v) as files:
        data = files.read(q.file_path, q.offset, q.size)
        return data or b"", data is not None, files.error


def checksum(v: Any, q: Any) -> tuple:
    with _alone(v) as files:
        value = files.checksum(q.file_path)
        return value or 0, value is not None, files.error


def _done(call: Callable) -> Callable:
    """A service that only says whether it was done: call(files, request)."""

    def answer(v, q):
        with _alone(v) as files:
            return call(files, q), files.error

    return answer


def reset(v: Any, q: Any) -> tuple:
    v.files.reset()
    return ()


SERVICES = (
    Service("ftp/list", "mavros_msgs/FileList", list_folder),
    Service("ftp/open", "mavros_msgs/FileOpen", open_file),
    Service("ftp/close", "mavros_msgs/FileClose", _done(lambda f, q: f.close(q.file_path))),
    Service("ftp/read", "mavros_msgs/FileRead", read_file),
    Service(
        "ftp/write",
        "mavros_msgs/FileWrite",
        _done(lambda f, q: f.write(q.file_path, q.offset, bytes(q.data))),
    ),
    Service("ftp/checksum", "mavros_msgs/FileChecksum", checksum),
    Service("ftp/remove", "mavros_msgs/FileRemove", _done(lambda f, q: f.remove(q.file_path))),
    Service(
        "ftp/rename", "mavros_msgs/FileRename", _done(lambda f, q: f.rename(q.old_path, q.new_path))
    ),
    Service(
        "ftp/truncate",
        "mavros_msgs/FileTruncate",
        _done(lambda f, q: f.truncate(q.file_path, q.length)),
    ),
    Service("ftp/mkdir", "mavros_msgs/FileMakeDir", _done(lambda f, q: f.make_folder(q.dir_path))),
    Service(
        "ftp/rmdir", "mavros_msgs/FileRemoveDir", _done(lambda f, q: f.remove_folder(q.dir_path))
    ),
    Service("ftp/reset", "std_srvs/Empty", reset),
)
