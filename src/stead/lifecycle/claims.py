"""Which operations may run at once: the algebra of claims on paths.

Everything an operator runs hangs in one tree, and an operation claims the paths it changes. A claim is
*exclusive* on its path and an *intention* on every ancestor of it; to use something without changing it (a
shared network) is an intention on it and on its ancestors. Two intentions on one node go together, nothing
else does. So siblings change in parallel, and a change of a node excludes every change of, above or below it.

That is a lock on every node of the way. But two claims can only ever clash at one node, the path of whichever
is exclusive and higher, so comparing the two paths says the same (`conflicts`). The locks are what claims
mean; the comparison is what the store asks of its rows, one row a claim.

Nothing here waits: a claim is granted at once or the answer is who stands in the way. All is values,
so a set of claims that does not fit as a whole leaves nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

ROOT = "/"

_PATH = re.compile(r"/|(?:/[^/]+)+")


class Mode(StrEnum):
    """How a node is locked."""

    EXCLUSIVE = "exclusive"
    """To change it, and with it everything below it."""
    INTENTION = "intention"
    """To use it, or to change something below it."""


def compatible(one: Mode, other: Mode) -> bool:
    """Whether two holders may lock one node in these modes at once."""
    return one is other is Mode.INTENTION


def below(path: str, named: str) -> str:
    """The path that is named as seen from another: `/a/b` below `/shop/web` is `/shop/web/a/b`."""
    return f"{path}/{named.strip('/')}".rstrip("/")


def ancestors(path: str) -> tuple[str, ...]:
    """Every path above this one, the root first."""
    _check(path)
    if path == ROOT:
        return ()
    return (ROOT, *(path[:i] for i, letter in enumerate(path) if letter == "/" and i > 0))


def covers(upper: str, path: str) -> bool:
    """Whether the first is the second, or an ancestor of it."""
    # The slash keeps /a/b from covering its sibling /a/bc.
    return upper in (ROOT, path) or path.startswith(upper + "/")


def _check(path: str) -> None:
    # Two spellings of one path would not be seen to clash, so there is only one.
    if not _PATH.fullmatch(path):
        raise ValueError(f"not a path: {path!r}")


@dataclass(frozen=True, slots=True, order=True)
class Lock:
    """One node of the tree, locked."""

    path: str
    mode: Mode


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """The right to change a path (exclusive) or to use it (intention)."""

    path: str
    mode: Mode = Mode.EXCLUSIVE

    def __post_init__(self) -> None:
        _check(self.path)


def claims_for(changes: Iterable[str], uses: Iterable[str] = ()) -> tuple[Claim, ...]:
    """What an operation claims that changes some paths and uses others, each path once, sorted.

    The order is the one in which claims are taken. It is that of the paths' characters, which a database
    column in C collation has too, so that whoever takes several claims takes them in the same sequence.
    """
    changed = set(changes)
    return tuple(
        sorted(
            [
                *(Claim(path) for path in changed),
                *(Claim(path, Mode.INTENTION) for path in set(uses) - changed),
            ]
        )
    )


def expand(claims: Iterable[Claim]) -> tuple[Lock, ...]:
    """The locks that some claims of one operation amount to: each node once, in its strongest mode, sorted.

    An ancestor sorts before what lies below it, so locks are taken from the root down.
    """
    modes: dict[str, Mode] = {}
    for claim in claims:
        for path in ancestors(claim.path):
            modes.setdefault(path, Mode.INTENTION)
        if claim.mode is Mode.EXCLUSIVE:
            modes[claim.path] = Mode.EXCLUSIVE
        else:
            modes.setdefault(claim.path, Mode.INTENTION)
    return tuple(sorted(Lock(path, mode) for path, mode in modes.items()))


def conflicts(one: Claim, other: Claim) -> bool:
    """Whether two claims of different holders exclude each other, told from their paths alone.

    An exclusive claim meets an incompatible lock exactly where the other claim locks its path, and a claim
    locks its own path and what is above it. So an exclusive claim conflicts with every claim that it covers.
    A change *below* something that is only used conflicts with no use of it.
    """
    return (one.mode is Mode.EXCLUSIVE and covers(one.path, other.path)) or (
        other.mode is Mode.EXCLUSIVE and covers(other.path, one.path)
    )


@dataclass(frozen=True, slots=True, order=True)
class ClaimHandle:
    """One claim of one holder. It remembers its mode: giving it back frees what it took, nothing else."""

    holder: str
    """The operation's id."""
    claim: Claim


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was taken, and why: every claim in the way, sorted."""

    in_the_way: tuple[ClaimHandle, ...]

    @property
    def holders(self) -> tuple[str, ...]:
        """Who stands in the way, each once."""
        return tuple(dict.fromkeys(handle.holder for handle in self.in_the_way))


@dataclass(frozen=True, slots=True)
class ClaimTable:
    """All claims that stand. Those of different holders never conflict.

    Whole claims are kept, not locks: a holder with two claims locks their common ancestors once, and giving
    one claim back must not free what the other still needs.
    """

    handles: frozenset[ClaimHandle] = frozenset()

    def acquire(self, holder: str, claims: Iterable[Claim]) -> ClaimTable | Conflict:
        """The claims as they stand with these added: all of them, or none.

        What the holder has already is never in its own way: the same claim again changes nothing, and an
        exclusive claim on what it uses so far is granted if nobody else has a lock there.
        """
        asked = frozenset(claims)
        in_the_way = sorted(
            handle
            for handle in self.handles
            if handle.holder != holder and any(conflicts(handle.claim, claim) for claim in asked)
        )
        if in_the_way:
            return Conflict(tuple(in_the_way))
        return ClaimTable(self.handles | {ClaimHandle(holder, claim) for claim in asked})

    def give_back(self, handle: ClaimHandle) -> ClaimTable:
        """The claims as they stand without this one."""
        return ClaimTable(self.handles - {handle})

    def release(self, holder: str) -> ClaimTable:
        """The claims as they stand when a holder has ended; no matter if it had none."""
        return ClaimTable(frozenset(handle for handle in self.handles if handle.holder != holder))

    def hand_over(self, old: str, new: str) -> ClaimTable:
        """The claims as they stand when one holder took over another's; doing it twice is doing it once."""
        return ClaimTable(
            frozenset(replace(handle, holder=new) if handle.holder == old else handle for handle in self.handles)
        )

    def of(self, holder: str) -> tuple[Claim, ...]:
        """What a holder has, in the order in which it is taken."""
        return tuple(sorted(handle.claim for handle in self.handles if handle.holder == holder))

    def on(self, path: str) -> dict[str, Mode]:
        """Who has a lock on a node, and in which mode, by holder."""
        _check(path)
        found: dict[str, Mode] = {}
        for handle in sorted(self.handles):
            claim = handle.claim
            if claim.mode is Mode.EXCLUSIVE and claim.path == path:
                found[handle.holder] = Mode.EXCLUSIVE
            elif covers(path, claim.path):
                found.setdefault(handle.holder, Mode.INTENTION)
        return found
