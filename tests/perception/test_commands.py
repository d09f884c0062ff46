"""The command `xtdrone perception` declares its actions by the modules of one folder."""

import pkgutil

import pytest

from xtdrone_core import command
from xtdrone_perception import commands
from xtdrone_perception.errors import PerceptionError, require


def test_each_module_is_an_action(capsys):
    with pytest.raises(SystemExit):
        command.main(["perception", "--help"])
    shown = capsys.readouterr().out
    assert all(module.name in shown for module in pkgutil.iter_modules(commands.__path__))


def test_a_missing_library_is_named_with_its_extra():
    with pytest.raises(PerceptionError, match=r"needs the Python package no-such .*xtdrone\[perc"):
        require("no_such_module", "no-such", "the detector")
