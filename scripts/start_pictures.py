"""Pictures of the start page for the manual, by Debian's Chromium.

python scripts/start_pictures.py docs/images/web/start
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
from start_page import start_page

FLEET = """(() => { const place = (type, count, shape) => { start.fleet.choose(type);
    const form = document.getElementById("patterns");
    form.count.value = count; form.shape.value = shape; form.requestSubmit(); };
    start.fleet.set([]); place("iris", 4, "grid"); place("typhoon_h480", 5, "circle");
    start.form.inputs.world.value = "outdoor"; start.form.inputs.wind.value = "mean=3,1,0";
    for (const show of start.form.shows) show();
    start.form.showWorld(); start.form.changed(); start.fleet.map.fit(); })()"""
LIMIT_S = 300.0


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        start_page(Path(scratch)) as server,
        browser.browser(scratch, (1280, 800), color_scheme="dark") as context,
    ):
        take(browser.opened(context, server.url)[0], folder)


def take(page, folder):
    browser.until(page, "!document.querySelector('.nopicture')", LIMIT_S)
    page.evaluate(FLEET)
    shoot(page, folder / "form.png")
    page.select_option("#o-agent", "square")
    page.fill("#o-speed", "5")
    page.click("#start")
    browser.until(page, "document.querySelector('.job .running')", LIMIT_S)
    browser.until(page, "!document.querySelector('.job a.open').hidden")
    browser.until(page, "document.querySelector('.job .quiet').textContent.includes('simulated')")
    shoot(page, folder / "running.png")
    browser.until(page, "document.querySelector('.job .ended, .job .failed')", LIMIT_S)
    page.click("#theme")
    page.click("#t-runs")
    page.click("#runtable tbody button")
    page.click("#do-plot")
    browser.until(
        page, "document.getElementById('runsays').textContent.includes('are drawn')", LIMIT_S
    )
    page.evaluate("document.getElementById('runsays').textContent = ''; scrollTo(0, 0)")
    shoot(page, folder / "runs.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("#t-form")
    page.evaluate("scrollTo(0, 0); start.fleet.map.fit()")
    shoot(page, folder / "phone.png")


def shoot(page, path):
    page.evaluate("document.getElementById('toast').classList.remove('on')")
    page.wait_for_timeout(1500)
    page.screenshot(path=path)


if __name__ == "__main__":
    main()
