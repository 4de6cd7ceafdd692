"""Authorization: policies are asked here, on the way of every request, and nowhere else.

What a caller may not see does not exist for them. What they may see and not do is rejected, and the rejection names
the policy. What they may do comes as an `Authorized`, which commands and queries demand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from stead.access.access import Access
from stead.access.authorized import THE_CELL, Authorized
from stead.access.caller import Caller
from stead.access.lane_use import asked_on, lanes_on
from stead.access.policies import (
    ACCESS,
    AGENTS,
    ALLOWED,
    DEMAND,
    EXAMINE,
    FOR_ADMINS,
    HOSTS,
    LANES,
    LIFECYCLES,
    LIMIT,
    NAMESPACE,
    ORPHANS,
    QUEUE,
    RELEASE,
    SCALING,
    VIEW,
    PolicyResource,
    Verdict,
    labels_of,
)
from stead.lifecycle.decide.draft import acts_as
from stead.lifecycle.decision import Code, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import Actor
from stead.store import Row, Store

IN_WORDS = {
    VIEW: "looking around",
    QUEUE: "opening and stopping queues",
    LIMIT: "setting limits",
    ORPHANS: "dealing with orphans",
    RELEASE: "releasing a restored cell",
    AGENTS: "letting agents in",
    ACCESS: "giving access",
    HOSTS: "saying which hosts can be booked",
    LIFECYCLES: "registering kinds",
    EXAMINE: "examining what it runs on",
    LANES: "saying which namespaces may use which lanes",
    SCALING: "saying how demand is followed",
    DEMAND: "telling demand",
}
"""What the actions are that are no lifecycle's."""


class NotPermitted(Exception):
    """The policies do not permit an action."""

    def __init__(self, refusal: Rejection, action: str, thing: PolicyResource) -> None:
        super().__init__(refusal.reasons[0].message)
        self.refusal = refusal
        self.action = action
        self.thing = thing


@dataclass(frozen=True)
class Authorization:
    """Asks the policies; without any, every caller may do what their actor may."""

    access: Access | None
    kinds: Mapping[str, Lifecycle]
    store: Store

    def evaluate(self, caller: Caller, action: str, thing: PolicyResource, **context: bool) -> Verdict:
        """What the policies say."""
        return ALLOWED if self.access is None else self.access.policies.evaluate(caller, action, thing, **context)

    def sees(self, caller: Caller, thing: PolicyResource) -> bool:
        """Whether it exists for them."""
        return self.evaluate(caller, VIEW, thing).allowed

    def view(self, caller: Caller) -> Authorized:
        """The permission to query: under it a caller is shown what they may see, each thing if the policies allow."""
        return Authorized(caller, VIEW)

    def require(self, caller: Caller, action: str, thing: PolicyResource = THE_CELL) -> Authorized:
        """The permission for an action that is no lifecycle's. Raises `NotPermitted`."""
        verdict = self.evaluate(caller, action, thing, admin=action in FOR_ADMINS)
        if not verdict.allowed:
            raise NotPermitted(refused(action, thing.path, verdict), action, thing)
        return Authorized(caller, action, thing)

    def authorize(
        self,
        caller: Caller,
        action: str,
        thing: PolicyResource,
        *,
        force: bool = False,
        dry_run: bool = False,
        row: Row | None = None,
    ) -> Authorized | Rejection:
        """The permission for an action of a lifecycle, as the actor that they may act as; or why there is none."""
        admin = self.for_admins(thing.kind, action)
        verdict = self.evaluate(caller, action, thing, force=force, dry_run=dry_run, admin=admin)
        if not verdict.allowed:
            return refused(f"{action} by force" if force else action, thing.path, verdict)
        actor = replace(caller, actor=Actor.ADMIN) if admin and self.access is not None else caller
        return Authorized(actor, action, thing, row, force, dry_run)

    def for_admins(self, kind: str, action: str) -> bool:
        """Whether the lifecycle gives an action to admins, and not to users."""
        known = self.kinds[kind].action(action) if kind in self.kinds else None
        return (
            known is not None
            and Actor.ADMIN in known.actors
            and not any(acts_as(Actor.USER, by) for by in known.actors)
        )

    async def visible[T](
        self,
        caller: Caller,
        items: Sequence[T],
        path: Callable[[T], str],
        kind: Callable[[T], str] | None = None,
        record: Callable[[T], RecordedEvent] | None = None,
    ) -> list[T]:
        """Those of some items that a caller may see. Nothing is read that the policies do not read.

        With `record` they are records of what happened: each is judged as its resource was at that time, where
        another one or none has its path by now, and by what the record itself says of it.
        """
        if self.access is None or caller.open or not items:
            return list(items)
        looks = self.access.policies.looks_at
        rows: Mapping[str, Mapping[str, Any]] = {}
        reads = bool({"labels", "lane"} & looks)
        if reads or ("kind" in looks and kind is None):
            rows = await self.store.labels.read({path(item) for item in items})
        if not (reads and record is not None):
            things = [_thing(path(item), kind(item) if kind else "", rows.get(path(item))) for item in items]
            return [item for item, thing in zip(items, things, strict=True) if self.sees(caller, thing)]
        records = [record(item) for item in items]
        past = {path(item) for item, one in zip(items, records, strict=True) if _is_past(rows.get(path(item)), one)}
        former = await self.store.labels.read_former(past) if past else {}
        found = []
        for item, one in zip(items, records, strict=True):
            where, what = path(item), kind(item) if kind else ""
            row = rows.get(where)
            if _is_past(row, one):
                row = _at(former.get(where, ()), one)
                if row is None and where.count("/") > 1 and not one.rejected and self._hides(VIEW):
                    continue  # its labels are not known any more, and a policy might forbid it for them
            things = [_thing(where, what, row), *(PolicyResource(where, what, labels_of(said)) for said in one.specs)]
            if all(self.sees(caller, thing) for thing in things):
                found.append(item)
        return found

    def _hides(self, action: str) -> bool:
        """Whether a policy forbids an action by labels or lanes."""
        assert self.access is not None
        reads = self.access.policies.forbidding([action])
        return reads is not None and (reads.labels != frozenset() or "lane" in reads.attributes)


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """Of a record of something that happened: when, and what it says of its resource itself."""

    at: datetime | None = None
    """None: the last that is known counts."""
    specs: Sequence[Mapping[str, Any]] = ()
    rejected: bool = False
    """It is a rejection: there may never have been such a resource."""


