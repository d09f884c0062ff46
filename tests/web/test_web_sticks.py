"""Sticks of the gamepad, the keyboard and the touch screen; what happens when they stop."""

import math

import pytest
from test_web_page import (
    N,
    armed,
    fly,  # noqa: F401
    in_air,
    modes,
    positions,
    tab,
    until_status,
)

import browser
from stick_pilot import GAMEPAD

pytestmark = pytest.mark.long


@pytest.fixture
def sticks(fly, station):  # noqa: F811
    """The first vehicle in the air, the panel of the sticks open."""
    in_air(fly, station)
    fly.evaluate("station.goTo(1, 1, 6)")
    fly.click("#vehicles li:nth-child(1) button")
    tab(fly, "sticks")
    fly.evaluate(GAMEPAD)
    yield fly
    if fly.evaluate("station.panel.sticks.on"):
        fly.click("#fly")


ROLL = """(() => { const [x, y, z, w] = [0, 1, 2, 3].map((k) => station.frame.get(0, 'quat', k));
    return Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)); })()"""  # whatever the heading


def moved(station, begin, far):
    """Whether the first vehicle is so far from where it began, over ground [m]."""
    now = positions(station)[0]
    return math.hypot(now[0] - begin[0], now[1] - begin[1]) > far


def to_mode(page, station, mode):
    page.click(f"#stickmodes [data-mode={mode}]")
    until_status(page, station, lambda: modes(station)[0] == mode)


def test_gamepad_flies_and_the_dead_man_button_holds(sticks, station):
    sticks.select_option("#input", "gamepad")
    sticks.click("#fly")
    sticks.evaluate("gamepad.buttons[4].pressed = true")
    to_mode(sticks, station, "POSCTL")
    begin = positions(station)[0]
    sticks.evaluate("gamepad.axes[3] = -1")
    until_status(sticks, station, lambda: moved(station, begin, 2.0))
    browser.until(sticks, "station.frame.latency[3] > 100")
    newest, median, p99, _ = sticks.evaluate("station.frame.latency")
    assert 0.0 < median <= p99 and math.isfinite(newest)
    browser.until(sticks, "document.getElementById('latency').textContent.includes('ms')")
    sticks.evaluate("gamepad.buttons[4].pressed = false")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
    assert modes(station)[1:] == ["AUTO.LOITER"] * (N - 1)


def test_gamepad_in_a_process_of_its_own(sticks, station):
    sticks.evaluate("navigator.getGamepads = () => []")
    sticks.select_option("#input", "gamepad")
    frame = browser.gamepad_frame(sticks)
    frame.evaluate(GAMEPAD)
    browser.until(sticks, "station.panel.sticks.framed")
    sticks.click("#fly")
    frame.evaluate("gamepad.buttons[4].pressed = true")
    to_mode(sticks, station, "POSCTL")
    begin = positions(station)[0]
    frame.evaluate("gamepad.axes[3] = -1")
    until_status(sticks, station, lambda: moved(station, begin, 2.0))
    assert sticks.evaluate("station.panel.sticks.values.pitch") == 1.0  # as the page shows it
    frame.evaluate("gamepad.buttons[2].pressed = true")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.RTL")
    frame.evaluate("gamepad.axes[3] = 0")
    to_mode(sticks, station, "POSCTL")
    frame.evaluate("gamepad.buttons[4].pressed = false")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
    frame.evaluate("navigator.getGamepads = () => []")  # unplugged
    browser.until(sticks, "!station.panel.sticks.framed")


def test_modes_of_the_sticks(sticks, station):
    sticks.select_option("#input", "gamepad")
    sticks.click("#fly")
    sticks.evaluate("gamepad.buttons[4].pressed = true")
    for mode in ("POSCTL", "ALTCTL", "STABILIZED", "ACRO"):
        to_mode(sticks, station, mode)
    sticks.evaluate("gamepad.buttons[4].pressed = false")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
    assert armed(station)[0]


def test_fewer_pictures_while_sticks_fly_without_a_graphics_card(sticks):
    drawn = """async (ms) => { const begin = station.renderer.info.render.frame;
        await new Promise((done) => setTimeout(done, ms));
        return (station.renderer.info.render.frame - begin) / ms * 1000; }"""
    sticks.click("#fly")
    sticks.evaluate("station.pace.choose('0')")
    assert 5 < sticks.evaluate(drawn, 2000) <= 32
    sticks.evaluate("station.pace.choose('1')")
    assert not sticks.evaluate("station.pace.sparing")
    sticks.evaluate("station.pace.choose('0')")
    assert sticks.evaluate("station.pace.sparing")
    sticks.click("#fly")
    assert not sticks.evaluate("station.pace.sparing")


def test_buttons_of_the_gamepad(sticks, station):
    sticks.click("#fly")
    sticks.evaluate("gamepad.buttons[2].pressed = true")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.RTL")
    sticks.evaluate("gamepad.buttons[2].pressed = false")
    sticks.click("#hold")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")


