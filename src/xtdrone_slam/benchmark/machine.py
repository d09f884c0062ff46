"""The machine of a measurement: hardware and software versions."""

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

_PACKAGES = ("numpy", "opencv-python-headless", "gtsam", "evo", "mujoco", "ray")


def describe() -> dict[str, Any]:
    """Returns plain data for a report: cpu, cores, memory, system, versions of the packages."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": versions,
    }


def load_average() -> float | None:
    """Returns the one-minute load average; None on Windows."""
    return round(os.getloadavg()[0], 2) if sys.platform != "win32" else None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
