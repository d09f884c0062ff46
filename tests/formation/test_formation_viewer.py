"""Runs the viewer's tests in a process of its own."""

import pytest

from own_process import pass_in_own_process


@pytest.mark.long
def test_the_viewers_pass_in_own_process_in_a_process_of_their_own():
    pass_in_own_process("viewer_in_own_process.py")
