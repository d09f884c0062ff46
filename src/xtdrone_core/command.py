# PYTHON_ARGCOMPLETE_OK
"""The `xtdrone` command. Packages add subcommands through the entry-point group xtdrone.commands.

An entry point NAME = "module:register" gives the subcommand NAME. register(subparsers) adds its
parser and says what to run; run(args) returns an exit status or None for 0. A default `adapt`,
adapt(args, words), writes words that the parser does not take as it takes them.

    def register(subparsers):
        parser = subparsers.add_parser("sim", help="fly a scenario without ROS", epilog=EXAMPLES)
        parser.add_argument("--n", type=int, default=1, help="number of vehicles")
        parser.set_defaults(run=_run)

When a subcommand is named, only its module is loaded. The help of the whole command loads all
of them, so these modules, and those that declare options, import what is slow inside functions:
NumPy, SciPy, Numba and what needs them. tests/core/test_start.py lists what they may load.
"""

import argparse
import difflib
import errno
import os
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, NoReturn, TypeAlias

from . import registry
from .errors import INTERRUPTED, XtdroneError, one_line, unknown_name

Subparsers: TypeAlias = Any  # what add_subparsers() returns; argparse has no public name for it
GROUP = "xtdrone.commands"
FILES_PER_VEHICLE = 4  # sockets of its MAVLink links and its PX4, and a log that is written
# Options by another name than elsewhere; the same thing has one name in every subcommand.
RENAMED = {
    "--png": "--out",
    "--output": "--out",
    "--no-log": "--no_run_folder",
    "--gps": "--fuse_gps",
}
EXAMPLES = """examples:
  xtdrone sim --vehicle iris --n 9 --speed 0   nine vehicles, as fast as possible
  xtdrone sim --help                           options of one subcommand
  . scripts/env.sh                             ROS, and tab completion, for this shell
"""


