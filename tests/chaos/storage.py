"""What happens to the database besides an end: its disk is full, or it stands still."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stead.dev.children import children, signal_process
from stead.dev.engines import Postgres
from tests.chaos.cell import in_thread
from tests.chaos.world import Strike, Struck, World

FILLER = "filler"
"""The file that takes the rest of a disk."""

CHUNK, BLOCK = 64 << 20, 4096
"""Bytes that are taken at a time, at most and at least."""


@asynccontextmanager
async def frozen(world: World) -> AsyncIterator[Struck | None]:
    """The database stands still with all its connections open, as on a host that hangs."""
    postgres = world.cell.postgres
    if not isinstance(postgres, Postgres) or not postgres.running or postgres.name in world.hurt:
        yield None
        return
    with world.hurting(postgres.name):
        _signal(postgres, signal.SIGSTOP)
        try:
            yield Struck("the database frozen", world.pause())
        finally:
            _signal(postgres, signal.SIGCONT)


def _signal(postgres: Postgres, which: signal.Signals) -> None:
    """To the server first, so that no other backend comes to be."""
    if postgres.running:
        for pid in (postgres.pid, *children(postgres.pid)):
            signal_process(pid, which)


@asynccontextmanager
async def disk_full(world: World) -> AsyncIterator[Struck | None]:
    """Nothing more can be written, neither to tables nor to the log, at which the database may end by itself."""
    postgres = world.cell.postgres
    small = isinstance(postgres, Postgres) and postgres.folder.is_mount()
    if not isinstance(postgres, Postgres) or not small or not postgres.running or postgres.name in world.hurt:
        yield None
        return
    with world.hurting(postgres.name):
        try:
            await in_thread(fill, postgres.folder)
            yield Struck("the disk of the database full", world.short() + world.short())
        finally:
            (postgres.folder / FILLER).unlink(missing_ok=True)
            await in_thread(_revive, postgres)


def _revive(postgres: Postgres) -> None:
    """Start it where it has ended by itself."""
    if not postgres.running:
        postgres.process = None
        postgres.start()


def fill(folder: Path) -> None:
    """Take all that is left of a disk, also what becomes free meanwhile."""
    size = CHUNK
    with (folder / FILLER).open("wb") as file:
        while size >= BLOCK:
            try:
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
            except OSError:
                size //= 2


STORAGE: dict[str, Strike] = {"database-frozen": frozen, "disk-full": disk_full}
