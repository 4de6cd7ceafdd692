"""Where a request comes from, for whatever is written in its course.

It belongs to the task that answers the request. Work that others share or that goes on later is begun without it: see
`detached_context`.
"""

from __future__ import annotations

from contextvars import Context, ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """An address, and the id of a request."""

    address: str
    request: str


current_origin: ContextVar[Origin | None] = ContextVar("origin", default=None)


def detached_context() -> Context:
    """For tasks that are no request's own."""
    return Context()


def address_and_request() -> tuple[str, str]:
    """Address and id of the request that is answered; empty where none is."""
    here = current_origin.get()
    return (here.address, here.request) if here is not None else ("", "")
