"""Members of operations on groups, as a server answers with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationMember:
    """A member of a group that did not do what an operation asked of it."""

    path: str
    outcome: str
    """As of an operation, or `skipped`: it could not be asked."""
    says: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationMemberPage:
    """A page of them, in order of path."""

    items: tuple[OperationMember, ...]
    next: str | None = None
