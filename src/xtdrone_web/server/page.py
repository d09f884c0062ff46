"""One open page: its socket, the newest frame where it is slow, and its messages."""

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import WSMsgType, web

from .guard import Allowance

_TEXTS = 300  # messages that wait for a slow page; older ones are dropped
_HIGH_WATER = 1 << 16  # bytes on their way, beyond which a page gets no newer frame
MAX_MESSAGE = 1 << 16  # longest message that a page may send [bytes]


class Page:
    """A socket to one page.

    Attributes:
        pilot: Whether it may command.
        receives_frames: Whether it is sent frames.
        sent, dropped: Frames that it got, and that it was too slow for.
        piloted: Vehicle that it flies by sticks, or None.
    """

    def __init__(self, socket: web.WebSocketResponse, request: web.Request):
        """Takes a page that has connected."""
        self.pilot = False
        self.receives_frames = True
        self.sent = self.dropped = 0
        self.piloted: int | None = None
        self.allowance = Allowance()
        self._socket = socket
        self._frame: bytes | None = None
        self._texts: deque[str | bytes] = deque(maxlen=_TEXTS)
        self._wake = asyncio.Event()
        if request.transport is not None:
            request.transport.set_write_buffer_limits(high=_HIGH_WATER)

    def offer(self, frame: bytes) -> None:
        """Takes the newest frame; it replaces one that was not sent yet."""
        if not self.receives_frames:
            return
        if self._frame is not None:
            self.dropped += 1
        self._frame = frame
        self._wake.set()

    def send_message(self, message: dict[str, Any]) -> None:
        """Sends a message before the next frame."""
        self._texts.append(json.dumps(message, separators=(",", ":"), default=str))
        self._wake.set()

    def send_bytes(self, data: bytes) -> None:
        """Sends bytes in the order of the messages, before the next frame."""
        self._texts.append(data)
        self._wake.set()

    async def send(self) -> None:
        """Sends as fast as the page takes it, until it is closed."""
        with contextlib.suppress(ConnectionError):
            while not self._socket.closed:
                await self._wake.wait()
                self._wake.clear()
                while self._texts:
                    text = self._texts.popleft()
                    if isinstance(text, str):
                        await self._socket.send_str(text)
                    else:
                        await self._socket.send_bytes(text)
                frame, self._frame = self._frame, None
                if frame is not None:
                    await self._socket.send_bytes(frame)
                    self.sent += 1

    async def refuse(self, why: str) -> None:
        """Says why, and closes."""
        with contextlib.suppress(ConnectionError):
            await self._socket.send_str(json.dumps({"op": "refused", "error": why}))
            await self._socket.close(code=1008, message=why.encode()[:120])

    def answer_ping(self, request: dict[str, Any]) -> None:
        """Answers a ping: the page learns this process's clock, and how many frames it got."""
        self.send_message(
            {
                "op": "pong",
                "t0": request.get("t0"),
                "t1": time.monotonic(),
                "sent": self.sent,
                "dropped": self.dropped,
            }
        )

    async def messages(self) -> AsyncIterator[dict[str, Any] | bytes]:
        """Yields what the page sends, until it closes or floods: objects with an op, and bytes."""
        async for message in self._socket:
            if not self.allowance.take():
                await self.refuse("too many messages at once: the page is closed")
                return
            if message.type == WSMsgType.BINARY:
                yield message.data
            elif message.type == WSMsgType.TEXT:
                request = _read(message.data)
                if request is None:
                    self.send_message(
                        {
                            "op": "error",
                            "error": 'a message is an object with an op, such as {"op": "pause"}',
                        }
                    )
                else:
                    yield request


def _read(text: str) -> dict[str, Any] | None:
    """Returns a message of a page, or None where it is no object with an op."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and isinstance(message.get("op"), str) else None
