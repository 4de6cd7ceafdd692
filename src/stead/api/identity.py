"""Who asks, of every request: by a token in its header, or by the cookie of a browser that has logged in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from stead.access.access import Access, UnknownCredentials
from stead.access.caller import Caller, anonymous
from stead.access.oidc import IssuerUnavailable
from stead.access.policies import NAMESPACE, PolicyResource
from stead.api.limits import Limits
from stead.api.problems import LEASES, LoginFailed, ProblemResponse
from stead.application.commands import Application

COOKIE = "stead_session"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SAFE = ("GET", "HEAD", "OPTIONS")
LONGEST = 16_000
"""Characters of what somebody shows; no issuer makes longer ones."""

type Identify = Callable[[Request], Awaitable[Caller]]
"""Says who asks; raises where nobody can tell."""


async def unauthenticated_caller(request: Request) -> Caller:
    """Whoever reaches the server may everything."""
    del request
    return anonymous()


def authenticated_caller(access: Access) -> Identify:
    """Whoever they show that they are."""

    async def identify(request: Request) -> Caller:
        if access.open:
            _from_here(request)
            return anonymous()
        shown = _shown(request)
        if not 0 < len(shown) <= LONGEST:
            raise login_required("say who you are: with a token, or by logging in")
        limits: Limits = request.app.state.limits
        try:
            return await access.known(shown, lambda: limits.wait_unknown(request))
        except UnknownCredentials as error:
            limits.take_unknown(request)
            raise login_failed(str(error)) from None
        except IssuerUnavailable as error:
            raise ProblemResponse("issuer-unavailable", str(error), retry_after=5) from None

    return identify


CHALLENGE = {"WWW-Authenticate": 'Bearer realm="stead"'}


def login_required(message: str) -> ProblemResponse:
    """Nobody can tell who asks."""
    return ProblemResponse("unauthenticated", message, CHALLENGE)


def login_failed(message: str) -> LoginFailed:
    """Nobody can tell who asks, though they have shown something: the journal is told."""
    return LoginFailed("unauthenticated", message, CHALLENGE)


def _shown(request: Request) -> str:
    """What a request shows. A cookie comes by itself, whoever has the browser ask: it counts for our pages only."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return token.strip() if scheme.lower() == "bearer" else ""
    if request.url.path.startswith(LEASES) and (given := request.headers.get("x-auth-token", "")):
        return given.strip()  # where clients of that dialect put it
    cookie = request.cookies.get(COOKIE, "")
    if cookie and request.method not in SAFE and not same_origin(request):
        raise ProblemResponse("cross-origin", "a page of another address has sent this")
    return cookie


def same_origin(request: Request) -> bool:
    """Whether a page of this very server has sent a request, as the browser says: of its scheme, host and port."""
    origin = request.headers.get("origin", "")
    named = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return bool(origin) and _origin(origin) is not None and _origin(origin) == _origin(named)


PORTS = {"http": 80, "https": 443}


def _origin(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an address; None where it has none of them, as of a page without an origin."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname and port else None


def _from_here(request: Request) -> None:
    """Where nobody is asked, a page of another address must not ask either, nor one that gives itself our name."""
    named = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    if named not in LOOPBACK or (request.headers.get("origin") and not same_origin(request)):
        raise ProblemResponse("cross-origin", "a page of another address has sent this")


def _may_see(request: Request, caller: Caller, namespace: str) -> bool:
    """Whether a caller may see a namespace."""
    application: Application = request.app.state.application
    return application.authorization.sees(caller, PolicyResource(f"/{namespace}", NAMESPACE))


async def find_caller(request: Request) -> Caller:
    """Who asks, within the rate that they may ask at."""
    identify: Identify = request.app.state.identify
    caller = await identify(request)
    request.state.caller = caller
    if not caller.open:
        request.app.state.limits.take(request, caller.name, lambda namespace: _may_see(request, caller, namespace))
    return caller


Who = Annotated[Caller, Depends(find_caller)]
"""The authenticated caller of a request."""
