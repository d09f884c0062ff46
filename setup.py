"""Adds models, worlds, launch files, missions and messages to share/xtdrone of the environment."""

import os
from pathlib import Path

from setuptools import setup

FOLDERS = (
    "models",
    "worlds",
    "launch",
    "docs/missions",
    "src/px4_msgs",
    "src/mavros_msgs",
    "src/geographic_msgs",
    "src/simulation_interfaces",
)


def data_files():
    """(target folder, files) for every folder below FOLDERS."""
    found = []
    for top in FOLDERS:
        for folder, _, names in sorted(os.walk(top)):
            files = [str(Path(folder) / name) for name in sorted(names)]
            if files:
                found.append((str(Path("share/xtdrone") / folder), files))
    return found


setup(data_files=data_files())
