"""What a drawing of a lifecycle shows: each state once, and between two states one arrow.

The derived table of a kind has a hundred moves and more. Drawn one by one they hide the very thing a picture is for,
so they are folded. All moves between the same two states become one arrow that names their words by actor. What may
be asked for in many states alike comes from one place that stands for all of them. And the moves that every moving
state has anyway are left out unless asked for: what a look finds, what silence brings, what only force does, and how
a parent follows its children. A state that could be reached by nothing else keeps them. How many were left out is
counted, so that a picture never passes for the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import Actor, State, StateClass, Transition, Trigger
from stead.lifecycle.table import resolve

MANY = 4
"""From so many states on, one place stands for all that the same may be asked in."""

_ASIDE = {Trigger.FAILED, Trigger.DECLINED, Trigger.TIMED_OUT, Trigger.ROLLED_BACK}
_ONWARD = {Trigger.REQUEST, Trigger.STARTED, Trigger.NEXT}


@dataclass(frozen=True, slots=True)
class Word:
    """What actors say or ask to make a move: `suspend, resize` by the user."""

    texts: tuple[str, ...]
    actors: tuple[Actor, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.texts)} · {', '.join(self.actors)}"


@dataclass(frozen=True, slots=True)
class Crowd:
    """A place that stands for several states."""

    states: tuple[str, ...]
    but: tuple[str, ...] = ()
    """All the others, where naming those is shorter."""

    @property
    def name(self) -> str:
        """Which states, in words."""
        return f"any state but {', '.join(self.but)}" if self.but else f"any of {', '.join(self.states)}"


@dataclass(frozen=True, slots=True)
class Arrow:
    """All drawn moves from one state (or crowd) to another."""

    source: str
    target: str
    words: tuple[Word, ...]
    moves: tuple[Transition, ...]
    """What it stands for."""
    aside: bool = False
    """It is taken only when something went wrong."""
    onward: bool = False
    """It begins something or goes on with it, so it should point forward."""

    @property
    def actor(self) -> Actor:
        """Whose colour the arrow has."""
        return self.words[0].actors[0]


@dataclass(frozen=True, slots=True)
class Picture:
    """What there is to draw of a kind."""

    kind: str
    says: str
    states: tuple[State, ...]
    """The first is where an object begins."""
    crowds: tuple[Crowd, ...]
    arrows: tuple[Arrow, ...]
    left_out: tuple[tuple[str, int], ...]
    """How many moves of the table are not drawn, by the reason."""

    @property
    def actors(self) -> tuple[Actor, ...]:
        """Those who appear in it."""
        return tuple(a for a in Actor if any(a in w.actors for arrow in self.arrows for w in arrow.words))

    @property
    def classes(self) -> tuple[StateClass, ...]:
        """The classes of state that appear in it."""
        return tuple(c for c in StateClass if any(s.cls is c for s in self.states))


def picture(lifecycle: Lifecycle, *, detail: bool = False) -> Picture:
    """The lifecycle folded for drawing; with `detail`, every move is in it."""
    reasons = {move: "" if detail else _why_not(lifecycle, move) for move in lifecycle.table}
    reached = {move.target for move, reason in reasons.items() if not reason} | {lifecycle.initial.name}
    for name in (state.name for state in lifecycle.states if state.name not in reached):
        reasons |= dict.fromkeys(_only_ways(lifecycle, name, reasons), "")
    drawn = [move for move, reason in reasons.items() if not reason]
    hidden = [reason for reason in reasons.values() if reason]
    crowds = _crowds(lifecycle, drawn)
    gathered: dict[tuple[str, str], list[Transition]] = {}
    for move in drawn:
        source = next((c.name for c, asked in crowds.items() if _asked(move) in asked), move.source)
        gathered.setdefault((source, move.target), []).append(move)
    place = {name: i for i, name in enumerate([*(s.name for s in lifecycle.states), *(c.name for c in crowds)])}
    return Picture(
        lifecycle.kind,
        lifecycle.description,
        lifecycle.states,
        tuple(crowds),
        tuple(
            _arrow(lifecycle, *pair, gathered[pair])
            for pair in sorted(gathered, key=lambda p: (place[p[0]], place[p[1]]))
        ),
        tuple((reason, hidden.count(reason)) for reason in dict.fromkeys(hidden)),
    )


def _why_not(lc: Lifecycle, move: Transition) -> str:
    """Why a move is not drawn by default; empty where it is."""
    if move.forced:
        return "forced"
    if move.trigger in (Trigger.OBSERVED, Trigger.ACCEPTED):
        return "observed"
    if move.trigger is Trigger.TIMED_OUT:
        return "on silence"
    if move.trigger is Trigger.CHILDREN and move not in lc.transitions and not _led_there(lc, move):
        return "following children"
    return ""


def _only_ways(lc: Lifecycle, name: str, moves: Iterable[Transition]) -> list[Transition]:
    """The moves to show of a state that nothing else leads to: one sort of them, the plainest there is."""
    ways = [move for move in moves if move.target == name]
    silent = [move for move in ways if move.trigger is Trigger.TIMED_OUT]
    return silent or [move for move in ways if lc.action(move.on) is None] or ways


def _led_there(lc: Lifecycle, move: Transition) -> bool:
    """Whether the children took an action to where it leads, well or badly, and not elsewhere."""
    action = lc.action(move.on)
    if action is None or lc.state(move.source).cls is not StateClass.TRANSITIONAL:
        return False
    ends = (*resolve(action, action.target, action.source), *resolve(action, action.on_failure, action.source))
    return move.target in (*action.via, *ends)


type _Asked = tuple[str, str, bool]


def _asked(move: Transition) -> _Asked | None:
    """What is asked for and where it leads, wherever it is asked."""
    return (move.on, move.target, move.forced) if move.trigger is Trigger.REQUEST else None


def _crowds(lc: Lifecycle, drawn: Iterable[Transition]) -> dict[Crowd, set[_Asked]]:
    """The crowds, each with what may be asked in all of its states."""
    sources: dict[_Asked, set[str]] = {}
    for move in drawn:
        if asked := _asked(move):
            sources.setdefault(asked, set()).add(move.source)
    crowds: dict[Crowd, set[_Asked]] = {}
    for asked, found in sources.items():
        if len(found) >= MANY:
            states = tuple(s.name for s in lc.states if s.name in found)
            others = tuple(s.name for s in lc.states if s.name not in found)
            crowd = Crowd(states, others if len(others) < len(states) - 1 else ())
            crowds.setdefault(crowd, set()).add(asked)
    return crowds


def _arrow(lc: Lifecycle, source: str, target: str, moves: Sequence[Transition]) -> Arrow:
    aside = all(move.trigger in _ASIDE or _failed(lc, move) for move in moves)
    onward = any(move.trigger in _ONWARD for move in moves)
    return Arrow(source, target, _words(lc, moves), tuple(moves), aside, onward)


def _failed(lc: Lifecycle, move: Transition) -> bool:
    """Whether the children took an action to where failure leads."""
    action = lc.action(move.on)
    return (
        move.trigger is Trigger.CHILDREN and action is not None and move.target == action.on_failure != action.target
    )


def _words(lc: Lifecycle, moves: Iterable[Transition]) -> tuple[Word, ...]:
    actors: dict[str, set[Actor]] = {}
    for move in moves:
        actors.setdefault(_text(lc, move), set()).add(move.actor)
    texts: dict[tuple[Actor, ...], list[str]] = {}
    for text, by in actors.items():
        # An admin may do whatever a user may, so only what a user may not is worth saying.
        told = tuple(a for a in Actor if a in by and not (a is Actor.ADMIN and Actor.USER in by))
        texts.setdefault(told, []).append(text)
    rank = list(Actor)
    return tuple(Word(tuple(texts[by]), by) for by in sorted(texts, key=lambda by: [rank.index(a) for a in by]))


def _text(lc: Lifecycle, move: Transition) -> str:
    if move.trigger is Trigger.REQUEST:
        return f"force {move.on}" if move.forced else move.on
    if move.trigger in (Trigger.OBSERVED, Trigger.ACCEPTED):
        return f"sees {move.on}"
    if move.trigger in (Trigger.CONNECTED, Trigger.DISCONNECTED) or lc.action(move.on) is None:
        return move.trigger.value
    if lc.state(move.source).cls is StateClass.TRANSITIONAL and not _ambiguous(lc, move):
        return move.trigger.value
    return f"{move.on} {move.trigger}"


def _ambiguous(lc: Lifecycle, move: Transition) -> bool:
    """Whether the same word, about different actions, leads from here to different states."""
    ways: dict[str, set[str]] = {}
    for other in lc.table:
        if (other.source, other.trigger) == (move.source, move.trigger):
            ways.setdefault(other.on, set()).add(other.target)
    return len({frozenset(targets) for targets in ways.values()}) > 1
