"""What pages are served from: a running simulation, or a recording of one."""

from pathlib import Path
from typing import Any, Protocol

from .page import Page


class Base(Protocol):
    """The part of a station that App needs.

    Attributes:
        pages: Those that are open.
    """

    pages: set[Page]

    def scene(self, page: Page) -> dict[str, Any]:
        """Returns what a page needs to know before the first frame: values for JSON."""

    async def serve(self, page: Page, op: str, request: dict[str, Any]) -> None:
        """Carries out what a page asks by a message with an op, and answers it."""

    async def take_bytes(self, page: Page, data: bytes) -> None:
        """Takes bytes of a page."""

    async def image(self, number: int) -> bytes | None:
        """Returns the newest image of a camera as JPEG, or None."""

    def cameras(self) -> int:
        """Returns the number of cameras."""

    def leave(self, page: Page) -> None:
        """Forgets a page that has closed."""

    def asset(self, kind: str, name: str) -> Path | None:
        """Returns the glTF file of the world, of one of its actors or of a type of vehicle."""

    def panel_script(self, name: str) -> Path | None:
        """Returns the JavaScript module of a panel."""
