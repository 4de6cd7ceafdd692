"""Errors that come again whenever the same is applied, as opposed to those of something that is away for a while."""

from __future__ import annotations

import asyncpg

VALUE_CLASSES = ("22", "23", "54")
"""Classes of the database's errors that are about the values: wrong data, broken constraints, too much of it."""


def at_fault(error: Exception) -> bool:
    """Whether what was to be applied is at fault, so that it will fail again."""
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "")[:2] in VALUE_CLASSES
    return isinstance(error, ValueError | TypeError | LookupError | OverflowError | RecursionError)
