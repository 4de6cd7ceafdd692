"""The simulated cloud as a server.

The provider's interface lies under `/v1/{provider}/{region}/`: `instances`, what they share beside them (`networks`,
`securitygroups`, `sshkeys`), what sites have (`clusterinsts`, `appinsts`), and what there is to be had, `offers`. Any
provider and region there is, unless the server was started with a list of places. What is about the simulation itself
lies under `/v1/_…`: the ledger, the calls, the faults in force, and drift.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
import uvicorn
from fastapi import FastAPI, Query, Request, Response

from stead.drivers.sim import accounts
from stead.drivers.sim.faults import Call, CallPlan, FaultInjector, Faults
from stead.drivers.sim.gate import CALL, PLAN, BreakableProtocol, Gate
from stead.drivers.sim.ledger import Ledger
from stead.drivers.sim.rules import VERBS
from stead.drivers.sim.wire import (
    COLLECTIONS,
    MAX_PAGE,
    ActBody,
    Answers,
    CreateBody,
    Drift,
    Drifted,
    Error,
    Offered,
    Problem,
)

MAX_HEADER_BYTES = 256 * 1024
"""Bytes of a request's first line: a look names its instances there, and may name many."""


OFFERED = Offered(
    spec=["tiny", "small", "medium", "large", "huge"],
    image=["ubuntu-22.04", "ubuntu-24.04", "debian-12", "rocky-9"],
)
"""What there is to be had, everywhere. Whoever asks for anything else gets it, too: nothing here depends on it."""

Names = Annotated[Sequence[str], Query()]
Position = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]


class InvalidRequest(Exception):
    """A request that is not understood."""


def application(ledger: Ledger, injector: FaultInjector) -> FastAPI:
    """The interface of the cloud, and the one of the simulation."""
    app = FastAPI(title="Stead simulated cloud", openapi_url=None)

    @app.exception_handler(InvalidRequest)
    async def wrong(request: Request, exc: Exception) -> Response:
        return _json(Problem(Error("InvalidRequest", str(exc))), 400)

    @app.get("/v1/{provider}/{region}/offers")
    async def offers(request: Request) -> Response:
        ledger.note(request.scope[CALL], "done")
        return _json(OFFERED)

    @app.post("/v1/{provider}/{region}/{things}")
    async def create(request: Request) -> Response:
        call, plan = _call(request)
        asks = (await _read(request, CreateBody)).instances
        return _json(Answers(ledger.create(call, _some(asks), plan)))

    @app.post("/v1/{provider}/{region}/{things}/{verb}")
    async def act(request: Request, verb: str) -> Response:
        if verb not in VERBS:
            raise InvalidRequest(f"there is no verb {verb}; there are {', '.join(VERBS)}")
        call, plan = _call(request)
        picks = (await _read(request, ActBody)).instances
        return _json(Answers(ledger.act(call, _some(picks), plan)))

    @app.get("/v1/{provider}/{region}/{things}")
    async def observe(
        request: Request,
        ids: Names = (),
        tokens: Names = (),
        owner: str = "",
        after: Position = 0,
        limit: Limit = MAX_PAGE,
    ) -> Response:
        call, plan = _call(request)
        return _json(ledger.observe(call, _some(ids), _some(tokens), owner, after, limit, plan))

    @app.get("/v1/_ledger")
    async def summary() -> Response:
        return _json(accounts.summary(ledger))

    @app.get("/v1/_ledger/instances")
    async def instances(after: Position = 0, limit: Limit = MAX_PAGE, token: str = "") -> Response:
        return _json(accounts.instances(ledger, after, limit, token))

    @app.get("/v1/_calls")
    async def calls(since: Position = 0, limit: Limit = MAX_PAGE) -> Response:
        return _json(accounts.calls(ledger, since, limit))

    @app.post("/v1/_drift")
    async def drift(request: Request) -> Response:
        return _json(Drifted(ledger.drift(await _read(request, Drift))))

    @app.get("/v1/_faults")
    async def faults() -> Response:
        return _json({"faults": [rule.describe() for rule in injector.rules()]})

    @app.post("/v1/_faults")
    async def add(request: Request) -> Response:
        rules = [injector.add(fault) for fault in (await _read(request, Faults)).faults]
        return _json({"faults": [rule.describe() for rule in rules]})

    @app.delete("/v1/_faults")
    async def clear() -> Response:
        return _json({"cleared": injector.clear()})

    @app.delete("/v1/_faults/{id}")
    async def clear_one(id: int) -> Response:
        return _json({"cleared": injector.clear(id)})

    return app


def serve(
    host: str,
    port: int,
    data: Path,
    *,
    places: Sequence[str] = (),
    seed: int | None = None,
    listening: Callable[[int], None] = lambda port: None,
) -> None:
    """Run until told to stop; `listening` hears the port as soon as calls are answered there."""
    ledger = Ledger(data)
    injector = FaultInjector(Random(seed), time.monotonic)
    config = uvicorn.Config(
        Gate(application(ledger, injector), injector, ledger, frozenset(places)),
        http=BreakableProtocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=1,  # calls that hang would hold it up for ever
    )
    sock = _bound(host, port)
    try:
        with suppress(KeyboardInterrupt):
            _Server(config, lambda: listening(sock.getsockname()[1])).run(sockets=[sock])
    finally:
        ledger.close()


def _bound(host: str, port: int) -> socket.socket:
    # The protocol number matters: asyncio turns small packets' delay off only on a socket that says it is TCP.
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind, protocol)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(address)
    return sock


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening()


def _call(request: Request) -> tuple[Call, CallPlan]:
    """What the gate made of the request."""
    if CALL not in request.scope:
        raise InvalidRequest(f"there are {', '.join(COLLECTIONS)} and offers")
    return request.scope[CALL], request.scope[PLAN]


async def _read[T](request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.body(), type=kind)
    except msgspec.MsgspecError as error:
        raise InvalidRequest(str(error)) from error


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _some[S: Sequence[Any]](things: S) -> S:
    if len(things) > MAX_PAGE:
        raise InvalidRequest(f"at most {MAX_PAGE} instances at once, not {len(things)}")
    return things
