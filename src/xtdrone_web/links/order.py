"""Orders of pages: what they ask, and what they are answered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Request = dict[str, Any]  # JSON of a page, with its op; nothing in it is sure
Answer = dict[str, Any]  # values for JSON


@dataclass(frozen=True)
class Order:
    """A request of a page, a message with an op. It may block; errors are XtdroneErrors."""

    run: Callable[[Request], Answer]
    for_viewers: bool = False  # pages that may not command may ask for it, too
