"""Runs the viewer's tests in a process of its own.

Qt leaves its OpenGL context current in the main thread, and then no camera of a
later test can draw there; at its exit Qt may also crash the interpreter.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1] / "support" / "viewer_in_own_process.py"


@pytest.mark.slow
def test_the_viewers_tests_pass_in_a_process_of_their_own():
    # Cameras of earlier tests have set PyOpenGL to EGL; Qt's windows use GLX.
    env = {name: value for name, value in os.environ.items() if name != "PYOPENGL_PLATFORM"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                           TESTS], capture_output=True, text=True, timeout=600, env=env)
    passed = re.search(r"(\d+) passed", done.stdout)
    if passed is None and " skipped" in done.stdout:
        pytest.skip(done.stdout.strip().splitlines()[-2])
    assert passed and " failed" not in done.stdout and " error" not in done.stdout, done.stdout
