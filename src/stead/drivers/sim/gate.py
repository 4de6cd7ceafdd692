"""Between the network and the simulated cloud: where calls wait, break, hang and get lost.

The body of a call is read before anything else, so that what is done does not depend on whether the caller is still
there: a call that was sent is carried out, even when nobody waits for the answer any more. Calls about the simulation
itself (`/v1/_…`) pass untouched, whatever fault is in force.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs

import msgspec
from uvicorn.protocols.http.h11_impl import H11Protocol

from stead.drivers.sim.faults import Call, CallPlan, ErrorResponse, FaultInjector
from stead.drivers.sim.ledger import Ledger
from stead.drivers.sim.rules import VERBS
from stead.drivers.sim.wire import COLLECTIONS, ORDER_HEADER, Error, Problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CALL, PLAN, BREAK = "sim.call", "sim.plan", "sim.break"


class BreakableProtocol(H11Protocol):
    """HTTP as ever, except that the application can break the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember how to break this one."""
        super().connection_made(transport)
        self.app = partial(_with_break, self.app, transport.abort)


async def _with_break(app: App, abort: Callable[[], None], scope: Scope, receive: Receive, send: Send) -> None:
    scope[BREAK] = abort
    await app(scope, receive, send)


class Gate:
    """The simulated cloud, seen from the network."""

    def __init__(
        self, app: App, injector: FaultInjector, ledger: Ledger, places: frozenset[str] = frozenset()
    ) -> None:
        self._app = app
        self._injector = injector
        self._ledger = ledger
        self._places = places
        """Provider and region, joined by a dot, of the places there are; any, if none are given."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One call, with what befalls it."""
        call = call_of(scope) if scope["type"] == "http" else None
        if call is None:
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            return
        plan = self._injector.plan(call)
        if plan.before is not None:
            await plan.before.wait()
        if plan.drop:
            self._ledger.note(call, "dropped", "lost")
            await _break(scope, receive)
        elif plan.hang is not None:
            self._ledger.note(call, "hung", "lost")
            await _hang(plan.hang, receive)
            await _break(scope, receive)
        elif refusal := plan.refusal or self._unknown(call):
            self._ledger.note(call, refusal.outcome)
            await _refuse(refusal, send)
        else:
            scope[CALL], scope[PLAN] = call, plan
            await self._answer(scope, receive, send, body, plan)

    def _unknown(self, call: Call) -> ErrorResponse | None:
        if not self._places or f"{call.provider}.{call.region}" in self._places:
            return None
        return ErrorResponse("refused", 404, Error("UnknownPlace", f"there is no {call.region} at {call.provider}"))

    async def _answer(self, scope: Scope, receive: Receive, send: Send, body: bytes, plan: CallPlan) -> None:
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, hold if plan.after or plan.lost else send)
        if plan.after is not None:
            await plan.after.wait()
        if plan.lost:
            await _break(scope, receive)
            return
        for message in held:
            await send(message)


def call_of(scope: Scope) -> Call | None:
    """The call of a provider's interface that a request is, if it is one."""
    match scope["method"], scope["path"].split("/"):
        case "POST", ["", "v1", provider, region, things] if things in COLLECTIONS:
            verb = "create"
        case "POST", ["", "v1", provider, region, things, verb] if things in COLLECTIONS and verb in VERBS:
            pass
        case "GET", ["", "v1", provider, region, things] if things in COLLECTIONS:
            named = parse_qs(scope["query_string"].decode("latin-1")).keys() & {"ids", "tokens"}
            verb = "describe" if named else "list"
        case "GET", ["", "v1", provider, region, "offers"]:
            return Call(provider, region, "offers")
        case _:
            return None
    order = next((value for name, value in scope["headers"] if name == ORDER_HEADER.encode()), b"")
    kind = COLLECTIONS[things]
    return Call(provider, region, verb if kind == "vm" else f"{verb}-{kind}", order.decode("latin-1"), kind)


async def _body(receive: Receive) -> bytes | None:
    """All of it; None where the caller left in the middle, and there is no call."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _break(scope: Scope, receive: Receive) -> None:
    """Break the connection, and wait until it is: an answer after that goes nowhere."""
    scope[BREAK]()
    await _gone(receive)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _hang(over: asyncio.Event, receive: Receive) -> None:
    """Until the caller gives up or the fault is taken back."""
    waits = [asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(over.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _refuse(refusal: ErrorResponse, send: Send) -> None:
    headers = [(b"content-type", b"application/json")]
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(math.ceil(refusal.retry_after)).encode()))
    body = msgspec.json.encode(Problem(refusal.error, refusal.retry_after))
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
