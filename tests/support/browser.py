"""Debian's Chromium for tests and measurements: software graphics, no network."""

import contextlib
import shutil
import time
from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")
# Without a graphics card Chromium composes pages by itself, and only WebGL goes to SwiftShader.
ARGUMENTS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-rasterization",
    "--disable-accelerated-2d-canvas",
    "--disable-gpu-compositing",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-default-apps",
    "--disable-extensions",
    "--mute-audio",
]


def missing() -> str:
    """Why there is no browser, or ""."""
    if not CHROMIUM.exists():
        return "Chromium is missing: apt-get install chromium"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is missing: pip install -r requirements-dev.txt"
    return ""


@contextlib.contextmanager
def browser(folder, size=(1280, 720), **context):
    """A browser's context with a profile of its own in a folder; ends with the block."""
    from playwright.sync_api import sync_playwright

    profile = Path(folder) / "chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch_persistent_context(
            str(profile),
            executable_path=str(CHROMIUM),
            headless=True,
            args=ARGUMENTS,
            viewport={"width": size[0], "height": size[1]},
            **context,
        )
        try:
            yield opened
        finally:
            opened.close()
    shutil.rmtree(profile, ignore_errors=True)


def watched(page) -> list[str]:
    """The errors of a page, as they come."""
    errors: list[str] = []
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def opened(context, url, most=None):
    """A page of the station that shows the fleet, and the list of its errors.

    Args:
        context: Of browser().
        url: The page's address.
        most: Most pictures a second, so that drawing leaves the cores to what is tested.
    """
    page = context.new_page()
    errors = watched(page)
    page.goto(url)
    page.wait_for_selector("body[data-ready]", timeout=60_000)
    if most:
        page.evaluate(
            "(most) => Object.defineProperty(station.pace, 'most', { get: () => most })", most
        )
    return page, errors


def gamepad_frame(page):
    """The frame of a page that reads gamepads, when it is connected."""
    until(page, "Boolean(document.getElementById('padframe'))")
    frame = page.query_selector("#padframe").content_frame()
    until(frame, "window.pad?.connection?.offset != null")
    return frame


def until(page, condition, limit_s=60.0):
    """Waits until a JavaScript expression holds; the page's policy forbids Playwright's own way."""
    end = time.monotonic() + limit_s
    while not (value := page.evaluate(condition)):
        assert time.monotonic() < end, f"not within {limit_s:g} s: {condition}"
        page.wait_for_timeout(50)
    return value
