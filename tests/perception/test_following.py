"""A vehicle follows a person that walks behind a wall, and says when it has lost it."""

import json

import pytest

from xtdrone_core.command import main

WORLD = """<sdf version="1.7"><world name="wall">
<model name="ground_plane"><static>1</static><link name="link">
<collision name="c"><geometry><plane><normal>0 0 1</normal><size>200 200</size></plane></geometry>
</collision></link></model>
<model name="wall"><static>1</static><pose>{middle} -2 2.5 0 0 0</pose><link name="link">
<collision name="c"><geometry><box><size>{length} 0.2 5</size></box></geometry></collision>
</link></model>
<actor name="ann"><xtdrone:figure xmlns:xtdrone="urn:xtdrone">person</xtdrone:figure>
<script><loop>0</loop><delay_start>10</delay_start><trajectory id="0" type="walking">
<waypoint><time>0</time><pose>0 0 0 0 0 0</pose></waypoint>
<waypoint><time>40</time><pose>80 0 0 0 0 0</pose></waypoint></trajectory></script></actor>
</world></sdf>"""  # at 2 m/s


def follow(runs, length, duration, *options):
    """Flies beside a wall of a length [m]; returns the summary and the events."""
    world = runs / "wall.world"
    world.write_text(WORLD.format(middle=20.0 + 0.5 * length, length=length))
    arguments = ["fly", "follow", "--vehicles", "typhoon_h480@0,-9", "--world", str(world)]
    arguments += ["--speed", "0", "--gps", "rtk", "--name", "run", *options]
    assert main([*arguments, "--set", f"duration={duration}"]) == 0
    events = [json.loads(row) for row in (runs / "run" / "events.jsonl").read_text().splitlines()]
    return json.loads((runs / "run" / "summary.json").read_text()), [e["event"] for e in events]


@pytest.mark.long
def test_two_seconds_behind_a_wall_do_not_lose_it(runs):
    summary, events = follow(runs, 4.0, 18.0)
    assert summary["follow_losses"] == 0
    assert summary["follow_hidden_s"] > 1.5
    assert "target" in events
    assert summary["follow_s"] > 14.0
    assert summary["follow_distance_error_m"] < 1.5
    assert summary["follow_place_error_m"] < 1.0


@pytest.mark.long
def test_what_is_hidden_for_long_is_lost_and_found_again(runs):
    summary, events = follow(runs, 16.0, 50.0, "--set", "search=30")
    assert summary["follow_losses"] >= 1
    assert "lost" in events
    assert "reacquired" in events or "gave_up" in events
