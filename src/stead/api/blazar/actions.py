"""Ask for something and wait for its end, since clients of the dialect take an answer for the outcome.

Whoever waits longer than is reasonable is told how it stands, exactly: the work goes on, and can be looked at.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

from stead.access.caller import Caller
from stead.api.problems import ProblemResponse, problem_response
from stead.application import Accepted, ActionRequest, authorized_commands
from stead.application.commands import Application
from stead.application.leases import Lease
from stead.application.models import InvalidRequest, Operation
from stead.application.queries import Queries

MAX_WAIT = 15.0
"""Seconds for which an answer waits for the end of what was asked for."""

FIRST_POLL, MAX_POLL = 0.02, 0.5
"""Seconds between two looks at whether it has ended: few at first, since a booking takes a moment."""

_FIELDS = {
    "path": "name",
    "spec.start": "start_date",
    "spec.end": "end_date",
    "spec.before_end": "before_end_date",
}


async def complete(application: Application, request: ActionRequest, caller: Caller) -> bool:
    """Ask, and raise whatever speaks against it; whether it has ended, and well. It goes on where it has not."""
    operation = await _accepted_operation(application, request, caller)
    return operation is None or await _succeeded(application, operation, caller)


async def book(application: Application, request: ActionRequest, caller: Caller) -> Lease:
    """Ask for a lease, and say how it is: as was asked for, or on the way to it where that takes long."""
    operation = await _accepted_operation(application, request, caller)
    succeeded = operation is None or await _succeeded(application, operation, caller)
    lease = await application.queries(application.authorization.view(caller)).lease(request.path)
    if lease is None and operation is not None and not succeeded:  # it ended after all, between the two looks
        await _succeeded(application, operation, caller)
    if lease is None:
        raise ProblemResponse("not-found", f"there is no lease {request.path} any more")
    return lease


async def _accepted_operation(application: Application, request: ActionRequest, caller: Caller) -> UUID | None:
    """The operation of what is asked for; None where it is so already."""
    answer = await authorized_commands.request_action(application, request, caller)
    if not isinstance(answer, Accepted):
        raise problem_response(_dialect_fields(answer) if isinstance(answer, InvalidRequest) else answer)
    return UUID(answer.operation) if answer.operation else None


async def _succeeded(application: Application, operation: UUID, caller: Caller) -> bool:
    """Whether it has ended, and well; False where it goes on."""
    queries = application.queries(application.authorization.view(caller))
    end = await wait_for_end(queries, operation)
    if end is not None and end.outcome != "succeeded":
        raise await _failure(queries, end)
    return end is not None


async def wait_for_end(queries: Queries, operation: UUID) -> Operation | None:
    """An operation at its end; None where that takes long."""
    clock = asyncio.get_running_loop().time
    until, pause = clock() + MAX_WAIT, FIRST_POLL
    while (found := await queries.accepted(operation)) is None or not found.outcome:
        if clock() >= until:
            return None
        await asyncio.sleep(pause)
        pause = min(MAX_POLL, pause * 1.5)
    return found


async def _failure(queries: Queries, end: Operation) -> ProblemResponse:
    message = end.message or f"{end.action} of {end.path} ended as {end.outcome}"
    lease = await queries.lease(end.path)
    return ProblemResponse("declined", message, current_state=lease.status if lease is not None else None)


def _dialect_fields(invalid: InvalidRequest) -> InvalidRequest:
    """What is wrong with a lease, by the fields of the dialect."""

    def translated(field: str) -> str:
        return f"body.{_FIELDS.get(field, field.removeprefix('spec.'))}"

    more = tuple((translated(field), message) for field, message in invalid.more)
    return replace(invalid, field=translated(invalid.field), more=more)
