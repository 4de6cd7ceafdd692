"""How it shows that the database cannot be used, while nothing is wrong with a request."""

from __future__ import annotations

import asyncpg

from stead.store.connections import DatabaseSilent, StatementUnanswered

AWAY: tuple[type[Exception], ...] = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InterfaceError,
    asyncpg.InsufficientResourcesError,  # connections, memory, or space on its disk
    asyncpg.PostgresIOError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby, also one that was the primary a moment ago
    OSError,
    TimeoutError,
)


def unavailability(error: Exception) -> str:
    """Why the database cannot be used, in a clause."""
    match error:
        case DatabaseSilent() | StatementUnanswered():
            return str(error)
        case asyncpg.DiskFullError():
            return "the database has no space left on its disk"
        case asyncpg.ReadOnlySQLTransactionError():
            return "the database is read-only"
        case asyncpg.TooManyConnectionsError():
            return "the database has no connection left for this server"
        case _:
            return "the database cannot be reached"
