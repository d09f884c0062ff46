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


NODES = [path for path in SRC.glob("*/nodes/*") if path.is_file() and not path.suffix]


@pytest.mark.parametrize("node", sorted(NODES), ids=lambda path: path.name)
def test_an_interrupt_during_the_imports_of_a_node_makes_no_traceback(node):
    """A launch that ends may interrupt a node that has only begun."""
    text = node.read_text()
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert imports[0] == "import signal"
    assert text.index("signal.signal(signal.SIGINT, signal.SIG_DFL)") < text.index(imports[1])
