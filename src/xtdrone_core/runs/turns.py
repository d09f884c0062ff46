"""Short turns on the processor for threads that work little and must not wait."""

import ctypes
import os
import platform
import struct

SLICE_NS = 100_000  # the shortest that Linux takes [ns]
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # system call, by machine
_ATTR = struct.Struct("<IIQiIQQQ")  # struct sched_attr, version 0
_SCHED_OTHER = 0


def take_short_turns() -> bool:
    """Asks Linux for turns of 0.1 ms instead of 3 ms for the calling thread.

    Its share of the processor stays the same. Whoever asks for little at a time is served sooner
    after waking (EEVDF's request size, Linux 6.12: Documentation/scheduler/sched-eevdf.rst).

    Returns:
        Whether the system has taken it; older ones ignore it.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if number is None or platform.system() != "Linux":
        return False
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attr = _ATTR.pack(_ATTR.size, _SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(number, 0, attr, 0) == 0
