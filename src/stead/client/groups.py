"""Members of operations on groups, as a server answers with them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class OperationMember(Struct, frozen=True, kw_only=True):
    """A member of a group that did not do what an operation asked of it."""

    path: str
    outcome: str
    """As of an operation; or `skipped`: it could not act; `unchanged`: it was there already; `joined`: another
    operation that does the same is in progress on it, and is waited for."""
    says: str = ""
    at: datetime | None = None


class OperationMemberPage(Struct, frozen=True, kw_only=True):
    """A page of them, in order of path."""

    items: tuple[OperationMember, ...]
    next: str | None = None
