"""Runs the tests of the window of flights in a process of its own, without a display."""

import pytest

from own_process import pass_in_own_process


@pytest.mark.long
def test_the_windows_pass_in_own_process_in_a_process_of_their_own():
    pass_in_own_process("flight_window_in_own_process.py", QT_QPA_PLATFORM="offscreen")
