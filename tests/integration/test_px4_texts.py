"""The embedded stack says what real PX4 v1.15.4 said at the same moments; see text_probe.py."""

import json

import pytest

import text_probe


@pytest.mark.slow
def test_texts_and_events_come_as_from_px4():
    """More may be said here."""
    lines = text_probe.differences(
        json.loads(text_probe.RECORDED.read_text()), text_probe.tell("embedded")
    )
    assert not lines, "\n".join(lines)
