"""The steps of a lease that are the controller's own: to book hosts for it, and to bring it to other terms.

Hosts are found and taken in one statement, all or none, so whoever dies on the way has booked or has not. What cannot
be had is declined, and the lease is as it was. Reservations that are handed over already hear of a change by an
operation of their own, in the course of the lease's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from stead.access.authorized import Authorized
from stead.access.lane_use import advice
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.steps import CONTROLLER, Answer, Declined, Done, Failed, Requested, Waits
from stead.controller.steps import lease_spec as terms_of
from stead.controller.steps.lease_spec import InvalidLeaseSpec, LeaseSpec, said
from stead.lifecycle.events import OnConflict
from stead.store import Row
from stead.store.leases import HostsUnavailable

LATE = 300.0
"""Seconds that a lease may have begun before it was asked for."""

NOBODY_WAITS = Waits("nobody waits for it any more")


class LeaseBooking:
    """Finds hosts for a new lease."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Book all that it wants, or nothing."""
        now = self.executor.clock()
        try:
            terms = terms_of.read(row.spec)
        except InvalidLeaseSpec as wrong:
            return Declined(wrong.says)
        if terms.end.timestamp() <= now:
            return Declined(f"it would end at {said(terms.end)}, and that has passed")
        if terms.start.timestamp() < now - LATE:
            return Declined(f"it would begin at {said(terms.start)}, and that has passed")
        booked = await self.executor.store.leases.book(row.path, row.snapshot.fence.counter, terms.booked(), now)
        if isinstance(booked, HostsUnavailable):
            return Declined(no_room(booked, terms, row.path))
        return Done() if booked else NOBODY_WAITS


class LeaseRebooking:
    """Brings a lease to its new terms. Whoever takes it up makes a new one."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.executor = admission.executor
        self.store = admission.executor.store
        self.asked = Requested(self.store)
        self.booked = False

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Do what is missing."""
        now = self.executor.clock()
        parts = (await self.store.leases.read_reservations([row.path]))[row.path]
        events = {event["kind"]: event for event in (await self.store.leases.read_events([row.path]))[row.path]}
        start = events.get("start_lease")
        try:
            terms = terms_of.read(row.next_spec or row.spec)
        except InvalidLeaseSpec as wrong:
            return Declined(wrong.says)
        begun = start is not None and (
            start["status"] == "DONE" or (start["status"] == "ERROR" and terms.start.timestamp() <= now)
        )
        if not self.booked:
            record = await self.store.operations.read(operation)
            heals = record is not None and record["principal"] == CONTROLLER
            no = _forbidden(row, terms, parts, now, begun=begun)
            if no and not _booked(terms, parts, events):
                return Declined(no)
            fence = row.snapshot.fence.counter
            booked = await self.store.leases.rebook(row.path, fence, terms.booked(), now, heals=heals)
            if isinstance(booked, HostsUnavailable):
                return Declined(no_room(booked, terms, row.path))
            if not booked:
                return NOBODY_WAITS
            self.booked = True
            parts = (await self.store.leases.read_reservations([row.path]))[row.path]
        waits = await self._follow(row, operation, terms, parts, begun=begun)
        if waits is not None:
            return waits
        await self.store.leases.free_returned_hosts(row.path)
        await self.store.leases.record_start(row.path, "DONE" if begun else "UNDONE", terms.start.timestamp())
        settled = (await self.store.leases.read_events([row.path]))[row.path]
        return Done(events=tuple((event["kind"], event["status"]) for event in settled))

    async def _follow(
        self, row: Row, operation: UUID, terms: LeaseSpec, parts: Sequence[Mapping[str, Any]], *, begun: bool
    ) -> Waits | Failed | None:
        """Ask of each reservation what it lacks; None where none lacks anything."""
        bad = await self.asked.bad()
        if bad:
            path, operations = next(iter(bad.items()))
            return Failed(f"{path} did not follow{await self.asked.why(operations[-1])}")
        wanted = {f"{row.path}/{one.name}": one for one in terms.reservations}
        late = 0
        for part in parts:
            one = wanted[part["path"]]
            spec = {**one.booked(), "hosts": part["works"]}
            action = _lacks(part, spec, begun=begun)
            late += bool(action) or part["busy"]
            if action and not part["busy"]:
                await self._ask(row, operation, part, action, spec if action == "update" else {})
        return Waits(f"{late} reservation{'s' if late > 1 else ''} still to follow") if late else None

    async def _ask(
        self, row: Row, operation: UUID, part: Mapping[str, Any], action: str, spec: Mapping[str, Any]
    ) -> None:
        path = part["path"]
        request = ActionRequest(
            path,
            action,
            "reservation",
            spec,
            part["lane"],
            reason=f"update of {row.path}",
            on_conflict=OnConflict.REJECT,
            within=True,
            under=(str(operation),),
        )
        answer = await self.admission.admit(request, Authorized.by_controller(action))
        if isinstance(answer, Accepted) and answer.operation:
            self.asked.add(path, answer.operation)
            await self.store.leases.mark_restored([path])


