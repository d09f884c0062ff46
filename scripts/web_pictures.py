"""Pictures of the browser station for the manual, by Debian's Chromium: starts a flight itself.

python scripts/web_pictures.py docs/images/web
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
from web_simulation import serving

RACE = "--track", "eight", "--world", "outdoor", "--gps", "rtk"
FLIGHT = "--n", "9", "--world", "outdoor", "--wind", "3,1,0"
READY = "[...Array(station.frame.n).keys()].every((i) => station.frame.get(i, 'ready'))"


def view(name):
    return f"document.querySelector('[data-view={name}]').click();"


def tab(name):
    return f"document.getElementById('t-{name}').click();"


THEME = "document.getElementById('theme').click();"
# Name of each picture, and what is done before it.
PICTURES = {
    "orbit": "station.chooseAll(); station.goTo(10, 6)",
    "chase": view("chase") + "station.goTo(4, 4); station.choose(4);",
    "fpv": view("fpv"),
    "top": view("top") + tab("map") + "station.chooseAll(); station.goTo(8, 2);",
    "split": view("split") + THEME + "station.choose(4);",
    "params": view("orbit")
    + tab("params")
    + THEME
    + "document.getElementById('loadparams').click();",
    "sticks": tab("sticks"),
}


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        serving(Path(scratch), *FLIGHT) as flight,
        browser.browser(scratch, (1280, 720), color_scheme="light") as context,
    ):
        take(browser.opened(context, flight.url)[0], folder)
    with tempfile.TemporaryDirectory() as scratch:
        race(Path(scratch), folder)
    with (
        tempfile.TemporaryDirectory() as scratch,
        serving(
            Path(scratch), "--n", "9", "--speed", "1", "--gps", "rtk", command=("fly", "formation")
        ) as flight,
        browser.browser(scratch, (1280, 720), color_scheme="light") as context,
    ):
        page = browser.opened(context, flight.url)[0]
        page.evaluate("station.pace.choose('2'); station.choose(4);")
        browser.until(page, "Number.isFinite(station.frame.get(4, 'slot', 0))", 120.0)
        page.evaluate("station.panel.plots.add('slot error [m]');" + view("orbit"))
        page.wait_for_timeout(9000)
        page.evaluate("station.views.frame()")
        page.wait_for_timeout(1000)
        page.screenshot(path=folder / "slots.png")


def race(scratch, folder):
    """A lap behind the ghost of a quicker one."""
    subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", "fly", "race", *RACE, "--name", "quicker"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XTDRONE_RUNS": str(scratch)},
    )
    with (
        serving(
            scratch,
            *RACE,
            "--ghost",
            "quicker",
            "--speed",
            "1",
            "--set",
            "speed=4.6",
            command=("fly", "race"),
        ) as flight,
        browser.browser(scratch, (1280, 720), color_scheme="light") as context,
    ):
        page = browser.opened(context, flight.url)[0]
        page.evaluate("station.pace.choose('2');" + view("chase") + tab("race"))
        browser.until(
            page,
            "station.panel.race.state && station.panel.race.state.vehicles[0].lap === 2 "
            "&& station.panel.race.state.vehicles[0].next === 2",
            300.0,
        )
        page.wait_for_timeout(500)
        page.screenshot(path=folder / "race.png")


def take(page, folder):
    page.evaluate("station.pace.choose('2')")
    browser.until(page, READY)
    page.evaluate("station.chooseAll(); station.takeOff()")
    browser.until(page, "station.frame.get(0, 'pos', 2) > 4.5")
    for name, before in PICTURES.items():
        page.evaluate(before)
        if name == "params":
            browser.until(page, "station.panel.params.params.length > 0")
            page.fill("#filter", "MPC_XY")
        page.wait_for_timeout(3000)
        page.screenshot(path=folder / f"{name}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    page.evaluate(view("chase") + "station.panels.show('');")
    page.wait_for_timeout(3000)
    page.screenshot(path=folder / "phone.png")


if __name__ == "__main__":
    main()
