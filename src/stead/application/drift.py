"""Belief beside what a look shows now: both are shown, and nothing is applied.

What differs is not mended here. Looks from time to time find it as well, and then it is believed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from stead.application.models import DriftReport, Page
from stead.application.reader import Reader
from stead.bus.messages import StateLine
from stead.controller.observation.observer import ProviderObserver, UnknownReason
from stead.lifecycle.decide.observe import judged
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import PROBE, StateClass
from stead.store import Row, Store
from stead.store.recovery import Hold

OBSERVE_SECONDS = 10.0
"""Seconds for an answer, since somebody waits for the page."""


async def truth(
    reader: Reader, looks: ProviderObserver | None, kind: str | None, below: str, after: str, limit: int
) -> Page[DriftReport]:
    """Resources at a path and below it, in order of path; without looks, nobody is asked."""
    paths = await _paths(reader.store, kind, below, after, limit + 1)
    rows = await reader.store.resources.read_many(paths[:limit])
    seen = {} if looks is None else await looks.look(rows.values(), OBSERVE_SECONDS)
    hold = await reader.store.recovery.read_hold()
    items = {
        path: _beside(reader.kinds[row.kind], row, seen.get(path, UnknownReason.UNASKED), hold)
        for path, row in rows.items()
    }
    changed = await _changed(reader.store, rows, [path for path, item in items.items() if item.matches is False])
    items |= {path: replace(items[path], matches=None, reason=UnknownReason.MOVING) for path in changed}
    more = len(paths) > limit
    shown = tuple(items[path] for path in paths[:limit] if path in items)
    return Page(shown, paths[limit - 1] if more else None, more)


async def _paths(store: Store, kind: str | None, below: str, after: str, limit: int) -> list[str]:
    own = await store.resources.read(below) if below != "/" and not after else None
    first = [below] if own is not None and kind in (None, own.kind) else []
    return [*first, *await store.resources.list_paths(kind, below.rstrip("/") + "/", after, limit)]


def _beside(lifecycle: Lifecycle, row: Row, sight: StateLine | UnknownReason, hold: Hold) -> DriftReport:
    snap = row.snapshot
    state = lifecycle.state(snap.state)
    seen, why = (None, sight) if isinstance(sight, UnknownReason) else (sight.observed, None)
    if snap.operation is not None or snap.hidden is not None or state.cls is StateClass.TRANSITIONAL:
        why = UnknownReason.MOVING
    elif isinstance(sight, StateLine):
        seen = judged(snap, sight.observed, row.summary.revision_of(sight.revision))
        why = None if state.observed_as else UnknownReason.UNSAID
    agrees = None if why else seen == state.observed_as
    return DriftReport.of(
        row,
        recorded=snap.state,
        expected=state.observed_as,
        observed=seen,
        matches=agrees,
        reason=why,
        next_action=_would(lifecycle, row, seen or "", hold, agrees=agrees),
    )


def _would(lifecycle: Lifecycle, row: Row, seen: str, hold: Hold, *, agrees: bool | None) -> str:
    """What comes next: the order that waits for the release, what is in progress, or what is put on record."""
    snap = row.snapshot
    op = snap.hidden or snap.operation
    if op is not None:
        work = snap.work
        if work is None or work.taken or work.verb == PROBE or not hold.covers(row.path):
            return op.action
        return work.verb
    target = lifecycle.drifted(snap.state, seen) if agrees is False else ""
    return f"record {target}" if target else ""


async def _changed(store: Store, rows: Mapping[str, Row], paths: Collection[str]) -> list[str]:
    """Those that are no longer what they were before they were observed: what was seen says nothing of them."""
    now = await store.resources.read_many(list(paths)) if paths else {}
    return [path for path in paths if path not in now or now[path].version != rows[path].version]
