"""The page of a replay in a browser: bar, speed, keys, events, and two recordings compared."""

from pathlib import Path

import pytest

import axe
import browser
import recorded_flights

pytestmark = pytest.mark.long
PX4_LOG = Path(__file__).parents[1] / "data" / "px4_hover.ulg"
T = "station.frame.t"
PICTURES = 12  # a second, at most


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replayed")
    return [
        recorded_flights.fly(folder / name, 16.0, vehicles="iris*1", wind=wind)
        for name, wind in (("calm", "0,0,0"), ("windy", "5,0,0"))
    ]


@pytest.fixture(scope="module")
def compared(context, runs):
    """The page of two runs."""
    with recorded_flights.replaying(*runs) as running:
        page, errors = browser.opened(context, running.url, PICTURES)
        page.evaluate("station.pace.choose('0')")
        yield page
        assert errors == []
        page.close()


@pytest.fixture
def still(compared):
    """The same, paused at 8 s."""
    if not compared.evaluate("station.status.paused"):
        compared.click("#play")
    browser.until(compared, "station.status.paused")
    compared.evaluate("station.replay.seek(8, true)")
    browser.until(compared, f"{T} === 8")
    return compared


def drag(page, share, steps=8):
    """Drags the handle of the bar to a share of its width."""
    box = page.query_selector("#seek").bounding_box()
    at = page.evaluate(
        "(() => { const b = document.getElementById('seek');"
        "return (b.value - b.min) / (b.max - b.min); })()"
    )
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8 + at * (box["width"] - 16), y)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + share * (box["width"] - 16), y, steps=steps)
    page.mouse.up()


def test_bar_is_dragged_and_trail_and_plots_are_there(still):
    drag(still, 0.8)
    browser.until(still, f"Math.abs({T} - 12.8) < 0.4")
    browser.until(still, "station.overlays.past[0].length > 50")
    # The past of the new place comes when the handle is let go.
    browser.until(still, "station.panel.plots.plots[0].data[0].length > 100")
    times = "station.panel.plots.plots[0].data[0]"
    span = still.evaluate(f"[{times}[0], {times}.at(-1)]")
    assert span[0] < 1.0 and abs(span[1] - 12.8) < 0.5
    assert still.evaluate("station.status.paused")
    shown = still.inner_text("#clock")
    assert shown.endswith("of 16.0 s") and abs(float(shown.split()[0]) - 12.8) < 0.4


def test_plays_at_the_chosen_speed(still):
    still.select_option("#pace", "4")
    browser.until(still, "station.status.speed === 4")
    still.click("#play")
    browser.until(still, f"{T} > 9")
    begin = still.evaluate(f"[{T}, performance.now()]")
    browser.until(still, f"{T} > 13")
    end = still.evaluate(f"[{T}, performance.now()]")
    factor = 1000 * (end[0] - begin[0]) / (end[1] - begin[1])
    assert 3.0 < factor < 5.0
    still.select_option("#pace", "1")


def test_keys(still):
    still.focus("#view")
    for key, t in (
        ("ArrowRight", 8.1),
        ("Shift+ArrowRight", 13.1),
        ("ArrowLeft", 13.0),
        ("Home", 0.02),
        ("End", 16.0),
    ):
        still.keyboard.press(key)
        browser.until(still, f"Math.abs({T} - {t}) < 0.05")
    still.keyboard.press("ArrowUp")
    browser.until(still, "station.status.speed === 2")
    still.keyboard.press("ArrowDown")
    browser.until(still, "station.status.speed === 1")
    still.keyboard.press("Home")
    still.keyboard.press("Space")
    browser.until(still, f"!station.status.paused && {T} > 0.3 && {T} < 5")
    still.keyboard.press("Space")
    browser.until(still, "station.status.paused")


def test_events_come_as_time_passes(still):
    still.click("#t-events")
    still.evaluate("station.replay.seek(1, true)")
    browser.until(still, f"{T} === 1")
    assert still.evaluate("document.querySelectorAll('#events li').length") == 0
    still.evaluate("station.replay.seek(15.9, true)")
    browser.until(still, "document.querySelectorAll('#events li').length > 3")
    text = still.inner_text("#events")
    assert "Takeoff detected" in text and "iris_0 (windy)" in text
    assert still.evaluate("document.querySelectorAll('#marks i').length") > 3
    still.evaluate("station.replay.seek(1, true)")
    browser.until(still, "document.querySelectorAll('#events li').length === 0")
    still.click("#t-plots")


def test_second_recording_is_translucent_and_its_distance_plotted(still):
    still.evaluate("station.replay.seek(15, true)")
    browser.until(still, f"{T} === 15")
    assert still.evaluate("station.frame.n") == 2
    ghosts = "station.fleet.parts.filter((p) => p.ghost)"
    assert still.evaluate(f"{ghosts}.length > 0 && {ghosts}.every((p) => p.best.opacity < 0.6)")
    assert still.evaluate("station.scene.vehicles.map((v) => v.twin ?? -1)") == [-1, 0]
    plot = "station.panel.plots.plots.find((p) => p.name.startsWith('distance'))"
    distance = still.evaluate(f"{plot}.data[1].at(-1)")
    expected = still.evaluate(
        "Math.hypot(...[0, 1, 2].map((k) => station.frame.get(0, 'pos', k)"
        " - station.frame.get(1, 'pos', k)))"
    )
    assert distance == pytest.approx(expected, abs=0.05) and distance > 0.02
    assert still.evaluate(f"{plot}.data[2].at(-1)") is None


def test_orders_are_hidden_with_the_reason(still):
    for name in ("#orders", "#t-disturb", "#t-sticks", "#t-params", "#pause", "#gotoform"):
        assert not still.is_visible(name), name
    still.keyboard.press("?")
    keys = still.inner_text("#keys")
    assert "play, pause" in keys and "take off" not in keys
    still.click("#keys button")
    assert "a recording takes no orders" in still.inner_text("#recorded")
    still.focus("#view")
    still.keyboard.press("t")
    browser.until(still, "document.getElementById('toast').textContent.includes('no orders')")


@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_axe_finds_nothing_on_a_replay(still, size):
    still.set_viewport_size({"width": size[0], "height": size[1]})
    for theme in ("light", "dark"):
        still.evaluate(f"station.setTheme('{theme}')")
        for panel in ("", "plots", "map", "events", "display"):
            still.evaluate(f"station.panels.show('{panel}')")
            still.wait_for_timeout(150)
            assert axe.violations(still) == [], (theme, panel)
    still.set_viewport_size({"width": 1000, "height": 640})


def test_log_of_real_px4(context):
    # Beside the page of the two runs, which has the port of this process's own instance.
    with recorded_flights.replaying(PX4_LOG, "--from", "20", "--instance", "3") as running:
        page, errors = browser.opened(context, running.url)
        browser.until(page, f"{T} > 20.2 && station.frame.get(0, 'pos', 2) > 1")
        assert "ULog px4_hover.ulg, true poses" in page.inner_text("#recorded")
        page.close()
    assert [error for error in errors if "WebSocket" not in error] == []
