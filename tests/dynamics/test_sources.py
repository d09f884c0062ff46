"""The folders of kernels in the cache, by their sources."""

import time
from pathlib import Path

import pytest

from xtdrone_dynamics import sources

LATER_NS = 5_000_000_000


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace of two files, of which kernel.py imports constants.py; it is as old as LATER."""
    package = tmp_path / "src" / "xtdrone_own"
    package.mkdir(parents=True)
    (package / "constants.py").write_text("ONE = 1\n")
    (package / "kernel.py").write_text("from .constants import ONE\n")
    monkeypatch.setattr(sources, "SRC", package.parent)
    now = time.time_ns
    monkeypatch.setattr(sources.time, "time_ns", lambda: now() + LATER_NS)
    return package


def folder(root, kernel, read_ns=None):
    found = sources.folder_of(root, [kernel], time.time_ns() if read_ns is None else read_ns)
    return found and found.name


def test_a_folder_is_looked_up_without_reading_the_sources(workspace, tmp_path, monkeypatch):
    kernel = workspace / "kernel.py"
    first = folder(tmp_path / "cache", kernel)
    (index,) = (tmp_path / "cache").glob("folders-*")
    copy = tmp_path / "copy" / index.name
    copy.parent.mkdir()
    copy.write_text(index.read_text())
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    assert folder(copy.parent, kernel) == first


def test_another_state_of_what_it_imports_is_another_folder(workspace, tmp_path):
    first = folder(tmp_path / "cache", workspace / "kernel.py")
    (workspace / "constants.py").write_text("ONE = 2\n")
    assert folder(tmp_path / "other", workspace / "kernel.py") != first


def test_code_that_was_read_before_its_source_changed_has_no_folder(workspace, tmp_path):
    read_ns = (workspace / "constants.py").stat().st_ctime_ns - 1
    assert folder(tmp_path / "cache", workspace / "kernel.py", read_ns) is None
    assert folder(tmp_path / "cache", workspace / "kernel.py") is not None
    assert (
        folder(tmp_path / "cache", workspace / "kernel.py", read_ns) is None
    )  # nor from the index


def test_what_changed_a_moment_ago_is_not_remembered(workspace, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(sources, "SRC", workspace.parent)
    assert folder(tmp_path / "cache", workspace / "kernel.py") is not None
    assert not list(tmp_path.glob("cache/folders-*"))


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_damaged_index_is_made_anew(workspace, tmp_path, text):
    kernel = workspace / "kernel.py"
    first = folder(tmp_path / "cache", kernel)
    (index,) = (tmp_path / "cache").glob("folders-*")
    copy = tmp_path / "copy" / index.name
    copy.parent.mkdir()
    copy.write_text(text)
    assert folder(copy.parent, kernel) == first


def test_files_beside_the_workspace_are_read(workspace, tmp_path):
    own = tmp_path / "mine.py"
    own.write_text("from xtdrone_own.constants import ONE\n")
    first = folder(tmp_path / "cache", own)
    assert first.startswith("mine-") and not list(tmp_path.glob("cache/folders-*"))
    own.write_text("from xtdrone_own.constants import ONE  # changed\n")
    assert folder(tmp_path / "cache", own) != first
