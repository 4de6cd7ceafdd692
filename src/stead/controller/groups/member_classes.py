"""The members of a group by class, as an action on the group finds them: also those that others have a claim on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.snapshot import Snapshot
from stead.store import Store
from stead.store.summary import snapshot_of

type Classes = Counter[tuple[Snapshot, str]]
"""How many members are in which class on which lane."""


async def member_classes(store: Store, group: Lifecycle, path: str, failed_of: str = "") -> Classes:
    """The members below a path; with `failed_of`, only those that an operation asked and that did not do it.

    Where an operation has a claim on something between the group and its members, they are kept off by it.
    """
    found = await _classes(store, group.members, path, failed_of)
    if any(action.skips_claimed for action in group.actions):
        for held, holder in (await store.claims.find_held_below(path, without=group.members)).items():
            for (snap, lane), count in (await _classes(store, group.members, held, failed_of)).items():
                found[snap, lane] -= count
                found[replace(snap, blocked=holder), lane] += count
    return +found


def by_class(classes: Classes) -> Counter[Snapshot]:
    """How many members are in which class, on whatever lane."""
    counts: Counter[Snapshot] = Counter()
    for (snapshot, _), count in classes.items():
        counts[snapshot] += count
    return counts


async def _classes(store: Store, kind: str, path: str, failed_of: str) -> Classes:
    classes: Classes = Counter()
    for (summary, lane), count in (await store.groups.count_classes(kind, path, failed_of)).items():
        classes[snapshot_of(summary.decision_key), lane] += count
    return classes
