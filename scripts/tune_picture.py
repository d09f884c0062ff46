"""Picture of the tuning page for the manual, by Debian's Chromium: flies a log by sticks itself.

python scripts/tune_picture.py docs/images/tune.png
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
import stick_flights
from tuning_server import serving

SIZE = 1280, 1180


def main():
    """Takes it."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XTDRONE_RUNS"] = scratch
        log, _ = stick_flights.flown("by_sticks")
        with (
            serving(scratch) as server,
            browser.browser(scratch, SIZE, color_scheme="dark") as context,
        ):
            page = context.new_page()
            page.goto(server.url)
            page.wait_for_selector("body[data-ready]")
            browser.until(page, "document.querySelectorAll('#logs option').length > 1")
            page.select_option("#logs", str(log.relative_to(scratch)))
            browser.until(page, "tuning.log !== null")
            page.click("#start")
            browser.until(page, "tuning.results.done !== undefined && !tuning.running", 120)
            page.wait_for_timeout(6000)  # until what was said has gone
            page.screenshot(path=sys.argv[1], full_page=True)


if __name__ == "__main__":
    main()
