"""Changes made directly in the database, without a server: the first token of a cell, and its first grants."""

from __future__ import annotations

from datetime import timedelta

from stead.access.access import Access, Roles
from stead.store import Store
from stead.store.migrate import MigrationFailed, migrate

__all__ = ["MigrationFailed", "create_token"]


async def create_token(dsn: str, name: str, roles: Roles, lasts: timedelta) -> str:
    """Make a token, and the schema first where there is none."""
    await migrate(dsn)
    async with Store.open(dsn, connections=1) as store:
        return (await Access(store, ()).create_token(name, roles, lasts, "the database")).text


async def allow_lane(dsn: str, lane: str, namespace: str, reason: str = "") -> None:
    """Let a namespace use a lane, or all of them (`*`)."""
    async with Store.open(dsn, connections=1) as store:
        await store.lanes.allow(lane, namespace, "the database", reason)
