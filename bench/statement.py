"""The very statements that the engine runs, as it ran them, for others to run.

A change is made once by the engine, and what it sent to the database is kept. In the text, what belongs to the one
resource is replaced by marks, so that a script can put another in its place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stead.store import Store
from stead.store.connections import Connections

PATH = "'/bench/fleet/g' || lpad((:i % 100)::text, 2, '0') || '/' || lpad((:i)::text, 7, '0')"
"""The path of the VM with number `:i`."""


@contextmanager
def kept(store: Store) -> Iterator[list[tuple[Any, ...]]]:
    """What is sent to the commit function inside the block."""
    calls: list[tuple[Any, ...]] = []
    original = Connections.fetchval

    async def fetchval(pool: Any, query: str, *values: Any, **options: Any) -> Any:
        if "commit_changes" in query:
            calls.append(values)
        return await original(pool, query, *values, **options)

    setattr(Connections, "fetchval", fetchval)  # noqa: B010
    try:
        yield calls
    finally:
        setattr(Connections, "fetchval", original)  # noqa: B010


def literal(value: Any) -> str:
    """As JSON in a string of SQL; with a space after every colon, or pgbench would take what follows for a name."""
    return "'" + json.dumps(value).replace("'", "''") + "'"
