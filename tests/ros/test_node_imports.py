"""What the nodes of a launch load, which all start at once on few cores."""

import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.parametrize(
    "node, never",
    [
        ("xtdrone_control/nodes/bridge", "numba scipy mujoco matplotlib"),
        ("xtdrone_control/nodes/communication", "numba scipy mujoco matplotlib"),
        ("xtdrone_formation/nodes/director", "numba scipy.optimize mujoco matplotlib"),
        ("xtdrone_formation/nodes/formation", "numba mujoco matplotlib"),
    ],
)
def test_a_node_loads_what_it_uses(node, never):
    code = (
        f"import runpy, sys; runpy.run_path({str(SRC / node)!r}, run_name='node'); "
        f"print(sorted(set({never.split()!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
