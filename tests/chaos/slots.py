"""Room at the providers, by the cloud's own ledger: never more at once than a region bears, nor in more regions.

An instance is being changed from the deed of a call that set it on its way until the deed by which it arrived,
whatever is believed meanwhile. The limits are those at the end, so they must have been set before the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from stead.drivers.sim import rules
from tests.chaos.history import History, Instance

Change = tuple[float, int, str]
"""When, one more or one less, and where."""


def members(history: History) -> Iterator[str]:
    """No region has more instances on their way than it bears."""
    moving: Counter[str] = Counter()
    worst: dict[str, tuple[int, float]] = {}
    for at, by, lane in _in_order(history):
        moving[lane] += by
        most, _ = history.limits.get(_provider(lane), (None, None))
        if most is not None and moving[lane] > most:
            worst[lane] = max(worst.get(lane, (0, 0.0)), (moving[lane], at))
        elif lane in worst:  # it is over
            yield _too_many(lane, most, *worst.pop(lane))
    for lane, found in worst.items():
        yield _too_many(lane, history.limits[_provider(lane)][0], *found)


def regions(history: History) -> Iterator[str]:
    """No provider has instances on their way in more regions than it bears."""
    moving: Counter[str] = Counter()
    active: defaultdict[str, set[str]] = defaultdict(set)
    for at, by, lane in _in_order(history):
        provider = _provider(lane)
        moving[lane] += by
        before = len(active[provider])
        (active[provider].add if moving[lane] else active[provider].discard)(lane)
        _, most = history.limits.get(provider, (None, None))
        if most is not None and before <= most < len(active[provider]):
            others = _named(moving, active[provider])
            yield f"{provider} bears {most} regions at once, and had {others} on their way at {at:.3f}"


def _changes(instance: Instance) -> Iterator[Change]:
    """When an instance was set on its way, and when it had arrived."""
    moving = False
    for deed in instance.deeds:
        now = deed.after in rules.MOVING
        if now != moving:
            yield deed.at, 1 if now else -1, instance.lane
        moving = now


def _in_order(history: History) -> list[Change]:
    """All of that; what arrived at a moment makes room for what is set on its way at the same moment."""
    return sorted(change for instance in history.instances for change in _changes(instance))


def _too_many(lane: str, most: int | None, had: int, at: float) -> str:
    return f"{lane} bears {most} at once, and had {had} on their way at {at:.3f}"


def _named(moving: Mapping[str, int], lanes: Iterable[str]) -> str:
    return " and ".join(f"{moving[lane]} in {lane}" for lane in sorted(lanes))


def _provider(lane: str) -> str:
    return lane.partition(".")[0]
