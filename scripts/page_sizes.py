"""Pictures of each page at three sizes of a screen for the manual, by Debian's Chromium.

python scripts/page_sizes.py docs/images/web/sizes
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
import tuning_server
from recorded_flights import replaying
from start_page import start_page
from web_simulation import serving

SIZES = (1440, 900), (1024, 768), (390, 844)
READY = "[...Array(station.frame.n).keys()].every((i) => station.frame.get(i, 'ready'))"
# Name of a picture of the station, and what is done before it.
STATION = {
    "station": "station.chooseAll(); station.panels.show(innerWidth < 821 ? '' : 'plots');",
    "disturb": "station.choose(4); station.panels.show('disturb');",
    "sticks": "station.choose(4); station.panels.show('sticks');",
    "split": "station.choose(4); station.panels.show(''); station.setView('split');",
}


def main():
    """Takes all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        fly(scratch / "runs")
        with browser.browser(scratch, SIZES[0], color_scheme="light") as context:
            station(context, scratch, folder)
            replay(context, scratch / "runs", folder)
            start(context, scratch, folder)
            tuning(context, scratch, folder)


def fly(runs):
    """Flies what is replayed, and listed by the start page."""
    subprocess.run(
        [sys.executable, "-m", "xtdrone_core.command", "fly", "square", "--n", "2"]
        + ["--name", "square"],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XTDRONE_RUNS": str(runs)},
    )


def station(context, scratch, folder):
    """A flight of nine, one of them with a payload and a failed barometer."""
    with serving(scratch, "--n", "9", "--world", "outdoor") as flight:
        page = browser.opened(context, flight.url)[0]
        page.evaluate("station.pace.choose('0')")
        browser.until(page, READY, 300.0)
        page.evaluate("station.chooseAll(); station.takeOff()")
        browser.until(page, "station.frame.get(0, 'height') > 4.5", 300.0)
        for text in ("payload iris_4 0.2", "rotor iris_4 1 0.9"):
            page.evaluate(f"station.connection.ask('disturb', {{ disturbance: '{text}' }})")
        for name, before in STATION.items():
            shoot(page, folder, name, before, 3000)
        page.close()


def replay(context, runs, folder):
    """The flight along the square, in the middle."""
    with replaying("square", XTDRONE_RUNS=str(runs)) as running:
        page = browser.opened(context, running.url)[0]
        page.evaluate("station.pace.choose('0'); station.replay.seek(20, true)")
        shoot(page, folder, "replay", "station.choose(1)", 2000)
        page.close()


def start(context, scratch, folder):
    """Five vehicles in a cube, which is refused, and what was flown."""
    with start_page(scratch) as server:
        page = browser.opened(context, server.url)[0]
        page.wait_for_timeout(20_000)  # for pictures of the types and worlds
        page.evaluate(
            "document.querySelector('#patterns [name=count]').value = 5;"
            "document.querySelector('#patterns [value=place]').click()"
        )
        page.select_option("#o-agent", "formation")
        browser.until(
            page, "document.querySelector('[data-field=\"set.formations\"] .refusal').textContent"
        )
        for name, act in (
            ("form", ""),
            ("runs", "document.querySelector('#runtable button').click()"),
        ):
            page.click(f"#t-{name}")
            page.wait_for_timeout(1500)
            shoot(page, folder, f"start_{name}", act, 800)
        page.close()


def tuning(context, scratch, folder):
    """The page of gains, before a search."""
    with tuning_server.serving(scratch / "runs") as server:
        page = context.new_page()
        page.goto(server.url)
        page.wait_for_selector("body[data-ready]")
        shoot(page, folder, "tuning", "", 800)
        page.close()


def shoot(page, folder, name, before, wait_ms):
    """Takes a page at all sizes, after some JavaScript at each of them."""
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
        page.evaluate(before or "0")
        page.evaluate("document.getElementById('toast')?.classList.remove('on'); scrollTo(0, 0)")
        page.wait_for_timeout(wait_ms)
        page.screenshot(path=folder / f"{name}_{width}.jpg", type="jpeg", quality=78)


if __name__ == "__main__":
    main()
