"""Imports what commands and nodes import at their start, so that Python keeps its bytecode.

scripts/setup.sh calls it where Python may write. Later starts that may not, as in containers or in
an environment of another user, then compile nothing: pip installs without bytecode, since most of
what it installs is never imported.
"""

import argparse
import contextlib
import os
import runpy
import signal
import sys
from importlib import metadata
from pathlib import Path

SRC = Path(__file__).resolve().parents[1] / "src"


def main():
    """Imports every entry point, what completes and draws, and the modules of every node."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    if sys.dont_write_bytecode:
        raise SystemExit("Python may not write bytecode: unset PYTHONDONTWRITEBYTECODE")
    import argcomplete  # noqa: F401

    from xtdrone_core import plot_style, registry

    plot_style.load()
    groups = {entry.group for entry in metadata.distribution("xtdrone").entry_points}
    for group in groups - {"console_scripts"}:
        for entry in registry.entries(group).values():
            with contextlib.suppress(ImportError):  # an extra that is not installed
                entry.load()
    interrupt = signal.getsignal(signal.SIGINT)  # which nodes set
    for node in sorted(SRC.glob("*/nodes/*")):
        if node.is_file() and os.access(node, os.X_OK):
            with contextlib.suppress(ImportError):  # ROS, or a library
                runpy.run_path(str(node), run_name="node")
            signal.signal(signal.SIGINT, interrupt)


if __name__ == "__main__":
    main()
