"""What cannot be said any more, since the lines of the journal that say it are in files only."""

from __future__ import annotations

from datetime import datetime

from stead.store import Store
from stead.store.archives import ArchivedRange


class LinesArchived(Exception):
    """It takes lines that are archived."""

    def __init__(self, archived: ArchivedRange) -> None:
        day = f"{archived.until:%Y-%m-%d}"
        super().__init__(
            f"lines of the journal up to {archived.last}, from before {day}, are archived; the last of them are in "
            f"{archived.file}"
        )


async def not_before(store: Store, at: datetime) -> None:
    """Raise `LinesArchived` where lines from then are archived."""
    archived = await store.archives.read_range()
    if archived is not None and at < archived.until:
        raise LinesArchived(archived)


async def not_after(store: Store, position: int) -> None:
    """Raise `LinesArchived` where a line that comes after a position is archived."""
    archived = await store.archives.read_range()
    if archived is not None and position < archived.last:
        raise LinesArchived(archived)
