"""What lets requests in: all that a process needs which answers callers, and nothing that would keep it busy.

Whatever takes long (asking a hundred thousand members, hearing what agents report, preparing) is a controller's,
which may well be another process: it is poked after every commit, and finds by itself whatever it was not told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from stead.bus import Bus, BusError
from stead.bus.messages import Wakeup
from stead.controller.admission.admission import Admission
from stead.controller.admission.queues import Queues
from stead.controller.dispatch.publisher import OrderPublisher
from stead.controller.dispatch.slots import SlotAllocator
from stead.controller.execution.background_tasks import BackgroundTasks
from stead.controller.execution.executor import CommitHook, TransitionExecutor
from stead.controller.kinds.kinds import Kinds
from stead.controller.observation.observer import ProviderObserver
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.pace import DEFAULT, Pace
from stead.store import Store
from stead.store.commit import CommitResult

log = logging.getLogger(__name__)

NUMBERING_DELAY = 0.03
"""Seconds after a commit in which its lines of the journal get their positions, beside whatever else commits."""

MAX_RETRY_DELAY = 8.0
"""Seconds between two words to nobody, after which no further one is said."""


class RequestFrontend:
    """Decides, writes, and sends what is ordered."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        kinds: Mapping[str, Lifecycle],
        clock: Callable[[], float] | None = None,
        pace: Pace = DEFAULT,
        publisher: CommitHook | None = None,
    ) -> None:
        """Time is the database's, and orders go to the bus, unless another clock or publisher is given."""
        self.store = store
        self.bus = bus
        self.pace = pace
        self.kinds = Kinds(kinds, store, pace)
        self.executor = TransitionExecutor(store, self.kinds, clock or store.clock)
        publisher = publisher or OrderPublisher(self.executor, bus)
        self.slots = SlotAllocator(self.executor, publisher)
        self.executor.on_commit(publisher)
        self.executor.on_commit(self.slots)
        self.admission = Admission(self.executor)
        self.queues = Queues(self.admission)
        self.executor.on_commit(self.queues)
        self.observer = ProviderObserver(self.executor, bus, pace)


class ControllerNotifier:
    """Tells a controller that there is something to do."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.background = BackgroundTasks("what was let in")
        self._soon = False

    async def __call__(self, written: CommitResult) -> None:
        """After a commit: at once where somebody is to begin something, soon where it is only to be numbered."""
        if written.expanding or written.recount or written.steps or written.gone:
            self.background.begin(
                self._until_heard(Wakeup(written.expanding, written.recount, written.steps, written.gone))
            )
        elif not self._soon:
            self._soon = True
            asyncio.get_running_loop().call_later(NUMBERING_DELAY, lambda: asyncio.ensure_future(self._number()))

    async def _until_heard(self, poke: Wakeup) -> None:
        """Where no controller listens yet, one may in a moment; whoever comes later finds it by the timers."""
        pause = NUMBERING_DELAY
        while pause < MAX_RETRY_DELAY:
            try:
                await self.bus.wake(poke, heard=True)
            except BusError as error:
                log.debug("nobody was told: %s", error)
                await asyncio.sleep(pause)
                pause *= 2
            else:
                return

    async def _number(self) -> None:
        self._soon = False
        try:
            await self.bus.wake(Wakeup())
        except BusError as error:
            log.debug("nobody was told, and will find it: %s", error)
