"""The files that clients write to a vehicle by MAVLink FTP.

They are kept in memory, within a quota, until the simulation ends: no name that a client gives
becomes a path of the disk. What fails raises OSError with the errno of the POSIX call.
"""

import errno
import os

Path = tuple[str, ...]  # the names from the root on

QUOTA = 1 << 20  # largest sum of the files of a vehicle [bytes]
MAX = 256  # most files and folders of a vehicle


class WrittenFiles:
    """The written files and folders of one vehicle.

    Attributes:
        entries: Path -> content of a file, or None for a folder.
    """

    def __init__(self) -> None:
        self.entries: dict[Path, bytearray | None] = {}

    def make_folder(self, path: Path) -> None:
        """Makes a folder in one that exists."""
        self._add(path, None)

    def remove_folder(self, path: Path) -> None:
        """Removes an empty folder."""
        if self._entry(path) is not None:
            raise _error(errno.ENOTDIR)
        if any(other[:-1] == path for other in self.entries):
            raise _error(errno.ENOTEMPTY)
        del self.entries[path]

    def open(self, path: Path) -> bytearray:
        """The content of a file, which is made if it is missing."""
        if path not in self.entries:
            self._add(path, bytearray())
        return self._content(path)

    def remove(self, path: Path) -> None:
        """Removes a file."""
        self._content(path)
        del self.entries[path]

    def rename(self, old: Path, new: Path) -> None:
        """Renames a file or folder; a file takes the place of another."""
        entry = self._entry(old)
        if new == old:
            return
        if new[: len(old)] == old:  # into itself
            raise _error(errno.EINVAL)
        if new in self.entries:
            if entry is None:
                raise _error(errno.EEXIST)
            self.remove(new)
        self._check_place(new)
        for path in [path for path in self.entries if path[: len(old)] == old]:
            self.entries[new + path[len(old) :]] = self.entries.pop(path)

    def truncate(self, path: Path, length: int) -> None:
        """Cuts a file to a length, or fills it with zeros [bytes]."""
        content = self._content(path)
        self._grow(content, length)
        del content[length:]

    def write(self, content: bytearray, offset: int, data: bytes) -> None:
        """Writes into a file that was opened."""
        self._grow(content, offset + len(data))
        content[offset : offset + len(data)] = data

    def _add(self, path: Path, entry: bytearray | None) -> None:
        if path in self.entries or not path:
            raise _error(errno.EEXIST)
        self._check_place(path)
        if len(self.entries) >= MAX:
            raise _error(errno.ENOSPC)
        self.entries[path] = entry

    def _check_place(self, path: Path) -> None:
        """A new entry has a name that can be listed, in a folder that exists."""
        if path[-1] == ".." or not path[-1].isprintable():
            raise _error(errno.EINVAL)
        if len(path) > 1 and self._entry(path[:-1]) is not None:
            raise _error(errno.ENOTDIR)

    def _grow(self, content: bytearray, length: int) -> None:
        more = length - len(content)
        if more > QUOTA - sum(len(file) for file in self.entries.values() if file):
            raise _error(errno.ENOSPC)
        content.extend(bytes(max(more, 0)))

    def _entry(self, path: Path) -> bytearray | None:
        if path not in self.entries:
            raise _error(errno.ENOENT)
        return self.entries[path]

    def _content(self, path: Path) -> bytearray:
        content = self._entry(path)
        if content is None:
            raise _error(errno.EISDIR)
        return content


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
