"""Panels of the page.

A panel is one JavaScript module, static/js/panels/NAME.js, which declares its tab, its markup and
what it subscribes to (see static/js/panels.js). If it has orders or messages of its own, it is one
Python module here as well, NAME.py, with a Panel called PANEL. Another package names its Panel,
with the path of its script, in the entry-point group xtdrone.panels.
"""

import importlib
import pkgutil
from pathlib import Path

from xtdrone_core import registry

from ..frame import STATIC
from .panel import Panel

GROUP = "xtdrone.panels"
_SCRIPTS = STATIC / "js" / "panels"


def scripts() -> dict[str, Path]:
    """Returns the JavaScript modules of all panels by the panels' names."""
    own = {path.stem: path for path in sorted(_SCRIPTS.glob("*.js"))}
    return own | {name: panel.script for name, panel in _others().items()}


def addresses() -> list[tuple[str, str]]:
    """Returns names and addresses of the modules, for a page's scene."""
    others = _others()
    return [
        (name, f"/panel/{name}.js" if name in others else f"/static/js/panels/{name}.js")
        for name in scripts()
    ]


def server_sides() -> dict[str, type[Panel]]:
    """Returns the Panels that have orders or messages by the panels' names."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name != "panel"]
    own = {name: importlib.import_module(f"{__name__}.{name}").PANEL for name in names}
    return own | _others()


def _others() -> dict[str, type[Panel]]:
    """Returns the Panels of other packages."""
    return {name: entry.load() for name, entry in registry.entries(GROUP).items()}
