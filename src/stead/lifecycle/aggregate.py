"""What children amount to: a parent's status, from how many of them are in which state.

A parent may have a hundred thousand members and is asked for its status all the time, so nothing here sees a
member. Everything is computed from counts by state, and costs as much as there are distinct states. Counts
may also come as rows of differences, several for one state, in whatever order they were written: they are
summed first.

The functions know no kind of resource; a lifecycle passes its own order of states. The two at the end are the
rules by which a service speaks for its system and the events of a lease for the lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import StateClass

Counts = Mapping[str, int] | Iterable[tuple[str, int]]
"""How many members are in which state."""

EMPTY = "Empty"
"""The status text of a group without members."""

PARTIAL = "Partial-"
"""Before the status text of a group whose members are not all in the same state."""


def _summed(counts: Counts) -> dict[str, int]:
    """Each state once, those without a member left out."""
    sums: dict[str, int] = {}
    for state, count in counts.items() if isinstance(counts, Mapping) else counts:
        sums[state] = sums.get(state, 0) + count
    for state, count in sums.items():
        if count < 0:
            # A difference was lost; any status made from the rest would be a lie.
            raise ValueError(f"{count} members in {state}")
    return {state: count for state, count in sums.items() if count}


def total(counts: Counts) -> int:
    """How many members there are."""
    return sum(_summed(counts).values())


def dominant(counts: Counts, order: tuple[str, ...]) -> str | None:
    """The state most members have; of equals the one that comes first in the order. None without members.

    A state that the order does not list comes after all that it lists, by name, so that the answer never
    depends on how the counts were stored.
    """
    sums = _summed(counts)
    if not sums:
        return None
    places = {state: place for place, state in enumerate(order)}
    return min(sums, key=lambda state: (-sums[state], places.get(state, len(order)), state))


def status_text(counts: Counts, order: tuple[str, ...], running: str = "Running") -> str:
    """`(Partial-){Status}:{Count} (R:{Running}/{Total})`, for people; `Empty` without members."""
    sums = _summed(counts)
    status = next(iter(sums)) if len(sums) == 1 else dominant(sums, order)
    if status is None:
        return EMPTY
    count, everyone = sums[status], sum(sums.values())
    partial = PARTIAL if count < everyone else ""
    return f"{partial}{status}:{count} (R:{sums.get(running, 0)}/{everyone})"


def status_count(counts: Counts, states: tuple[str, ...]) -> dict[str, int]:
    """Every count by its JSON name: `countTotal`, then one for each of the states in their order, even if 0.

    A state that is not among them but has members gets its count at the end, so the parts always make the
    total.
    """
    sums = _summed(counts)
    others = sorted(set(sums) - set(states))
    return {
        "countTotal": total(sums),
        **{f"count{state[:1].upper()}{state[1:]}": sums.get(state, 0) for state in (*states, *others)},
    }


def is_stable(member: Lifecycle, counts: Counts) -> bool:
    """Whether the group rests: no member is in a moving state. Most of them resting is not enough."""
    return all(member.state(state).cls is not StateClass.TRANSITIONAL for state in _summed(counts))


def worst(counts: Counts, order: tuple[str, ...], default: str) -> str:
    """The first state of the order that any child is in; the default where no child is in any of them."""
    sums = _summed(counts)
    return next((state for state in order if state in sums), default)


def reached(counts: Counts, target: str, also: tuple[str, ...] = ("Failed", "Undefined", "Terminated")) -> int:
    """How many members a group action need not wait for: those in its target, those that never get there.

    The action's target is reached when these are all (`total`).
    """
    sums = _summed(counts)
    return sum(sums.get(state, 0) for state in {target, *also})


SYSTEM_ORDER = ("degraded", "updating", "scaling", "stable")
"""What a system's services make of it, worst first."""

_CONDITIONS = {
    "failed": "degraded",
    "pending": "updating",
    "deleting": "updating",
    "updating": "updating",
    "scaling": "scaling",
    "stable": "stable",
}


def service_condition(state: str, newer: bool) -> str:
    """What a service in this state makes of its system, to be counted and given to `worst`.

    `newer`: its definition is newer than what was observed. Then the state, even a failure, tells of the
    definition before, and the service is updating.
    """
    condition = _CONDITIONS.get(state)
    if condition is None:
        raise ValueError(f"not a state of a service: {state!r}")
    return "updating" if newer else condition


_IMPLIED = {
    ("UNDONE", "UNDONE"): "PENDING",
    ("DONE", "UNDONE"): "ACTIVE",
    ("DONE", "DONE"): "TERMINATED",
}


def implied_by_events(events: Mapping[str, str]) -> str:
    """The settled status of a lease, from the statuses of its events by kind.

    Only the start and the end count. Whatever no resting lease can have (an event missing, failed or under
    way, an end before the start) is `ERROR`.
    """
    return _IMPLIED.get((events.get("start_lease", ""), events.get("end_lease", "")), "ERROR")
