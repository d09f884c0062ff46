"""`xtdrone warmup`: compile every kernel."""

import argparse

from xtdrone_core.command import Subparsers


def register_warmup(subparsers: Subparsers) -> None:
    """Adds `xtdrone warmup`."""
    parser = subparsers.add_parser(
        "warmup",
        help="compile the kernels once, so that starts are quick",
        epilog="examples:\n  xtdrone warmup",
    )
    parser.set_defaults(run=_warmup)


def _warmup(args: argparse.Namespace) -> None:
    from ..warm_up import warm_up

    warm_up()
