"""What agents say, applied in batches. A report is acknowledged after it was committed, and never before."""

from __future__ import annotations

from collections.abc import Sequence

from stead.controller.mover import Answer, Moved, Mover, Told
from stead.controller.relay import Relay


class Reports:
    """Applies reports and sends on what follows from them."""

    def __init__(self, mover: Mover, relay: Relay) -> None:
        self.mover = mover
        self.relay = relay

    async def apply(self, told: Sequence[Told]) -> list[Answer]:
        """Apply what was said; when this returns, all of it is committed, refused or about nothing."""
        answers = await self.mover.move(told)
        await self.relay.send([a for a in answers if isinstance(a, Moved)])
        return answers
