"""What is shown while kernels are compiled."""

import io
import sys

import pytest
from numba import njit

from xtdrone_dynamics import progress


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self):
        return True


def compile_two():
    """Compiles a function that calls another one."""

    @njit
    def inner(x):
        return x + 1

    @njit
    def outer(x):
        return 2 * inner(x)

    return outer(20)


@pytest.mark.slow
def test_a_line_and_no_bar_in_a_file(capsys):
    with progress.shown(total=2, line="compiling two"):
        assert compile_two() == 42
    # What else this process shows, such as for a batch, is not looked at.
    shown = capsys.readouterr().err
    assert shown.splitlines().count("compiling two") == 1 and "functions" not in shown


def test_nothing_is_shown_where_nothing_is_compiled(capsys):
    with progress.shown(total=2):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("total", [2, None])
def test_a_bar_counts_functions_in_a_terminal(monkeypatch, total):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = progress.Bar(total)
    bar.begin()
    bar.begin()  # a function that the first one calls
    bar.end()
    bar.end()
    bar.begin()  # a later one redraws the bar
    bar.close()
    assert terminal.getvalue().count("compiling the kernels") == 1
    assert "kernels" in terminal.getvalue().split("...\n")[1]


def test_more_functions_than_were_known_are_counted_on(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    bar = progress.Bar(total=1)
    for _ in range(3):
        bar.begin()
        bar.end()
    bar.close()


@pytest.mark.slow
def test_each_compiled_function_is_told():
    told = []
    with progress.calling(lambda: told.append(1)):
        compile_two()
    assert len(told) == 2
