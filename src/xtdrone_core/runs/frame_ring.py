"""Images and scans from a simulation to other processes: rings of frames in shared memory.

One file per sensor, in /dev/shm where the system has it. The writer overwrites
the oldest of a few slots and never waits; a reader detects by the frame number
whether a frame was overwritten while it was read. The control socket lists the rings
(request "sensors").
"""

import contextlib
import itertools
import mmap
import os
import re
import tempfile
from pathlib import Path

import numpy as np

from ..errors import ControlError

SLOTS = 8
_PREFIX = "xtdrone-"
_HEADER = 64  # bytes before the slots, and at the head of each slot
_MAGIC = 0x58544452_464D0001


def folder() -> Path:
    """The folder of the rings."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def path_of(process: int, instance: int, name: str) -> Path:
    """The file of a ring: the process that writes it, its instance, and a name of its own."""
    return folder() / f"{_PREFIX}{process}-{instance}-{name}"


def sweep() -> None:
    """Removes rings of processes that are gone."""
    for path in folder().glob(f"{_PREFIX}*"):
        process = path.name.removeprefix(_PREFIX).partition("-")[0]
        if re.fullmatch(r"[0-9]{1,9}", process, re.ASCII) and not _runs(int(process)):
            with contextlib.suppress(OSError):  # another user's, or no file
                path.unlink()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        pass
    return True


def size_of(arrays: list) -> int:
    """Bytes of one frame.

    Args:
        arrays: (name, dtype, shape) of each of its arrays.
    """
    return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for _, dtype, shape in arrays)


class FrameWriter:
    """The simulation's end of one ring."""

    def __init__(self, path: Path, arrays: list, slots: int = SLOTS) -> None:
        """Makes the file.

        Args:
            path: Path of the file; if there is a file of that name, a number is added.
            arrays: (name, dtype, shape) of each array of a frame.
            slots: How many frames there are before the oldest is overwritten.

        Raises:
            ControlError: It cannot be made.
        """
        self._arrays = arrays
        self._slot = _HEADER + -(-size_of(arrays) // _HEADER) * _HEADER
        self._slots = slots
        length = _HEADER + slots * self._slot
        try:
            handle, self.path = _new_file(path)
        except OSError as error:
            raise ControlError(f"cannot make '{path}' for images: {error.strerror}") from error
        try:
            os.posix_fallocate(handle, 0, length)
            self._memory = mmap.mmap(handle, length)
        except OSError as error:
            os.unlink(self.path)
            raise ControlError(
                f"no room for images in {path.parent} ({length / 2**20:.1f} MiB): "
                f"{error.strerror}; make room there, give a container more "
                "(--shm-size), or smaller images to the cameras"
            ) from error
        finally:
            os.close(handle)
        self._head = np.frombuffer(self._memory, dtype="<u8", count=4)
        self._head[:] = _MAGIC, slots, self._slot, 0

    def write(self, t_us: int, data: dict) -> None:
        """Puts a frame into the ring.

        Args:
            t_us: Its stamp.
            data: Array by name, all of the ring's.
        """
        number = int(self._head[3]) + 1
        start = _HEADER + (number % self._slots) * self._slot
        head = np.frombuffer(self._memory, dtype="<u8", count=2, offset=start)
        head[0] = 0  # marks this slot as invalid while it is written
        position = start + _HEADER
        for name, dtype, shape in self._arrays:
            array = np.ascontiguousarray(data[name], dtype=dtype).reshape(shape)
            view = np.frombuffer(self._memory, dtype=dtype, count=array.size, offset=position)
            view[:] = array.reshape(-1)
            position += array.nbytes
        head[1] = t_us
        head[0] = number
        self._head[3] = number

    def close(self) -> None:
        """Removes the file; readers keep what they have mapped. May be called twice."""
        self.path.unlink(missing_ok=True)


def _new_file(path: Path) -> tuple[int, Path]:
    """Descriptor and path of a file that was not there before."""
    for number in itertools.count():
        free = path.with_name(f"{path.name}.{number}") if number else path
        with contextlib.suppress(FileExistsError):
            return os.open(free, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), free
    raise AssertionError


class FrameReader:
    """A reader's end of one ring.

    Attributes:
        lost: Frames that were overwritten before they were read.
    """

    def __init__(self, path: Path | str, arrays: list) -> None:
        """Opens a ring; frames that are in it already are not read.

        Args:
            path: From the control socket.
            arrays: (name, dtype, shape) of each array of a frame.

        Raises:
            ControlError: No such ring, or one of another layout.
        """
        try:
            with open(path, "rb") as handle:
                self._memory = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ControlError(
                f"cannot open the images in '{path}': the simulation has ended, or "
                "runs as another user"
            ) from error
        self._head = np.frombuffer(self._memory, dtype="<u8", count=4)
        self._arrays = [(name, dtype, tuple(shape)) for name, dtype, shape in arrays]
        wanted = _HEADER + -(-size_of(self._arrays) // _HEADER) * _HEADER
        if self._head[0] != _MAGIC or self._head[2] != wanted:
            raise ControlError(
                f"'{path}' has another layout than announced: use the same version on both sides"
            )
        self._slots, self._slot = int(self._head[1]), int(self._head[2])
        self._last = int(self._head[3])
        self.lost = 0

    def read(self) -> list:
        """The frames that came since the last call, oldest first.

        Returns:
            (t_us, array by name) of each.
        """
        frames = []
        newest = int(self._head[3])
        oldest = max(self._last + 1, newest - self._slots + 2)
        self.lost += oldest - self._last - 1
        for number in range(oldest, newest + 1):
            frame = self._copy(number)
            if frame is None:
                self.lost += 1
            else:
                frames.append(frame)
        self._last = newest
        return frames

    def _copy(self, number: int) -> tuple[int, dict[str, np.ndarray]] | None:
        start = _HEADER + (number % self._slots) * self._slot
        head = np.frombuffer(self._memory, dtype="<u8", count=2, offset=start)
        if head[0] != number:
            return None
        t_us, position, data = int(head[1]), start + _HEADER, {}
        for name, dtype, shape in self._arrays:
            count = int(np.prod(shape))
            view = np.frombuffer(self._memory, dtype=dtype, count=count, offset=position)
            data[name] = view.reshape(shape).copy()
            position += view.nbytes
        return (t_us, data) if head[0] == number else None
