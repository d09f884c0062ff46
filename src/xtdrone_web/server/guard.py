"""Who may look, and who may command: hosts, origins, the token, and how much at once."""

import hmac
import time
from collections.abc import Collection
from urllib.parse import urlsplit


def policy(frames: str = "'none'", framed_by: str = "'none'") -> str:
    """Returns a page's content policy: origins that it may frame, and that may frame it."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
        "img-src 'self' blob: data:; media-src blob:; connect-src 'self' blob:; "
        "worker-src 'self'; base-uri 'none'; form-action 'none'; "
        f"frame-src {frames}; frame-ancestors {framed_by}"
    )


HEADERS = {
    "Content-Security-Policy": policy(),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MAX_CLIENTS = 40  # pages at once
RATE, BURST = 500.0, 1000.0  # messages of one page per second, and at once
NAMES = ("127.0.0.1", "localhost")


class Guard:
    """The rules of one server.

    Attributes:
        address, port: Where it listens.
        neighbours: Its origins on this machine, as a content policy lists them: to a browser
            each is another site.
    """

    def __init__(self, token: str, address: str, port: int):
        """Takes the token of pages that may command, and where the server listens."""
        self._token, self.address, self.port = token, address, port
        names = {*NAMES, address} - {"0.0.0.0"}
        self._hosts = {f"{name}:{port}" for name in names}
        self._everywhere = address == "0.0.0.0"
        self.neighbours = " ".join(f"http://{name}:{port}" for name in NAMES)

    def host_refused(self, host: str | None) -> str:
        """Returns why a Host header is refused, or "": another site may point its name here."""
        if host in self._hosts or (self._everywhere and _is_address(host, self.port)):
            return ""
        return f"host '{(host or '')[:60]}' is not served here: open the link that was printed"

    def origin_refused(self, origin: str | None, host: str | None) -> str:
        """Returns why an Origin header is refused, or "": another site's page may not connect."""
        if origin is None or origin == f"http://{host}":  # programs send none
            return ""
        return f"origin '{origin[:60]}' may not connect: open the link that was printed"

    def is_pilot(self, token: object) -> bool:
        """Tells whether this is the token."""
        return isinstance(token, str) and hmac.compare_digest(token.encode(), self._token.encode())


def _is_address(host: str | None, port: int) -> bool:
    """Tells whether a Host header is an IPv4 address, which no other site's name can be."""
    parts = urlsplit(f"//{host}") if host else None
    words: Collection[str] = (parts.hostname or "").split(".") if parts else ()
    return (
        parts is not None
        and parts.port == port
        and len(words) == 4
        and all(word.isdecimal() for word in words)
    )


class Allowance:
    """Limit of the messages of a page: a bucket that fills up again."""

    def __init__(self) -> None:
        """Begins with a full bucket."""
        self._left, self._t = BURST, time.monotonic()

    def take(self) -> bool:
        """Takes a message; tells whether it is within the allowance."""
        now = time.monotonic()
        self._left = min(BURST, self._left + RATE * (now - self._t)) - 1.0
        self._t = now
        return self._left >= 0.0
