"""Ask for something and wait for its end, since clients of the dialect take an answer for the outcome.

Whoever waits longer than is reasonable is told how it stands, exactly: the work goes on, and can be looked at.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID

from stead.api.problems import Trouble, trouble
from stead.controller.view import Asked, Caller, Operation, Seen, Service, Taken, Unfit

PATIENCE = 15.0
"""Seconds for which an answer waits for the end of what was asked for."""

FIRST, MOST = 0.02, 0.5
"""Seconds between two looks at whether it has ended: few at first, since a booking takes a moment."""

_FIELDS = {
    "path": "name",
    "spec.start": "start_date",
    "spec.end": "end_date",
    "spec.before_end": "before_end_date",
}


async def done(service: Service, asked: Asked, caller: Caller) -> bool:
    """Ask, and raise whatever speaks against it; whether it has ended, and well. It goes on where it has not."""
    answer = await service.ask(asked, caller)
    if not isinstance(answer, Taken):
        raise trouble(_in_its_words(answer) if isinstance(answer, Unfit) else answer)
    if not answer.operation:
        return True
    end = await ended(service, UUID(answer.operation))
    if end is None:
        return False
    if end.outcome != "done":
        raise await _declined(service.seen(caller), end)
    return True


async def ended(service: Service, operation: UUID) -> Operation | None:
    """An operation at its end; None where that takes long."""
    clock = asyncio.get_running_loop().time
    until, pause = clock() + PATIENCE, FIRST
    while (found := await service.view.operation(operation)) is None or not found.outcome:
        if clock() >= until:
            return None
        await asyncio.sleep(pause)
        pause = min(MOST, pause * 1.5)
    return found


async def _declined(seen: Seen, end: Operation) -> Trouble:
    says = end.says or f"{end.action} of {end.path} ended as {end.outcome}"
    lease = await seen.lease(end.path)
    return Trouble("declined", says, current_state=lease.status if lease is not None else None)


def _in_its_words(unfit: Unfit) -> Unfit:
    """What is wrong with a lease, by the fields of the dialect."""

    def told(field: str) -> str:
        return f"body.{_FIELDS.get(field, field.removeprefix('spec.'))}"

    more = tuple((told(field), says) for field, says in unfit.more)
    return replace(unfit, field=told(unfit.field), more=more)
