"""The connections of a process to the database, and whether the database answers.

A database that has stopped answering breaks no connection: its machine hangs, its storage does, or the network drops
what is sent. A connection of its own therefore asks the database for a sign of life. Where none comes in time, every
other connection is ended, so that nothing waits on it, and new statements fail at once until there is an answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast
from weakref import WeakSet

import asyncpg

from stead.store.clock import DatabaseClock

log = logging.getLogger(__name__)

type Connection = asyncpg.Connection[asyncpg.Record]

PATIENCE = 4.0
"""Seconds without an answer after which the database counts as silent, and that a new connection may take."""

INTERVAL = 1.0
"""Seconds between two signs of life."""

MAX_STATEMENT_SECONDS = 60.0
"""How long a statement may have no answer while others have one: its backend may hang alone."""

FULL_SECONDS = 10.0
"""How long the database counts as full after it had no space for a change."""

TIME = "extract(epoch FROM clock_timestamp())::float8"

SETTINGS = {"jit": "off", "application_name": "stead"}
"""Statements are many and short: compiling one takes longer than running it a thousand times. The name is what
`pg_stat_activity` shows."""


class DatabaseSilent(ConnectionError):
    """The database does not answer."""

    def __init__(self) -> None:
        super().__init__(f"the database has not answered within {PATIENCE:g} s")


class StatementUnanswered(ConnectionError):
    """A statement has no answer, though the database answers others."""

    def __init__(self) -> None:
        super().__init__(f"the database has not answered a statement within {MAX_STATEMENT_SECONDS:g} s")


class Connections:
    """A pool of connections that fails at once while the database does not answer."""

    def __init__(
        self,
        dsn: str,
        most: int,
        meet: Callable[[Connection], Awaitable[None]],
        clock: DatabaseClock | None = None,
    ) -> None:
        """The database's clock is read with every new connection, and with every sign of life."""
        self._dsn = dsn
        self._meet = meet
        self.clock = clock or DatabaseClock()
        self._opened: WeakSet[Connection] = WeakSet()
        self._pool = asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=most,
            init=self._init,
            reset=_nothing,
            server_settings=SETTINGS,
            timeout=PATIENCE,
            command_timeout=MAX_STATEMENT_SECONDS,
        )
        self._full_at = -FULL_SECONDS
        self.silent = False
        self.read_only = False

    async def __aenter__(self) -> Connections:
        await self._pool
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        with suppress(asyncio.CancelledError):
            await self._watching
        if self.silent:
            self._pool.terminate()
        else:
            await self._pool.close()

    async def _init(self, connection: Connection) -> None:
        self._opened.add(connection)
        await self._meet(connection)
        asked = self.clock.steady()
        self._told(asked, await connection.fetchval(f"SELECT {TIME}"))

    # What statements use

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection for one transaction."""
        if self.silent:
            raise DatabaseSilent
        async with self._pool.acquire() as connection:
            if self.silent:  # it became so while this waited for a connection
                raise DatabaseSilent
            try:
                yield cast("Connection", connection)
            except asyncpg.DiskFullError:
                self._full_at = time.monotonic()
                raise
            except TimeoutError as error:
                connection.terminate()  # otherwise the pool waits until its backend has heard of it
                raise StatementUnanswered from error
            except (asyncpg.PostgresConnectionError, asyncpg.InterfaceError) as error:
                if self.silent:
                    raise DatabaseSilent from error
                raise

    async def fetch(self, text: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a statement."""
        async with self.acquire() as connection:
            return await connection.fetch(text, *values)

    async def fetchval(self, text: str, *values: Any) -> Any:
        """The first value of the first row of a statement."""
        async with self.acquire() as connection:
            return await connection.fetchval(text, *values)

    async def execute(self, text: str, *values: Any) -> str:
        """Run a statement that has no rows."""
        async with self.acquire() as connection:
            return await connection.execute(text, *values)

    def counts(self) -> tuple[int, int, int]:
        """Connections in use, idle, and how many there may be."""
        size, idle = self._pool.get_size(), self._pool.get_idle_size()
        return size - idle, idle, self._pool.get_max_size()

    # Whether the database can be used

    @property
    def trouble(self) -> str:
        """What keeps the database from being used; empty if nothing does."""
        if self.silent:
            return str(DatabaseSilent())
        if self.read_only:
            return "the database takes no changes: it is read-only"
        if time.monotonic() - self._full_at < FULL_SECONDS:
            return "the database has no space left on its disk"
        return ""

    async def _watch(self) -> None:
        connection: Connection | None = None
        asking: asyncio.Task[Connection | None] | None = None
        try:
            while True:
                await asyncio.sleep(INTERVAL)
                asking = asyncio.create_task(self._sign(connection))
                try:
                    connection = await _in_time(asking)
                except TimeoutError:
                    asking.cancel()
                    if connection is not None:
                        connection.terminate()
                        connection = None
                    self._went_silent()
                else:
                    self._answered()
        finally:
            if asking is not None:  # it may be about to connect
                asking.cancel()
                (made,) = await asyncio.gather(asking, return_exceptions=True)
                connection = connection or (made if isinstance(made, asyncpg.Connection) else None)
            if connection is not None:
                connection.terminate()

    async def _sign(self, connection: Connection | None) -> Connection | None:
        """Ask for a sign of life, on a connection that is kept as long as it works.

        An error, or a refused connection, is a sign of life too: statements will meet it at once.
        """
        works = False
        try:
            if connection is None or connection.is_closed():
                connection = await asyncpg.connect(self._dsn, timeout=PATIENCE, server_settings=SETTINGS)
            asked = self.clock.steady()
            said = await connection.fetchrow(f"SELECT current_setting('transaction_read_only')::bool, {TIME}")
            assert said is not None
            self.read_only = said[0]
            self._told(asked, said[1])
            works = True
        except TimeoutError:
            raise
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return None
        finally:
            if connection is not None and not works:
                connection.terminate()
        return connection

    def _told(self, asked: float, there: float) -> None:
        self.clock.read(asked, there, self.clock.steady())

    def _answered(self) -> None:
        if self.silent:
            log.warning("the database answers again")
        self.silent = False

    def _went_silent(self) -> None:
        if not self.silent:
            log.error("the database has not answered within %g s; its connections are ended", PATIENCE)
        self.silent = True
        for connection in list(self._opened):
            connection.terminate()


async def _in_time[T](task: asyncio.Task[T]) -> T:
    """What a task returns within the patience. Raises TimeoutError where it does not end by then."""
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    if not done:  # where this process itself stood still, an answer may lie there unread
        done, _ = await asyncio.wait({task}, timeout=min(0.2, PATIENCE))
    if not done:
        raise TimeoutError
    return task.result()


async def _nothing(_: Connection) -> None:
    """No statement leaves anything behind on its connection, so there is nothing to reset."""
