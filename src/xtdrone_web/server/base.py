"""What pages are served from: a running simulation, or a recording of one."""

from pathlib import Path
from typing import Any, Protocol

from .page import Page


class Base(Protocol):
    """What App needs of a station, and what all stations have in common.

    Attributes:
        pages: Those that are open.
        told: World, types and vehicles, as told.described() gives them, and more.
    """

    pages: set[Page]
    told: dict[str, Any]

    def scene(self, page: Page) -> dict[str, Any]:
        """What a page needs to know before the first frame."""

    async def serve(self, page: Page, op: str, asked: Any) -> None:
        """Carries out what a page asks; op is "" for bytes. Its answer is sent to it."""

    async def image(self, number: int) -> bytes | None:
        """The newest image of a camera as JPEG, or None."""

    def leave(self, page: Page) -> None:
        """A page has closed."""
        self.pages.discard(page)

    def asset(self, kind: str, name: str) -> Path | None:
        """The glTF file of the world, of one of its actors or of a type of vehicle."""
        if kind == "world":
            return Path(self.told["world"]["glb"])
        if kind == "actor":
            return next(
                (
                    Path(actor["glb"])
                    for actor in self.told["world"]["actors"]
                    if actor["name"] == name
                ),
                None,
            )
        found = self.told["types"].get(name)
        return Path(found["glb"]) if found else None

    def _drawn(self) -> dict[str, Any]:
        """World, types and vehicles for a page, which asks for the files by their names."""
        told = self.told
        world = _without_file(told["world"])
        world["actors"] = [_without_file(actor) for actor in world["actors"]]
        return {
            "world": world,
            "vehicles": told["vehicles"],
            "types": {name: _without_file(of) for name, of in told["types"].items()},
        }


def _without_file(of):
    return {key: value for key, value in of.items() if key != "glb"}
