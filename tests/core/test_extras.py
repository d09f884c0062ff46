"""What is not installed is named with the command that installs it from where the project came."""

import json
import sys
from importlib import metadata

import pytest

from xtdrone_core import extras
from xtdrone_core.errors import XtdroneError


class Installed:
    def __init__(self, written):
        self._written = written

    def read_text(self, name):
        assert name == "direct_url.json"
        return self._written


def from_(monkeypatch, written):
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(written))


@pytest.mark.parametrize("editable", [False, True])
def test_from_a_folder(monkeypatch, tmp_path, editable):
    folder = tmp_path / "a b"
    folder.mkdir()
    url = folder.as_uri()
    from_(monkeypatch, json.dumps({"url": url, "dir_info": {"editable": editable}}))
    expected = f"{'-e ' if editable else ''}'{folder}[slam]'"
    assert extras.install("slam").endswith(f"pip install {expected}")


def test_from_a_file(monkeypatch, tmp_path):
    wheel = tmp_path / "xtdrone-0.2.0-py3-none-any.whl"
    wheel.touch()
    from_(monkeypatch, json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    assert extras.install("slam").endswith(f"install '{wheel}[slam]'")


@pytest.mark.parametrize("written", [None, "{", '{"url": "file:///gone", "dir_info": {}}'])
def test_from_the_index(monkeypatch, written):
    from_(monkeypatch, written)
    assert extras.install("slam").endswith("pip install 'xtdrone[slam]'")


def test_pip_is_that_of_the_environment(monkeypatch, tmp_path):
    from_(monkeypatch, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert extras.install("slam").startswith(f"{sys.executable} -m pip install")


def test_a_missing_library_is_one_line():
    with pytest.raises(XtdroneError) as raised:
        extras.require("no_such_module", "a picture", "view", instead="give a .gif")
    text = str(raised.value)
    assert text.startswith("a picture needs a Python package that is not installed (No module")
    assert "[view]'" in text and text.endswith(", or give a .gif")
