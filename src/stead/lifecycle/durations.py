"""How long moves usually take, learned from how long they took: how many were in which span of time.

The spans grow by a fifth from one to the next, so a few dozen of them reach from a hundredth of a second to days, and
whatever is read from them is wrong by less than a fifth. Old moves count less with every new one: a histogram weighs
about as much as the last thousand, however many there were.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ORIGIN, Action, Trigger
from stead.lifecycle.table import way

BOUNDS = tuple(0.01 * 2 ** (i / 4) for i in range(108))
"""Where the spans end, in seconds: a move of just so long is in the next one. The last has no end."""

WEIGHT = 1000.0
"""How many moves a histogram weighs at most."""

MEDIAN, NEARLY_ALL = 0.5, 0.99

ENOUGH = 20
"""Moves from which it can be said that one takes longer than nearly all do."""
ENOUGH_ON_LANE = 50
"""Moves on one lane, from which that lane is judged by itself."""

UNSEEN = ""
"""In place of a moving state: the action is carried out while the visible state stays."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many moves took how long."""

    counts: Mapping[int, float] = field(default_factory=dict)
    """By the number of the span."""

    @property
    def moves(self) -> float:
        """How many they are."""
        return sum(self.counts.values())

    def plus(self, counts: Mapping[int, int]) -> Histogram:
        """With more moves; beyond the weight, all count less."""
        fresh = dict(self.counts)
        for span, moves in counts.items():
            fresh[span] = fresh.get(span, 0.0) + moves
        scale = min(1.0, WEIGHT / max(sum(fresh.values()), 1.0))
        return Histogram({span: moves * scale for span, moves in fresh.items() if moves * scale >= 1e-3})

    def within(self, part: float) -> float:
        """The seconds within which that part of them was over: the end of the span in which the last of it lies."""
        left = part * self.moves
        reached = 0.0
        for span in sorted(self.counts):
            reached += self.counts[span]
            if reached >= left * (1 - 1e-9):
                return end_of(span)
        return 0.0


def span_of(seconds: float) -> int:
    """The number of the span that a move of so many seconds is in."""
    return bisect_right(BOUNDS, seconds)


def end_of(span: int) -> float:
    """Where a span ends; the last one, where it begins."""
    return BOUNDS[min(span, len(BOUNDS) - 1)]


def key_state(lifecycle: Lifecycle, action: str, state: str) -> str:
    """The state under which it is kept how long an action takes, while a resource is in some state."""
    known = lifecycle.action(action)
    return state if known is not None and state in known.via else UNSEEN


def well(lifecycle: Lifecycle) -> Iterator[tuple[str, str, str]]:
    """The moves with which an action goes on as it should: its name, the moving state that is left, and the target.

    Of an action without moving states, both are empty: its end is what counts.
    """
    for action in lifecycle.actions:
        if action.signals or action.scoped:
            continue
        if not action.via:
            if action.verbs:
                yield action.name, UNSEEN, ""
            continue
        follows = {state: target for state, target, _ in way(lifecycle, action)}
        for move in lifecycle.table:
            if move.source not in action.via or move.on != action.name:
                continue
            goes_on = move.trigger in (Trigger.SUCCEEDED, Trigger.STARTED, Trigger.NEXT)
            if goes_on or (move.trigger is Trigger.CHILDREN and _wanted(action, follows[move.source], move.target)):
                yield action.name, move.source, move.target


def _wanted(action: Action, follows: str, target: str) -> bool:
    """Whether members have led their group to where it was to go."""
    return target == follows or (follows == ORIGIN and target != action.on_failure)
