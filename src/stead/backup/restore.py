"""Brings a backup back, in one transaction whose last statement raises the cell's incarnation.

So there is no moment at which a controller could start on the database of another time under fences of that time: as
long as the transaction lasts the database is empty for everybody else, and whoever is killed in the middle leaves it
empty. `pg_restore` turns the dump into SQL and `psql` runs that; the end of their input is no commit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import asyncpg

from stead.backup.archive import CHUNK, Manifest, opened, verify
from stead.backup.clients import Clients, ToolFailed, clients, complaint
from stead.backup.incarnation import connected, sessions
from stead.store.extensions import ExtensionMissing, check
from stead.store.migrate import known, migrate
from stead.store.migration_runner import ONE_AT_A_TIME
from stead.store.recovery import CUSTODY
from stead.store.statements import statement


class RestoreFailed(Exception):
    """The database is as it was; the message says why."""


@dataclass(frozen=True)
class RestoreSummary:
    """What was brought back."""

    manifest: Manifest
    incarnation: int
    """From now on."""
    migrated: bool
    """The schema was an older one, and is up to date now."""


async def restore(dsn: str, file: Path, *, hold: bool = True, custody: float = CUSTODY) -> RestoreSummary:
    """Bring a backup back into an empty database, all of it or nothing.

    With `hold`, the cell orders nothing but probes until an operator releases it. What was in progress is probed
    after `custody` seconds, when no agent of the time before can act any more.
    """
    manifest = await asyncio.to_thread(verify, file)
    if manifest.revision not in known():
        says = f"its schema is {manifest.revision}, which this version does not know"
        raise RestoreFailed(
            f"the backup was made by Stead {manifest.stead}, and {says}: restore it with that version"
        )
    connection = await asyncpg.connect(dsn)
    try:
        await _check(connection, manifest)
        tools = clients(connection.get_server_version().major)
        with opened(file) as (_, dump):
            await _run(tools, dsn, dump, manifest, {"hold": str(hold).lower(), "custody": f"{custody:g}"})
        incarnation = await connection.fetchval("SELECT incarnation FROM cell")
    finally:
        await connection.close()
    old = manifest.revision != max(known())
    if old:
        await migrate(dsn)
    return RestoreSummary(manifest, incarnation, old)


async def _check(connection: asyncpg.Connection[asyncpg.Record], manifest: Manifest) -> None:
    """Refuse where something is in the way, before anything is tried."""
    there = [r["name"] for r in await connection.fetch(statement("list_relations"), 4)]
    if there:
        if "public.cell" in [r["name"] for r in await connection.fetch(statement("list_relations"), 1000)]:
            raise RestoreFailed("there is a cell in this database already: name an empty one (createdb makes one)")
        raise RestoreFailed(f"this database is not empty, there is {', '.join(there)}: name an empty one")
    try:
        await check(connection, manifest.revision)
    except ExtensionMissing as error:
        raise RestoreFailed(str(error)) from None
    if others := await sessions(connection):
        raise RestoreFailed(f"{connected(others)}, and may be a controller that waits for a cell: stop it first")
    system = await connection.fetchval("SELECT system_identifier::text FROM pg_control_system()")
    if system == manifest.system and (others := await sessions(connection, manifest.database)):
        says = f"the cell that was backed up is still in use: {connected(others).removesuffix(' it')}"
        raise RestoreFailed(f"{says} {manifest.database}. Stop its servers and controllers first")


async def _run(tools: Clients, dsn: str, dump: IO[bytes], manifest: Manifest, recovery: Mapping[str, str]) -> None:
    """From the dump through `pg_restore` to `psql`, with what comes before and after it."""
    known = {"one_at_a_time": ONE_AT_A_TIME, "cell": json.dumps(manifest.cell), **recovery}
    variables = [f"--set={name}={value}" for name, value in known.items()]
    psql = tools.command("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *variables, f"--dbname={dsn}")
    text = tools.command("pg_restore", "--no-owner", "--no-privileges", "--no-comments", "--file=-")
    pipe = asyncio.subprocess.PIPE
    with TemporaryFile() as said, TemporaryFile() as heard:
        sql = await asyncio.create_subprocess_exec(*text, stdin=pipe, stdout=pipe, stderr=said)
        run = await asyncio.create_subprocess_exec(*psql, stdin=pipe, stdout=asyncio.subprocess.DEVNULL, stderr=heard)
        assert sql.stdin is not None and sql.stdout is not None and run.stdin is not None  # noqa: PT018
        try:
            feeding = asyncio.create_task(_feed(dump, sql.stdin))
            try:
                await _write(run.stdin, statement("restore/begin").encode())
                while chunk := await sql.stdout.read(CHUNK):
                    await _write(run.stdin, chunk)
                await feeding
                if await sql.wait():
                    raise ToolFailed(f"pg_restore: {_said(said)}")
                raised = f"{statement('raise_incarnation')};"
                end = "\n".join((statement("restore/cell"), raised, statement("restore/recover"), "COMMIT;\n"))
                await _write(run.stdin, end.encode())
                run.stdin.close()
            except (BrokenPipeError, ConnectionResetError):
                await run.wait()
                raise ToolFailed(f"psql: {_said(heard)}") from None
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
            if await run.wait():
                raise ToolFailed(f"psql: {_said(heard)}")
        finally:
            for process in (sql, run):
                if process.returncode is None:
                    process.kill()
                    await process.wait()


async def _feed(dump: IO[bytes], stdin: asyncio.StreamWriter) -> None:
    while chunk := await asyncio.to_thread(dump.read, CHUNK):
        await _write(stdin, chunk)
    stdin.close()
    await stdin.wait_closed()


async def _write(stdin: asyncio.StreamWriter, chunk: bytes) -> None:
    stdin.write(chunk)
    await stdin.drain()


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return complaint(file.read())
