"""The command `xtdrone perception` declares its actions by the modules of one folder."""

import pkgutil

import pytest

from xtdrone_core import command
from xtdrone_perception import commands


def test_each_module_is_an_action(capsys):
    with pytest.raises(SystemExit):
        command.main(["perception", "--help"])
    shown = capsys.readouterr().out
    assert all(module.name in shown for module in pkgutil.iter_modules(commands.__path__))
