"""Who asks, of every request: by a token in its header, or by the cookie of a browser that has logged in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from stead.access.access import Access, NotKnown
from stead.access.caller import Caller, anonymous
from stead.access.oidc import IssuerAway
from stead.api.problems import LEASES, LoginFailed, Trouble

COOKIE = "stead_session"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SAFE = ("GET", "HEAD", "OPTIONS")
LONGEST = 16_000
"""Characters of what somebody shows; no issuer makes longer ones."""

type Identify = Callable[[Request], Awaitable[Caller]]
"""Says who asks; raises where nobody can tell."""


async def anybody(request: Request) -> Caller:
    """Whoever reaches the server may everything."""
    del request
    return anonymous()


def by_access(access: Access) -> Identify:
    """Whoever they show that they are."""

    async def identify(request: Request) -> Caller:
        if access.open:
            _from_here(request)
            return anonymous()
        shown = _shown(request)
        if not 0 < len(shown) <= LONGEST:
            raise unknown("say who you are: with a token, or by logging in")
        in_vain = _nothing if access.remembers(shown) else request.app.state.limits.looked_up(request)
        try:
            return await access.known(shown)
        except NotKnown as error:
            in_vain()
            raise not_known(str(error)) from None
        except IssuerAway as error:
            raise Trouble("issuer-away", str(error), retry_after=5) from None

    return identify


def _nothing() -> None:
    """There is nothing to be done."""


CHALLENGE = {"WWW-Authenticate": 'Bearer realm="stead"'}


def unknown(says: str) -> Trouble:
    """Nobody can tell who asks."""
    return Trouble("not-known", says, CHALLENGE)


def not_known(says: str) -> LoginFailed:
    """Nobody can tell who asks, though they have shown something: the journal is told."""
    return LoginFailed("not-known", says, CHALLENGE)


def _shown(request: Request) -> str:
    """What a request shows. A cookie comes by itself, whoever has the browser ask: it counts for our pages only."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return token.strip() if scheme.lower() == "bearer" else ""
    if request.url.path.startswith(LEASES) and (given := request.headers.get("x-auth-token", "")):
        return given.strip()  # where clients of that dialect put it
    cookie = request.cookies.get(COOKIE, "")
    if cookie and request.method not in SAFE and not same_origin(request):
        raise Trouble("foreign-page", "a page of another address has sent this")
    return cookie


def same_origin(request: Request) -> bool:
    """Whether a page of this very server has sent a request, as the browser says."""
    origin = request.headers.get("origin", "")
    return bool(origin) and urlsplit(origin).netloc == request.headers.get("host", "")


def _from_here(request: Request) -> None:
    """Where nobody is asked, a page of another address must not ask either, nor one that gives itself our name."""
    named = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    if named not in LOOPBACK or (request.headers.get("origin") and not same_origin(request)):
        raise Trouble("foreign-page", "a page of another address has sent this")


async def _caller(request: Request) -> Caller:
    identify: Identify = request.app.state.identify
    caller = await identify(request)
    request.state.caller = caller
    if not caller.open:
        request.app.state.limits.take(request, caller.name)
    return caller


Who = Annotated[Caller, Depends(_caller)]
"""Whoever asks. Somebody has to ask whether they may, or there is no answer."""


async def _known(caller: Who) -> Caller:
    caller.judged = True
    return caller


Known = Annotated[Caller, Depends(_known)]
"""Whoever asks, where it is for everybody who is known."""


class Judged(APIRoute):
    """A route whose answer is sent only if somebody has asked whether the caller may have it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                answer = await handle(request)
            except LookupError:
                # A kind that was registered at another server a moment ago: nothing else is looked for in vain.
                if not (request.method in SAFE and await request.app.state.kinds.fresh()):
                    raise
                answer = await handle(request)
            caller: Caller | None = getattr(request.state, "caller", None)
            if caller is not None and not caller.judged:
                raise RuntimeError(f"nobody asked whether {self.name} is for the caller")
            return answer

        return handler


def unguarded(routes: Sequence[Any]) -> list[str]:
    """The names of routes that ask nobody who they are."""
    return [route.name for route in routes if isinstance(route, APIRoute) and not _asks(route.dependant)]


def _asks(dependant: Any) -> bool:
    return any(inner.call is _caller or _asks(inner) for inner in dependant.dependencies)
