"""What is measured on: a PostgreSQL that writes to disk before it answers, and a database that is full of VMs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import asyncpg
import httpx

from stead.dev.children import Server
from stead.dev.engines import Postgres, postgres_binary
from tests.lanes import with_every_lane

ROOT = Path(__file__).parents[1]
CELL = "bench"

SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "autovacuum_naptime": "10s",
}
"""What anybody gives a server of this size."""

FILL = """
INSERT INTO resources (path, kind, state, fence, lane, token, spec, facts)
SELECT '/bench/fleet/g' || lpad((i % 100)::text, 2, '0') || '/' || lpad(i::text, 7, '0'), 'vm', 'Running', 1,
       $3::text[][1 + i % cardinality($3::text[])], gen_random_uuid(),
       jsonb_build_object('size', 1), jsonb_build_object('id', 'i-' || i)
  FROM generate_series($1::int, $2::int - 1) i
"""
"""VMs that run; their paths follow from their numbers."""

LIKE_THE_FIRST = """
WITH sample AS (SELECT * FROM resources WHERE path = $1), numbered AS (
    UPDATE resources r SET state = s.state, condition = s.condition, fence = s.fence, version = s.version,
           operation = gen_random_uuid(), order_id = r.id, timers = s.timers, due = s.due
      FROM sample s WHERE r.kind = 'vm' AND r.id <> s.id AND r.id <= $2
    RETURNING r.id, r.path, r.operation, r.lane
), begun AS (
    INSERT INTO operations (id, action, kind, path, principal)
    SELECT operation, 'suspend', 'vm', path, 'ann' FROM numbered
), claimed AS (
    INSERT INTO claims (path, mode, operation) SELECT path, 'x', operation FROM numbered
)
INSERT INTO orders (id, operation, lane, kind, verb, members, agent, epoch)
SELECT id, operation, lane, 'vm', 'suspend', ARRAY[id], $3, $4 FROM numbered
"""
"""All others are where the first is: its order stands, and an agent has it, or nobody was told."""


def path_of(i: int) -> str:
    """Where a VM with that number is."""
    return f"/bench/fleet/g{i % 100:02}/{i:07}"


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server that writes to disk before it answers."""
    with Postgres(settings=SETTINGS) as server:
        yield server


async def filled(server: Postgres, name: str, vms: int, lanes: Sequence[str], limits: bool = False) -> str:
    """A database with so many VMs that run, spread over lanes, and without limits unless they are wanted."""
    dsn = server.create_database(name)
    await with_every_lane(dsn)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(FILL.replace("$3::text[][", "($3::text[])["), 0, vms, list(lanes))
        if not limits:
            await connection.execute("DELETE FROM providers")
        await connection.execute("ANALYZE")
    finally:
        await connection.close()
    return dsn


async def add_group(dsn: str, path: str, kind: str, state: str) -> None:
    """A group that VMs are below."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "INSERT INTO resources (path, kind, state, fence, token) VALUES ($1, $2, $3, 1, gen_random_uuid())",
            path,
            kind,
            state,
        )
    finally:
        await connection.close()


class Stead(Server):
    """A `stead` process."""

    def __init__(self, name: str, *words: str) -> None:
        super().__init__(f"bench-{name}")
        self.words = words

    def command(self) -> Sequence[str | Path]:
        unlimited = ["--rate", "changes=0", "--rate", "namespace-changes=0"]
        port = ["--port", str(self.port), *unlimited] if self.words[0] == "server" else []
        return ["env", "STEAD_LOG=WARNING", sys.executable, "-m", "stead", *self.words, *port]

    def ready(self) -> bool:
        if self.words[0] != "server":
            return True
        try:
            return httpx.get(f"{self.url}/readyz", timeout=1, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def pgbench(server: Postgres, database: str, script: str, clients: int, seconds: float) -> float:
    """Transactions a second of a script, all statements prepared."""
    file = server.folder / "script.sql"
    file.write_text(script)
    said = subprocess.run(
        [
            postgres_binary("pgbench"),
            *("-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres", "-n", "-M", "prepared", "-D", "n=0"),
            *("-c", str(clients), "-j", str(min(clients, os.cpu_count() or 1)), "-T", str(round(seconds))),
            *("-f", str(file), database),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    found = re.search(r"tps = ([\d.]+) \(without", said.stdout)
    if said.returncode or found is None:
        raise RuntimeError(said.stderr[-2000:] or said.stdout[-2000:])
    return float(found[1])


@asynccontextmanager
async def background(*works: asyncio.Future[None] | asyncio.Task[None]) -> AsyncIterator[None]:
    """Tasks that end with the block."""
    try:
        yield
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
