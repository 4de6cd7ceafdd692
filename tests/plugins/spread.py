"""The order of a run: what takes long begins first, on every worker, so that at the end nobody waits for one of them.

Workers get equal parts of the list, one after the other, and who has finished takes from the end of another's part.
So each part begins with its share of what has the machine for itself, and then of what is slow. Slow tests of one
module stay together, because they share what the module sets up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice

import pytest


def spread(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The same tests, in the order in which so many workers are to begin them."""
    alone = [item for item in items if item.get_closest_marker("alone")]
    slow = [item for item in items if item.get_closest_marker("slow") and item not in alone]
    modules = [list(tests) for _, tests in groupby(slow, lambda item: item.nodeid.partition("::")[0])]
    first = {*alone, *slow}
    others = (item for item in items if item not in first)
    begun: list[pytest.Item] = []
    for worker, size in enumerate(_sizes(len(items), workers)):
        share = [*alone[worker::workers], *(item for tests in modules[worker::workers] for item in tests)]
        begun += [*share, *islice(others, max(0, size - len(share)))]
    return [*begun, *others]


def _sizes(count: int, workers: int) -> Iterator[int]:
    """How many tests each worker gets at first."""
    for left in range(workers, 0, -1):
        yield (size := count // left)
        count -= size
