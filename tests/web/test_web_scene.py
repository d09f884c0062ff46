"""Cameras, rays, missions, slots and races on the page, of vehicles in world outdoor."""

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from test_web_page import modes, tab, until_status

import browser
from race_run import write_run
from web_simulation import serving

pytestmark = pytest.mark.long

# Two gates beside the start, wide enough for vehicles that are sent through them.
TRACK = """laps: 2
gates:
  - {pos: [4, -4, 3.5], yaw: 0.0, size: [4, 3]}
  - {pos: [9, -4, 3.5], yaw: 0.0, size: [4, 3]}
"""
VEHICLES = "iris_stereo@0,-4; iris_depth@0,0; typhoon_h480@0,5; plane@0,9"


@pytest.fixture(scope="module")
def station(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    track = folder / "mine.yaml"
    track.write_text(TRACK)
    write_run(folder / "old", track, ((1.0, 4.0),))
    with serving(
        folder, "--vehicles", VEHICLES, "--world", "outdoor", "--track", str(track), "--gps", "rtk"
    ) as running:
        yield running


@pytest.fixture
def fly(page):
    browser.until(page, "station.frame && [0, 1, 2, 3].every((i) => station.frame.get(i, 'ready'))")
    page.evaluate("station.going = false")
    page.click("#all")
    return page


def select(page, i):
    page.click(f"#vehicles li:nth-child({i + 1}) button")


def aloft(page, i, height):
    """Vehicle i, selected, at a height."""
    select(page, i)
    if page.evaluate(f"station.frame.get({i}, 'pos', 2)") < height - 0.7:
        page.fill("#height", str(height))
        page.click("#takeoff")
        browser.until(page, f"station.frame.get({i}, 'pos', 2) > {height} - 0.4")


def test_images_of_cameras(fly):
    tab(fly, "display")
    names = fly.evaluate("[...document.getElementById('camera').options].map((o) => o.text)")
    assert len(names) >= 4 and any("stereo" in name for name in names[1:])
    for k in range(1, len(names)):
        fly.select_option("#camera", index=k)
        browser.until(
            fly,
            "!document.getElementById('cameraimage').hidden "
            "&& document.getElementById('cameraimage').naturalWidth > 100",
        )
        number = fly.evaluate("document.getElementById('camera').value")
        data = fly.evaluate(f"""fetch('/camera/{number}.jpg').then((answer) => answer.arrayBuffer())
            .then((data) => [...new Uint8Array(data)])""")
        image = np.asarray(Image.open(io.BytesIO(bytes(data))), dtype=float)
        assert image.std() > 8.0, names[k]  # grass, houses and the sky differ
    fly.select_option("#camera", "")
    assert fly.is_hidden("#cameraimage")


def test_rays_of_a_range_finder(fly):
    """The plane's laser looks down: its ray ends at the ground below it."""
    tab(fly, "display")
    fly.evaluate("""(() => { const o = station.overlays, rays = o.rays.bind(o);
        o.rays = (frame, i) => { const { lines } = o, add = lines.add;
            lines.add = (...line) => { o.drawn = [...line.slice(0, 6), frame.get(i, "range")];
                add.apply(lines, line); };
            rays(frame, i);
            lines.add = add; }; })()""")
    fly.wait_for_selector("#o-rays:checked")
    browser.until(fly, "station.overlays.drawn")
    *ends, distance = fly.evaluate("station.overlays.drawn")
    start, end = np.reshape(ends, (2, 3))
    assert np.linalg.norm(start - (0.0, 9.0, 0.0)) < 1.0 and abs(end[2]) < 0.05 < start[2]
    assert np.linalg.norm(end - start) == pytest.approx(distance, abs=1e-3)
    fly.click("#o-rays")
    fly.evaluate("station.overlays.drawn = null")
    fly.wait_for_timeout(300)
    assert fly.evaluate("station.overlays.drawn") is None
    fly.click("#o-rays")


def test_charge_of_a_battery(fly):
    select(fly, 2)
    tab(fly, "disturb")
    before = fly.evaluate("station.frame.get(2, 'voltage')")
    fly.fill("#chargeform [name=charge]", "0.4")
    fly.click("#chargeform button")
    browser.until(fly, f"station.frame.get(2, 'voltage') < {before} - 0.2")
    fly.fill("#chargeform [name=charge]", "1")
    fly.click("#chargeform button")
    browser.until(fly, f"station.frame.get(2, 'voltage') > {before} - 0.1")


@pytest.mark.parametrize("name, fences", [("survey", 2)])
def test_a_mission_is_shown_and_flown(fly, station, name, fences):
    select(fly, 1)
    done = subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", "mission", "upload", name, "--vehicle", "2"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    tab(fly, "map")
    fly.click("#loadplan")
    browser.until(fly, "station.overlays.plan && station.overlays.plan.mission.length > 3")
    assert fly.evaluate("station.overlays.plan.fences.map(({ inside }) => inside)") == [True, False]
    assert len(fly.evaluate("station.overlays.plan.fences")) == fences
    assert "of the fence" in fly.inner_text("#plan")
    fly.wait_for_timeout(600)
    seen = fly.evaluate("""(() => { const map = document.getElementById('map'),
        data = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
        const near = (k, rgb) => rgb.every((x, i) => Math.abs(data[k + i] - x) < 12);
        let path = 0, fence = 0;
        for (let k = 0; k < data.length; k += 4) {
            path += near(k, [90, 216, 255]); fence += near(k, [255, 194, 74]); }
        return [path, fence]; })()""")
    assert min(seen) > 40
    fly.click("#mission")
    until_status(fly, station, lambda: modes(station)[1] == "AUTO.MISSION")
    fly.click("#arm")
    browser.until(fly, "station.frame.get(1, 'pos', 2) > 2.0")
    browser.until(fly, "station.status.mission[1] > 0")
    fly.click("#rtl")


def test_a_lap_beside_a_ghost(fly, station):
    tab(fly, "race")
    assert fly.inner_text("#track").startswith("mine: 2 gates, 2 laps")
    fly.click("#ghosts")
    browser.until(fly, "document.getElementById('ghost').options.length === 2")
    fly.select_option("#others", ["old"])  # it flies along, and is not compared
    browser.until(fly, "station.panel.race.gates.ghosts.length === 1")
    browser.until(fly, "document.querySelectorAll('#splits tr').length === 3")
    assert not fly.evaluate("Boolean(station.panel.race.ghost)")
    fly.select_option("#ghost", "old")
    browser.until(
        fly,
        "station.panel.race.ghost && station.panel.race.gates.ghosts[0].group.children.length > 0",
    )
    aloft(fly, 0, 3.5)
    assert fly.evaluate("station.panel.race.gates.shown") == 0
    assert fly.inner_text("#lapnumber") == "to the start"
    for lap in (1, 2, 3):
        fly.evaluate("station.goTo(12, -4, 3.5)")
        browser.until(
            fly,
            f"station.panel.race.state.vehicles[0].lap === {lap}"
            " && station.frame.get(0, 'pos', 0) > 11",
        )
        if lap == 3:
            break
        assert fly.inner_text("#lapnumber") == f"lap {lap} of 2"
        assert (
            fly.evaluate("station.panel.race.gates.shown") == 0
        )  # both passed: the finish is next
        fly.evaluate("station.goTo(12, 1, 3.5)")  # round the gates, not back through them
        browser.until(fly, "station.frame.get(0, 'pos', 1) > 0")
        fly.evaluate("station.goTo(0, 1, 3.5)")
        browser.until(fly, "station.frame.get(0, 'pos', 0) < 1")
        fly.evaluate("station.goTo(0, -4, 3.5)")
        browser.until(fly, "station.frame.get(0, 'pos', 1) < -3.8")
    browser.until(fly, "document.getElementById('lapnumber').textContent === 'finished'")
    assert fly.locator("#laps tr").count() == 2
    assert "ghost +" in fly.inner_text("#lapghost")  # that took 4 s
    fly.select_option("#ghost", "")
    browser.until(fly, "!station.panel.race.ghost && !station.panel.race.gates.ghosts.length")
    race = station.control.request("race")["vehicles"][0]
    assert len(race["laps"]) == 2 and race["missed"] == 0
