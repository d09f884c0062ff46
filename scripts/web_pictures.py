"""Pictures of the browser station for the manual, by Debian's Chromium: starts a flight itself.

    python scripts/web_pictures.py docs/images/web
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
from web_simulation import serving

FLIGHT = "--n", "9", "--world", "outdoor", "--wind", "3,1,0"
READY = "[...Array(station.frame.n).keys()].every((i) => station.frame.get(i, 'ready'))"


def view(name):
    return f"document.querySelector('[data-view={name}]').click();"


def tab(name):
    return f"document.getElementById('t-{name}').click();"


THEME = "document.getElementById('theme').click();"
# Name of each picture, and what is done before it.
PICTURES = {
    "orbit": "station.goTo(10, 6)",
    "chase": view("chase") + "station.goTo(4, 4); station.choose(4);",
    "fpv": view("fpv"),
    "top": view("top") + tab("map") + "station.chooseAll(); station.goTo(8, 2);",
    "split": view("split") + THEME + "station.choose(4);",
    "params": view("orbit") + tab("params") + THEME
              + "document.getElementById('loadparams').click();",
    "sticks": tab("sticks")}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, serving(Path(scratch), *FLIGHT) as flight, \
                browser.browser(scratch, (1280, 720), color_scheme="light") as context:
        take(browser.opened(context, flight.url)[0], folder)


def take(page, folder):
    page.evaluate("station.pace.choose('2')")
    browser.until(page, READY)
    page.click("#takeoff")
    browser.until(page, "station.frame.get(0, 'pos', 2) > 4.5")
    for name, before in PICTURES.items():
        page.evaluate(before)
        if name == "params":
            browser.until(page, "station.params.params.length > 0")
            page.fill("#filter", "MPC_XY")
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / f"{name}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate(view("chase") + "station.panels.show('');")
    page.wait_for_timeout(3000)
    page.screenshot(path=folder / "phone.png")


if __name__ == "__main__":
    main()
