"""Pictures of the manual: each has a command, and none is older than what draws it."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)


def test_no_picture_is_older_than_what_draws_it():
    why = pictures.outdated(pictures.read())
    assert not why, "\n".join(f"{name} {reason}" for name, reason in why.items()) + (
        "\nmake pictures ARGS=--outdated"
    )


def test_every_picture_of_the_manual_has_a_command():
    assert pictures.unclaimed(pictures.read()) == []


@pytest.fixture
def checkout(tmp_path):
    """A checkout with one source, one flight and two lines."""
    for folder in ("docs/images", "scripts", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src" / "draw.py").write_text("print(1)\n")
    (tmp_path / pictures.TABLE).write_text(
        "# lines\n"
        "@flight | mkdir -p $XTDRONE_RUNS/flight && echo x >> $XTDRONE_RUNS/flight/count\n"
        "docs/images/a.png | src/draw.py | cp @flight/count docs/images/a.png\n"
        "docs/images/b*.png | src | cp @flight/count docs/images/b1.png\n"
    )
    return tmp_path


def made(checkout):
    table = pictures.read(checkout)
    (checkout / "runs").mkdir(exist_ok=True)
    maker = pictures.Maker(table, checkout / "runs", checkout)
    return [maker.make(entry) for entry in table.entries]


def test_a_picture_is_made_once_for_all_and_noted(checkout):
    table = pictures.read(checkout)
    assert set(pictures.outdated(table, checkout)) == {"docs/images/a.png", "docs/images/b*.png"}
    assert made(checkout) == ["", ""]
    assert (checkout / "docs/images/b1.png").read_text() == "x\n"  # the flight was flown once
    assert pictures.outdated(table, checkout) == {}
    assert sorted(json.loads((checkout / pictures.MANIFEST).read_text())) == [
        "docs/images/a.png",
        "docs/images/b1.png",
    ]


OLDER = "is older than src/draw.py"


@pytest.mark.parametrize(
    "source, reason",
    [
        ("print(2)\n", OLDER),
        ("# why\n\nprint(1)\n", None),
        ('"""What it draws."""\n\nprint(\n    1,  # here\n)\n', None),
        ("print('1')\n", OLDER),
        ("print(1\n", OLDER),  # no Python
    ],
)
def test_a_changed_source_makes_a_picture_outdated_and_a_comment_does_not(checkout, source, reason):
    made(checkout)
    (checkout / "src" / "draw.py").write_text(source)
    why = pictures.outdated(pictures.read(checkout), checkout)
    assert why.get("docs/images/a.png") == reason


@pytest.mark.parametrize(
    "before, after, same",
    [
        ("def f():\n    'a'\n    return 'b'\n", "def f():\n    return 'b'\n", True),
        ("class A:\n    'a'\n    x = 1\n", "class A:\n    'other'\n    x = 1\n", True),
        ("x = f'{a!r:>3}'\n", 'x = f"{a!r:>3}"\n', True),
        ("x = 'a'\n", "y = 'a'\n", False),
        ("f()\n'a'\n", "f()\n'b'\n", False),  # no docstring
    ],
)
def test_of_python_the_syntax_tree_counts_without_docstrings(checkout, before, after, same):
    entry = pictures.read(checkout).entries[0]
    hashes = []
    for source in (before, after):
        (checkout / "src" / "draw.py").write_text(source)
        hashes.append(pictures.source_hash(entry, checkout))
    assert (hashes[0] == hashes[1]) == same


def test_of_other_files_the_lines_count_without_comments(checkout):
    (checkout / pictures.TABLE).write_text("docs/images/a.png | src/draw.css | true\n")
    entry = pictures.read(checkout).entries[0]
    hashes = []
    for source in ("a\n", "# why\n\na  \n", "b\n"):
        (checkout / "src" / "draw.css").write_text(source)
        hashes.append(pictures.source_hash(entry, checkout))
    assert hashes[0] == hashes[1] != hashes[2]


def test_pictures_are_accepted_after_a_change_of_names_unless_they_were_changed(checkout, capsys):
    made(checkout)
    (checkout / "src" / "draw.py").write_text("show(1)\n")
    (checkout / "docs/images/b1.png").write_text("by hand")
    table = pictures.read(checkout)
    assert pictures.accept(table.entries, checkout) == 1
    assert capsys.readouterr().out == (
        "accepted docs/images/a.png\nleft docs/images/b*.png: not as it was made, make it again\n"
    )
    assert set(pictures.outdated(table, checkout)) == {"docs/images/b1.png"}


def test_a_picture_made_by_hand_and_one_without_a_line_are_told(checkout):
    made(checkout)
    (checkout / "docs/images/a.png").write_text("by hand")
    (checkout / "docs/images/c.png").write_text("by hand")
    table = pictures.read(checkout)
    assert pictures.outdated(table, checkout) == {
        "docs/images/a.png": "was changed since it was made"
    }
    assert pictures.unclaimed(table, checkout) == ["docs/images/c.png"]


def test_a_command_that_fails_leaves_the_picture_and_says_why(checkout):
    made(checkout)
    (checkout / pictures.TABLE).write_text(
        "docs/images/a.png | src/draw.py | echo no flight >&2; exit 3\n"
    )
    assert made(checkout) == ["no flight"]
    assert (checkout / "docs/images/a.png").read_text() == "x\n"


def test_a_line_with_a_part_missing_is_refused(checkout):
    (checkout / pictures.TABLE).write_text("docs/images/a.png | true\n")
    with pytest.raises(ValueError, match=r"line 1: give PICTURES \| SOURCES \| COMMAND"):
        pictures.read(checkout)


def test_a_source_that_is_gone_is_refused(checkout):
    (checkout / "src" / "draw.py").unlink()
    (checkout / "src").rmdir()
    with pytest.raises(ValueError, match=r"src/draw.py, which draws docs/images/a.png"):
        pictures.outdated(pictures.read(checkout), checkout)
