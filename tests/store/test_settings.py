"""How the store's connections are set."""

from __future__ import annotations

from stead.store import Store


async def test_statements_are_not_compiled(migrated: str) -> None:
    """Without figures about new tables PostgreSQL believes short statements to be long ones, and compiles them."""
    async with Store.open(migrated, connections=1) as store:
        assert await store.pool.fetchval("SHOW jit") == "off"
