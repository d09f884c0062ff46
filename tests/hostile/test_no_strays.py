"""No command writes into the current folder what it was not asked for."""

import argparse
import os

from forked import in_a_process

from . import commands, samples
from .command_line import DISPLAYS, LEFT_OUT, usual


def _strays(folder):
    """Runs every subcommand in an empty folder; returns what it has left there, and what failed."""
    given, empty = folder / "samples", folder / "empty"
    for each in (given, empty):
        each.mkdir()
    os.environ.update(XTDRONE_RUNS=str(folder / "runs"), XTDRONE_SYSTEMS=str(folder / "systems"))
    for name in DISPLAYS:
        os.environ.pop(name, None)
    os.chdir(given)
    samples.put_samples(given)
    (given / "run" / "scenario.yaml").write_text("vehicles: iris*3\n")
    leaves = commands.load()  # which compiles the kernels, by a flight that is not cut
    commands.cut_flights()
    os.chdir(empty)
    left, failed = {}, {}
    for words in sorted(set(leaves) - LEFT_OUT):
        line = words.split() + _required(leaves[words], words, given, folder)
        status = commands.run(line)
        if os.listdir(empty):
            left[words] = os.listdir(empty)
            break
        failed[words] = status
    return left, failed


def _required(parser, leaf, given, folder):
    words = []
    for action in parser._actions:
        is_argument = not action.option_strings and action.nargs not in ("?", "*")
        is_run = action.metavar == "RUN" and not action.option_strings  # else the newest
        if isinstance(action, argparse._HelpAction) or not (
            action.required or is_argument or is_run
        ):
            continue
        value = "run" if action.metavar == "RUN" else usual(leaf, action)
        if (given / value).exists():
            value = str(given / value)
        if action.dest in ("output", "out"):
            value = str(folder / "asked_for")
        words += [*action.option_strings[:1], value]
    return words


def test_no_subcommand_writes_into_the_current_folder(tmp_path):
    left, status = in_a_process(_strays, tmp_path)
    assert left == {}
    drawn = {
        "formation show",
        "formation compare",
        "formation report",
        "vehicle show",
        "mission check",
        "schema",
        "list",
    }
    assert {words: status[words] for words in drawn} == dict.fromkeys(drawn, 0)
