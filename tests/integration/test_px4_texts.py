"""The embedded stack says what real PX4 v1.15.4 said at the same moments; see text_probe.py."""

import json

import pytest

import text_probe


@pytest.mark.slow
@pytest.mark.parametrize(
    "but",
    [text_probe.REPEATED, pytest.param((), marks=pytest.mark.long)],
    ids=["most steps", "all steps"],
)
def test_texts_and_events_come_as_from_px4(but):
    """More may be said here."""
    found = text_probe.tell("embedded", but)
    assert set(text_probe.STEPS) - set(found) == set(but)
    lines = text_probe.differences(json.loads(text_probe.RECORDED.read_text()), found)
    assert not lines, "\n".join(lines)
