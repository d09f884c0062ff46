"""A network of its own for a flight, where the operating system allows it."""

import ctypes
import fcntl
import functools
import os
import socket
import struct
import subprocess
from pathlib import Path

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # of unshare(2)
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1  # of netdevice(7)
_libc = ctypes.CDLL(None, use_errno=True)


@functools.cache
def allowed() -> bool:
    """Whether isolate() works here; a container may forbid it."""
    try:
        return subprocess.run(["true"], preexec_fn=isolate).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def isolate() -> None:
    """Gives this process, which has one thread, a network that is its loopback alone.

    Then it reaches no other simulation, and no other simulation's ports are in its way.

    Raises:
        OSError: The operating system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(_CLONE_NEWNET) != 0:
        if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "no network of its own")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh22x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(sock, _SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | _IFF_UP))


def name() -> str:
    """Tells networks apart: that of this process."""
    return os.readlink("/proc/self/ns/net")
