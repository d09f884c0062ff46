"""scripts/prose.py, which reads the manual in `make check`."""

import importlib.util

import pytest

from xtdrone_core import resources

_SPEC = importlib.util.spec_from_file_location("prose", resources.root() / "scripts" / "prose.py")
prose = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(prose)

PHRASES = prose.read_phrases(prose.PHRASES.read_text())


@pytest.mark.parametrize(
    "text, fault",
    [
        ("What stands higher may import it.", "name the thing"),
        ("It hovers.", "name the thing"),
        ("All but one are for what hovers.", "name the vehicles"),
        ("A wrong shape says so at the call.", "what is printed"),
        ("Nothing is made up meanwhile.", "name the time"),
        ("The quadcopter flies.", "quadrotor or multirotor"),
        ("one " * 60 + "end.", "a sentence of 61 words"),
    ],
)
def test_a_sentence_that_is_hard_to_read_is_named(text, fault):
    found = list(prose.findings(f"# Title\n\n{text}\n", PHRASES))
    assert found and all(line == 3 for line, _ in found)
    assert any(fault in told for _, told in found)


@pytest.mark.parametrize(
    "text",
    [
        "What flies here? A vehicle.",
        "```sh\nIt says so meanwhile.\n```",
        "| It says so |",
        "`says so` is code, and so is [a link](says-so.md).",
        "<!-- prose: off -->\nIt says so.",
        "- A list.\n- Another item with " + "words " * 40 + "at most.",
    ],
)
def test_what_is_no_prose_of_ours_is_left_alone(text):
    assert list(prose.findings(text, PHRASES)) == []


def test_findings_end_with_status_1(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("A good sentence.\n")
    assert prose.main([str(page)]) == 0
    page.write_text("It is a page.\n")
    assert prose.main([str(page)]) == 1
    assert f"{page}:1: begins with 'It'" in capsys.readouterr().out
