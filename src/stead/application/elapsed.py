"""For how long something has been under way, beside how long it may last and how long it usually does.

What was learned is shown and decides nothing: only the declared deadline ends a wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.durations import ENOUGH, ENOUGH_ON_LANE, UNSEEN, key_state
from stead.lifecycle.rows import AwaitedParty
from stead.lifecycle.snapshot import Operation, Phase
from stead.schema import Model
from stead.store import Row, Store
from stead.store.decision_template import WAITING
from stead.store.durations import Duration, DurationKey

REFRESH_SECONDS = 5.0
"""Seconds for which what was learned need not be read again: it changes slowly."""
MAX_CACHED = 10_000
"""Moves of which it is remembered how long they take."""

type Lastings = Mapping[tuple[str, str], Elapsed]
"""By path and operation."""


@dataclass(frozen=True, slots=True)
class Elapsed(Model):
    """For how long an operation has been where it is, beside how long that may and usually does last.

    What was learned is shown and decides nothing: only the declared deadline ends a wait."""

    since: datetime
    """When it came into the state that it is in; where the visible state stays, when it began."""
    limit: int | None
    """Seconds that it may last before the object is looked at."""
    deadline: datetime | None
    """When that is, or when a look that is under way is given up; null while nothing runs."""
    typical: float | None
    """Seconds within which half of those were over that went well; null where there was none yet."""
    p99: float | None
    """Seconds within which 99 of 100 were."""
    samples: int
    """From how many that is known. Old ones count less; a thousand are enough."""
    lane: str
    """Where these were: on the resource's lane, or, where this is empty, on all."""
    late: bool
    """It lasts longer than 99 of 100 did, where at least 20 are known."""
    overdue: bool
    """It lasts longer than it may."""


class TypicalDurations:
    """Knows how long moves take, as far as the store has learned it."""

    def __init__(
        self,
        store: Store,
        kinds: Mapping[str, Lifecycle],
        clock: Callable[[], float] | None = None,
        fresh: float = REFRESH_SECONDS,
    ) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock or store.clock
        self.fresh = fresh
        self._known: dict[DurationKey, tuple[float, Duration | None]] = {}

    async def of(self, rows: Iterable[Row]) -> Lastings:
        """For how long what is under way on some resources has lasted."""
        running = [
            (row, op)
            for row in rows
            for op in (row.snapshot.operation, row.snapshot.hidden)
            if op is not None and op.id
        ]
        asked = [self._key(row, op) for row, op in running]
        found = await self._read({each for key in asked for each in (key, key._replace(lane=""))})
        now = self.clock()
        return {
            (row.path, op.id): self._lasting(row, op, *_known(found, key), now)
            for (row, op), key in zip(running, asked, strict=True)
        }

    def _key(self, row: Row, op: Operation) -> DurationKey:
        seen = op is row.snapshot.operation
        state = key_state(self.kinds[row.kind], op.action, row.snapshot.state) if seen else UNSEEN
        return DurationKey(row.kind, op.action, state, row.lane)

    async def _read(self, keys: Iterable[DurationKey]) -> Mapping[DurationKey, Duration]:
        now = self.clock()
        missing = [key for key in keys if key not in self._known or now - self._known[key][0] > self.fresh]
        if missing:
            if len(self._known) > MAX_CACHED:
                self._known.clear()
            read = await self.store.durations.read(missing)
            self._known |= {key: (now, read.get(key)) for key in missing}
        return {key: known for key in keys if (known := self._known.get(key, (0.0, None))[1]) is not None}

    def _lasting(self, row: Row, op: Operation, known: Duration | None, lane: str, now: float) -> Elapsed:
        kind, snap = self.kinds[row.kind], row.snapshot
        state = kind.state(snap.state)
        own = self._key(row, op).state != UNSEEN
        began = datetime.fromisoformat(op.since) if op.since and not op.undoes and not own else row.changed_at
        since = began or datetime.fromtimestamp(now, UTC)
        lasted = now - since.timestamp()
        declared = kind.pace.undo if op.undoes else state.timeout if own else kind.pace.unseen_work
        acts = op is (snap.hidden or snap.operation)
        timers = (row.timers or {}) if acts else {}
        deadline = timers.get("deadline")
        waits = not acts or op.undoes or op.phase in (Phase.WAITING, Phase.HELD) or WAITING in timers
        counted = own and state.awaits is AwaitedParty.CHILDREN and declared is not None and lasted > declared
        return Elapsed(
            since=since,
            limit=declared,
            deadline=None if deadline is None else datetime.fromtimestamp(deadline, UTC),
            typical=known.typical if known else None,
            p99=known.p99 if known else None,
            samples=round(known.samples) if known else 0,
            lane=lane,
            late=known is not None and known.samples >= ENOUGH and not waits and lasted > known.p99,
            overdue=op.overdue or (deadline is not None and deadline < now) or counted,
        )


def _known(found: Mapping[DurationKey, Duration], key: DurationKey) -> tuple[Duration | None, str]:
    """What is known of a move: on its lane, if that is enough, or on all."""
    there = found.get(key)
    if key.lane and there is not None and there.samples >= ENOUGH_ON_LANE:
        return there, key.lane
    return found.get(key._replace(lane="")), ""
