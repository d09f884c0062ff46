"""People and cars on the page: where the world's reader has them at the time that is shown."""

import numpy as np
import pytest

import browser
import recorded_flights
from xtdrone_sim.world import load_world

pytestmark = pytest.mark.long


def test_people_and_cars_move_in_a_replay(tmp_path, context):
    flown = recorded_flights.fly(tmp_path / "flown", 9.0, vehicles="iris", world="street")
    actors = load_world("street").actors
    with recorded_flights.replaying(flown) as running:
        page, errors = browser.opened(context, running.url, most=8)
        seen = []
        for t_s in (4.0, 8.0):
            page.evaluate("() => { station.replay.ask('pause'); }")
            page.evaluate("(t) => { station.replay.seek(t, true); }", t_s)
            browser.until(page, f"station.frame && Math.abs(station.frame.t - {t_s}) < 1e-6")
            page.evaluate("station.draw(performance.now() + 1000)")
            found = page.evaluate("""Object.fromEntries(station.actors.actors.map((each) =>
                [each.about.name, { t: station.frame.t, pos: each.group.position.toArray(),
                    legs: each.limbs.map(({ node }) => node.quaternion.toArray()) }]))""")
            for actor in actors:
                own = found[actor.name]
                assert np.abs(np.subtract(own["pos"], actor.pose(t_s).pos)).max() < 0.25
                way = actor.arc_length(t_s)
                for limb, quat in zip(actor.limbs, own["legs"], strict=True):
                    assert abs(np.dot(limb.at(way, 1.0).quat, quat)) > 0.995
            seen.append(found["car_red"]["pos"])
        assert np.linalg.norm(np.subtract(*seen)) > 25.0  # it drove on
        assert page.evaluate("station.actors.actors.every(({ limbs }) => limbs.length >= 5)")
        page.screenshot(path=tmp_path / "page.png")
        page.close()
        assert errors == []
