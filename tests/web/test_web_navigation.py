"""The panel of an Agent that takes goals: the server's side, and a click in a browser."""

from types import SimpleNamespace

import numpy as np
import pytest

import axe
import browser
from web_simulation import serving
from xtdrone_web.links.order import Order
from xtdrone_web.panels.navigation import Navigation
from xtdrone_web.panels.panel import Services


class World:
    """Notes what the simulation is asked."""

    def __init__(self):
        self.asked = []

    def order(self, op, *names):
        def run(request):
            self.asked.append({"op": op, **{name: request[name] for name in names}})
            return {}

        return Order(run)


def test_the_panel_is_there_when_the_agent_takes_goals():
    panel = Navigation(Services(SimpleNamespace(), None, World()))
    assert panel.scene() == {"takes_goals": False}
    panel.on_frame({})
    panel.on_frame({"takes_goals": np.array([1], dtype=np.uint8)})
    assert panel.scene() == {"takes_goals": True}


def test_who_may_command_gives_goals_and_all_may_look():
    world = World()
    orders = Navigation(Services(SimpleNamespace(), None, world)).orders()
    assert orders["navigation"].for_viewers and not orders["goal"].for_viewers
    orders["goal"].run({"op": "goal", "goal": [1.0, 2.0, 2.0], "id": 3})
    assert world.asked == [{"op": "goal", "goal": [1.0, 2.0, 2.0]}]


@pytest.mark.long
def test_a_click_is_the_next_goal(context, tmp_path):
    options = ("--vehicle", "iris_depth_small", "--world", "hall", "--set", "count=1")
    with serving(tmp_path, *options, command=("fly", "goals")) as running:
        page, errors = browser.opened(context, running.url, most=8)
        page.click("#t-navigation")
        browser.until(page, "document.getElementById('navigationstate').textContent === 'hovering'")
        page.fill("#goalheight", "1.5")
        there = page.evaluate("station.panel.navigation.place(1.5, 0.5)")
        page.click("#navigation", position={"x": there[0], "y": there[1]})
        browser.until(page, "station.panel.navigation.known?.goal")
        goal = page.evaluate("station.panel.navigation.known.goal")
        assert goal == pytest.approx([1.5, 0.5, 1.5], abs=0.15)
        browser.until(
            page, "document.getElementById('navigationstate').textContent.includes('1.5')"
        )
        assert axe.missing() or axe.violations(page) == []
        page.close()
    assert errors == []
