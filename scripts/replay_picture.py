"""Picture of the page of `xtdrone replay` for the manual: one flight with and without wind.

python scripts/replay_picture.py docs/images/replay_page.png
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
from recorded_flights import replaying

WINDS = {"calm": "0,0,0", "windy": "6,0,0"}
AT_S = 21.0


def main():
    """Flies both and takes the picture."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = {"XTDRONE_RUNS": scratch}
        for name, wind in WINDS.items():
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "xtdrone_core.command",
                    "fly",
                    "formation",
                    "--n",
                    "3",
                    "--set",
                    "formations=line,V",
                    "--name",
                    name,
                    "--wind",
                    wind,
                ],
                check=True,
                env={**os.environ, **runs},
            )
        with (
            replaying(*WINDS, **runs) as running,
            browser.browser(scratch, (1280, 720), color_scheme="dark") as context,
        ):
            page, _ = browser.opened(context, running.url)
            page.evaluate("station.pace.choose('2')")
            page.click("#play")
            page.evaluate(f"station.replay.seek({AT_S}, true); station.choose(1);")
            page.wait_for_timeout(3000)
            page.screenshot(path=sys.argv[1])


if __name__ == "__main__":
    main()
