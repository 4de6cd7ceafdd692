"""The cell at a glance: how many of what are where, what goes on, what is in trouble and why.

All of it comes from sums and from the heads of indexes, so it costs the same however many resources there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from stead.application.health import Health
from stead.application.models import StateClassName
from stead.application.reader import CONNECTED_SECONDS, Reader
from stead.lifecycle.rows import StateClass
from stead.schema import Model, one_of

MAX_COUNTED = 10_000
"""Beyond which operations are not counted."""
MAX_UNHEALTHY = 20
"""How many in trouble are named."""
MAX_EXAMINED = 1000
"""How many that are worked on are looked at to find those that take long."""
LONG = 0.5
"""Of its deadline: what takes longer is named."""


@dataclass(frozen=True, slots=True)
class KindCount(Model):
    """Resources of one kind in one state."""

    kind: str
    state: str
    state_class: StateClassName
    health: Annotated[str, one_of(Health)]
    members: int


@dataclass(frozen=True, slots=True)
class UnhealthyResource(Model):
    """An unhealthy resource."""

    path: str
    kind: str
    state: str
    state_class: StateClassName
    since: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class ThrottledLane(Model):
    """A lane on which a provider has refused calls because there were too many."""

    lane: str
    calls: int
    """Ever."""
    at: datetime
    """When it last did."""


@dataclass(frozen=True, slots=True)
class Overview(Model):
    """The cell at a glance. It costs the same however many resources there are.

    A caller who may view some namespaces and not the cell gets the numbers of those, and null for the cell's own."""

    at: datetime
    position: int
    """Of the journal, before all this was read."""
    counts: tuple[KindCount, ...]
    """All resources by kind and state, a moment ago at most."""
    classes: Mapping[str, int]
    """All resources by class of state."""
    in_progress: int
    """Operations; counted up to 10,000."""
    waiting: int
    """Operations that wait their turn; counted up to 10,000."""
    unhealthy: tuple[UnhealthyResource, ...]
    """At most 20: those in bad final states and those in an unknown state first, then other bad states, then what
    has been moving for more than half of its deadline, the longest first.
    """
    more_unhealthy: bool
    """There are others."""
    calls_made: int | None
    """To providers, by group operations that are under way or ended in the last hour, and by observations in it."""
    calls_saved: int | None
    """How many more it would have been with one for each member, those observations included that were not needed."""
    transitions: tuple[int, ...] | None
    """In each of the last 60 seconds, the oldest first."""
    agents_connected: int | None
    """Agents that were heard of in the last 30 seconds."""
    agents_disconnected: int | None
    throttled: tuple[ThrottledLane, ...]
    """In the last hour, the latest first."""

    def without_cell(self) -> Overview:
        """For somebody who sees namespaces, and not the cell itself."""
        cell = dict.fromkeys(("calls_made", "calls_saved", "transitions", "agents_connected", "agents_disconnected"))
        return replace(self, **cell, throttled=())  # type: ignore[arg-type]


async def overview(reader: Reader, within: list[str] | None = None) -> Overview:
    """The cell as it is now, or some of its namespaces."""
    position = await reader.end()
    counts = [
        KindCount(kind, state, reader.kinds[kind].state(state).cls, reader.healths.of(kind, state), members)
        for kind, state, members in await reader.store.overview.count_by_state(within)
        if kind in reader.kinds and reader.kinds[kind].has_state(state)
    ]
    there = [count for count in counts if count.state_class != StateClass.ABSENT]
    classes: Counter[str] = Counter()
    for count in there:
        classes[count.state_class] += count.members
    numbers = await reader.store.overview.read_totals(MAX_COUNTED, CONNECTED_SECONDS, within)
    trouble = await _trouble(reader, within)
    return Overview(
        at=reader.store.clock.now(),
        position=position,
        counts=tuple(there),
        classes={str(c): classes[c] for c in StateClass if c is not StateClass.ABSENT},
        in_progress=numbers["under_way"],
        waiting=numbers["waiting"],
        unhealthy=tuple(trouble[:MAX_UNHEALTHY]),
        more_unhealthy=len(trouble) > MAX_UNHEALTHY,
        calls_made=numbers["made"],
        calls_saved=numbers["members"] - numbers["made"],
        transitions=await reader.pulse.last(),
        agents_connected=numbers["there"],
        agents_disconnected=numbers["away"],
        throttled=tuple(
            ThrottledLane(lane, calls, datetime.fromisoformat(at)) for lane, calls, at in numbers["throttled"]
        ),
    )


async def _trouble(reader: Reader, within: list[str] | None) -> list[UnhealthyResource]:
    """Those in bad states, the final ones and those of which nobody knows first; then those that take long."""
    records = [
        r
        for r in await reader.store.overview.list_unhealthy(MAX_UNHEALTHY + 1, within)
        if reader.healths.of(r["kind"], r["state"]) is Health.TROUBLE
    ]
    errors = await reader.errors([record["path"] for record in records])
    found = [_bad(reader, record, errors.get(record["path"], "")) for record in records]
    found.sort(key=lambda one: (one.state_class != StateClass.FINAL and one.state != "Undefined", one.path))
    if len(found) <= MAX_UNHEALTHY:
        found += _slow(
            reader, await reader.store.overview.list_in_progress(MAX_EXAMINED, within), reader.store.clock()
        )
    return found


def _bad(reader: Reader, record: Mapping[str, Any], error: str) -> UnhealthyResource:
    state = reader.kinds[record["kind"]].state(record["state"])
    return UnhealthyResource(
        record["path"], record["kind"], state.name, state.cls, record["changed_at"], error or state.description
    )


def _slow(reader: Reader, records: list[Mapping[str, Any]], now: float) -> list[UnhealthyResource]:
    """Those past half of their deadline, the longest first."""
    found: list[tuple[float, UnhealthyResource]] = []
    for record in records:
        state = reader.kinds[record["kind"]].state(record["state"]) if record["kind"] in reader.kinds else None
        if state is None or not state.timeout:
            continue
        lasted = state.timeout - (record["deadline"] - now)
        if lasted < state.timeout * LONG:
            continue
        why = f"{state.name} for {lasted:.0f} s of at most {state.timeout}"
        why += f": {record['says']}" if record["says"] else ""
        since = datetime.fromtimestamp(now - lasted, UTC)
        found.append((-lasted, UnhealthyResource(record["path"], record["kind"], state.name, state.cls, since, why)))
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].path))[:MAX_UNHEALTHY]]
