"""Files that users name: kinds, sizes, encodings, plain data; and outputs that replace nothing."""

import os
import zipfile

import numpy as np
import pytest
from matplotlib.figure import Figure

from xtdrone_core import XtdroneError, files, outputs
from xtdrone_core.errors import one_line, shown

BOMB = "a0: &a0 [x, x]\n" + "\n".join(f"a{k}: &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 40))


@pytest.fixture
def odd(tmp_path):
    """A path of each kind that is no readable file."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(bytes(2 << 20))
    (tmp_path / "secret").symlink_to("nowhere")
    return {
        "fifo": tmp_path / "fifo",
        "folder": tmp_path,
        "device": "/dev/zero",
        "missing": tmp_path / "missing",
        "long": tmp_path / ("x" * 300),
        "nul": "a\0b",
        "large": tmp_path / "large",
        "dangling": tmp_path / "secret",
    }


@pytest.mark.parametrize(
    "kind, said",
    [
        ("fifo", "is a FIFO"),
        ("folder", "older|directory"),
        ("device", "is a device"),
        ("missing", "No such file"),
        ("long", "name too long"),
        ("nul", "null"),
        ("large", "2 MB, and at most 1 MB"),
        ("dangling", "No such file"),
    ],
)
def test_what_is_no_readable_file_is_one_line(odd, kind, said):
    with pytest.raises(XtdroneError, match=said) as caught:
        files.read_bytes(odd[kind], "scenario", maximum=files.MB)
    assert "cannot read scenario '" in str(caught.value) and "\n" not in str(caught.value)
    assert files.is_file(odd[kind]) == (kind == "large")


def test_text_is_utf_8_with_any_line_ends(tmp_path):
    (tmp_path / "a").write_bytes("é\r\nb\rc\n".encode())
    assert files.read_text(tmp_path / "a") == "é\nb\nc\n"
    (tmp_path / "a").write_bytes(b"ok \xff")
    with pytest.raises(files.FileError, match="byte 3 is no UTF-8"):
        files.read_text(tmp_path / "a")


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_is_no_text(tmp_path, coding):
    def written(text):
        mark = "\ufeff" if coding in ("utf-16-le", "utf-16-be") else ""
        (tmp_path / "a").write_bytes((mark + text).encode(coding))
        return tmp_path / "a"

    assert files.read_text(written("é\r\n")) == "é\n"
    assert files.read_json(written('{"a": 1}')) == {"a": 1}
    assert files.read_yaml(written("a: 1\n")) == {"a": 1}
    assert files.read_xml(written("<a/>")).tag == "a"


@pytest.mark.parametrize(
    "text, said",
    [
        (BOMB, "expand to more than"),
        ("a: &a [*a]", "contains itself"),
        ("[" * 5000, "too deep|maximum nesting depth"),  # ours, or PyYAML's of 2026
        ("{a: " * 5000, "too deep|maximum nesting depth"),
        ("a: 1\na: 2", "'a' appears twice, again in line 2"),
        ("[", "in line 2"),
        ("a: b: c", "in line 1"),
        ("d: 2001-99-99", "is a date"),
        ("x: !!python/object:os.system y", "tag .* is not known"),
        ("x: !!timestamp y", "tag"),
        ("? [a]\n: b", "key in line 1 is no text"),
        (f"n: {'9' * 5000}", "Exceeds the limit"),
        ("a: \0", "unacceptable character"),
        ("--- a\n--- b", "another document"),
    ],
)
def test_yaml_that_is_no_plain_data_is_one_line(text, said):
    with pytest.raises(files.FileError, match=said) as caught:
        files.parse_yaml(text, "scenario 's.yaml'")
    assert str(caught.value).startswith("scenario 's.yaml'") and "\n" not in str(caught.value)


def test_yaml_may_refer_to_what_it_has():
    assert files.parse_yaml("a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}", "") == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": {"b": 1, "e": 2},
    }
    assert files.parse_yaml("", "") is None


@pytest.mark.parametrize(
    "text, said",
    [
        ("[" * 100_000, "too deep"),
        ("[" * 200 + "]" * 200, "too deep"),
        ("1e999", "no finite"),
        ("[NaN]", "NaN is no finite"),
        ("-Infinity", "no finite"),
        ("9" * 5000, "Exceeds the limit"),
        ("{", "is not JSON"),
        ("", "is not JSON"),
    ],
)
def test_json_that_is_no_plain_data_is_one_line(text, said):
    with pytest.raises(files.FileError, match=said):
        files.parse_json(text, "plan 'p'")


@pytest.mark.parametrize(
    "data, said",
    [
        (b"<a><b></a>", "x.sdf:1: not well-formed"),
        (b"", "not well-formed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "has a DOCTYPE"),
        (b'<!DOCTYPE a SYSTEM "/etc/passwd"><a/>', "has a DOCTYPE"),
        (b"<a>" * 5000, "not well-formed"),
        (b'<?xml version="1.0" encoding="none"?><a/>', "none"),
    ],
)
def test_xml_that_is_no_plain_document_is_one_line(data, said):
    with pytest.raises(files.FileError, match=said):
        files.parse_xml(data, "x.sdf")


def test_xml_is_elements_only():
    root = files.parse_xml(b"<?php x?><a><!-- c --><?go now?><b>1</b></a>", "x.sdf")
    assert [child.tag for child in root] == ["b"]


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(3 << 20))
    with pytest.raises(files.FileError, match="unpacks to more than 2 MB"):
        files.open_zip(tmp_path / "a.zip", maximum=2 * files.MB)
    (tmp_path / "a.zip").write_bytes(b"PK\3\4")
    with pytest.raises(files.FileError, match="not a zip"):
        files.open_zip(tmp_path / "a.zip")


def test_values_in_messages_are_one_short_line():
    assert one_line("a\nb\x1b[1m\udcff") == "a b [1m"
    assert len(shown("x" * 9999 + "/end.yaml")) < 200 and shown("x" * 9999 + "/z").endswith("/z")
    assert "\n" not in str(XtdroneError("a\nb"))


# Outputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_a_picture_of_ours_is_replaced_and_no_other(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for _ in range(2):
        outputs.save_figure(Figure(), outputs.picture(path))
    data = path.read_bytes()
    for other in (b"somebody's", bytes(20_000)):
        path.write_bytes(other)
        with pytest.raises(files.FileError, match="exists and is no picture of xtdrone's"):
            outputs.picture(path)
        assert path.read_bytes() == other
    assert len(data) > 500


@pytest.mark.parametrize(
    "name, said",
    [
        ("passwd", "ends in .png"),
        ("a.txt", "ends in .png"),
        ("no/a.png", "No such file"),
        ("folder.png", "is a folder"),
        ("x" * 300 + ".png", "name too long"),
        ("n\0.png", "null"),
    ],
)
def test_where_no_picture_can_be_is_one_line(tmp_path, name, said):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(files.FileError, match=said):
        outputs.picture(str(tmp_path / name))


@pytest.mark.parametrize(
    "words",
    [
        ["formation", "show", "cube", "--out"],
        ["vehicle", "show", "iris", "--out"],
        ["formation", "compare", "run", "run", "--out"],
        ["slam", "export", "run", "--format", "csv", "--out"],
    ],
)
def test_no_command_replaces_somebody_elses_file(tmp_path, monkeypatch, capsys, words):
    from xtdrone_core.command import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XTDRONE_RUNS", str(tmp_path / "runs"))
    (tmp_path / "run").mkdir()
    record = np.zeros(500, dtype=[("t_us", "<i8"), ("table", "<f8", (2, 13))])
    record["t_us"], record["table"][..., 6] = 20_000 * np.arange(1, 501), 1.0
    record["table"][..., 2] = 3.0
    (tmp_path / "run" / "truth.bin").write_bytes(record.tobytes())
    (tmp_path / "run" / "summary.json").write_text('{"n": 2}')
    (tmp_path / "run" / "scenario.yaml").write_text("vehicles: iris*2")
    theirs = tmp_path / "theirs.png"
    theirs.write_text("theirs")
    assert main([*words, str(theirs)]) == 1
    said = capsys.readouterr().err
    assert "theirs.png' exists" in said and "is left alone" in said and said.count("\n") == 1
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize("read", [files.check, files.read_bytes, files.read_text, files.read_yaml])
def test_a_pointer_of_git_lfs_is_named(tmp_path, read):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    (tmp_path / "a.dae").write_text(pointer)
    with pytest.raises(files.FileError, match="a.dae': it is a pointer of .* 'git lfs pull'"):
        read(tmp_path / "a.dae")
