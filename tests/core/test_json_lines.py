"""Files of results that grow by whole lines."""

import os

import pytest

from xtdrone_core import XtdroneError
from xtdrone_core.runs.json_lines import JsonLines

BUSY = XtdroneError("another program holds it")


def test_whole_lines_are_kept_and_what_is_torn_or_no_row_is_left_out(tmp_path):
    path = tmp_path / "lines.jsonl"
    with JsonLines(path, BUSY) as lines:
        lines.append({"a": 1})
    path.write_bytes(path.read_bytes() + b'\xff\n[1]\n{"b": 2}\n{"torn": ')
    with JsonLines(path, BUSY) as lines:
        assert list(lines.rows()) == [{"a": 1}, {"b": 2}]
        lines.append({"c": 3})
        assert list(lines.rows())[-1] == {"c": 3}
    assert path.read_bytes().endswith(b'{"b": 2}\n{"c": 3}\n')


def test_one_program_holds_a_file_at_a_time(tmp_path):
    path = tmp_path / "lines.jsonl"
    with JsonLines(path, BUSY), pytest.raises(XtdroneError, match="another program holds it"):
        JsonLines(path, BUSY)
    JsonLines(path, BUSY).close()


def test_a_line_that_the_disk_takes_in_part_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "lines.jsonl"
    with JsonLines(path, BUSY) as lines:
        lines.append({"a": 1})
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:3]))
        with pytest.raises(OSError, match=r"lines\.jsonl"):
            lines.append({"b": 2})
    assert path.read_text() == '{"a": 1}\n'
