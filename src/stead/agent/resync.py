"""The full state of a lane: what is there of all that should be, and what is there besides.

An agent keeps nothing, so it asks a controller what there should be, with the fence of each, and looks. What has
moved on since has a newer fence and is not touched by what is said here; what somebody works on is left out. Absence
is told last, under the end mark: only who has seen everything can say what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import batched

from stead.agent.work import Work, members_of
from stead.bus import Bus
from stead.bus.messages import FullState, OrderMember, Roster, StateLine
from stead.drivers.base import MOVING, Seen
from stead.lifecycle.rows import ABSENT
from stead.lifecycle.snapshot import FIRST

PAGE = 500
"""Lines in one message."""


class Resync:
    """Sends the full state of one lane."""

    def __init__(self, bus: Bus, agent: str, epoch: int, lane: str, work: Work) -> None:
        self.bus = bus
        self.agent = agent
        self.epoch = epoch
        self.lane = lane
        self.work = work

    async def send(self) -> None:
        """Look at everything and tell it. Raises where a controller or the provider cannot be asked."""
        began, tokens, missing = 0.0, set[str](), list[StateLine]()
        after = ""
        while True:
            page = await self.bus.roster(Roster(self.lane, after, self.agent))
            began = began or page.now
            tokens |= {member.token for member in page.members}
            taken = set(page.taken)
            free = [member for member in page.members if member.path not in taken]
            seen = {s.path: s for s in await self.work.look(members_of(free))}
            lines = [_line(member, seen[member.path]) for member in free if member.path in seen]
            missing += [line for line in lines if line.seen == ABSENT]
            await self._tell([line for line in lines if line.seen != ABSENT], began)
            after = page.next
            if not after:
                break
        await self._tell(await self._strays(tokens), began)
        await self._tell(missing, began, end=True)

    async def _strays(self, tokens: set[str]) -> list[StateLine]:
        """What carries our tag and is not on the roster."""
        found = [f for f in await self.work.driver.inventory() if f.token not in tokens and f.state != MOVING]
        return [StateLine(FIRST, f.state, token=f.token, facts=_tagged(f.facts, f.path, f.id)) for f in found]

    async def _tell(self, lines: list[StateLine], began: float, *, end: bool = False) -> None:
        parts = [list(part) for part in batched(lines, PAGE)] or ([[]] if end else [])
        for part in parts:
            await self.bus.publish_report(FullState(self.agent, self.epoch, self.lane, part, end, began))


def _line(member: OrderMember, seen: Seen) -> StateLine:
    return StateLine(member.fence, seen.state, member.path, revision=seen.revision, facts=dict(seen.facts))


def _tagged(facts: Mapping[str, object], path: str, id: str) -> dict[str, object]:
    return {**facts, "path": path, "id": id}