def _is_past(row: Mapping[str, Any] | None, record: RecordedEvent) -> bool:
    """Whether a record is of a resource that is gone, whatever has its path by now."""
    return row is None or (record.at is not None and record.at < row["at"])


def _at(former: Sequence[Mapping[str, Any]], record: RecordedEvent) -> Mapping[str, Any] | None:
    """What is known of a resource that is gone: as it was at a time, or as it was first after that."""
    if record.at is None:
        return former[-1] if former else None
    before = [one for one in former if one["at"] <= record.at]
    return before[-1] if before else next(iter(former), None)


def thing_of(row: Row) -> PolicyResource:
    """A resource as policies see it."""
    return PolicyResource(row.path, row.kind, labels_of(row.spec), lanes_on(row.kind, row.lane, row.spec))


def _thing(path: str, kind: str, record: Mapping[str, Any] | None) -> PolicyResource:
    """What is at a path as policies see it, from what was read of it."""
    if record is None:
        return PolicyResource(path, kind or (NAMESPACE if path.count("/") == 1 else ""))
    kind = kind or record["kind"]
    lanes = lanes_on(record["kind"], record.get("lane", ""), record["spec"])
    return PolicyResource(path, kind, labels_of({"labels": record["labels"]}), lanes)


def asked_thing(
    path: str, kind: str, spec: Mapping[str, Any], row: Row | None, action: str = "", lane: str = ""
) -> PolicyResource:
    """What a request is about: what is there, or what would be, on every lane that it names."""
    lanes = asked_on(kind, action, row, lane, spec)
    return (
        replace(thing_of(row), lanes=lanes) if row is not None else PolicyResource(path, kind, labels_of(spec), lanes)
    )


def refused(what: str, path: str, verdict: Verdict) -> Rejection:
    """A refusal that names the policies."""
    place = "the cell" if path == "/" else path
    words = f"{IN_WORDS[what]} in {place}" if what in IN_WORDS else f"{what} of {place}"
    return Rejection((Reason(Code.NOT_PERMITTED, f"{words} is not for you: {verdict.says}"),), "")
