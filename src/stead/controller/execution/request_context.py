"""Which request an operation comes from, so that whatever is done for it can say so.

The operation's record keeps it. Whoever lets a request in is also who sends its order, mostly, and knows it without
looking.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from stead.store import Store
from stead.telemetry.context import TraceContext

log = logging.getLogger(__name__)

ORIGIN_FIELD = "origin"
"""Under which an operation's record has it."""

MAX_CONTEXTS = 10_000
NOWHERE = TraceContext()


class RequestContexts:
    """Of the latest operations, and of others when they are asked for."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, TraceContext] = {}

    def note(self, operation: str, trail: TraceContext) -> None:
        """It comes from there."""
        self._known[operation] = trail
        while len(self._known) > MAX_CONTEXTS:
            del self._known[next(iter(self._known))]

    async def of(self, operations: Iterable[str]) -> dict[str, TraceContext]:
        """Where operations come from. Nobody waits for what cannot be found out: it only says less."""
        wanted = {id for id in operations if id}
        unknown = [id for id in wanted if id not in self._known]
        if unknown:
            try:
                found = await self.store.operations.read_origins(unknown)
            except Exception as error:
                log.debug("nobody can say where operations come from: %s", error)
                found = {}
            for id in unknown:
                said = found.get(id, {})
                self.note(id, TraceContext(said.get("request_id", ""), said.get("traceparent", "")))
        return {id: self._known.get(id, NOWHERE) for id in wanted}
