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


@pytest.mark.parametrize(
    "source, reason", [("print(2)\n", "is older than src/draw.py"), ("# why\n\nprint(1)\n", None)]
)
def test_a_changed_source_makes_a_picture_outdated_and_a_comment_does_not(checkout, source, reason):
    made(checkout)
    (checkout / "src" / "draw.py").write_text(source)
    why = pictures.outdated(pictures.read(checkout), checkout)
    assert why.get("docs/images/a.png") == reason


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
