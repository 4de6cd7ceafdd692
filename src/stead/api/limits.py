"""The limits of the HTTP interface: what a request may be, how many there may be at once, and how often.

What can be judged from the outside is judged by the middleware, before the framework makes anything of a request:
lengths, the body's size and shape, the time in which it arrives, and how many are in hand. Who asks is known later,
so `take` is called as soon as it is, and `stream` by whoever answers with one that has no end.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stead.api.body_limits import TooDeeplyNested, TooManyValues, check_size
from stead.api.problems import ProblemResponse, respond
from stead.api.rates import UNLIMITED, RateLimits, TokenBuckets

ALWAYS = frozenset(("/livez", "/readyz"))
"""Addresses that are answered however much there is to do."""

READS = frozenset(("GET", "HEAD", "OPTIONS"))

BUSY = 1
"""Seconds after which asking again makes sense when there is too much in hand."""

MIB = 1024 * 1024

SMALL = 64 * 1024
"""Bytes of a body that are taken from everybody, however many bodies are on their way."""


@dataclass(frozen=True)
class RequestLimits:
    """How much is taken. Each of them is far above what anybody needs."""

    body: int = MIB
    """Bytes of a body."""
    depth: int = 64
    """How deep JSON may be nested. Specs may be less deep."""
    items: int = 50_000
    """Members of objects and arrays in one body."""
    address: int = 8 * 1024
    """Bytes of path and query."""
    headers: int = 32 * 1024
    """Bytes of all headers."""
    patience: float = 10.0
    """Seconds in which a body has to arrive."""
    large: int = 64 * MIB
    """Bytes of all bodies that are on their way, where they are not small."""
    in_hand: int = 1000
    """Requests that are worked on at once, streams not counted."""
    in_hand_each: int = 200
    """The same, of one caller."""
    streams: int = 2000
    """Streams of events that are open at once."""
    streams_each: int = 200
    """The same, of one caller."""


class Slots:
    """So many places, of which each holder may have so many."""

    def __init__(self, places: int, each: int) -> None:
        self.places, self.each = places, each
        self.taken = 0
        self.by: dict[str, int] = {}

    def enter(self, name: str) -> Callable[[], None] | None:
        """A place, and the way to leave it, once; None where there is none left."""
        if self.taken >= self.places or self.by.get(name, 0) >= self.each:
            return None
        self.taken += 1
        self.by[name] = self.by.get(name, 0) + 1
        inside = True

        def leave() -> None:
            nonlocal inside
            if inside:
                inside = False
                self.taken -= 1
                self.by[name] -= 1
                if not self.by[name]:
                    del self.by[name]

        return leave


class Limits:
    """What holds for all requests of a server."""

    def __init__(self, bounds: RequestLimits | None = None, rates: RateLimits = UNLIMITED) -> None:
        self.bounds = bounds or RequestLimits()
        self.in_hand = 0
        """Requests that are worked on now."""
        self.large = 0
        """Bytes of large bodies that are on their way."""
        self.callers = Slots(self.bounds.in_hand, self.bounds.in_hand_each)
        self.streams = Slots(self.bounds.streams, self.bounds.streams_each)
        self._changes = TokenBuckets(rates.changes, rates.burst), TokenBuckets(rates.namespace_changes, rates.burst)
        self._unknown = TokenBuckets(rates.unknown, rates.burst)
        self._reads = TokenBuckets(rates.reads, rates.burst), TokenBuckets(rates.namespace_reads, rates.burst)

    def take(self, request: Request, caller: str, may_see: Callable[[str], bool]) -> None:
        """A caller asks for something: is it the caller's turn, and the namespace's? Raises where it is not.

        What a namespace bears is for those who may see it: others take nothing of it.
        """
        request.state.caller_name = caller
        buckets, namespaces = self._reads if request.method in READS else self._changes
        namespace = _namespace(request)
        if wait := buckets.wait(caller):
            raise _rate_limited(f"{caller} asks more often than is allowed", wait)
        if namespace and not may_see(namespace):
            namespace = ""
        if namespace and (wait := namespaces.wait(namespace)):
            raise _rate_limited(f"more is asked of {namespace} than is allowed", wait)
        leave = self.callers.enter(caller)
        if leave is None:
            raise _rate_limited(f"{caller} has {self.bounds.in_hand_each} requests in hand already", BUSY)
        _on_leaving(request, leave)
        buckets.take(caller)
        if namespace:
            namespaces.take(namespace)

    def wait_unknown(self, request: Request) -> None:
        """Raise where an address has shown too many wrong tokens a moment ago."""
        address = _address(request)
        if wait := self._unknown.wait(address):
            raise _rate_limited(f"{address} shows wrong tokens more often than is allowed", wait)

    def take_unknown(self, request: Request) -> None:
        """An address has shown a wrong token. Raises where it was one too many."""
        self.wait_unknown(request)
        self._unknown.take(_address(request))

    def stream(self, request: Request) -> None:
        """A stream without an end begins: no request in hand any more, and one of so many streams."""
        held: HeldSlots = request.state.held
        leave = self.streams.enter(getattr(request.state, "caller_name", "") or _address(request))
        if leave is None:
            raise ProblemResponse("too-many-streams", "too many streams of events are open", retry_after=BUSY)
        held.leave()
        held.add(leave)


class HeldSlots:
    """What a request holds, to be let go when it ends."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leaving = [leave]

    def add(self, leave: Callable[[], None]) -> None:
        """One more thing to let go."""
        self._leaving.append(leave)

    def leave(self) -> None:
        """Let go of all of it."""
        while self._leaving:
            self._leaving.pop()()


