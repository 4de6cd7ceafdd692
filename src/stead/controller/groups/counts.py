"""How a group counts its members: by their states, or by what each makes of it."""

from __future__ import annotations

from collections.abc import Mapping

from stead.lifecycle.aggregate import service_condition
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Children
from stead.lifecycle.rows import Aggregation


def amounts(group: Lifecycle, counts: Mapping[str, int], remaining: int = 0, failed: int = 0) -> Children:
    """How many members are in which state, as their group counts them; those that say nothing to it are left out.

    A service has a new definition and shows that it is updated from one and the same moment on, so that none rests
    with a definition that is newer than what was observed of it.
    """
    sums: dict[str, int] = {}
    for state, n in counts.items():
        condition = service_condition(state, newer=False) if group.kind == "system" else state
        if n > 0 and (group.aggregation is not Aggregation.WORST or condition in group.aggregation_order):
            sums[condition] = sums.get(condition, 0) + n
    return Children(tuple(sorted(sums.items())), remaining=remaining, failed=failed)
