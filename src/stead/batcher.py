"""Does for many at once what each of them asks for alone.

Whoever comes while a batch is on its way goes with the next one. So nobody waits for company, and the more there are,
the less each of them costs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from stead.origin import detached_context


class Batcher[T, R]:
    """Calls a function of many for each of them."""

    def __init__(
        self,
        do: Callable[[Sequence[T]], Awaitable[Sequence[R]]],
        most: int,
        at_once: int = 1,
        size: Callable[[T], int] = lambda _: 1,
    ) -> None:
        """So many in a batch; where they differ in size, so much in sum, and at least one."""
        self._do = do
        self._most = most
        self._size = size
        self._at_once = at_once
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._working = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, item: T) -> R:
        """What the function answers for this one."""
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._working < self._at_once:
            self._working += 1
            # It works for many, so what it does is about none of them: a log would name the wrong request.
            task = asyncio.create_task(self._work(), context=detached_context())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._batch([(item, answer) for item, answer in self._next() if not answer.done()])
        finally:
            self._working -= 1  # at once: whoever comes from now on begins anew

    def _next(self) -> list[tuple[T, asyncio.Future[R]]]:
        batch = [self._waiting.popleft()]
        room = self._most - self._size(batch[0][0])
        while self._waiting and (room := room - self._size(self._waiting[0][0])) >= 0:
            batch.append(self._waiting.popleft())
        return batch

    async def _batch(self, batch: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        """One that fails shall fail alone: where a batch did, each is tried by itself."""
        try:
            results = await self._do([item for item, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                if not batch[0][1].done():
                    batch[0][1].set_exception(error)
                return
            for one in batch:
                await self._batch([one])
            return
        for (_, answer), result in zip(batch, results, strict=True):
            if not answer.done():
                answer.set_result(result)
