"""An agent that got an order asks for custody of it here, and renews it while it works.

Taking is a compare-and-set that raises the fence: a second agent that gets the same message, and one that got it from
before the bus forgot, are told no.
"""

from __future__ import annotations

from collections.abc import Mapping

from stead.controller.mover import Moved, Mover, Told
from stead.lifecycle.events import Take
from stead.lifecycle.snapshot import Fence
from stead.lifecycle.timers import CUSTODY
from stead.store.change import Custody


class Takes:
    """Gives custody out and prolongs it."""

    def __init__(self, mover: Mover) -> None:
        self.mover = mover

    async def take(self, who: Custody, members: Mapping[str, Fence]) -> dict[str, Fence]:
        """Custody of an order's members, as far as it can be had: the fences to work under."""
        told = [Told(path, Take(fence), custody=who) for path, fence in members.items()]
        answers = await self.mover.move(told)
        return {a.row.path: a.decision.after.fence for a in answers if isinstance(a, Moved)}

    async def renew(self, who: Custody, members: Mapping[str, Fence]) -> set[str]:
        """Prolong custody; answers with the members whose custody is lost."""
        due = self.mover.clock() + CUSTODY
        kept = await self.mover.store.renew(who.agent, who.epoch, members, due)
        return set(members) - kept
