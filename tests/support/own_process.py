"""Test files that run in a process of their own.

Qt leaves its OpenGL context current in the main thread, and then no camera of a later test can draw
there; at its exit Qt may also crash the interpreter.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def pass_in_own_process(name: str, **environment: str) -> None:
    """Runs a file of tests/support by pytest; skips where it skips all."""
    # Cameras of earlier tests have set PyOpenGL to EGL, where Qt's windows use GLX; and a display
    # of theirs may be gone.
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-rs",
            "-p",
            "no:cacheprovider",
            Path(__file__).with_name(name),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        env={**env, **environment},
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    if passed is None and " skipped" in done.stdout:
        pytest.skip(done.stdout.strip().splitlines()[-2])
    assert passed and " failed" not in done.stdout and " error" not in done.stdout, done.stdout
