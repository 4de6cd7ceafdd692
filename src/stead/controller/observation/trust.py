"""Which agent may speak for which lanes, and what is not to be believed whoever says it.

That a message is from the agent whose subject it came on is the bus's to see to. For which lanes that agent was
invited is in the database; it is read rarely and remembered for some seconds. Where nobody has an identity, everybody
is believed to be who they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stead.bus.errors import BadMessage
from stead.bus.invalid_messages import InvalidMessages
from stead.bus.messages import Hello, Presence
from stead.store import Store

CACHE_SECONDS = 5.0
"""Seconds."""

MAX_CACHED = 10_000
"""Agents that are remembered."""

AHEAD = 86_400
"""Seconds by which the clock of an agent may be ahead. Its epoch is the time at which it began."""


class ReportTrust:
    """What agents are believed."""

    def __init__(
        self, store: Store, invalid_messages: InvalidMessages, clock: Callable[[], float], *, known: bool
    ) -> None:
        self.store = store
        self.invalid_messages = invalid_messages
        self.clock = clock
        self.known = known
        self._lanes: dict[str, tuple[float, frozenset[str]]] = {}

    async def lanes(self, agent: str, epoch: int = 0) -> frozenset[str] | None:
        """The lanes that an agent may speak for; None: all of them. An epoch from the future is nobody's."""
        now = self.clock()
        if epoch > (now + AHEAD) * 1000:
            raise BadMessage(f"{agent[:100]} says that it began in the future")
        if not self.known:
            return None
        at, lanes = self._lanes.get(agent, (0.0, frozenset[str]()))
        if now - at > CACHE_SECONDS:
            if len(self._lanes) >= MAX_CACHED:
                self._lanes.clear()
            lanes = frozenset(await self.store.identities.lanes_of(agent))
            self._lanes[agent] = (now, lanes)
        return lanes

    async def check(self, agent: str, lanes: Iterable[str], epoch: int = 0) -> None:
        """Raise where an agent speaks for a lane that is not its own."""
        own = await self.lanes(agent, epoch)
        if own is not None and not own.issuperset(lanes):
            raise BadMessage(f"{agent[:100]} speaks for lanes that are not its own")

    async def believes(self, said: Hello | Presence) -> bool:
        """Whether what an agent says of itself can be."""
        try:
            await self.check(said.agent, said.lanes, said.epoch)
        except BadMessage as error:
            self.invalid_messages.note(f"what {said.agent[:100]} said", str(error))
            return False
        return True
