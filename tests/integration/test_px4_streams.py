"""The embedded stack's streams on both of PX4's links against those recorded of real PX4."""

import json

from stream_probe import RECORDED, differences, measure

SECONDS = 10.0


def test_streams_have_the_rates_of_px4_on_the_ground_and_in_hover():
    wanted = json.loads(RECORDED.read_text())
    assert differences(wanted, measure("embedded", SECONDS), SECONDS) == []
