"""An engine as the composition root assembles it, without a bus: what it would send is kept, or goes nowhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from stead.build import Authenticator, Engine, assemble_engine
from stead.bus import Bus
from stead.catalog import KINDS
from stead.controller.execution.executor import CommitHook
from stead.lifecycle.definition import Lifecycle
from stead.store import Store
from stead.store.commit import CommitResult


async def sent_nowhere(_: CommitResult) -> None:
    """Takes orders that no agent is to get."""


def engine_without_bus(
    store: Store,
    kinds: Mapping[str, Lifecycle] = KINDS,
    clock: Callable[[], float] = time.time,
    *,
    entry: Authenticator | None = None,
    publisher: CommitHook = sent_nowhere,
    follows_commits: bool = True,
) -> Engine:
    """Assemble an engine whose bus is away; orders go to the publisher.

    Without `follows_commits`, a test makes the controller's steps itself: none runs beside it in the background.
    """
    away = Bus("nats://127.0.0.1:1", "none")
    engine = assemble_engine(store, away, kinds, clock, entry=entry, publisher=publisher)
    if not follows_commits:
        engine.controller.executor._commit_hooks.remove(engine.controller._begin)
    return engine
