"""Walks the command line in one process: `command_walk.py MISSING LINES`, both as JSON.

MISSING are names of modules that are as if not installed. The given lines and the help of every
subcommand are run; it prints [words, exit status, output, errors] of each as JSON.
"""

import contextlib
import io
import json
import sys

MISSING, LINES = json.loads(sys.argv[1]), json.loads(sys.argv[2])


class Missing:
    """A finder of modules that finds none of MISSING."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


sys.path.pop(0)  # the folder of this file, which an installed package does not have
sys.meta_path.insert(0, Missing())
from xtdrone_core import command  # noqa: E402


def run(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = command.main(words)
        except SystemExit as end:
            status = end.code
    return status or 0, out.getvalue(), err.getvalue()


def subcommands(parser, words):
    for name, child in parser.subcommands.items():
        yield [*words, name]
        yield from subcommands(child, [*words, name])


LINES += [[*words, "--help"] for words in subcommands(command.build_parser([]), [])]
print(json.dumps([[words, *run(words)] for words in LINES]))
