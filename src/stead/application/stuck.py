"""What does not come to its end as it should, or did so only because an agent observed it: with why, and what to do.

First what is under way: longer than 99 of 100 took, longer than it may, or being observed since no report came.
Then what was settled lately though nobody had reported. All of it comes from indexes of what is under way and of what
was looked at, so what is at rest costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from stead.access.lane_use import named
from stead.application.elapsed import Elapsed
from stead.application.leases import waits_for
from stead.application.models import Page
from stead.application.names import operation_id
from stead.application.reader import CONNECTED_SECONDS, Reader
from stead.lifecycle.decision import Outcome
from stead.lifecycle.rows import Actor, AwaitedParty, Trigger
from stead.lifecycle.snapshot import Operation, Phase
from stead.schema import Model, one_of
from stead.store import Row

GRACE = 10.0
"""Seconds for which a timer may be late: a controller looks for them twice a second."""
MAX_LINES = 20
"""Lines of the journal that are read for each."""
WELL = (Outcome.SUCCEEDED, Outcome.PREEMPTED)


CODES = ("no-agent", "late", "overdue", "probing", "fencing", "unattended", "blocked", "unknown", "settled")


@dataclass(frozen=True, slots=True)
class StuckObservation(Model):
    """An observation of the object."""

    at: datetime
    observed: str
    """What was seen: a settled state's word, `absent` or `broken`."""


@dataclass(frozen=True, slots=True)
class StuckCause(Model):
    """Why something is listed."""

    code: Annotated[str, one_of(CODES)]
    """`no-agent`: no agent serves its lane now. `late`: it lasts longer than 99 of 100 did. `overdue`: longer than it
    may. `probing`: it is being observed, since no report came. `fencing`: the agent that had its order is waited out
    before that. `unattended`: its timer is due, and no controller has fired it. `blocked`: another resource has not
    given back what it waits for. `unknown`: it was settled, and no agent could observe it, or tell whether it was
    done. `settled`: it was settled to what was seen."""
    message: str


@dataclass(frozen=True, slots=True)
class SuggestedStep(Model):
    """What one may do about it."""

    kind: Annotated[str, one_of(("wait", "agent", "cancel", "retry", "ask"))]
    """`wait`, `agent`, `cancel`, `retry` or `ask`."""
    description: str
    operation: str = ""
    """With `cancel` and `retry`: which."""
    actions: tuple[str, ...] = ()
    """With `ask`: which."""


@dataclass(frozen=True, slots=True)
class Stuck(Model):
    """Something that does not come to its end as it should, or has come to one without a report."""

    path: str
    kind: str
    state: str
    lane: str
    operation: str
    action: str
    principal: str
    phase: str | None
    """What the operation does; null where it is over."""
    outcome: str | None
    """How it ended for this resource; null while it is under way."""
    since: datetime
    """Since when it is where it is; of what was settled, when that was."""
    elapsed: Elapsed | None
    """For how long it may and usually does last; null where it is over."""
    causes: tuple[StuckCause, ...]
    observations: tuple[StuckObservation, ...]
    """What was seen, as the journal has it."""
    missed_observations: int
    """Looks in a row that did not find it."""
    resolution: str
    """What was made of it; empty while that is open."""
    steps: tuple[SuggestedStep, ...]


async def stuck(reader: Reader, below: str, since: datetime, after: str | None, limit: int) -> Page[Stuck]:
    """A page of what is stuck, and of what was settled since a time though nobody had reported."""
    place: list[Any] = json.loads(after) if after is not None else ["now", None, 0]
    section = place.pop(0)
    items: list[Stuck] = []
    if section == "now":
        first = (_time(place[0]) or datetime.fromtimestamp(0, UTC), place[1])
        if place[0] is None:
            items = await _waiting_leases(reader, below, limit - 1)
            items += await _lost_sites(reader, below, limit - 1 - len(items))
        room = limit - len(items)
        records = await reader.store.diagnostics.list_stuck(
            below, first, room + 1, _declared(reader), GRACE, CONNECTED_SECONDS
        )
        items += await _under_way(reader, [record["path"] for record in records[:room]])
        if len(records) > room:
            last = records[room - 1]
            return Page(tuple(items), json.dumps(["now", last["changed_at"].isoformat(), last["id"]]), True)
        place = [None, 0]
    room = limit - len(items)
    latest = (_time(place[0]) or datetime.max.replace(tzinfo=UTC), place[1])
    records = await reader.store.diagnostics.list_recovered(below, since, latest, room + 1)
    items += await _settled(reader, records[:room])
    if len(records) <= room:
        return Page(tuple(items))
    last_place = [records[room - 1]["at"].isoformat(), records[room - 1]["id"]] if room else place
    return Page(tuple(items), json.dumps(["then", *last_place]), True)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _declared(reader: Reader) -> list[tuple[str, str, float]]:
    return [(k.kind, s.name, float(s.timeout)) for k in reader.kinds.values() for s in k.states if s.timeout]


