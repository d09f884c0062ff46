"""A page's socket without a browser."""

import asyncio
import json
import threading

import aiohttp
import numpy as np

from waiting import LIMIT_S
from xtdrone_web import frame


class Client:
    """A socket to url + "socket": with a token, as a viewer (None), without a hello (False)."""

    def __init__(self, url, token=None, **headers):
        self._loop = asyncio.new_event_loop()  # of a thread: Playwright's own runs in this one
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._session = self._do(self._open(headers))
        self.socket = self._do(self._connect(url))
        self.said = []
        self.frame = None
        self.past = []
        if token is not False:
            self.send(op="hello", **({"token": token} if token else {}))

    async def _open(self, headers):
        return aiohttp.ClientSession(headers=headers)

    async def _connect(self, url):
        try:
            return await self._session.ws_connect(url + "socket", max_msg_size=0)
        except aiohttp.ClientError:
            await self._session.close()
            raise

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LIMIT_S)

    def send(self, **message):
        self.send_text(json.dumps(message))

    def send_text(self, text):
        self._do(self.socket.send_str(text))

    def send_bytes(self, data):
        self._do(self.socket.send_bytes(data))

    def receive(self):
        """The next message: a dict, or "frame", "past" (of a replay), or "closed"."""
        message = self._do(self.socket.receive())
        if message.type == aiohttp.WSMsgType.BINARY:
            if message.data[:4] == np.uint32(frame.layout()["past"]).tobytes():
                rest, self.past = message.data[4:], []
                while rest:
                    self.past.append(frame.unpack(rest))
                    rest = rest[sum(part.nbytes for part in self.past[-1]) :]
                return "past"
            self.frame = frame.unpack(message.data)
            return "frame"
        if message.type == aiohttp.WSMsgType.TEXT:
            self.said.append(json.loads(message.data))
            return self.said[-1]
        return "closed"

    def until(self, condition):
        """Receives until condition(message) holds, and returns the message."""
        while not condition(message := self.receive()):
            assert message != "closed", self.said[-3:]
        return message

    def ask(self, op, **values):
        self.send(op=op, id=1, **values)
        return self.until(lambda m: isinstance(m, dict) and m.get("op") == "answer")

    def close(self):
        self._do(self.socket.close())
        self._do(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
