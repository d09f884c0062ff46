"""Services of the vehicle's files, over MAVLink FTP."""

import contextlib
from collections.abc import Callable, Iterator

from ..remote_files import RemoteFiles
from ..rows import Response, RosMessage, Service, ServiceFailed
from ..vehicle import Vehicle


@contextlib.contextmanager
def _exclusive(vehicle: Vehicle) -> Iterator[RemoteFiles]:
    """Gives the vehicle's files to one call at a time."""
    if not vehicle.files.lock.acquire(blocking=False):
        raise ServiceFailed("another call of the file services is in progress")
    try:
        yield vehicle.files
    finally:
        vehicle.files.lock.release()


def list_folder(vehicle: Vehicle, request: RosMessage) -> Response:
    with _exclusive(vehicle) as files:
        entries = files.list(request.dir_path)
        return entries or [], entries is not None, files.error


def open_file(vehicle: Vehicle, request: RosMessage) -> Response:
    with _exclusive(vehicle) as files:
        if request.file_path in files.sessions:
            raise ServiceFailed(f"{request.file_path} is open")
        size = files.open(request.file_path, request.mode)
        return size or 0, size is not None, files.error


def read_file(vehicle: Vehicle, request: RosMessage) -> Response:
    with _exclusive(vehicle) as files:
        data = files.read(request.file_path, request.offset, request.size)
        return data or b"", data is not None, files.error


def checksum(vehicle: Vehicle, request: RosMessage) -> Response:
    with _exclusive(vehicle) as files:
        value = files.checksum(request.file_path)
        return value or 0, value is not None, files.error


def _done(
    call: Callable[[RemoteFiles, RosMessage], bool],
) -> Callable[[Vehicle, RosMessage], Response]:
    """Returns a service that reports only whether call(files, request) succeeded."""

    def answer(vehicle: Vehicle, request: RosMessage) -> Response:
        with _exclusive(vehicle) as files:
            return call(files, request), files.error

    return answer


def reset(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.files.reset()
    return ()


SERVICES: tuple[Service[Vehicle], ...] = (
    Service("ftp/list", "mavros_msgs/FileList", list_folder),
    Service("ftp/open", "mavros_msgs/FileOpen", open_file),
    Service(
        "ftp/close", "mavros_msgs/FileClose", _done(lambda f, request: f.close(request.file_path))
    ),
    Service("ftp/read", "mavros_msgs/FileRead", read_file),
    Service(
        "ftp/write",
        "mavros_msgs/FileWrite",
        _done(lambda f, request: f.write(request.file_path, request.offset, bytes(request.data))),
    ),
    Service("ftp/checksum", "mavros_msgs/FileChecksum", checksum),
    Service(
        "ftp/remove",
        "mavros_msgs/FileRemove",
        _done(lambda f, request: f.remove(request.file_path)),
    ),
    Service(
        "ftp/rename",
        "mavros_msgs/FileRename",
        _done(lambda f, request: f.rename(request.old_path, request.new_path)),
    ),
    Service(
        "ftp/truncate",
        "mavros_msgs/FileTruncate",
        _done(lambda f, request: f.truncate(request.file_path, request.length)),
    ),
    Service(
        "ftp/mkdir",
        "mavros_msgs/FileMakeDir",
        _done(lambda f, request: f.make_folder(request.dir_path)),
    ),
    Service(
        "ftp/rmdir",
        "mavros_msgs/FileRemoveDir",
        _done(lambda f, request: f.remove_folder(request.dir_path)),
    ),
    Service("ftp/reset", "std_srvs/Empty", reset),
)
