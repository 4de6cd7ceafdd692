"""Everything that is not an answer is a problem (RFC 9457), of a type that stays the same for ever.

The message for the caller says what is and what could be done; whatever else is known goes to the log, under the
request's id, which is in both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from stead.access.authorization import NotPermitted
from stead.api.problem_codes import TITLES
from stead.application import InvalidDocument, NotFound, Reason, Rejection
from stead.application.archived import LinesArchived
from stead.application.explanation import ClaimHolder, holder_of
from stead.application.models import InvalidRequest, VersionMismatch
from stead.application.rejections import RejectionLog
from stead.application.unavailable import AWAY, unavailability

log = logging.getLogger(__name__)

MEDIA = "application/problem+json"
DIALECT = "/tumblebug/"
"""Under which clients look for a `message`."""
LEASES = "/blazar/"
"""Under which clients look for an `error_message`, and know 400 and not 422."""
REPEAT = "if this was a change, it may have been made or not: repeat it with the same Idempotency-Key"
RETRY = 2
"""Seconds after which asking again makes sense when the database is away."""


class FieldError(BaseModel):
    """What is wrong with one part of a request."""

    location: str
    message: str


class Problem(BaseModel):
    """Why there is no answer (RFC 9457)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str
    """`urn:stead:problem:` and the code."""
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    """Also in the header `X-Request-Id` and in the server's log."""
    current_state: str | None = None
    allowed_actions: list[str] | None = None
    """What could be asked for instead."""
    holder: ClaimHolder | None = None
    """Who is in the way."""
    holders: list[ClaimHolder] | None = None
    """All operations whose claims are in the way, the one in `holder` included."""
    reasons: list[Reason] | None = None
    retry_after: int | None = None
    """Seconds; also in the header `Retry-After`."""
    errors: list[FieldError] | None = None
    message: str | None = None
    """The same as `detail`, under the name that clients of `/tumblebug` know."""
    error_message: str | None = None
    """The same, under the name that clients of `/blazar` know."""


class ProblemResponse(Exception):
    """A problem on its way to the caller."""

    def __init__(self, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.code, self.detail, self.headers, self.more = code, detail, dict(headers or {}), more


class LoginFailed(ProblemResponse):
    """Somebody has shown what does not say who they are."""


def problem_response(
    answer: Rejection | NotFound | VersionMismatch | InvalidRequest | InvalidDocument,
) -> ProblemResponse:
    """What the engine said no with, as a problem."""
    match answer:
        case NotFound():
            return ProblemResponse("not-found", answer.message)
        case InvalidRequest():
            given = ((answer.field, answer.message), *answer.more)
            errors = [FieldError(location=where, message=message) for where, message in given]
            return ProblemResponse("invalid", "; ".join(f"{e.location}: {e.message}" for e in errors), errors=errors)
        case InvalidDocument():
            errors = [FieldError(location=where, message=message) for where, message in answer.errors]
            return ProblemResponse(answer.code, answer.says, errors=errors or None)
        case VersionMismatch():
            message = f"it is in version {answer.etag} now, in state {answer.state}"
            return ProblemResponse("changed", message, {"ETag": f'"{answer.etag}"'}, current_state=answer.state)
    return ProblemResponse(
        str(answer.code),
        "; ".join(reason.message for reason in answer.reasons),
        current_state=answer.state or None,
        allowed_actions=list(answer.allowed),
        holder=None if answer.holder is None else holder_of(answer.holder),
        holders=[holder_of(holder) for holder in answer.holders] or None,
        reasons=list(answer.reasons),
        retry_after=answer.retry_after,
    )


def respond(request: Request, problem: ProblemResponse) -> Response:
    """A problem as a response."""
    status, title = TITLES.get(problem.code, (409, "It cannot be done now"))
    path = request.url.path
    if path.startswith(LEASES) and status == 422:
        status = 400
    body = Problem(
        type=f"urn:stead:problem:{problem.code}",
        title=title,
        status=status,
        detail=problem.detail,
        code=problem.code,
        request_id=request_id(request),
        message=problem.detail if path.startswith(DIALECT) else None,
        error_message=problem.detail if path.startswith(LEASES) else None,
        **problem.more,
    )
    headers = problem.headers
    if body.retry_after is not None:
        headers["Retry-After"] = str(body.retry_after)
    return Response(body.model_dump_json(exclude_none=True), status, headers, MEDIA)


def request_id(request: Request) -> str:
    """Under which the request is known."""
    return str(getattr(request.state, "request_id", ""))


def install(app: FastAPI, refusals: RejectionLog) -> None:
    """Make every error of the app a problem; the journal is told of those about who may what."""

    @app.exception_handler(ProblemResponse)
    async def _(request: Request, error: ProblemResponse) -> Response:
        return respond(request, error)

    @app.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> Response:
        errors = [FieldError(location=_where(e["loc"]), message=e["msg"]) for e in error.errors()]
        message = "; ".join(f"{e.location}: {e.message}" for e in errors)
        return respond(request, ProblemResponse("invalid", message, errors=errors))

    @app.exception_handler(UnicodeEncodeError)
    async def _(request: Request, error: UnicodeEncodeError) -> Response:
        return respond(
            request, ProblemResponse("invalid", f"a text has halves of characters: {error.object[:100]!r}")
        )

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        code = {404: "no-such-address", 405: "no-such-method"}.get(error.status_code, "invalid")
        return respond(request, ProblemResponse(code, f"{request.method} {request.url.path}", error.headers))

    @app.exception_handler(NotPermitted)
    async def _(request: Request, error: NotPermitted) -> Response:
        caller, thing = request.state.caller, error.thing
        about = thing.path, thing.kind, caller.name, error.action, caller.actor
        await refusals.not_permitted(*about, error.refusal)
        return respond(request, problem_response(error.refusal))

    @app.exception_handler(LinesArchived)
    async def _(request: Request, error: LinesArchived) -> Response:
        return respond(request, ProblemResponse("archived", str(error)))

    @app.exception_handler(LoginFailed)
    async def _(request: Request, error: LoginFailed) -> Response:
        await refusals.not_known(error.detail)
        return respond(request, error)

    async def unavailable(request: Request, error: Exception) -> Response:
        log.warning("request %s: the database is unavailable: %r", request_id(request), error)
        return respond(
            request, ProblemResponse("unavailable", f"{unavailability(error)}; {REPEAT}", retry_after=RETRY)
        )

    for kind in AWAY:
        app.add_exception_handler(kind, unavailable)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> Response:
        log.error("request %s failed: %r", request_id(request), error)
        answer = respond(
            request, ProblemResponse("internal-error", "it is in the server's log, under the request's id")
        )
        answer.headers["X-Request-Id"] = request_id(request)  # no middleware sees this answer any more
        return answer


def _where(place: tuple[Any, ...]) -> str:
    """`body.spec` for ("body", "spec")."""
    return ".".join(str(part) for part in place)
