"""What pip installs without an extra: the command's help, lists and refusals need none of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import xtdrone_core
from xtdrone_core import registry

# Packages of all extras and of ROS, by the names of their modules.
EXTRAS = """
    av casadi cma cv2 cyclonedds evo foxglove google gtsam gymnasium mcap onnx onnxruntime OpenGL
    pettingzoo pxr pyarrow pyqtgraph PySide6 ray rosbags rospy rsl_rl skrl stable_baselines3
    tensorboard torch trackers yourdfpy
""".split()
WALK = Path(__file__).parents[1] / "support" / "command_walk.py"


def run(tmp_path, *lines):
    """Words, exit status, output and errors of command lines, all in one process without extras."""
    done = subprocess.run(
        [sys.executable, WALK, json.dumps(EXTRAS), json.dumps(lines)],
        cwd=tmp_path,
        env={**os.environ, "XTDRONE_RUNS": str(tmp_path / "runs")},
        capture_output=True,
        text=True,
        check=True,
    )
    return {" ".join(words): found for words, *found in json.loads(done.stdout)}


@pytest.mark.long
def test_help_and_lists_need_no_extra(tmp_path):
    lists = [["list", kind] for kind in registry.entries("xtdrone.lists")]
    found = run(tmp_path, ["--version"], ["--help"], ["list"], ["list", "--json"], *lists)
    failed = {line: err for line, (status, _, err) in found.items() if status}
    assert failed == {}
    assert {f"{name} --help" for name in registry.entries("xtdrone.commands")} <= set(found)
    assert not any("needs" in line for line in found["--help"][1].splitlines() if "ython" in line)
    for line in found:
        if line.startswith("list"):
            assert "not listed" not in found[line][1], line
            assert "No module named" not in found[line][1], line


@pytest.mark.slow
@pytest.mark.parametrize(
    "line, extra",
    [
        (["learn", "Hover-v0", "--out", "hover"], "learn"),
        (["learn", "Hover-v0", "--out", "hover", "--seeds", "2"], "learn"),
        (["slam", "record", "--name", "hover"], "slam"),
        (["slam", "live"], "slam"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(tmp_path, line, extra):
    status, out, err = run(tmp_path, line)[" ".join(line)]
    assert status != 0 and out == ""
    assert len(err.splitlines()) == 1 and f"[{extra}]'" in err
    assert not (tmp_path / "hover").exists()


def test_help_names_a_command_that_cannot_be_loaded(monkeypatch, capsys):
    """Another package's command without what it needs leaves the others usable."""
    from importlib import metadata

    from xtdrone_core import command

    known = {"broken": metadata.EntryPoint("broken", "no_such_module:register", command.GROUP)}
    monkeypatch.setattr(registry, "entries", lambda group: known)
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    assert end.value.code == 0
    assert "'no_such_module'" in capsys.readouterr().out
    assert command.main(["broken"]) == xtdrone_core.errors.XtdroneError.status
