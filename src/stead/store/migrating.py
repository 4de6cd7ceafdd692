"""Migrations: plain SQL files, run in order by alembic in one transaction. Imported where there is one to run."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from typing import Any, cast

import asyncpg
from alembic import command, op
from alembic.config import Config
from sqlalchemy import AdaptedConnection, Connection
from sqlalchemy.ext.asyncio import create_async_engine

_HERE = files("stead.store")

ONE_AT_A_TIME = 0x57EAD
"""The lock that whoever migrates holds: controllers that start together take turns."""


def run_files(*names: str) -> None:
    """Run SQL files of the store, each as one string, within a migration."""
    adapted = cast(AdaptedConnection, op.get_bind().connection.dbapi_connection)
    for name in names:
        adapted.run_async(partial(_run, (_HERE / name).read_text(encoding="utf-8")))


async def _run(text: str, connection: Any) -> None:
    await connection.execute(text)


async def upgrade(dsn: str, revision: str) -> None:
    """Run the migrations that a database lacks."""
    # The address goes to the driver as it is, which knows more of what may stand in it: certificates, several hosts.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(dsn))
    try:
        async with engine.begin() as connection:
            await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ONE_AT_A_TIME})")
            await connection.run_sync(_upgrade, revision)
    finally:
        await engine.dispose()


def _upgrade(connection: Connection, revision: str) -> None:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_HERE / "migrations"))
    command.upgrade(config, revision)