async def _waiting_leases(reader: Reader, below: str, limit: int) -> list[Stuck]:
    """Leases whose time has come, and whose hosts another lease still has."""
    found = await reader.store.leases.list_delayed_starts(reader.usual.clock(), below, limit=limit)
    return [
        _at_rest(
            one,
            path=one["lease"],
            kind="lease",
            action="start",
            principal=Actor.CLOCK,
            causes=(StuckCause("blocked", waits_for(one["hosts"])),),
            steps=(SuggestedStep("wait", "the hosts are requested back again and again; see: stead lease calendar"),),
        )
        for one in found
    ]


async def _lost_sites(reader: Reader, below: str, limit: int) -> list[Stuck]:
    """Sites whose upgrade has failed and whose agent is not connected: nothing is in progress or can be."""
    return [
        _at_rest(
            one,
            kind="cloudlet",
            lane=one["lane"],
            action="upgrade",
            principal=Actor.CONTROLLER,
            causes=(
                StuckCause("no-agent", f"its agent {one['agent']} is not connected, and the upgrade has failed"),
            ),
            steps=(SuggestedStep("agent", _leads_out(one["path"].removeprefix("/"))),),
        )
        for one in await reader.store.sites.list_lost(below, limit)
    ]


def _at_rest(record: Mapping[str, Any], **said: Any) -> Stuck:
    """Something with no operation in progress."""
    plain = {"lane": "", "operation": "", "phase": None, "outcome": None, "since": record["at"], "elapsed": None}
    plain |= {"observations": (), "missed_observations": 0, "resolution": ""}
    return Stuck.of_record(record, **(plain | said))


def _leads_out(site: str) -> str:
    return (
        f"start the agent at the site, then stead cloudlet resolve {site} --reason TEXT; "
        f"if the agent will not come back: stead cloudlet forget {site} --reason TEXT"
    )


# What is under way


async def _under_way(reader: Reader, paths: Sequence[str]) -> list[Stuck]:
    rows = await reader.store.resources.read_many(paths)
    lasts = await reader.usual.of(rows.values())
    acting = {path: row.snapshot.hidden or row.snapshot.operation for path, row in rows.items()}
    known = {path: (op, lasts[path, op.id]) for path, op in acting.items() if op is not None and op.id}
    lines = await reader.store.journal.read_last(
        [(path, op.id, last.since) for path, (op, last) in known.items()], MAX_LINES
    )
    absent = await _absent(reader, {path: _waits_on(rows[path]) for path in known})
    found = [_moving(reader, rows[path], *known[path], lines[path], absent[path]) for path in paths if path in known]
    return [each for each in found if each.causes]  # some have gone on since


def _waits_on(row: Row) -> set[str]:
    """The lanes whose agents have to do something before it goes on."""
    if row.snapshot.work is not None:
        return {row.lane} - {""}
    return named(row.kind, row.spec) if row.snapshot.state == "Preparing" else set()


