"""Work that follows from a commit and that nobody waits for. What goes wrong is logged: a healer finds it later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from stead.origin import detached_context

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks under way."""

    def __init__(self, what: str) -> None:
        self.what = what
        """What waits for its healer, if one of them fails."""
        self.tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have it done."""
        task = asyncio.create_task(work, context=detached_context())
        self.tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.info("%s waits for its healer: %r", self.what, task.exception())
