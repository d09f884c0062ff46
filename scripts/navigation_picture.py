"""Picture of the page's panel Goals for the manual: a goal by a click in the hall.

python scripts/navigation_picture.py docs/images/navigation/panel.png
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
from web_simulation import serving

GOALS = (5.0, 0.5), (9.0, -7.5)  # through the hall, then into the room in the south-east [m]
OPTIONS = "--vehicle", "iris_depth_small", "--world", "hall", "--speed", "1"
STATE = "document.getElementById('navigationstate').textContent"


def main():
    """Flies and takes the picture."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        serving(Path(scratch), *OPTIONS, command=("fly", "goals")) as running,
        browser.browser(scratch, (1280, 720), color_scheme="light") as context,
    ):
        page, _ = browser.opened(context, running.url)
        page.click("#t-navigation")
        browser.until(page, f"{STATE} === 'hovering'", 300.0)
        page.click("[data-view=chase]")
        (x, y), last = GOALS
        page.evaluate(f"station.panel.navigation.go({x}, {y}, 1.5)")
        browser.until(page, f"{STATE}.startsWith('reached')", 300.0)
        page.evaluate(f"station.panel.navigation.go({last[0]}, {last[1]}, 1.5)")
        browser.until(page, "station.fleet.pos[0].y < -3.0", 300.0)
        page.wait_for_timeout(700)
        page.set_viewport_size({"width": 1280, "height": 721})  # all is drawn anew
        page.set_viewport_size({"width": 1280, "height": 720})
        page.wait_for_timeout(500)
        page.screenshot(path=sys.argv[1])


if __name__ == "__main__":
    main()
