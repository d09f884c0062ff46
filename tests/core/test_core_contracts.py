"""Every implementation has the whole of its contract, with the same types: mypy says so."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEAMS = ROOT / "tests" / "support" / "seams.py"


def check(path):
    return subprocess.run(
        [sys.executable, "-m", "mypy", str(path)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.slow
def test_implementations_have_their_contracts():
    done = check(SEAMS)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_one_that_lacks_something_is_found(tmp_path):
    text = SEAMS.read_text().replace("return square, mission", "return SetPoints.empty(1), mission")
    path = tmp_path / "seams_with_a_fault.py"
    path.write_text("from xtdrone_core import SetPoints\n" + text)
    done = check(path)
    assert done.returncode == 1 and "Incompatible return value" in done.stdout, done.stdout
