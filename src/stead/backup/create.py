"""Takes a backup of a cell that runs: one snapshot for the dump and the manifest, and nobody waits for it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import zipfile
from pathlib import Path
from tempfile import TemporaryFile

import asyncpg
import msgspec

from stead import __version__
from stead.backup.archive import CHUNK, DUMP, MANIFEST, Manifest, written
from stead.backup.clients import Clients, ToolFailed, clients, complaint
from stead.store.statements import statement


class BackupFailed(Exception):
    """There is no backup; the message says why."""


async def take(dsn: str, file: Path, name: str) -> Manifest:
    """Back a cell up into a file.

    Everything that was committed before this was called is in it: also every operation that was accepted.
    """
    connection = await asyncpg.connect(dsn)
    try:
        tools = clients(connection.get_server_version().major)
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            snapshot = await connection.fetchval("SELECT pg_export_snapshot()")
            manifest = await _described(connection, name)
            with written(file) as archive:
                digest, size = await _dump(tools, dsn, snapshot, archive)
                manifest = msgspec.structs.replace(manifest, sha256=digest, size=size)
                archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
            return manifest
    finally:
        await connection.close()


async def record(dsn: str, backup: Manifest) -> bool:
    """Have the cell know of a backup, for its metrics. False where its database takes no change, as a standby."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement("record_backup"), backup.at, backup.size, backup.sha256)
    except (asyncpg.ReadOnlySQLTransactionError, asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedTableError):
        return False
    finally:
        await connection.close()
    return True


async def _described(connection: asyncpg.Connection[asyncpg.Record], name: str) -> Manifest:
    try:
        rows = await connection.fetch(statement("read_cell_summary"))
    except asyncpg.UndefinedTableError:
        raise BackupFailed("there is no cell in this database") from None
    if not rows:
        raise BackupFailed("this database was restored by hand and has no cell yet: see `stead backup raise`")
    found = dict(rows[0])
    return Manifest(stead=__version__, name=name, cell=json.loads(found.pop("cell")), **found)


async def _dump(tools: Clients, dsn: str, snapshot: str, archive: zipfile.ZipFile) -> tuple[str, int]:
    """Let `pg_dump` write into the archive; the digest of what it wrote, and how much that was."""
    words = [
        "--format=custom",
        f"--snapshot={snapshot}",
        "--no-owner",
        "--no-privileges",
        "--exclude-table-data=cell",
    ]
    digest, size = hashlib.sha256(), 0
    with TemporaryFile() as said:
        command = tools.command("pg_dump", *words, f"--dbname={dsn}")
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=said)
        try:
            assert process.stdout is not None
            with archive.open(DUMP, "w", force_zip64=True) as out:
                while chunk := await process.stdout.read(CHUNK):
                    await asyncio.to_thread(out.write, chunk)
                    digest.update(chunk)
                    size += len(chunk)
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if code:
            said.seek(0)
            raise ToolFailed(f"pg_dump: {complaint(said.read())}")
    return digest.hexdigest(), size