async def rejection_of_start(executor: TransitionExecutor, asking: Mapping[str, Any]) -> str:
    """Why the hosts of a lease are not to be handed over any more; empty where they are, or where it is no start."""
    if asking["kind"] != "lease" or asking["request"].get("action") != "start":
        return ""
    events = (await executor.store.leases.read_events([asking["path"]]))[asking["path"]]
    ends = next((event["at"] for event in events if event["kind"] == "end_lease"), None)
    if ends is None or ends.timestamp() > executor.clock():
        return ""
    return f"the lease ended at {said(ends)}, before its hosts could be handed over"


def no_room(answer: HostsUnavailable, terms: LeaseSpec, path: str) -> str:
    """Why there is no room, and when there is; hosts of lanes that the namespace may not use do not count."""
    space = path.split("/")[1]
    if answer.quota:
        return _over(answer, space)
    if answer.beyond and not answer.count:
        return f"{answer.reservation} has hosts on {answer.beyond[0]}, and {advice(space, answer.beyond)}"
    others = f"; there are such hosts on other lanes, and {advice(space, answer.beyond)}" if answer.beyond else ""
    return _no_room(answer, terms) + others


def _over(answer: HostsUnavailable, space: str) -> str:
    """Which quota of a namespace a lease would exceed."""
    if answer.quota == "hosts":
        hosts = f"{answer.most} host{'s' if answer.most != 1 else ''}"
        return f"leases of {space} may have {hosts} at a time, and with this one they would have {answer.count}"
    return f"a lease of {space} may last {answer.most} s, and this one would last {answer.count} s"


def _no_room(answer: HostsUnavailable, terms: LeaseSpec) -> str:
    if answer.host:
        return f"{answer.host}, which {answer.reservation} has, is somebody else's before {said(terms.end)}"
    when = f"from {said(terms.start)} to {said(terms.end)}"
    hosts = f"{answer.count} such host{'s' if answer.count > 1 else ''}"
    if answer.next is None:
        return f"{answer.reservation} wants {hosts} {when}: there are not so many, and no time at which there will be"
    free = said(datetime.fromtimestamp(math.ceil(answer.next), UTC))
    are = "are" if answer.count > 1 else "is"
    return f"{answer.reservation} wants {hosts} {when}, and there {are} not: the next time there {are} is {free}"


def _forbidden(row: Row, terms: LeaseSpec, parts: Sequence[Mapping[str, Any]], now: float, *, begun: bool) -> str:
    """Why a lease cannot come to such terms, whatever is free; nothing, where it can."""
    origin = row.snapshot.operation.origin if row.snapshot.operation is not None else ""
    if origin == "TERMINATED" or any(part["state"] == "deleted" for part in parts):
        return "its hosts were taken back: book anew"
    if terms.end.timestamp() <= now:
        return f"it would end at {said(terms.end)}, and that has passed: end it"
    if begun and terms.start != terms_of.read(row.spec).start:
        return "it has begun, and its start stays as it was"
    if not begun and terms.start.timestamp() < now - LATE and origin != "PENDING":
        return f"it would begin at {said(terms.start)}, and that has passed"
    names = {one.name for one in terms.reservations}
    left_out = [part["path"] for part in parts if part["path"].rsplit("/", 1)[1] not in names]
    return f"{left_out[0]} cannot be left out: delete the lease, or book less of it" if left_out else ""


def _booked(terms: LeaseSpec, parts: Sequence[Mapping[str, Any]], events: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether it is booked on these terms already: whoever did it died before the rest, and nothing can be declined
    any more."""
    wanted = {one.name: one.count for one in terms.reservations}
    counts = {part["path"].rsplit("/", 1)[1]: part["spec"].get("count") for part in parts}
    times = {kind: events[kind]["at"] for kind in ("start_lease", "end_lease") if kind in events}
    return counts == wanted and times == {"start_lease": terms.start, "end_lease": terms.end}


def _lacks(part: Mapping[str, Any], spec: Mapping[str, Any], *, begun: bool) -> str:
    """What is to be asked of a reservation; nothing, where it is as it is to be."""
    state = part["state"]
    if state == "error":
        return "start" if begun else "rearm"
    if state == "pending":
        return "start" if begun else ""
    if state == "active":
        return "update" if part["spec"] != spec or part["lost"] else ""
    return ""
