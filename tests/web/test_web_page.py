"""Each control of the page is used, and what it did is looked up in the simulation."""

import json
import re

import pytest

import browser
from xtdrone_autopilot.mavlink.client import Client as GroundStation

pytestmark = pytest.mark.long

READY = "station.frame && [0, 1, 2].every((i) => station.frame.get(i, 'ready'))"
COLOURS = """(() => { station.render();
    const gl = station.renderer.getContext(), found = new Set(), p = new Uint8Array(4);
    for (let k = 0; k < 400; k++) {
        gl.readPixels((k * 37) % gl.drawingBufferWidth, (k * 53) % gl.drawingBufferHeight, 1, 1,
                      gl.RGBA, gl.UNSIGNED_BYTE, p);
        found.add(p.join());
    } return found.size; })()"""
N = 3


@pytest.fixture
def fly(page, station):
    """The page with all vehicles ready, unpaused and selected."""
    browser.until(page, READY)
    page.evaluate("station.going = false; station.chosen = []; station.toolbars.aim()")
    page.click("#all")
    return page


def health(station, i=0):
    return station.control.request("health")["health"][i]


def positions(station):
    return [station.control.request("where", model=f"iris_{i}")["state"][:3] for i in range(N)]


def until_status(page, station, condition, limit_s=60.0):
    """Waits until a condition of the simulation's own answers holds."""
    for _ in range(int(limit_s / 0.1)):
        if condition():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not so within {limit_s:g} s: {[health(station, i) for i in range(N)]}")


def armed(station):
    return [each["armed"] for each in station.control.request("health")["health"]]


def modes(station):
    return [each["mode"] for each in station.control.request("health")["health"]]


def tab(page, name):
    page.click(f"#t-{name}")
    assert page.get_attribute(f"#t-{name}", "aria-selected") == "true"


def in_air(page, station):
    """All of them at some height, whatever the test before left."""
    if not all(armed(station)) or min(p[2] for p in positions(station)) < 2.0:
        page.fill("#height", "4")
        page.click("#takeoff")
        until_status(page, station, lambda: min(p[2] for p in positions(station)) > 3.0)


