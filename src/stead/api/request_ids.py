"""What every request brings along: its id, its key, the version it means; and the cursors of pages."""

from __future__ import annotations

import hashlib
import logging
import re
import time
from typing import Annotated
from uuid import uuid4

from fastapi import Header, Query
from pydantic import AfterValidator
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stead.api.problems import FieldError, ProblemResponse
from stead.origin import Origin, current_origin
from stead.schema import place_of
from stead.telemetry import metrics, tracing
from stead.telemetry.context import log_context

log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
QUIET = ("/livez", "/readyz", "/metrics")
"""What is asked again and again, by programs."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_TAG = re.compile(r'"([^"]*)"')


class RequestIds:
    """Gives each request an id, the caller's if it is fit to be one, and sends it back with how long it took."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        id = given if _ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = id
        current_origin.set(Origin(scope["client"][0] if scope.get("client") else "", id))
        began = time.perf_counter()

        span: tracing.Span | None = None

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                _tell(scope, message["status"], time.perf_counter() - began)
                if span is not None:
                    span.rename(f"{scope['method']} {_route(scope)}")
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = id
                headers["Server-Timing"] = f"app;dur={(time.perf_counter() - began) * 1000:.1f}"
                headers.setdefault("Cache-Control", "no-store")  # what is true now may not be in a second
            await send(message)

        with log_context(request_id=id):
            if scope["path"] in QUIET or not tracing.on():
                await self.app(scope, receive, sending)
                return
            parent = Headers(scope=scope).get("traceparent", "")
            with tracing.span(scope["method"], parent, request_id=id) as span:
                await self.app(scope, receive, sending)


def _route(scope: Scope) -> str:
    """What was asked for: never the path itself, which somebody else has chosen."""
    return str(getattr(scope.get("route"), "path_format", "none"))


def _tell(scope: Scope, status: int, took: float) -> None:
    """Tell the log and the metrics of an answer."""
    level = logging.DEBUG if scope["path"] in QUIET else logging.INFO
    path = scope.get("raw_path", b"").decode("latin-1")
    log.log(level, "%s %s %d in %.1f ms", scope["method"], path, status, took * 1000)
    route, method = _route(scope), scope["method"]
    method = method if method in METHODS else "other"
    metrics.REQUESTS.labels(method, route, str(status)).inc()
    metrics.ANSWERS.labels(method, route).observe(took)


def _digest(key: str) -> str:
    """What is kept of a key: some callers take a token for it, and nobody has to read it again."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest() if key else ""


Key = Annotated[
    str,
    AfterValidator(_digest),
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="Of the caller's making. The same request under the same key is let in once, while it is kept.",
    ),
]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", description="Versions, as `ETag` gave them: refused with 412 if it is in none of them."),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="What `next` said on the page before.")]


def tags(if_match: str | None) -> tuple[str, ...] | None:
    """The versions of an `If-Match`. Weak ones match nothing, since two of those may differ."""
    if if_match is None:
        return None
    if if_match.strip() == "*":
        return ("*",)
    return tuple(
        tag for part in if_match.split(",") if (found := _TAG.fullmatch(part.strip())) for tag in found.groups()
    )


def from_cursor[T: (str, int)](cursor: str | None, kind: type[T]) -> T | None:
    """The place that a cursor stands for."""
    if cursor is None:
        return None
    after = place_of(cursor)
    if not isinstance(after, kind):
        says = "it is none that this list gave"
        raise ProblemResponse(
            "invalid", f"cursor: {says}", errors=[FieldError(location="query.cursor", message=says)]
        )
    return after
