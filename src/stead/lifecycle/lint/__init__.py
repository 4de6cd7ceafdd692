"""Whether a lifecycle is sound, before anything runs by it.

Users bring their own lifecycles. One with a hole works until the day something fails, and then a resource is
stuck in a state that nobody leaves. All of that can be seen in the table of moves beforehand: each rule here
looks for one kind of hole and says where it is and how to mend it. A lifecycle without findings is fit for
use.

Where names are wrong the table means nothing, so the rules about moves are asked only when the names are
right: mend those and ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint import moving, names, ways
from stead.lifecycle.lint.finding import Finding, Rule

__all__ = ["Finding", "Rule", "lint"]

Check = Callable[[Lifecycle], Iterator[Finding]]

_OF_NAMES: tuple[Check, ...] = (
    names.no_states,
    names.nowhere,
    names.name_twice,
    names.unknown_action,
    names.absent_twice,
    names.ambiguous_seen,
)

_OF_MOVES: tuple[Check, ...] = (
    ways.vain_strike,
    ways.vain_expiry,
    ways.unreachable,
    ways.dead_ends,
    moving.through_resting,
    moving.no_deadline,
    moving.exits,
    moving.silent_moving,
    moving.two_actors,
    ways.final_left,
    moving.no_undo,
)


def lint(lifecycle: Lifecycle) -> tuple[Finding, ...]:
    """All that is not sound in a lifecycle, each finding once; empty where it is fit for use."""
    found = _ask(_OF_NAMES, lifecycle)
    if not any(f.rule in (Rule.NO_STATES, Rule.UNKNOWN_STATE, Rule.DUPLICATE_NAME) for f in found):
        nowhere = _ask((ways.implied_nowhere,), lifecycle)
        found += nowhere or _ask(_OF_MOVES, lifecycle)
    return found


def _ask(checks: tuple[Check, ...], lifecycle: Lifecycle) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(finding for check in checks for finding in check(lifecycle)))
