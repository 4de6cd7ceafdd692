"""The cell itself: its id, its incarnation and the epoch of its bus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.incarnation import Incarnation
from stead.store.migrate import MigrationFailed
from stead.store.statements import Statements, StorePart


class CellMissing(MigrationFailed):
    """There is a schema and no cell: a backup was restored by hand, and its incarnation was not raised yet."""


class Cell(StorePart):
    """The row of the cell."""

    def __init__(self, statements: Statements, incarnation: Incarnation) -> None:
        super().__init__(statements)
        self._incarnation = incarnation

    async def read(self) -> Mapping[str, Any]:
        """What the cell knows of itself."""
        records = await self._sql.fetch("read_cell")
        if not records:
            raise CellMissing("this database was brought back by hand from a backup: see `stead backup raise --help`")
        self._incarnation.now = records[0]["incarnation"]
        return dict(records[0])

    async def raise_incarnation(self) -> int:
        """Void all fences from before: the database went back in time."""
        (record,) = await self._sql.fetch("raise_incarnation")
        self._incarnation.now = record["incarnation"]
        return self._incarnation.now

    async def set_bus(self, identity: str) -> int:
        """The streams that there are now; the epoch they belong to."""
        (record,) = await self._sql.fetch("set_bus", identity)
        epoch: int = record["bus_epoch"]
        return epoch
