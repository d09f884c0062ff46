"""walk.py, which types the manual's commands: it knows every block, and how a command ends."""

import pytest

import walk


def test_every_reason_not_to_run_a_block_has_a_plan():
    found = [command for page in walk.PAGES for block in walk.commands(page) for command in block]
    assert len(found) > 50
    for command in found:
        assert command.plan is None or command.plan > 0
    assert sum(command.plan is not None for command in found) > 30


def test_variables_and_sourced_files_hold_for_the_rest_of_the_page():
    page = next(page for page in walk.PAGES if page.name == "formation.md")
    command = next(
        command for block in walk.commands(page) for command in block if "$bad" in command.line
    )
    assert any(line.startswith("bad=") for line in command.state)
    assert not command.line.startswith("bad=")


@pytest.mark.parametrize(
    "line, seconds, how, right",
    [
        ("true", 20, "status 0", True),
        ("false", 20, "status 1", False),
        ("sleep 100", 0.2, "Ctrl-C, status -2", True),
        ("python3 -c 'import nothing_of_that_name'", 20, "traceback", False),
    ],
)
def test_how_a_command_ends(line, seconds, how, right):
    assert walk.Terminal(line).finish(seconds) == (how, right)
