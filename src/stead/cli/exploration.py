"""Exploring several kinds at once, a process each, since one search keeps one processor busy.

What comes back is plain numbers and text, so that nothing of a search's memory crosses between processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.explore import Bounds, explore


@dataclass(frozen=True, slots=True)
class ExplorationReport:
    """What a search found."""

    kind: str
    visited: int
    transitions: int
    seconds: float
    complete: bool
    bounds: dict[str, int]
    story: str = ""
    """The shortest way to something that must not be; empty where there is none."""

    @property
    def good(self) -> bool:
        """Whether all there is within the bounds was seen, and all of it was as it must be."""
        return self.complete and not self.story

    def plain(self) -> dict[str, Any]:
        """For JSON and YAML."""
        return {**asdict(self), "seconds": round(self.seconds, 2), "story": self.story or None}


def search(lifecycle: Lifecycle, bounds: Bounds) -> ExplorationReport:
    """Explore one lifecycle here and now."""
    began = time.perf_counter()
    result = explore(lifecycle, bounds)
    return ExplorationReport(
        lifecycle.kind,
        result.visited,
        result.steps,
        time.perf_counter() - began,
        result.complete,
        asdict(result.bounds),
        result.violation.story() if result.violation else "",
    )


def search_all(lifecycles: Sequence[Lifecycle], bounds: Bounds, jobs: int) -> Iterator[tuple[int, ExplorationReport]]:
    """Explore them, so many at once; each result as it comes, with its lifecycle's position."""
    if jobs == 1 or len(lifecycles) == 1:
        for i, lifecycle in enumerate(lifecycles):
            yield i, search(lifecycle, bounds)
        return
    # Fresh processes: a forked one would inherit whatever threads and locks this one has.
    pool = ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn"))
    try:
        places = {pool.submit(search, lifecycle, bounds): i for i, lifecycle in enumerate(lifecycles)}
        for future in as_completed(places):
            yield places[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
