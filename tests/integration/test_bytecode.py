"""What the set-up leaves for starts that may not write bytecode."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_bytecode.py"


def python(*words, **environment):
    values = {**os.environ, **environment}
    if "PYTHONDONTWRITEBYTECODE" not in environment:
        values.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run([sys.executable, *words], capture_output=True, env=values)


@pytest.mark.slow
@pytest.mark.long  # compiles all that can be imported
@pytest.mark.parametrize("command", [["--help"], ["fly", "--help"], ["list", "vehicles"]])
def test_a_start_that_may_not_write_bytecode_compiles_no_module(kept, command):
    done = python("-v", "-m", "xtdrone", *command, PYTHONDONTWRITEBYTECODE="1", **kept)
    assert done.returncode == 0
    read = [line for line in done.stderr.splitlines() if line.startswith(b"# code object from '")]
    compiled = {line for line in read if line.endswith(b".py'")}
    assert len(read) > 50
    # The packages by which the command is found, before it is one.
    assert {Path(os.fsdecode(line[20:-1])).name for line in compiled} <= {"__main__.py"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The environment variable that names the folder of the bytecode that the script keeps."""
    variable = {"PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("bytecode"))}
    done = python(SCRIPT, **variable)
    assert done.returncode == 0, done.stderr
    return variable


def test_it_says_where_python_may_not_write():
    done = python(SCRIPT, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 1 and b"unset PYTHONDONTWRITEBYTECODE" in done.stderr
