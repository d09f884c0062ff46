"""Sockets of viewers that take every frame: python web_viewers.py URL COUNT SECONDS."""

import asyncio
import sys
import time

import aiohttp


async def view(session, url, seconds):
    """Frames that one viewer takes."""
    async with session.ws_connect(url + "socket", max_msg_size=0) as socket:
        await socket.send_str('{"op": "hello"}')
        count, begin = 0, time.monotonic()
        while time.monotonic() - begin < seconds:
            count += (await socket.receive()).type == aiohttp.WSMsgType.BINARY
        return count


async def main(url, count, seconds):
    async with aiohttp.ClientSession() as session:
        counts = await asyncio.gather(
            *(view(session, url.partition("#")[0], seconds) for _ in range(count))
        )
    rates = [count / seconds for count in counts]
    print(f"{sum(counts)} frames, {min(rates):.0f} to {max(rates):.0f} a second each")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
