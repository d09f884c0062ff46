"""Picture of an exported flight for the manual, drawn by three.js from the file alone.

python scripts/export_picture.py RUN docs/images/export.png
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import browser
import gltf_page

AT_S = 18.8


def main():
    """Exports the run and takes the picture."""
    with tempfile.TemporaryDirectory() as scratch:
        glb = Path(scratch) / "flight.glb"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "xtdrone_core.command",
                "export",
                sys.argv[1],
                "--out",
                str(glb),
                "--from",
                "8",
                "--to",
                "30",
            ],
            check=True,
        )
        with (
            browser.browser(scratch, (1280, 720)) as context,
            gltf_page.playing(context, glb) as page,
        ):
            gltf_page.picture(page, AT_S - 8.0, "overview", sys.argv[2])


if __name__ == "__main__":
    main()
