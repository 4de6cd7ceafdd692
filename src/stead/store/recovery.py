"""What a cell does not do after its database went back in time, until an operator releases it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from stead.lifecycle.pace import DEFAULT
from stead.store.statements import StorePart

CUSTODY = float(DEFAULT.custody)
"""Seconds after a restore until no agent of the time before can act any more."""


@dataclass(frozen=True)
class Hold:
    """Whether a cell is held after a restore."""

    since: datetime | None
    """None: it is not held."""
    orders: int = 0
    """That wait for the release."""
    released: Sequence[str] = ()
    """Paths at which, and below which, it acts all the same."""

    def covers(self, path: str) -> bool:
        """Whether nothing but probes is ordered for a path."""
        return self.since is not None and not any(path == one or path.startswith(f"{one}/") for one in self.released)


class Recovery(StorePart):
    """The hold of a restored cell."""

    async def read_hold(self) -> Hold:
        """Whether the cell is held, and what was released."""
        (record,) = await self._sql.fetch("read_hold")
        return Hold(record["held_since"], record["orders"], tuple(record["released"]))

    async def release(self, path: str, who: str) -> bool:
        """Let the cell act at a path and below it, or with `/` everywhere; whether it was held there."""
        (record,) = await self._sql.fetch_audited("release_path", path, who)
        return bool(record["released"])

    async def resume_orders(self) -> int:
        """Let orders go on that were given while their members were released."""
        (record,) = await self._sql.fetch("resume_orders")
        return int(record["freed"])
