"""Migrations: plain SQL files, run in order by alembic in one transaction. Imported where there is one to run.

Others work on the database meanwhile, and are not to wait. So what takes long, which is to build an index, is done
ahead and beside them, outside of the transaction; and in it nobody is waited for: whoever stands in line for the lock
of a table has everybody behind them. Where a lock cannot be had at once, all is taken back and tried again later.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, cast

import asyncpg
from alembic import command, op
from alembic.config import Config
from sqlalchemy import AdaptedConnection, Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from stead.store.concurrent_indexes import make_ahead
from stead.store.extensions import check
from stead.store.migrate import MigrationFailed, newest, version, version_folders

log = logging.getLogger(__name__)

_HERE = files("stead.store")

ONE_AT_A_TIME = 0x57EAD
"""The lock of a process that migrates: controllers that start together take turns."""

TURN = 0.2
"""Seconds between two looks whether it is one's turn. Nobody stands in line for it: to build an index is to wait for
whoever looks at the database, and whoever stands in line does."""

LOCK = 0.5
"""Seconds that a lock is waited for, and with it everybody who wants the same table."""

PAUSE = 1.0
"""Seconds before another try, on average."""

PATIENCE = 120.0
"""Seconds after which an upgrade that gets no lock fails."""

BUSY = ("55P03", "40P01")
"""The database's words for a lock that could not be had, and for one that would never have been."""


class MigrationBlocked(MigrationFailed):
    """The database could not be brought up to date, since others hold what is to be changed."""


def run_files(*names: str, of: Traversable = _HERE) -> None:
    """Run SQL files of the store, or of another folder, each as one string, within a migration."""
    adapted = cast(AdaptedConnection, op.get_bind().connection.dbapi_connection)
    for name in names:
        adapted.run_async(partial(_run, (of / name).read_text(encoding="utf-8")))


async def _run(text: str, connection: Any) -> None:
    await connection.execute(text)


async def upgrade(dsn: str, revision: str, *, patience: float = PATIENCE) -> None:
    """Run the migrations that a database lacks."""
    loop = asyncio.get_running_loop()
    async with _turn(dsn) as connection:
        last = newest() if revision == "head" else revision
        await check(connection, last)
        until = loop.time() + patience
        await make_ahead(connection, await version(connection), last)
        while True:
            try:
                await _change(dsn, revision)
                return
            except (DBAPIError, asyncpg.PostgresError) as error:
                if _sqlstate(error) not in BUSY:
                    raise
                if loop.time() > until:
                    says = "end what holds its tables (pg_stat_activity shows it), and start again"
                    raise MigrationBlocked(
                        f"the database was not brought to {last} in {patience:g} s: {says}"
                    ) from error
                log.info("tables to be changed are locked; the upgrade to %s is tried again", last)
            await asyncio.sleep(random.uniform(PAUSE / 2, PAUSE * 1.5))


@asynccontextmanager
async def _turn(dsn: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """A connection that has the lock of those who migrate, for as long as it lasts."""
    connection = await asyncpg.connect(dsn)
    try:
        while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", ONE_AT_A_TIME):
            await asyncio.sleep(TURN)
        yield connection
    finally:
        await connection.close()


async def _change(dsn: str, revision: str) -> None:
    """All of them, or none."""
    # The address goes to the driver as it is, which knows more of what may stand in it: certificates, several hosts.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn))
    try:
        async with engine.begin() as connection:
            await connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(LOCK * 1000)}")
            await connection.run_sync(_upgrade, revision)
    finally:
        await engine.dispose()


def _sqlstate(error: Exception) -> str:
    found = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(found, "sqlstate", None) or "")


def _upgrade(connection: Connection, revision: str) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_HERE / "migrations"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("version_locations", os.pathsep.join(map(str, version_folders())))
    command.upgrade(config, revision)
