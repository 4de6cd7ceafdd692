"""What a cell uses, looked at from outside: memory, files, connections, tables, and what is stored beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx

from stead.dev.children import Server, children

type Sample = dict[str, float]

SIZES = """
SELECT coalesce(p.relname, c.relname) AS name, sum(pg_table_size(c.oid))::float8 AS rows,
       sum(pg_indexes_size(c.oid))::float8 AS indexes
  FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
 WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1
"""
"""Of all tables; partitions count with what they are partitions of."""

CONNECTIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)

UNDER_WAY = "SELECT count(*) FROM operations"

OWN = ("Pss_Anon:", "SwapPss:")
"""Memory that a process asked for. Not the pages of its program, which all who run it share until one is left;
and not the buffers of PostgreSQL, which fill with what is written until they are as large as they were told to be."""


@dataclass
class Watched:
    """A cell that is looked at."""

    database: asyncpg.Connection[asyncpg.Record]
    postgres: Server
    bus: str
    """Where the bus tells of itself."""
    processes: Mapping[str, Server]

    async def look(self) -> Sample:
        """All of it, now; sizes are bytes."""
        sample: Sample = {}
        for name, one in self.processes.items():
            family = [one.pid, *children(one.pid)]
            sample[f"memory {name}"] = sum(map(own_memory, family))
            sample[f"files {name}"] = sum(map(_files, family))
            sample[f"stored {name}"] = _stored(one)
        sample["memory postgres"] = sum(map(own_memory, [self.postgres.pid, *children(self.postgres.pid)]))
        sample["connections postgres"] = float(await self.database.fetchval(CONNECTIONS))
        for row in await self.database.fetch(SIZES):
            sample[f"table {row['name']}"] = row["rows"]
            sample[f"indexes {row['name']}"] = row["indexes"]
        sample["under way"] = float(await self.database.fetchval(UNDER_WAY))
        async with httpx.AsyncClient(base_url=self.bus, trust_env=False, timeout=10) as web:
            sample["connections bus"] = (await web.get("/varz")).json()["connections"]
            kept = (await web.get("/jsz")).json()
        sample["stored bus"] = kept["storage"] + kept["memory"]
        return sample


def own_memory(pid: int) -> float:
    """Bytes that are its own, and its part of what it shares."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0.0
    return sum(1024.0 * int(line.split()[1]) for line in lines if line.startswith(OWN))


def _files(pid: int) -> float:
    try:
        return float(len(list(Path(f"/proc/{pid}/fd").iterdir())))
    except OSError:
        return 0.0


def _stored(one: Server) -> float:
    """Bytes in its folder, logs among them."""
    found = 0.0
    for file in one.folder.rglob("*"):
        try:
            found += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return found
