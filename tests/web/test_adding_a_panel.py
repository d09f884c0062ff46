"""A panel is one file on each side: found, shown, and answered by what these two files declare."""

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from aiohttp.test_utils import TestClient, TestServer

import browser
import heights_panel
from web_simulation import serving
from xtdrone_core import registry
from xtdrone_core.runs.frame_ring import FrameWriter
from xtdrone_core.scenario.vehicles import fleet
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world
from xtdrone_web import frame, panels
from xtdrone_web.description import (
    SceneDescription,
    StationDescription,
    describe,
    from_json,
    to_plain,
)
from xtdrone_web.live.station import Station
from xtdrone_web.server.app import App
from xtdrone_web.server.guard import Guard

N = 2


@pytest.fixture
def heights(tmp_path, monkeypatch):
    """The panel of tests/support as that of an installed package."""
    info = tmp_path / "heights_of_a_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: heights_of_a_package\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{panels.GROUP}]\nheights = heights_panel:Heights\n")
    support = heights_panel.__file__.rpartition("/")[0]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{support}")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.entries.cache_clear()
    yield
    monkeypatch.undo()
    registry.entries.cache_clear()


ARRAYS = (
    ("vehicles", "|u1", (N * frame.VEHICLE.itemsize,)),
    ("steps", "<f8", (4, 2)),
    ("passages", "<i8", (N,)),
)


@pytest.fixture
def ring(tmp_path):
    """Where the simulation writes its frames."""
    made = FrameWriter(tmp_path / "ring", ARRAYS)
    yield made
    made.close()


@pytest.fixture
def description(tmp_path, monkeypatch, ring):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return StationDescription(
        instance=0,
        folder="",
        key="",
        px4=False,
        control=False,
        shared_origin=True,
        scene=describe(load_world("street"), fleet("iris", N), [load_vehicle("iris")] * N),
        cameras=(),
        track="",
        ghost="",
        ring=str(ring.path),
        arrays=ARRAYS,
        token="t",
        address="127.0.0.1",
    )


def written(*heights):
    """A frame of vehicles at these heights [m]."""
    records = frame.blank(N)
    records["pos"][:, 2] = heights
    return {
        "vehicles": records.view(np.uint8),
        "steps": np.zeros((4, 2)),
        "passages": np.zeros(N, dtype=np.int64),
    }


def served(description, work):
    """Runs work(station, client) with the server of a description."""

    async def run():
        station = Station(description)
        guard = Guard("t", "127.0.0.1", 0)
        host = {"Host": "127.0.0.1:0"}
        async with TestClient(
            TestServer(App(station, guard).application()), headers=host
        ) as client:
            station.start()
            try:
                return await work(station, client)
            finally:
                await station.close()

    with ThreadPoolExecutor(1) as thread:  # Playwright has an event loop in this one
        return thread.submit(lambda: asyncio.run(run())).result()


def page(pilot=True):
    messages = []
    return SimpleNamespace(
        pilot=pilot,
        receives_frames=True,
        piloted=None,
        messages=messages,
        send_message=messages.append,
        offer=lambda packed: None,
    )


def orders_of(script):
    found = re.search(r"^  orders: (\[.*\]),$", script.read_text(), re.M)
    return json.loads(found[1]) if found else []


def test_what_a_panel_asks_is_known_to_the_server(description):
    async def work(station, client):
        answers = {}
        for name, script in panels.scripts().items():
            text = script.read_text()
            asked = re.findall(r'\.(?:ask|order|control)\("(\w+)"', text)
            assert set(asked) <= set(orders_of(script)), name
            for op in orders_of(script):
                each = page()
                await station.serve(each, op, {"op": op})
                answers[op] = each.messages[-1].get("error", "")
        return answers

    errors = served(description, work)
    assert {"wind", "failure", "param_set", "items", "ghosts", "hold"} <= errors.keys()
    assert not [op for op, error in errors.items() if "is not known" in error]


def test_each_panel_with_a_server_side_has_a_script():
    assert set(panels.server_sides()) <= set(panels.scripts())
    for name, script in panels.scripts().items():
        text = script.read_text()
        for field in ("title: ", "place: ", "markup: `", "open: (app) =>"):
            assert f"\n  {field}" in text, f"{name} does not declare {field}"


def test_a_panel_of_two_files(heights, description, ring):
    async def asked(station, client):
        viewer = page(pilot=False)
        for k in range(200):
            ring.write(4000 * k, written(1.5, 2.5))
            await station.serve(viewer, "heights", {"op": "heights", "id": 3})
            if viewer.messages[-1]["heights"]:
                break
            await asyncio.sleep(0.01)
        script = await client.get("/panel/heights.js")
        missing = await client.get("/panel/depths.js")
        text = await script.text()
        return station.scene(viewer), viewer.messages[-1], text, missing.status, script

    scene, answer, text, missing, script = served(description, asked)
    assert ("heights", "/panel/heights.js") in scene["panels"]
    assert ("map", "/static/js/panels/map.js") in scene["panels"]
    assert scene["height_unit"] == "m" and "gps" in scene["failures"]
    assert answer == {"op": "answer", "id": 3, "to": "heights", "ok": True, "heights": [1.5, 2.5]}
    assert script.content_type == "text/javascript" and "export const panel" in text
    assert missing == 404


def test_descriptions_come_back_from_json(description):
    again = from_json(StationDescription, json.dumps(to_plain(description)))
    assert again == description
    assert isinstance(again.scene, SceneDescription)
    assert again.scene.world.actors[0].limbs and again.scene.vehicles[1].name == "iris_1"


@pytest.mark.long
def test_the_page_shows_a_panel_of_two_files(heights, context, tmp_path):
    with serving(tmp_path, "--vehicles", "iris@0,0; iris@3,0") as running:
        shown, errors = browser.opened(context, running.watch_url)
        titles = shown.locator("#tabs button:not([hidden])").all_inner_texts()
        assert titles.index("Heights") == titles.index("Events") + 1
        shown.click("#t-heights")
        shown.click("#readheights")
        browser.until(shown, "document.getElementById('heights').textContent === '0.1 m, 0.1 m'")
        browser.until(shown, "station.panel.heights.frames > 3")
        weight = "getComputedStyle(document.getElementById('heights')).fontWeight"
        assert shown.evaluate(weight) == "700"
        shown.close()
    assert errors == []
