"""What goes over the wire of operations on groups."""

from __future__ import annotations

from datetime import datetime

from stead.api.models import Wire


class RetryAsk(Wire):
    """How to ask once more."""

    force: bool = False
    """Whatever the state says. Needs a reason."""
    reason: str = ""


class OperationMember(Wire):
    """A member of a group that did not do what an operation asked of it."""

    path: str
    outcome: str
    """As of an operation; or `skipped`: it could not act; `unchanged`: it was there already; `joined`: another
    operation that does the same is in progress on it, and is waited for."""
    says: str
    at: datetime


class OperationMembers(Wire):
    """A page of them, in order of path."""

    items: list[OperationMember]
    next: str | None
    """The cursor of the next page."""
