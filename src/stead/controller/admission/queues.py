"""Queues: whoever waits begins when its turn comes, in the order of arrival.

An object's queue is rows in the database, shared by all controllers. When an operation ends, the commit says in which
queues somebody waits for that, and the head of each is tried at once; whatever that misses, after a crash or where a
claim further up or down was in the way, is found within a second. To try is to ask again: the transaction that begins
an operation takes it out of its queue, so any number of controllers may try.
"""

from __future__ import annotations

from stead.controller.admission.admission import Admission
from stead.controller.execution.background_tasks import BackgroundTasks
from stead.store.commit import CommitResult

BATCH = 500
"""Queues that are tried in one go."""


class Queues:
    """Lets those that wait begin."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store
        self.background = BackgroundTasks("a queue")

    async def __call__(self, written: CommitResult) -> None:
        """What follows from a commit: try whoever waited for what has ended."""
        for queue in written.queues:
            self.background.begin(self.advance(queue))

    async def heal(self) -> int:
        """Try every head that nothing seems to be in the way of; how many left their queues."""
        return sum([await self.advance(queue) for queue in await self.store.queues.due(BATCH)])

    async def advance(self, queue: str) -> int:
        """Let the heads of a queue begin, as long as they can; how many left it."""
        left = 0
        while head := await self.store.queues.read_head(queue):
            if head["busy"] or not await self.admission.turn(head):
                return left
            left += 1
        await self.store.queues.close(queue)
        return left
