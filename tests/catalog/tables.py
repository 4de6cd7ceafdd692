"""Tables typed by hand, and how they are held against a lifecycle.

The tables are text: one row a line, columns apart by blanks, `a/b` for several states at once, a comment from `#` on.
A comment that begins with *resolved* marks a row that the documents leave open or contradict themselves about.
Nothing in them is taken from the code; only the words for triggers and actors are.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from stead.catalog import KINDS
from stead.lifecycle.rows import Actor, Trigger

CERTAIN = (
    Trigger.REQUEST,
    Trigger.STARTED,
    Trigger.SUCCEEDED,
    Trigger.FAILED,
    Trigger.NEXT,
    Trigger.CHILDREN,
    Trigger.ROLLED_BACK,
    Trigger.CONNECTED,
    Trigger.DISCONNECTED,
)
"""The words on which the documents let a state change. What a probe sees, what a check declines and what silence does
come on top, in tables of their own."""


class Row(NamedTuple):
    """A move as the tables tell it."""

    source: str
    trigger: Trigger
    on: str
    actor: Actor
    target: str
    forced: bool = False


Cell = tuple[str, Trigger, str, Actor, bool]
"""Source, trigger, what about, by whom, and whether only by force."""


def lines(text: str, columns: int) -> list[list[str]]:
    """The rows of a typed table; every row has all its columns."""
    found = [words for line in text.splitlines() if (words := line.split("#")[0].split())]
    assert {len(words) for words in found} == {columns}, f"{columns} columns wanted: {found}"
    return found


def rows(text: str) -> set[Row]:
    """A table with the columns source, trigger, action, actor, target; `force` behind the actor's name for force."""
    found: list[Row] = []
    for sources, trigger, on, who, targets in lines(text, 5):
        for source, target in product(sources.split("/"), targets.split("/")):
            actor, _, force = who.partition("+")
            assert force in ("", "force")
            found.append(Row(source, Trigger(trigger), on, Actor(actor), target, bool(force)))
    assert len(found) == len(set(found)), "typed twice"
    return set(found)


def coded(kind: str, triggers: Iterable[Trigger] = CERTAIN) -> set[Row]:
    """The rows that the code has on these triggers."""
    wanted = set(triggers)
    return {
        Row(m.source, m.trigger, m.on, m.actor, m.target, m.forced) for m in KINDS[kind].table if m.trigger in wanted
    }


def cells(found: Iterable[Row]) -> dict[Cell, set[str]]:
    """Where each cell leads."""
    there: dict[Cell, set[str]] = {}
    for row in found:
        there.setdefault((row.source, row.trigger, row.on, row.actor, row.forced), set()).add(row.target)
    return there


def differences(kind: str, typed: set[Row], triggers: Iterable[Trigger] = CERTAIN) -> list[str]:
    """Every cell in which table and code disagree, both ways; empty where they are the same.

    All combinations of state, trigger, action, actor and force are walked through, and whatever else either side has.
    """
    lifecycle, triggers = KINDS[kind], tuple(triggers)
    here, there = cells(typed), cells(coded(kind, triggers))
    assert {row.trigger for row in typed} <= set(triggers)
    states = [state.name for state in lifecycle.states]
    actions = [action.name for action in lifecycle.actions]
    every = {*product(states, triggers, actions, Actor, (False, True)), *here, *there}
    return [
        f"{source}, {trigger} {on} by {actor}{' by force' if forced else ''}: "
        f"typed {sorted(here.get(cell, ()))}, coded {sorted(there.get(cell, ()))}"
        for cell in sorted(every)
        for source, trigger, on, actor, forced in [cell]
        if here.get(cell, set()) != there.get(cell, set())
    ]


def leads(text: str) -> dict[str, set[str]]:
    """A table with the columns source and targets."""
    found: dict[str, set[str]] = {}
    for sources, targets in lines(text, 2):
        for source in sources.split("/"):
            assert source not in found, f"typed twice: {source}"
            found[source] = set(targets.split("/"))
    return found


def silences(kind: str) -> dict[str, set[str]]:
    """Where the clock, and nobody else, leads each state when not even a probe is answered."""
    found: dict[str, set[str]] = {}
    for row in coded(kind, [Trigger.TIMED_OUT]):
        assert row.actor is Actor.CLOCK
        found.setdefault(row.source, set()).add(row.target)
    return found


def sights(kind: str) -> dict[tuple[str, str], set[str]]:
    """Where each state is led by what an agent, and nobody else, saw."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in coded(kind, [Trigger.OBSERVED]):
        assert row.actor is Actor.AGENT
        found.setdefault((row.source, row.on), set()).add(row.target)
    return found


def seen(text: str) -> dict[tuple[str, str], set[str]]:
    """A table with the columns source, what was seen, targets."""
    found: dict[tuple[str, str], set[str]] = {}
    for sources, sight, targets in lines(text, 3):
        for source in sources.split("/"):
            assert (source, sight) not in found, f"typed twice: {source} {sight}"
            found[source, sight] = set(targets.split("/"))
    return found


def grid(text: str) -> list[tuple[str, str, str]]:
    """A matrix: the first line names the actions, each further one a state and a word for every action."""
    head, *body = [words for line in text.splitlines() if (words := line.split("#")[0].split())]
    assert len({state for state, *_ in body}) == len(body)
    return [(state, action, word) for state, *words in body for action, word in zip(head, words, strict=True)]
