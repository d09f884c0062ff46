"""Rules for every request of a server: hosts, origins and the headers for browsers."""

from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from .guard import HEADERS, Guard


def rules(guard: Guard) -> Middleware:
    """Returns a middleware that refuses other names and other sites' pages, and adds HEADERS."""

    @web.middleware
    async def checked(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        host, origin = request.headers.get("Host"), request.headers.get("Origin")
        why = guard.host_refused(host) or guard.origin_refused(origin, host)
        if why:
            return web.Response(status=403, text=why + "\n", headers=HEADERS)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            error.headers.update(HEADERS)
            raise
        if not response.prepared:
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            response.headers.setdefault("Cache-Control", "no-cache")
        return response

    return checked