class LimitMiddleware:
    """The middleware that holds requests to the bounds."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits
        self.bounds = limits.bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or say no."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            # Only what has arrived is in hand: whoever is slow to send takes nobody's place.
            taking = receive if self._lengths(scope) == 0 else await self._body(receive)
            held = self._place(scope["path"])
        except ProblemResponse as problem:
            await _refuse(problem, scope, receive, send)
            return
        scope.setdefault("state", {})["held"] = held
        try:
            await self.app(scope, taking, send)
        finally:
            held.leave()

    def _place(self, path: str) -> HeldSlots:
        """A place among those that are in hand."""
        limits = self.limits
        if path in ALWAYS:
            return HeldSlots(_no_effect)
        if limits.in_hand >= self.bounds.in_hand:
            raise ProblemResponse("busy", f"{limits.in_hand} requests are in hand", retry_after=BUSY)
        limits.in_hand += 1
        return HeldSlots(self._done)

    def _done(self) -> None:
        self.limits.in_hand -= 1

    def _lengths(self, scope: Scope) -> int | None:
        """The length that the body is said to have, 0 where there is none, None where nobody says."""
        address = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        if address > self.bounds.address:
            raise ProblemResponse(
                "address-too-long", f"path and query have {address} bytes, more than {self.bounds.address}"
            )
        length: int | None = 0
        size = 0
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            if name == b"content-length":
                length = int(value) if value.isdigit() else None
            elif name == b"transfer-encoding":
                length = None
        if size > self.bounds.headers:
            raise ProblemResponse(
                "headers-too-large", f"the headers have {size} bytes, more than {self.bounds.headers}"
            )
        if length is not None and length > self.bounds.body:
            raise self._too_large()
        return length

    async def _body(self, receive: Receive) -> Receive:
        """All of it, in time and looked at, to be received once more."""
        limits, bounds = self.limits, self.bounds
        body = bytearray()
        large = 0
        try:
            async with asyncio.timeout(bounds.patience):
                more = True
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return _replay([message], receive)
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > bounds.body:
                        raise self._too_large()
                    if more and len(body) > SMALL:
                        limits.large += len(body) - large
                        large = len(body)
                        if limits.large > bounds.large:
                            raise ProblemResponse("busy", "many large bodies are on their way", retry_after=BUSY)
        except TimeoutError:
            raise ProblemResponse("too-slow", f"the body was not there after {bounds.patience:g} s") from None
        finally:
            limits.large -= large
        try:
            check_size(body, bounds.depth, bounds.items)
        except TooDeeplyNested:
            raise ProblemResponse("too-deep", f"the body is nested more than {bounds.depth} deep") from None
        except TooManyValues:
            raise ProblemResponse("too-large", f"the body has more than {bounds.items} items in it") from None
        return _replay([{"type": "http.request", "body": bytes(body), "more_body": False}], receive)

    def _too_large(self) -> ProblemResponse:
        return ProblemResponse("too-large", f"the body has more than {self.bounds.body} bytes")


async def _refuse(problem: ProblemResponse, scope: Scope, receive: Receive, send: Send) -> None:
    """Say no, and hang up: whatever else was on its way is not waited for."""
    problem.headers["Connection"] = "close"
    await respond(Request(scope), problem)(scope, receive, send)


def _replay(messages: Iterable[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def receiving() -> Message:
        for message in waiting:
            return message
        return await receive()

    return receiving


def _rate_limited(message: str, wait: float) -> ProblemResponse:
    return ProblemResponse("rate-limited", message, retry_after=max(1, math.ceil(wait)))


def _on_leaving(request: Request, leave: Callable[[], None]) -> None:
    held: HeldSlots = request.state.held
    held.add(leave)


def _no_effect() -> None:
    pass


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _namespace(request: Request) -> str:
    """The first part of the path that is asked for, where one is."""
    found = (request.path_params.get(name) for name in ("nsId", "ns", "path"))
    given = next((one for one in found if one), "")
    return str(given).strip("/").partition("/")[0]