class _Parser(argparse.ArgumentParser):
    """Errors are one line each, and a help text keeps the line breaks of its examples."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # as argparse's
        self.subcommands: Mapping[str, Any] = {}  # parsers of the subcommands
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **kwargs)

    def add_subparsers(self, **kwargs: Any) -> Subparsers:  # as argparse's
        """Extends argparse's: an action without examples of its own shows those of its command."""
        actions = super().add_subparsers(**kwargs)
        self.subcommands = actions.choices
        add = actions.add_parser

        def add_parser(name: str, **options: Any) -> argparse.ArgumentParser:  # as above
            start = f"{self.prog} {name} "
            lines = [line for line in (self.epilog or "").splitlines() if start in f"{line} "]
            if lines:
                options.setdefault("epilog", "\n".join(["examples:", *lines]))
            return add(name, **options)

        actions.add_parser = add_parser  # type: ignore[method-assign]
        return actions

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # overloaded
        """Extends argparse's: refuses unknown words here, where the options are known."""
        options = self._option_string_actions
        for name in (word.partition("=")[0] for word in args or ()):
            if name not in options and RENAMED.get(name) in options:
                self.error(f"does not take '{name}': it is called '{RENAMED[name]}'")
        known, extra = super().parse_known_args(args, namespace)
        adapt = self.get_default("adapt")
        if extra and adapt:
            taken, left = [], list(extra)
            for word in args:
                if left and word == left[0]:
                    del left[0]
                else:
                    taken.append(word)
            known, extra = super().parse_known_args([*taken, *adapt(known, extra)], namespace)
        if extra:
            near = difflib.get_close_matches(
                extra[0].partition("=")[0], self._option_string_actions, n=1
            )
            hint = f"; did you mean '{near[0]}'?" if near else ""
            self.error(f"does not take '{extra[0]}'{hint}")
        return known, extra

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:  # its `type`'s
        values = super()._get_values(action, arg_strings)
        if action.nargs is None and values == []:  # from --option=--
            raise argparse.ArgumentError(action, "expected one argument")
        return values

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            what = str(action.metavar or action.dest).lower()
            raise argparse.ArgumentError(None, unknown_name(what, value, map(str, action.choices)))

    def error(self, message: str) -> NoReturn:
        for action in self._actions:  # a subcommand that is missing: say which there are
            if action.choices and message.endswith(f"required: {action.metavar}"):
                message += f" ({', '.join(action.choices)})"
        stop = " See" if message.endswith("?") else "; see"
        self.exit(2, f"{self.prog}: {one_line(message)}{stop} '{self.prog} --help'\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status.

    Args:
        argv: Arguments after the command's name; None for those of sys.argv.

    Returns:
        0, or what the subcommand returned; the status of an XtdroneError; 1 where a file or the
        memory fails; 130 after Ctrl-C.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        if "_ARGCOMPLETE" in os.environ:
            _complete()
        parser = build_parser(arguments)
        args = parser.parse_args(arguments)
        status = args.run(args) or 0
        sys.stdout.flush()
        return status
    except XtdroneError as error:
        print(f"xtdrone: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("xtdrone: stopped by you", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed the pipe
        _end_output()
        return 0
    except OSError as error:  # a full disk, missing permissions, too many open files
        if error.errno is None:
            raise
        print(one_line(f"xtdrone: {_reason(error)}"), file=sys.stderr)
        _end_output()
        return 1
    except MemoryError:
        print("xtdrone: the memory does not suffice for that", file=sys.stderr)
        return 1


def _complete() -> None:
    """Answers a shell that completes a command line, and ends the process."""
    import argcomplete

    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
    ended = line.split()[int(os.environ["_ARGCOMPLETE"]) :][: None if line[-1:].isspace() else -1]
    commands = registry.entries(GROUP)
    argcomplete.autocomplete(build_parser([word for word in ended[:1] if word in commands]))


_UNWRITABLE = (errno.EROFS, errno.ENOSPC, errno.EDQUOT)  # reasons not to be read but to write


def _reason(error: OSError) -> str:
    """Explains an error of the operating system."""
    if error.errno == errno.EMFILE:
        maximum, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return (
            f"too many open files: {maximum} are allowed here, and each vehicle needs up to "
            f"{FILES_PER_VEHICLE}; 'ulimit -n {max(4096, 2 * maximum)}' allows more"
        )
    what = f"'{error.filename}'" if error.filename else "a file"
    if error.errno in _UNWRITABLE:
        return (
            f"cannot write {what}: {error.strerror}; give a folder that can be written and has "
            "room, by --out or XTDRONE_RUNS"
        )
    return f"{what}: {error.strerror}"


def _end_output() -> None:
    """Discards what is left for standard output, which Python would write once more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def build_parser(argv: Sequence[str]) -> _Parser:
    """The parser, with the subcommand that argv names, or with all where it names none.

    The help of all subcommands also names those that cannot be loaded.

    Raises:
        XtdroneError: There is no such subcommand, or it needs a package that is missing.
    """
    commands = dict(registry.entries(GROUP))
    parser = _Parser(
        prog="xtdrone",
        epilog=EXAMPLES,
        description="Simulate, fly and measure a fleet of multirotors.",
    )
    parser.add_argument("--version", action="version", version=f"xtdrone {_version()}")
    subparsers = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    if argv and not argv[0].startswith("-"):
        if argv[0] not in commands:
            raise XtdroneError(unknown_name("command", argv[0], commands))
        _load(commands[argv[0]])(subparsers)
        return parser
    for name in sorted(commands):
        try:
            _load(commands[name])(subparsers)
        except XtdroneError as error:
            subparsers.add_parser(name, help=str(error))
    return parser


def _load(entry: metadata.EntryPoint) -> Callable[[Subparsers], None]:
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise XtdroneError(
            f"'xtdrone {entry.name}' needs the Python package '{error.name}': pip install what "
            "brings it"
        ) from error


def _version() -> str:
    try:
        return metadata.version("xtdrone")
    except metadata.PackageNotFoundError:  # a checkout on PYTHONPATH that was never installed
        return "(not installed)"


if __name__ == "__main__":
    sys.exit(main())