def test_keyboard_sticks(sticks, station):
    sticks.select_option("#input", "keyboard")
    sticks.click("#fly")
    sticks.keyboard.down("Shift")
    to_mode(sticks, station, "POSCTL")
    begin = positions(station)[0]
    sticks.keyboard.down("ArrowLeft")
    until_status(sticks, station, lambda: moved(station, begin, 1.5))
    sticks.keyboard.up("ArrowLeft")
    sticks.keyboard.up("Shift")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")


def test_touch_sticks(sticks, station):
    sticks.select_option("#input", "touch")
    sticks.click("#fly")
    box = sticks.locator("[data-stick=right]").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    sticks.mouse.move(x, y)
    sticks.mouse.down()
    sticks.evaluate("station.order('mode', { mode: 'POSCTL' })")
    until_status(sticks, station, lambda: modes(station)[0] == "POSCTL")
    begin = positions(station)[0]
    sticks.mouse.move(x, y - 50)
    until_status(sticks, station, lambda: moved(station, begin, 1.5))
    sticks.mouse.up()
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
    sticks.click("#fly")
    assert sticks.is_hidden("#touch")


def test_keyboard_sticks_in_stabilized_and_acro(sticks, station):
    sticks.select_option("#input", "keyboard")
    sticks.click("#fly")
    sticks.keyboard.down("Shift")
    to_mode(sticks, station, "STABILIZED")
    sticks.keyboard.down("ArrowRight")  # leans to the right while the key is held
    browser.until(sticks, f"{ROLL} > 0.15")
    sticks.keyboard.up("ArrowRight")
    browser.until(sticks, f"Math.abs({ROLL}) < 0.08")
    to_mode(sticks, station, "ACRO")
    sticks.keyboard.down("d")  # turns to the right at a rate
    browser.until(sticks, "station.frame.get(0, 'rates', 2) < -0.3")
    sticks.keyboard.up("d")
    sticks.keyboard.up("Shift")
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
    assert armed(station)[0] and positions(station)[0][2] > 1.0


def test_touch_sticks_on_a_phone(sticks, station):
    sticks.set_viewport_size({"width": 390, "height": 844})
    try:
        sticks.select_option("#input", "touch")
        sticks.click("#fly")
        assert sticks.is_hidden("#p-sticks")  # room for the sticks
        boxes = []
        for stick in ("left", "right"):
            box = sticks.locator(f"[data-stick={stick}]").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390
            boxes.append(box)
        orders = sticks.locator("#orders").bounding_box()
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        assert all(box["y"] + box["height"] <= orders["y"] for box in boxes)
        x, y = boxes[0]["x"] + boxes[0]["width"] / 2, boxes[0]["y"] + boxes[0]["height"] / 2
        sticks.mouse.move(x, y)
        sticks.mouse.down()
        sticks.evaluate("station.order('mode', { mode: 'POSCTL' })")
        until_status(sticks, station, lambda: modes(station)[0] == "POSCTL")
        before = positions(station)[0][2]
        sticks.mouse.move(x, y - 55)  # climbs
        until_status(sticks, station, lambda: positions(station)[0][2] > before + 1.0)
        sticks.mouse.up()
        until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
        sticks.evaluate("station.panel.sticks.toggle()")
    finally:
        sticks.set_viewport_size({"width": 1000, "height": 640})


def test_a_page_that_closes_lets_its_vehicle_hold(sticks, station, context):
    other, errors = browser.opened(context, station.url)
    other.evaluate(GAMEPAD)
    other.click("#vehicles li:nth-child(1) button")
    other.click("#t-sticks")
    other.click("#fly")
    other.evaluate("gamepad.buttons[4].pressed = true")
    to_mode(other, station, "POSCTL")
    other.close()
    until_status(sticks, station, lambda: modes(station)[0] == "AUTO.LOITER")
    browser.until(
        sticks,
        "station.panel.events.events.some((event) => event.text.includes('holds its position'))",
    )
    assert errors == []


def test_calibration_and_mapping(sticks):
    sticks.select_option("#input", "gamepad")
    sticks.click("#calibrate")
    for x in (-0.5, 0.7, 0.1):
        sticks.evaluate(f"gamepad.axes[2] = {x}")
        browser.until(
            sticks, f"station.panel.sticks.ranges[2] && station.panel.sticks.ranges[2][2] === {x}"
        )
    sticks.click("#calibrate")
    assert sticks.evaluate("station.panel.sticks.store.ranges[2]") == [-0.5, 0.7, 0.1]
    sticks.evaluate("gamepad.axes[2] = 0.7")
    browser.until(sticks, "station.panel.sticks.values.roll === 1")
    before = sticks.evaluate("station.panel.sticks.store.mapping")
    for k, name in enumerate(before):
        sticks.select_option(f"#mapping select[aria-label='axis of {name}']", "5")
        assert sticks.evaluate(f"station.panel.sticks.store.mapping.{name}.axis") == 5
        sticks.locator("#mapping input").nth(k).click()
        assert (
            sticks.evaluate(f"station.panel.sticks.store.mapping.{name}.invert")
            is not before[name]["invert"]
        )
    sticks.click("#deadman")
    assert sticks.evaluate("station.panel.sticks.store.deadman") is False
    sticks.click("#deadman")
    sticks.click("#defaults")
    assert sticks.evaluate("station.panel.sticks.store.mapping") == before
