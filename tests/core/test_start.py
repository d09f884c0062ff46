"""What the command loads before it has something to do: its declarations, and no library."""

import json
import os
import subprocess
import sys

import pytest

# Beside the workspace's own modules and the standard library.
ALLOWED = {"help": set(), "completion": {"argcomplete"}}
# Of the standard library, but slow, and of no use to a declaration.
SLOW = {"asyncio", "http", "multiprocessing", "sqlite3", "unittest", "xmlrpc"}

# Prints the top-level packages that each help text has loaded, subcommand by subcommand.
HELP = """
import json, sys
before = set(sys.modules)
from xtdrone_core import command

def texts(parser):
    parser.format_help()
    for action in getattr(parser, "subcommands", {}).values():
        texts(action)

def packages():
    return {name.partition(".")[0] for name in set(sys.modules) - before}

texts(command.build_parser([]))
found = {"": sorted(packages())}
for name in command.build_parser([]).subcommands:
    texts(command.build_parser([name]))
    found[name] = sorted(packages())
print(json.dumps(found))
"""
# Prints those that the answer to a shell has loaded.
TAB = """
import json, os, sys
before = set(sys.modules)
leave = os._exit

def report(status):
    packages = {name.partition(".")[0] for name in set(sys.modules) - before}
    print(json.dumps(sorted(packages)), flush=True)
    leave(status)

os._exit = report
from xtdrone_core import command
command.main([])
"""


def foreign(packages):
    """The packages that are neither the workspace's nor cheap."""
    own = ("xtdrone", "sensor_models")
    return {
        name
        for name in packages
        if not name.startswith(own) and (name not in sys.stdlib_module_names or name in SLOW)
    }


def answer_of(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


def test_help_texts_come_from_declarations_alone():
    found = answer_of(HELP)
    assert {"", "fly", "formation", "learn", "slam", "view"} <= found.keys()
    assert {name: foreign(packages) - ALLOWED["help"] for name, packages in found.items()} == {
        name: set() for name in found
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "xtdrone fl",
        "xtdrone fly squ",
        "xtdrone fly square --wor",
        "xtdrone fly square --world ",
        "xtdrone sim --autopilot ",
        "xtdrone formation simulate --topology ",
        "xtdrone learn --vary ",
        "xtdrone slam run --align ",
        "xtdrone view --camera ",
    ],
)
def test_a_completion_comes_from_declarations_alone(line, tmp_path):
    packages = answer_of(
        TAB,
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=str(tmp_path / "answer"),
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
        COMP_TYPE="9",
    )
    assert (tmp_path / "answer").read_text()
    assert foreign(packages) <= ALLOWED["completion"]


def test_a_completion_loads_the_named_subcommand_alone(tmp_path):
    modules = answer_of(
        TAB.replace('name.partition(".")[0]', "name"),
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_STDOUT_FILENAME=str(tmp_path / "answer"),
        COMP_LINE="xtdrone fly --wor",
        COMP_POINT="17",
        COMP_TYPE="9",
    )
    assert "xtdrone_sim.commands.fly" in modules
    assert "xtdrone_slam.commands" not in modules
