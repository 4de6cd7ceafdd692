"""Why resources are in a bad state, for lists that show many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stead.application.health import Health, HealthTable
from stead.application.models import Resource
from stead.store import Store


async def with_failures(store: Store, healths: HealthTable, items: Sequence[Resource]) -> list[Resource]:
    """The same resources; each that is in a bad state has the reason of its last failure."""
    bad = [item.path for item in items if healths.of(item.kind, item.state) is Health.TROUBLE]
    failures = await store.operations.read_failures(bad)
    return [replace(item, failure=failures[item.path]) if item.path in failures else item for item in items]
