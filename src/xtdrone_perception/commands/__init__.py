"""The command `xtdrone perception`: each module of this folder declares one of its actions.

A module NAME.py has register(actions), which adds the parser NAME and says what to run.
"""

import importlib
import pkgutil

from xtdrone_core.command import Subparsers


def register(subparsers: Subparsers) -> None:
    """Adds `xtdrone perception` with the actions of this folder's modules, by name."""
    parser = subparsers.add_parser(
        "perception",
        help="markers, data sets, detection and tracking with cameras",
        description="What cameras see: docs/perception.md.",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        importlib.import_module(f"{__name__}.{module.name}").register(actions)
