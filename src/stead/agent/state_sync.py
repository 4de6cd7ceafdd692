"""The full state of a lane: what is there of all that should be, and what is there besides.

An agent keeps nothing, so it asks a controller what there should be, with the fence of each, and looks. What has
moved on since has a newer fence and is not touched by what is said here; what somebody works on is left out. Absence
is told last, under the end mark: only who has seen everything can say what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from stead.agent.inventory import OwnedObjects, line_of, strays
from stead.agent.order_work import OrderWork, members_of
from stead.bus import Bus
from stead.bus.messages import FullState, InventoryRequest, StateLine
from stead.lifecycle.rows import ABSENT

PAGE = 500
"""Lines in one message."""

MAX_BYTES = 500_000
"""Of lines in one message; the bus carries a million, and one line may have nearly half of that."""


class StateSync:
    """Sends the full state of one lane."""

    def __init__(self, bus: Bus, agent: str, epoch: int, lane: str, work: OrderWork) -> None:
        self.bus = bus
        self.agent = agent
        self.epoch = epoch
        self.lane = lane
        self.work = work

    async def send(self) -> None:
        """Look at everything and tell it. Raises where a controller or the provider cannot be asked."""
        began, owned, missing = 0.0, OwnedObjects(), list[StateLine]()
        after = ""
        while True:
            page = await self.bus.roster(InventoryRequest(self.lane, after, self.agent))
            began = began or page.now
            taken = set(page.taken)
            free = [member for member in page.members if member.path not in taken]
            seen = {s.path: s for s in await self.work.look(members_of(free))}
            for member in page.members:
                owned.add(member, seen.get(member.path))
            told = [line_of(m.path, m.fence, seen[m.path]) for m in free if m.path in seen]
            lines = [line for line in told if line is not None]
            missing += [line for line in lines if line.seen == ABSENT]
            await self._tell([line for line in lines if line.seen != ABSENT], began)
            after = page.next
            if not after:
                break
        await self._tell(list(strays(await self.work.inventory(), owned)), began)
        await self._tell(missing, began, end=True)

    async def _tell(self, lines: list[StateLine], began: float, *, end: bool = False) -> None:
        for part in parts(lines) or ([[]] if end else []):
            await self.bus.publish_report(FullState(self.agent, self.epoch, self.lane, part, end, began))


def parts(lines: Iterable[StateLine]) -> list[list[StateLine]]:
    """Lines as they fit into messages."""
    made: list[list[StateLine]] = []
    size = MAX_BYTES
    for line in lines:
        length = len(msgspec.json.encode(line))
        if size + length > MAX_BYTES or len(made[-1]) == PAGE:
            made.append([])
            size = 0
        made[-1].append(line)
        size += length
    return made