def events(station):
    text = (station.folder / "events.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def events_of(station, name):
    return [event for event in events(station) if event["event"] == name]


def test_pause_step_and_speed(fly, station):
    fly.click("#pause")
    until_status(fly, station, lambda: station.control.request("status")["paused"])
    browser.until(fly, "station.status.paused")
    before = station.control.request("status")["t_us"]
    fly.click("#step")
    until_status(fly, station, lambda: station.control.request("status")["t_us"] == before + 4000)
    fly.click("#pause")
    until_status(fly, station, lambda: not station.control.request("status")["paused"])
    for speed in ("2", "1"):
        fly.select_option("#speed", speed)
        until_status(
            fly,
            station,
            lambda speed=speed: station.control.request("status")["speed"] == float(speed),
        )
    browser.until(fly, "!station.status.paused")


def test_arm_one_and_disarm_all(fly, station):
    fly.click("#vehicles li:nth-child(2) button")
    fly.click("#arm")
    until_status(fly, station, lambda: armed(station) == [False, True, False])
    fly.click("#all")
    fly.click("#disarm")
    until_status(fly, station, lambda: not any(armed(station)))


def test_refusal_is_shown_with_its_reason(fly, station):
    fly.click("#vehicles li:nth-child(1) button")
    fly.click("#mission")
    until_status(fly, station, lambda: modes(station)[0] == "AUTO.MISSION")
    fly.click("#arm")
    tab(fly, "events")
    browser.until(fly, "document.getElementById('events').innerText.includes('arm refused')")
    browser.until(fly, "document.getElementById('toast').textContent.includes('no mission')")
    fly.click("#hold")
    everything = fly.locator("#events li").count()
    fly.select_option("#level", "3")
    assert fly.locator("#events li").count() < everything
    fly.select_option("#level", "7")


def test_take_off_go_to_hold_return_and_land(fly, station):
    in_air(fly, station)
    tab(fly, "map")
    for name, value in (("x", "4"), ("y", "2"), ("z", "4")):
        fly.fill(f"#gotoform [name={name}]", value)
    fly.click("#gotoform button")
    until_status(fly, station, lambda: abs(sum(p[0] for p in positions(station)) / N - 4.0) < 0.5)
    assert max(abs(p[0] - q - 3.0) for p, q in zip(positions(station), (0.0, 3.0, 0.0))) < 1.0
    fly.select_option("#mode", "AUTO.RTL")
    fly.click("#setmode")
    until_status(fly, station, lambda: set(modes(station)) == {"AUTO.RTL"})
    fly.click("#hold")
    until_status(fly, station, lambda: set(modes(station)) == {"AUTO.LOITER"})
    fly.click("#vehicles li:nth-child(1) button")
    fly.click("#land")
    until_status(fly, station, lambda: modes(station)[0] == "AUTO.LAND")
    fly.click("#rtl")
    until_status(fly, station, lambda: modes(station)[0] == "AUTO.RTL")
    fly.click("#hold")


def test_go_to_by_click_in_view_and_map(fly, station):
    in_air(fly, station)
    fly.click("[data-view=top]")
    browser.until(fly, "station.views.name === 'top'")
    fly.click("#goto")
    fly.mouse.click(520, 260)
    browser.until(fly, "!station.going")
    browser.until(fly, "Number.isFinite(station.frame.get(0, 'set_pos', 0))")
    assert set(modes(station)) == {"AUTO.LOITER"}
    tab(fly, "map")
    before = fly.evaluate("station.frame.get(0, 'set_pos', 0)")
    fly.click("#goto")
    fly.click("#map", position={"x": 210, "y": 150})
    browser.until(fly, f"Math.abs(station.frame.get(0, 'set_pos', 0) - ({before})) > 0.3")
    fly.evaluate("station.goTo(1, 1, 4)")
    fly.click("[data-view=orbit]")


def test_click_selects_a_vehicle(fly):
    fly.click("[data-view=top]")
    fly.wait_for_timeout(300)
    x, y = fly.evaluate("""(() => {
        const p = station.fleet.pos[1].clone().project(station.views.cameras.top);
        const box = station.canvas.getBoundingClientRect();
        return [box.left + (p.x + 1) / 2 * box.width,
                box.top + (1 - p.y) / 2 * box.height]; })()""")
    fly.mouse.click(x, y)
    browser.until(fly, "station.chosen.join() === '1'")
    fly.keyboard.press("]")
    assert fly.evaluate("station.chosen.join()") == "2"
    fly.keyboard.press("Shift+A")
    assert fly.evaluate("station.chosen.length") == N
    fly.click("[data-view=orbit]")


@pytest.mark.parametrize("view", ["orbit", "chase", "fpv", "top", "split"])
def test_views(fly, view):
    fly.click(f"[data-view={view}]")
    assert fly.get_attribute(f"[data-view={view}]", "aria-checked") == "true"
    drawn = fly.evaluate("station.renderer.info.render.frame")
    browser.until(fly, f"station.renderer.info.render.frame > {drawn} + 2")
    colours = fly.evaluate(COLOURS)
    assert colours > 10
    fly.click("[data-view=orbit]")


def test_plots(fly):
    tab(fly, "plots")
    fly.select_option("#signal", "body rate x [rad/s]")
    fly.click("#addplot")
    assert fly.locator(".plot").count() == 3
    browser.until(
        fly, "station.panel.plots.plots[2].data && station.panel.plots.plots[2].data[0].length > 5"
    )
    fly.click("[data-signal='speed [m/s]'] button")
    assert fly.locator(".plot").count() == 2
    fly.click("#clearplots")
    assert fly.locator(".plot").count() == 0
    every = fly.evaluate("""Object.values(station.panel.plots.signals).map(
        (read) => typeof read(station.frame, 0))""")
    assert set(every) == {"number"} and len(every) > 30


def test_parameters(fly, station):
    tab(fly, "params")
    fly.click("#loadparams")
    browser.until(fly, "station.panel.params.params.length > 800")
    fly.fill("#filter", "MPC_LAND_SPEED")
    field = fly.locator("#params input[aria-label=MPC_LAND_SPEED]")
    field.fill("0.65")
    field.press("Enter")
    browser.until(fly, "document.getElementById('toast').textContent.includes('0.65')")
    for i in range(N):
        with_ground_station(
            i, lambda client: client.parameter("MPC_LAND_SPEED") == pytest.approx(0.65)
        )
    field.fill("99")
    field.press("Enter")
    fly.fill("#filter", "land speed")
    assert fly.locator("#params .param").count() > 0


def with_ground_station(i, check):
    client = GroundStation(i + 1)
    try:
        assert check(client)
    finally:
        client.close()


def test_wind_payload_rotor_charge_and_failures(fly, station):
    fly.click("#vehicles li:nth-child(3) button")
    tab(fly, "disturb")
    for name, value in (("e", "3"), ("n", "2"), ("u", "0.5")):
        fly.fill(f"#windform [name={name}]", value)
    fly.click("#windform button:has-text('Set wind')")
    browser.until(fly, "[3, 2, 0.5].every((x, k) => station.frame.get(0, 'wind', k) === x)")
    fly.fill("#windform [name=dryden]", "2")
    fly.click("#windform button:has-text('Set wind')")
    until_status(
        fly, station, lambda: events_of(station, "wind")[-1]["wind"] == "mean=3,2,0.5 dryden=2"
    )
    fly.click("#still")
    browser.until(fly, "station.frame.get(0, 'wind', 0) === 0")
    fly.fill("#payloadform [name=mass]", "0.2")
    fly.click("#payloadform button")
    fly.fill("#rotorform [name=rotor]", "1")
    fly.fill("#rotorform [name=share]", "0.95")
    fly.click("#rotorform button")
    until_status(
        fly,
        station,
        lambda: (
            {"payload", "rotor"}
            <= {event.get("kind") for event in events_of(station, "disturbance")}
        ),
    )
    found = {event["kind"]: event for event in events_of(station, "disturbance")}
    assert {event["vehicle"] for event in found.values()} == {"iris_2"}
    assert 0.2 in found["payload"].values() and 0.95 in found["rotor"].values()
    fly.click("#chargeform button")  # refused: these vehicles have none
    browser.until(fly, "document.getElementById('toast').textContent.includes('battery')")
    fly.select_option("#failureform select", "gps")
    fly.click("#failureform button:has-text('Fail')")
    browser.until(fly, "document.getElementById('toast').textContent.startsWith('failure: iris_2')")
    with_ground_station(2, lambda client: client.parameter("SYS_FAILURE_EN") == 1)
    fly.click("#failureform button:has-text('Repair')")


def test_reset_of_one_vehicle_while_others_fly(fly, station):
    in_air(fly, station)
    fly.click("#vehicles li:nth-child(3) button")
    fly.click("#reset")
    until_status(fly, station, lambda: positions(station)[2][2] < 0.5)
    assert positions(station)[2][:2] == pytest.approx((0.0, 3.0), abs=0.1)
    assert positions(station)[0][2] > 1.0 and armed(station)[0]
    browser.until(fly, READY)


def test_display_quality_and_theme(fly):
    tab(fly, "display")
    for name in ("trails", "names", "setpoints", "slots", "estimate", "wind", "rays", "plan"):
        before = fly.evaluate(f"station.overlays.on.{name}")
        fly.click(f"#o-{name}")
        assert fly.evaluate(f"station.overlays.on.{name}") is not before
        fly.click(f"#o-{name}")
    for level in ("1", "2", "0"):
        fly.select_option("#quality", level)
        browser.until(fly, f"station.pace.level === {level}")
    assert fly.is_disabled("#camera")  # these vehicles have none
    before = fly.get_attribute("html", "data-theme")
    fly.click("#theme")
    assert fly.get_attribute("html", "data-theme") != before
    fly.click("#theme")
    fly.click("#help")
    assert fly.is_visible("#keys")
    fly.click("#keys button")
    assert not fly.is_visible("#keys")


def test_mission_and_fence_are_loaded(fly):
    tab(fly, "map")
    fly.click("#loadplan")
    browser.until(fly, "document.getElementById('plan').textContent.includes('items')")


def test_recording_is_saved(fly, tmp_path):
    fly.click("#record")
    assert fly.get_attribute("#record", "aria-pressed") == "true"
    fly.wait_for_timeout(1500)
    with fly.expect_download() as saved:
        fly.click("#record")
    name = saved.value.suggested_filename
    saved.value.save_as(tmp_path / name)
    data = (tmp_path / name).read_bytes()
    assert re.fullmatch(r"flight_\d+s\.(mp4|webm)", name) and len(data) > 5000
    assert data[4:8] == b"ftyp" or data[:4] == b"\x1a\x45\xdf\xa3"


def test_keyboard_alone(fly, station):
    """Focus reaches the orders in their order; keys do what buttons do."""
    fly.focus("#pause")
    seen = ["pause"]
    for _ in range(60):
        fly.keyboard.press("Tab")
        seen.append(fly.evaluate("document.activeElement.id"))
        if seen[-1] == "arm":
            break
    assert seen[-1] == "arm" and {"theme", "view", "all"} <= set(seen)
    fly.keyboard.press("Tab")
    assert fly.evaluate("document.activeElement.id") == "disarm"
    fly.focus("#view")
    for key, view in zip("12345", ("orbit", "chase", "fpv", "top", "split")):
        fly.keyboard.press(key)
        assert fly.evaluate("station.views.name") == view
    fly.keyboard.press("1")
    in_air(fly, station)
    fly.focus("#view")
    fly.keyboard.press("l")
    until_status(fly, station, lambda: set(modes(station)) == {"AUTO.LAND"})
    fly.keyboard.press("h")
    until_status(fly, station, lambda: set(modes(station)) == {"AUTO.LOITER"})
    fly.keyboard.press("Space")
    until_status(fly, station, lambda: station.control.request("status")["paused"])
    browser.until(fly, "station.status.paused")
    fly.keyboard.press("Space")
    until_status(fly, station, lambda: not station.control.request("status")["paused"])
    tab(fly, "plots")
    fly.keyboard.press("ArrowRight")
    assert fly.evaluate("document.activeElement.id") == "t-map"


def test_viewers_buttons_are_dead(context, station):
    viewer, errors = browser.opened(context, station.watch_url)
    viewer.evaluate("sessionStorage.clear()")
    viewer.reload()
    viewer.wait_for_selector("body.viewer[data-ready]")
    assert viewer.is_hidden("#orders") and "token" in viewer.inner_text("#role")
    assert viewer.evaluate(
        "['p-disturb', 'p-sticks'].every((id) => document.getElementById(id).inert)"
    )
    viewer.evaluate("station.choose(0)")
    viewer.evaluate("station.order('arm')")
    browser.until(viewer, "document.getElementById('toast').textContent.includes('look')")
    viewer.close()
    assert errors == []
