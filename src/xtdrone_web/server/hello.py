"""The first message of a page, with the token or without."""

import asyncio

from .guard import Guard
from .page import Page

_HELLO_S = 5.0  # time that a page has to say who it is [s]


async def admitted(page: Page, guard: Guard) -> bool:
    """Tells whether the page's first message, its hello, is in time and its token right."""
    messages = page.messages()
    try:
        hello = await asyncio.wait_for(anext(messages), _HELLO_S)
    except (asyncio.TimeoutError, StopAsyncIteration):
        await page.refuse("the first message has to be a hello")
        return False
    if isinstance(hello, bytes) or hello["op"] != "hello":
        await page.refuse('the first message has to be {"op": "hello"}, with a token or without')
        return False
    page.receives_frames = hello.get("frames") is not False
    token = hello.get("token")
    page.pilot = guard.is_pilot(token)
    if token and not page.pilot:
        await page.refuse("the token is wrong or old: open the link that was printed last")
        return False
    return True
