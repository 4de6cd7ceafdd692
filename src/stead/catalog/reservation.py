"""Leases: hosts booked for a time, started and ended by the clock.

A lease, its reservations and its timed events move together. `COMBINATIONS` says which of their statuses go
together at every commit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    ABSENT,
    HOUR,
    LEAVE,
    MINUTE,
    ORIGIN,
    Action,
    Actor,
    Aggregation,
    AwaitedParty,
    ConflictPolicy,
    MemberAction,
    Orders,
    SpecChange,
    absent,
    final,
    stable,
    transitional,
)

BY_CONTROLLER = (Actor.CONTROLLER,)

LEASE = Lifecycle(
    kind="lease",
    description="Hosts booked from one moment to another.",
    members="reservation",
    states=(
        absent("ABSENT", "There is no such lease."),
        transitional("CREATING", "Hosts are being found for it.", 10 * MINUTE, AwaitedParty.STEP),
        stable("PENDING", "It is booked and has not begun.", observed_as=""),
        transitional("STARTING", "Its hosts are being handed over.", 30 * MINUTE, AwaitedParty.CHILDREN),
        stable("ACTIVE", "Its hosts are its owner's.", observed_as=""),
        transitional("UPDATING", "It is being changed.", 30 * MINUTE, AwaitedParty.STEP),
        transitional("TERMINATING", "Its hosts are being taken back.", 30 * MINUTE, AwaitedParty.CHILDREN),
        stable("TERMINATED", "Its hosts were taken back.", observed_as=""),
        stable("ERROR", "Something failed that needs an update, an end or a deletion.", observed_as=""),
        transitional("DELETING", "It is being deleted, whatever else was going on.", HOUR, AwaitedParty.CHILDREN),
    ),
    actions=(
        Action(
            "create",
            "Book hosts for a time.",
            ("ABSENT",),
            ("CREATING",),
            "PENDING",
            on_failure="ERROR",
            checked=True,
            joins=False,
            work=None,
            rollback=LEAVE,
        ),
        Action(
            "start",
            "Hand the hosts over.",
            ("PENDING",),
            ("STARTING",),
            "ACTIVE",
            on_failure="ERROR",
            actors=(Actor.CLOCK,),
            work=MemberAction("start"),
            rollback=LEAVE,
        ),
        Action(
            "terminate",
            "Take the hosts back.",
            ("ACTIVE", "ERROR"),
            ("TERMINATING",),
            "TERMINATED",
            on_failure="ERROR",
            actors=(Actor.CLOCK, Actor.USER),
            work=MemberAction("release"),
            rollback=LEAVE,
        ),
        Action(
            "update",
            "Change its time or its hosts.",
            ("PENDING", "ACTIVE", "TERMINATED", "ERROR"),
            ("UPDATING",),
            ORIGIN,
            on_failure="ERROR",
            actors=(Actor.USER, Actor.CONTROLLER),
            checked=True,
            joins=False,
            work=None,
            rollback=LEAVE,
            spec_change=SpecChange(amends=True),
        ),
        Action(
            "delete",
            "Delete it; nothing outranks this.",
            ("PENDING", "ACTIVE", "TERMINATED", "ERROR"),
            ("DELETING",),
            "ABSENT",
            on_failure="ERROR",
            work=MemberAction("release"),
            rollback=LEAVE,
            conflict=ConflictPolicy.PREEMPT,
        ),
    ),
    aggregation=Aggregation.EVENTS,
    aggregation_order=("PENDING", "ACTIVE", "TERMINATED"),
)

RESERVATION = Lifecycle(
    kind="reservation",
    observable=False,
    description="The hosts of a lease.",
    parent="lease",
    states=(
        stable("pending", "Hosts are found and not handed over.", observed_as=ABSENT),
        stable("active", "Hosts are handed over."),
        final("deleted", "Hosts were taken back."),
        stable("error", "Handing over or taking back failed.", observed_as=""),
    ),
    actions=(
        Action(
            "start",
            "Hand the hosts over.",
            ("pending", "error"),
            (),
            "active",
            on_failure="error",
            actors=BY_CONTROLLER,
            rollback=LEAVE,
        ),
        Action(
            "update",
            "Exchange or add hosts.",
            ("pending", "active"),
            (),
            ORIGIN,
            on_failure="error",
            actors=BY_CONTROLLER,
            joins=False,
            rollback=LEAVE,
            spec_change=SpecChange(),
        ),
        Action(
            "release",
            "Take the hosts back.",
            ("pending", "active", "error"),
            (),
            "deleted",
            on_failure="error",
            actors=BY_CONTROLLER,
            idle=("deleted",),
            rollback=LEAVE,
            conflict=ConflictPolicy.PREEMPT,
        ),
        Action(
            "rearm",
            "Take back what may have been handed over, and wait for the start again.",
            ("error",),
            (),
            "pending",
            on_failure="error",
            actors=BY_CONTROLLER,
            work=Orders(("release",)),
            rollback=LEAVE,
        ),
    ),
    drift_states=("active",),
    on_absent="error",
    on_broken="error",
)

EVENT = Lifecycle(
    kind="event",
    description="A moment at which something happens to a lease: its start, a while before its end, its end.",
    parent="lease",
    states=(
        stable("UNDONE", "Its time has not come.", observed_as=""),
        transitional("IN_PROGRESS", "Its time has come and the work goes on.", 30 * MINUTE, AwaitedParty.STEP),
        final("DONE", "It has happened.", observed_as=""),
        final("ERROR", "It could not happen.", observed_as=""),
    ),
    actions=(
        Action(
            "fire",
            "Do what is due.",
            ("UNDONE",),
            ("IN_PROGRESS",),
            "DONE",
            on_failure="ERROR",
            actors=(Actor.CLOCK,),
            work=None,
            rollback=LEAVE,
        ),
        Action(
            "rearm",
            "Wait for a new time.",
            ("DONE", "ERROR"),
            (),
            "UNDONE",
            actors=BY_CONTROLLER,
            work=None,
        ),
    ),
)

EVENT_KINDS = ("start_lease", "before_end_lease", "end_lease")

_ANY = frozenset(s.name for s in EVENT.states)
_QUIET = _ANY - {"IN_PROGRESS"}


@dataclass(frozen=True, slots=True)
class Combination:
    """What reservations and events may be in while a lease is in a status."""

    reservations: frozenset[str]
    start: frozenset[str]
    end: frozenset[str]
    any_event: frozenset[str] = _ANY
    """Holds for every event, `before_end_lease` too."""
    one_in: str = ""
    """At least one reservation is in this status, unless the lease has no parts."""
    may_lack_parts: bool = False
    """The lease may have no reservation and no event: booking has not made them yet, or failed. In every other
    status, and where it has any part, a lease has at least one reservation, its start and its end."""


def _combination(reservations: str, start: str, end: str, *, may_lack_parts: bool = False) -> Combination:
    return Combination(
        frozenset(reservations.split()), frozenset({start}), frozenset({end}), may_lack_parts=may_lack_parts
    )


_ALL_RESERVATIONS = frozenset(s.name for s in RESERVATION.states)

COMBINATIONS: Mapping[str, Combination] = {
    "CREATING": _combination("pending", "UNDONE", "UNDONE", may_lack_parts=True),
    "PENDING": _combination("pending", "UNDONE", "UNDONE"),
    "STARTING": _combination("pending active error", "IN_PROGRESS", "UNDONE"),
    "ACTIVE": _combination("active", "DONE", "UNDONE"),
    "TERMINATING": _combination("active deleted error", "DONE", "IN_PROGRESS"),
    "TERMINATED": _combination("deleted", "DONE", "DONE"),
    "DELETING": Combination(_ALL_RESERVATIONS, _ANY, _ANY, may_lack_parts=True),
    "UPDATING": Combination(_ALL_RESERVATIONS, _QUIET, _QUIET, _QUIET, may_lack_parts=True),
    "ERROR": Combination(_ALL_RESERVATIONS, _QUIET, _QUIET, _QUIET, one_in="error", may_lack_parts=True),
}


def disagreements(lease: str, reservations: Iterable[str], events: Mapping[str, str]) -> tuple[str, ...]:
    """What of a lease's parts does not go together with its status; empty where all does."""
    allowed = COMBINATIONS.get(lease)
    if allowed is None:
        return (f"{lease} is no status that a lease with parts can have",)
    statuses = tuple(reservations)
    if allowed.may_lack_parts and not statuses and not events:
        return ()
    found = [f"a lease that is {lease} has no {kind}" for kind in ("start_lease", "end_lease") if kind not in events]
    if not statuses:
        found.append(f"a lease that is {lease} has no reservation")
    found += [f"reservation is {s} in a lease that is {lease}" for s in statuses if s not in allowed.reservations]
    for kind, wanted in (("start_lease", allowed.start), ("end_lease", allowed.end)):
        if kind in events and events[kind] not in wanted:
            found.append(f"{kind} is {events[kind]} in a lease that is {lease}")
    found += [
        f"{kind} is {status} in a lease that is {lease}"
        for kind, status in events.items()
        if status not in allowed.any_event and kind not in ("start_lease", "end_lease")
    ]
    if allowed.one_in and statuses and allowed.one_in not in statuses:
        found.append(f"no reservation is in {allowed.one_in} in a lease that is {lease}")
    return tuple(found)