async def _absent(reader: Reader, waits: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """By path, what is to be said of each lane that no agent serves now."""
    lanes = sorted(set().union(*waits.values()))
    there = await reader.store.lanes.filter_connected(lanes, CONNECTED_SECONDS) if lanes else set()
    ever = await reader.store.lanes.filter_served(lanes) if set(lanes) - there else set()
    return {
        path: tuple(
            f"no agent serves the lane {lane} now" if lane in ever else f"no agent has ever served the lane {lane}"
            for lane in sorted(needed - there)
        )
        for path, needed in waits.items()
    }


def _moving(
    reader: Reader,
    row: Row,
    op: Operation,
    lasts: Elapsed,
    lines: Sequence[Mapping[str, Any]],
    absent: Sequence[str],
) -> Stuck:
    now = reader.usual.clock()
    return Stuck(
        path=row.path,
        kind=row.kind,
        state=row.snapshot.state,
        lane=row.lane,
        operation=operation_id(row.path, op.id),
        action=op.action,
        principal=op.by,
        phase=op.phase,
        outcome=None,
        since=lasts.since,
        elapsed=lasts,
        causes=(*(StuckCause("no-agent", says) for says in absent), *_causes(row, op, lasts, now)),
        observations=_looks(lines),
        missed_observations=row.snapshot.misses,
        resolution="",
        steps=tuple(_ways(reader, row, op, lasts, absent)),
    )


def _causes(row: Row, op: Operation, lasts: Elapsed, now: float) -> Iterator[StuckCause]:
    state, lasted = row.snapshot.state, span(now - lasts.since.timestamp())
    if lasts.overdue and lasts.limit is not None:
        yield StuckCause(
            "overdue", f"{state} for {lasted}, and {op.action} is to last {span(lasts.limit)} there at most"
        )
    if lasts.late and lasts.p99 is not None and lasts.typical is not None:
        usual = f"usually {span(lasts.typical)}, 99 of 100 within {span(lasts.p99)}"
        yield StuckCause("late", f"{op.action} lasts {lasted}: {usual}")
    if op.phase is Phase.FENCING:
        yield StuckCause(
            "fencing", "waiting until the agent that had its order can no longer act; then the object is observed"
        )
    elif op.phase is Phase.PROBING:
        work, misses = row.snapshot.work, row.snapshot.misses
        missed = f", {misses} in a row did not find it" if misses else ""
        asked = (
            "an agent looks at it" if work is not None and work.taken else "nobody has taken the order to look at it"
        )
        yield StuckCause("probing", f"{asked if work is not None else 'it is looked at again soon'}{missed}")
    due = min((row.timers or {}).values(), default=now)
    if due < now - GRACE:
        yield StuckCause("unattended", f"its timer was due {span(now - due)} ago: does a controller run?")


def _ways(reader: Reader, row: Row, op: Operation, lasts: Elapsed, absent: Sequence[str]) -> Iterator[SuggestedStep]:
    work = row.snapshot.work
    if absent:
        yield SuggestedStep(
            "agent", f"{'; '.join(absent)}: start its agent, or cancel the operation (stead lane list)"
        )
    elif work is not None and not work.taken:
        yield SuggestedStep(
            "agent", f"no agent has taken its order: who serves {row.lane or 'its lane'}? (stead lane list)"
        )
    if lasts.deadline is not None:
        what = "the look is given up" if op.phase is Phase.PROBING else "it is looked at"
        if (
            reader.kinds[row.kind].state(row.snapshot.state).awaits is AwaitedParty.CHILDREN
            and op.phase is Phase.ACTING
        ):
            what = "its members are counted anew"
        yield SuggestedStep("wait", f"at {lasts.deadline:%H:%M:%S} UTC {what}")
    if not op.cancelled:
        yield SuggestedStep(
            "cancel",
            "cancel it: Stead waits until the agent can no longer act, then observes the object",
            operation_id(row.path, op.id),
        )


# What was settled though nobody had reported


async def _settled(reader: Reader, records: Sequence[Mapping[str, Any]]) -> list[Stuck]:
    asked = [(record["path"], str(record["operation"]), record["created_at"]) for record in records]
    lines = await reader.store.journal.read_last(asked, MAX_LINES)
    rows = await reader.store.resources.read_many([path for path, _, _ in asked])
    return [_healed(reader, record, rows.get(record["path"]), lines[record["path"]]) for record in records]


def _healed(reader: Reader, record: Mapping[str, Any], row: Row | None, lines: Sequence[Mapping[str, Any]]) -> Stuck:
    operation = operation_id(record["path"], record["operation"])
    unknown = record["trigger"] == Trigger.TIMED_OUT or record["outcome"] == Outcome.UNKNOWN
    return _at_rest(
        record,
        state=row.snapshot.state if row is not None else record["target"],
        lane=row.lane if row is not None else "",
        operation=operation,
        outcome=record["outcome"],
        causes=(StuckCause("unknown" if unknown else "settled", _reason(record, lines)),),
        observations=_looks(lines),
        resolution=_decision(record, lines),
        steps=tuple(_after(reader, record, row, operation)),
    )


def _reason(record: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """Why it had to be settled: what was waited for, and what was heard."""
    came = [line for line in lines if line["target"] == record["source"] and line["at"] < record["at"]]
    waited = f" after {span((record['at'] - came[-1]['at']).total_seconds())}" if came else ""
    if record["trigger"] == Trigger.TIMED_OUT:
        error = record["change"].get("error", "")
        return f"no report came{waited}, and no agent could observe it{f': {error}' if error else ''}"
    return f"no report came{waited}; an agent observed {record['detail']}"


def _decision(record: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """What was made of it."""
    ended = f"; for it, {record['action']} ended {record['outcome']}" if record["outcome"] else ""
    origin = lines[0]["source"] if lines else ""
    if record["source"] == record["target"]:
        return f"left in {record['target']}{ended}"
    back = "returned to" if record["target"] == origin else "settled to"
    return f"{back} {record['target']}, from {record['source']}{ended}"


def _after(reader: Reader, record: Mapping[str, Any], row: Row | None, operation: str) -> Iterator[SuggestedStep]:
    ended = record["ended"] and record["asked"] == record["path"]
    if ended and record["outcome"] not in WELL:
        yield SuggestedStep("retry", f"ask for {record['action']} once more", operation)
    kind = reader.kinds.get(record["kind"])
    if row is None or kind is None or row.snapshot.operation is not None:
        return
    able = [a for a in kind.actions if row.snapshot.state in a.source and {Actor.USER, Actor.ADMIN} & set(a.actors)]
    names = tuple(action.name for action in able if not action.signals)
    if names:
        yield SuggestedStep("ask", f"from {row.snapshot.state} it can {', '.join(names)}", actions=names)


def _looks(lines: Sequence[Mapping[str, Any]]) -> tuple[StuckObservation, ...]:
    return tuple(
        StuckObservation(line["at"], line["detail"]) for line in lines if line["trigger"] == Trigger.OBSERVED
    )


def span(seconds: float) -> str:
    """So many seconds, as one says it: to a tenth below ten, then to the second, then to the minute."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 120:
        return f"{minutes}m{rest}s" if rest and minutes < 10 else f"{minutes}m"
    return f"{minutes // 60}h{minutes % 60}m" if minutes % 60 else f"{minutes // 60}h"
