"""No single click harms the fleet: what is selected, what asks, and what the sticks say."""

import pytest
from test_web_page import (
    READY,
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

ORDERS = ["arm", "disarm", "takeoff", "land", "hold", "rtl", "mission", "reset", "kill"]
TOAST = "document.getElementById('toast').textContent"


def answer(page, yes):
    """Answers the question that is open."""
    page.click(f"#confirm button[value={'yes' if yes else 'no'}]")
    assert page.is_hidden("#confirm")


def test_nothing_is_selected_at_the_start(context, station):
    page, errors = browser.opened(context, station.url, most=8)
    browser.until(page, READY)
    assert page.evaluate("station.chosen") == []
    assert all(page.is_disabled(f"#{name}") for name in ORDERS)
    for key in "tlhr":
        page.keyboard.press(key)
    browser.until(page, f"{TOAST}.includes('select a vehicle')")
    page.evaluate("station.order('arm')")
    assert not any(armed(station))
    page.close()
    assert errors == []


def test_orders_name_their_targets(fly):  # noqa: F811
    assert fly.inner_text("#land").split() == ["Land", str(N)]
    assert fly.inner_text("#target") == f"{N} vehicles"
    fly.click("#vehicles li:nth-child(2) button")
    browser.until(fly, "document.getElementById('target').textContent === 'iris_1'")
    assert fly.inner_text("#takeoff").split() == ["Take", "off", "iris_1"]
    fly.focus("#view")
    fly.keyboard.press("Escape")
    browser.until(fly, "document.getElementById('land').disabled")


def test_reset_of_several_asks(fly, station):  # noqa: F811
    in_air(fly, station)
    fly.click("#reset")
    assert fly.inner_text("#confirm h2") == f"Reset {N}?" and "iris_2" in fly.inner_text(
        "#confirm p"
    )
    answer(fly, False)
    assert min(p[2] for p in positions(station)) > 2.0
    fly.click("#reset")
    answer(fly, True)
    until_status(fly, station, lambda: max(p[2] for p in positions(station)) < 0.5)


@pytest.mark.parametrize(
    "button", ["#failureform [value=true]", "#rotorform button", "#payloadform button"]
)
def test_disturbances_of_several_ask(fly, button):  # noqa: F811
    tab(fly, "disturb")
    fly.click(button)
    assert fly.is_visible("#confirm")
    answer(fly, False)
    assert fly.evaluate("station.panel.disturb.said ?? '[]'") == "[]"


def test_what_is_disturbed_is_listed_and_ended(fly, station):  # noqa: F811
    tab(fly, "disturb")
    assert fly.is_visible("#calm")
    fly.click("#vehicles li:nth-child(3) button")
    fly.fill("#rotorform [name=rotor]", "1")
    fly.fill("#rotorform [name=share]", "0.9")
    fly.click("#rotorform button")
    fly.click("#payloadform button")
    fly.select_option("#failureform select", "barometer")
    fly.click("#failureform [value=true]")
    fly.click("#windform button:has-text('Set wind')")
    browser.until(fly, "document.querySelectorAll('#disturbances li').length === 4")
    said = fly.inner_text("#disturbances")
    for words in ("4.0", "payload of 0.3 kg", "rotor 1 gives 90 %", "barometer has failed"):
        assert words in said
    assert fly.inner_text("#t-disturb") == "Disturb 4"
    for left in range(3, -1, -1):
        fly.click("#disturbances button >> nth=0")
        browser.until(fly, f"document.querySelectorAll('#disturbances li').length === {left}")
    assert fly.is_visible("#calm")
    answered = station.control.request("disturbed")
    assert answered["disturbances"] == [] and answered["wind"] == [0, 0, 0]


def test_kill_asks_and_stops_the_motors(fly, station):  # noqa: F811
    """In the air: it falls, has crashed, and says so; a reset brings it back."""
    in_air(fly, station)
    fly.click("#vehicles li:nth-child(2) button")
    fly.click("#kill")
    answer(fly, False)
    assert armed(station)[1]
    fly.click("#kill")
    answer(fly, True)
    until_status(fly, station, lambda: not armed(station)[1])
    browser.until(fly, "station.frame.get(1, 'crashed')")
    chip = "document.querySelector('#vehicles li:nth-child(2) .chip').textContent"
    browser.until(fly, f"{chip} === 'crashed'")
    assert "crashed" in fly.evaluate("station.warning(1)")
    assert armed(station)[0] and not fly.evaluate("station.frame.get(0, 'crashed')")
    fly.click("#reset")
    browser.until(fly, "!station.frame.get(1, 'crashed')")
    browser.until(fly, f"{chip} !== 'crashed'")


def test_sticks_without_a_gamepad_do_not_take_over(fly):  # noqa: F811
    fly.evaluate("navigator.getGamepads = () => []")
    tab(fly, "sticks")
    fly.select_option("#input", "gamepad")
    fly.click("#vehicles li:nth-child(1) button")
    fly.click("#fly")
    browser.until(fly, f"{TOAST}.includes('No gamepad')")
    assert not fly.evaluate("station.steering")
    browser.until(fly, "document.getElementById('stickstate').textContent.includes('No gamepad')")


def test_sticks_fly_one_selected_vehicle(fly):  # noqa: F811
    tab(fly, "sticks")
    fly.evaluate(GAMEPAD)
    fly.click("#fly")
    browser.until(fly, f"{TOAST}.includes('select the one vehicle')")
    assert not fly.evaluate("station.steering")


def test_buttons_of_the_gamepad_order_the_vehicle_that_flies(fly, station):  # noqa: F811
    in_air(fly, station)
    tab(fly, "sticks")
    fly.evaluate(GAMEPAD)
    fly.click("#vehicles li:nth-child(1) button")
    fly.click("#fly")
    fly.click("#all")
    fly.evaluate("gamepad.buttons[1].pressed = true")
    until_status(fly, station, lambda: modes(station)[0] == "AUTO.LAND")
    assert set(modes(station)[1:]) == {"AUTO.LOITER"}
    fly.evaluate("gamepad.buttons[1].pressed = false")
    fly.click("#fly")
    fly.click("#hold")


def test_the_sticks_panel_offers_what_is_missing(fly, station):  # noqa: F811
    """Take-off, then POSCTL, then the dead-man key; the reason is said before each."""
    says = "document.querySelector('#stickstate span').textContent"
    fly.evaluate("station.control('reset', { vehicles: [0, 1, 2] })")
    until_status(fly, station, lambda: not any(armed(station)))
    browser.until(fly, READY)
    tab(fly, "sticks")
    fly.select_option("#input", "keyboard")
    fly.click("#vehicles li:nth-child(1) button")
    fly.fill("#height", "4")
    fly.click("#fly")
    browser.until(fly, f"{says} === 'iris_0 is disarmed.'")
    fly.click("#stickhelp")
    until_status(fly, station, lambda: positions(station)[0][2] > 2.0)
    browser.until(fly, f"{says}.includes('takes no sticks')")
    fly.click("#stickhelp")
    until_status(fly, station, lambda: modes(station)[0] == "POSCTL")
    browser.until(fly, f"{says}.includes('Shift is let go')")
    fly.focus("#view")
    fly.keyboard.down("Shift")
    browser.until(fly, f"{says} === 'The sticks fly iris_0 in POSCTL.'")
    slow_page_keeps_control(fly, station)
    fly.keyboard.up("Shift")
    fly.click("#fly")
    until_status(fly, station, lambda: modes(station)[0] == "AUTO.LOITER")


def slow_page_keeps_control(page, station):
    """A page that stops for most of each second: sticks are centred meanwhile, the mode stays."""
    for _ in range(3):
        page.evaluate("const end = performance.now() + 900; while (performance.now() < end);")
        assert modes(station)[0] == "POSCTL"
        page.wait_for_timeout(100)
    said = (
        "station.panel.events.events.filter(({ text }) => text.includes('sticks are late')).length"
    )
    browser.until(page, f"{said} > 0")
    assert modes(station)[0] == "POSCTL"
