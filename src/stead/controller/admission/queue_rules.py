"""Who waits where: whether a request would wait its turn, and in whose queue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict, Request
from stead.store import Row, Store

_PATH = re.compile("(/[^/]+)+")


def may_wait(lifecycle: Lifecycle, request: Request) -> bool:
    """Whether the caller, or else the lifecycle, wants a request to wait its turn."""
    if request.on_conflict is not OnConflict.DEFAULT:
        return request.on_conflict is OnConflict.QUEUE
    action = lifecycle.action(request.action)
    return action is not None and action.queues


def lines_up(lifecycle: Lifecycle, request: Request) -> bool:
    """Whether a request stands behind those that wait already. What outranks others does not."""
    action = lifecycle.action(request.action)
    return action is None or not action.preempts


async def find_queue(store: Store, lifecycle: Lifecycle, path: str, spec: Mapping[str, Any]) -> str:
    """The path of the object in whose queue an action waits."""
    return queue_of(lifecycle, path, spec, await store.resources.read(path)) if lifecycle.queue_field else path


def queue_of(lifecycle: Lifecycle, path: str, spec: Mapping[str, Any], row: Row | None) -> str:
    """The same, where the resource was read: what is asked for counts first, then what is there, then the spec."""
    facts, known = (row.facts or {}, row.spec) if row is not None else ({}, {})
    named = next(
        (said[lifecycle.queue_field] for said in (spec, facts, known) if lifecycle.queue_field in said), None
    )
    return named if isinstance(named, str) and _PATH.fullmatch(named) else path
