"""The full state of a lane: what is there of all that should be, and what is there besides.

An agent keeps nothing, so it asks a controller which resources there should be, with the fence of each, and observes
them. What has changed since has a newer fence, and the full state does not touch it; resources with an order in
progress are left out. Absence is sent last, under the end mark: only after everything was observed can the agent say
what is missing.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from stead.agent.inventory import OwnedObjects, line_of, strays
from stead.agent.lane_driver import LaneDriver, members_of
from stead.agent.session import AgentSession
from stead.agent.site import LANES
from stead.bus import Bus, BusError
from stead.bus.messages import FullState, InventoryRequest, StateLine
from stead.bus.parts import parts_of
from stead.drivers.base import DriverError, PermanentError
from stead.lifecycle.rows import ABSENT

log = logging.getLogger(__name__)

MAX_PART_LINES = 500
"""Lines in one message."""

MIN_PAUSE, MAX_PAUSE = 2.0, 16.0
"""Seconds before another try to send a full state: at first, and in the end. Many agents may try at once."""

RECENT = 60.0
"""Seconds for which a full state is as good as one that is sent now, to a controller that did not have it."""

MAX_REASON = 500
"""Characters of the reason for which a provider rejects the agent."""


class StateSync:
    """Sends the full state of one lane, once."""

    def __init__(self, bus: Bus, agent: str, epoch: int, lane: str, driver: LaneDriver) -> None:
        self.bus = bus
        self.agent = agent
        self.epoch = epoch
        self.lane = lane
        self.driver = driver

    async def send(self) -> None:
        """Observe everything and send it. Raises where no controller or provider answers."""
        began, owned, missing = 0.0, OwnedObjects(), list[StateLine]()
        after = ""
        while True:
            page = await self.bus.inventory(InventoryRequest(self.lane, after, self.agent))
            began = began or page.now
            taken = set(page.in_progress)
            free = [member for member in page.members if member.path not in taken]
            observed = {each.path: each for each in await self.driver.observe(members_of(free))}
            for member in page.members:
                owned.add(member, observed.get(member.path))
            known = [line_of(m.path, m.fence, observed[m.path]) for m in free if m.path in observed]
            lines = [line for line in known if line is not None]
            missing += [line for line in lines if line.observed == ABSENT]
            await self._send([line for line in lines if line.observed != ABSENT], began)
            after = page.next
            if not after:
                break
        await self._send(list(strays(await self.driver.inventory(), owned)), began)
        await self._send(missing, began, end=True)

    async def _send(self, lines: list[StateLine], began: float, *, end: bool = False) -> None:
        for part in parts_of(lines, MAX_PART_LINES) or ([[]] if end else []):
            await self.bus.publish_report(FullState(self.agent, self.epoch, self.lane, part, end, began))


class StateSyncLoop:
    """Sends the full state of one lane: at first, after every new connection, and when a controller requests it."""

    def __init__(self, session: AgentSession, lane: str, driver: LaneDriver, on_rejected: Callable[[], None]) -> None:
        """`on_rejected` is called when the provider has begun, or ceased, to reject the agent."""
        self.session = session
        self.lane = lane
        self.driver = driver
        self.rejected = ""
        """Why the provider rejects the agent; empty while it does not."""
        self.completed = asyncio.Event()
        """This run has sent its full state once. Before that it carries out no order for clusters and apps."""
        if not lane.startswith(LANES):
            self.completed.set()
        self._on_rejected = on_rejected
        self._requested = asyncio.Event()
        self._requested.set()
        self._began = float("-inf")
        """When the last full state was begun that was sent to its end."""

    def request(self) -> None:
        """Send the full state as soon as possible."""
        self._requested.set()

    def request_unless_recent(self) -> None:
        """Send the full state, unless it was sent just now."""
        if asyncio.get_running_loop().time() - self._began > RECENT:
            self._requested.set()

    async def run(self) -> None:
        """Send the full state whenever it is requested; until it could be sent, try again after a pause."""
        session, pause = self.session, MIN_PAUSE
        await self.driver.recover()
        while True:
            await self._requested.wait()
            self._requested.clear()
            began = asyncio.get_running_loop().time()
            try:
                await StateSync(session.bus, session.name, session.epoch, self.lane, self.driver).send()
                self._began, pause = began, MIN_PAUSE
                self.completed.set()
                self._set_rejected("")
            except PermanentError as error:
                log.error("observe.failed lane=%s error=%r", self.lane, error.message)
                self._set_rejected(error.message or type(error).__name__)
                pause = await self._pause(pause)
            except Exception as error:  # a provider may return anything, and the agent goes on
                expected = isinstance(error, BusError | DriverError)
                level = logging.INFO if expected else logging.ERROR
                log.log(level, "state_sync.failed lane=%s error=%r", self.lane, str(error), exc_info=not expected)
                pause = await self._pause(pause)

    def _set_rejected(self, reason: str) -> None:
        if self.rejected != (reason := reason[:MAX_REASON]):
            self.rejected = reason
            self._on_rejected()

    async def _pause(self, pause: float) -> float:
        """Wait before the next try; returns the pause after that."""
        await asyncio.sleep(random.uniform(pause / 2, pause))
        self._requested.set()
        return min(pause * 2, MAX_PAUSE)
