"""Where everything stands at each size of a page, and what axe-core says of it."""

from urllib.parse import quote

import pytest
from test_web_page import READY, tab

import axe
import browser
import tuning_server
from start_page import start_page

pytestmark = pytest.mark.long

SIZES = [(1440, 900), (1024, 768), (390, 844)]
PANELS = ["plots", "map", "params", "events", "disturb", "sticks", "display"]
RECTANGLES = """Object.fromEntries(["top", "fleet", "stage", "side", "orders"].map((id) => {
    const { left, top, right, bottom } = document.getElementById(id).getBoundingClientRect();
    return [id, [left, top, right, bottom]]; }))"""
HIDDEN = """[...document.querySelectorAll("#orders button")].filter((button) => {
    const { left, top, right, bottom } = button.getBoundingClientRect();
    const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return !button.contains(seen); }).map(({ id }) => id)"""


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def sized(request, page):
    """The pilot's page at a size."""
    browser.until(page, READY)
    width, height = request.param
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate("station.chooseAll(); station.toolbars.aim()")
    page.wait_for_timeout(300)
    yield page
    page.set_viewport_size({"width": 1000, "height": 640})


def apart(a, b):
    """Whether two rectangles have no point in common."""
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@pytest.mark.parametrize("panel", ["", *PANELS])
def test_no_panel_covers_the_view(sized, panel):
    """Nor an order, of which all can be pressed meanwhile; nothing is wider than the page."""
    sized.evaluate(f"station.panels.show('{panel}')")
    sized.wait_for_timeout(100)
    boxes = sized.evaluate(RECTANGLES)
    for name, box in boxes.items():
        assert all(apart(box, other) for each, other in boxes.items() if each != name), name
    assert sized.evaluate(HIDDEN) == []
    left, top, right, bottom = boxes["stage"]
    assert right - left >= 380 and bottom - top >= 110
    assert sized.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if panel:
        assert sized.is_visible(f"#panels #p-{panel}")


def test_a_toast_leaves_the_horizon_free(sized):
    sized.evaluate("station.panels.show('plots')")
    if sized.is_visible("#hide"):
        sized.click("#hide")
    else:
        sized.click("#t-plots")
    assert sized.is_hidden("#p-plots")
    sized.evaluate("station.say('x '.repeat(200))")
    box = sized.locator("#toast").bounding_box()
    stage = sized.evaluate(RECTANGLES)["stage"]
    toast = [box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]]
    x, y = (stage[0] + stage[2]) / 2, stage[3]
    assert apart(toast, [x - 130, y - 170, x + 130, y])
    assert stage[0] <= toast[0] and toast[2] <= stage[2] and toast[1] >= stage[1]


def test_height_is_zero_on_the_ground_and_every_field_has_a_unit(page):
    browser.until(page, READY)
    small = page.evaluate(
        "[...document.querySelectorAll('#vehicles small')].map((e) => e.innerText)"
    )
    assert all("0.0 m" in text and "LOITER" in text for text in small)
    bare = page.evaluate("""[...document.querySelectorAll("input[type=number]")].filter((input) =>
        !input.closest("#params") && !/(m|kg|of 1|from 0|m.s)\\s*$/.test(
            input.closest("label")?.textContent.trim() ?? "")).map(({ id, name }) => id || name)""")
    assert bare == []


def test_empty_lists_say_what_will_be_there(page):
    for name, note in (("params", "noparams"), ("disturb", "calm"), ("display", "nocamera")):
        tab(page, name)
        assert len(page.inner_text(f"#{note}")) > 30
    tab(page, "plots")
    page.click("#clearplots")
    assert "Add plot" in page.inner_text("#noplots")
    page.evaluate("station.panel.plots.add('speed [m/s]')")
    assert page.is_hidden("#noplots")


@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_nothing_on_the_station(sized, theme):
    sized.evaluate(f"station.setTheme('{theme}')")
    for panel in ("", *PANELS):
        sized.evaluate(f"station.panels.show('{panel}')")
        sized.wait_for_timeout(150)
        assert axe.violations(sized) == [], panel
    sized.evaluate("() => { station.reset(); }")  # not awaited: it asks first
    sized.wait_for_selector("#confirm")
    assert axe.violations(sized) == []
    sized.click("#confirm [value=no]")


@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
def test_axe_finds_nothing_for_a_viewer(context, station):
    viewer, errors = browser.opened(context, station.watch_url)
    for panel in PANELS:
        viewer.evaluate(f"station.panels.show('{panel}')")
        assert axe.violations(viewer) == [], panel
    viewer.close()
    assert errors == []


@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_axe_finds_nothing_on_the_start_page(context, tmp_path, size):
    with start_page(tmp_path) as server:
        page, errors = browser.opened(context, server.url)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        for theme in ("dark", "light"):
            page.evaluate(f"start.theme('{theme}')")
            for name in ("form", "jobs", "shelf", "runs"):
                page.click(f"#t-{name}")
                page.wait_for_timeout(200)
                assert axe.violations(page) == [], (theme, name)
        page.close()
    assert errors == []


@pytest.mark.skipif(bool(axe.missing()), reason=axe.missing())
def test_axe_finds_nothing_on_the_tuning_page(context, tmp_path):
    with tuning_server.serving(tmp_path) as server:
        page = context.new_page()
        page.goto(server.url)
        page.wait_for_selector("body[data-ready]")
        for theme in ("dark", "light"):
            if page.get_attribute("html", "data-theme") != theme:
                page.click("#theme")
            assert axe.violations(page) == [], theme
        page.close()


def test_a_way_back_to_the_start_page(context, station):
    """The start page's own link, and no link of another machine."""
    page, errors = browser.opened(context, station.url)
    assert page.is_hidden("#back")
    page.close()
    for given, shown in (
        ("http://127.0.0.1:14911/#token=abc", True),
        ("http://example.org/", False),
    ):
        page, more = browser.opened(context, f"{station.url}&back={quote(given, safe='')}")
        assert page.is_visible("#back") is shown
        if shown:
            assert page.get_attribute("#back", "href") == given
        assert "token" not in page.url
        page.close()
        errors += more
    assert errors == []
