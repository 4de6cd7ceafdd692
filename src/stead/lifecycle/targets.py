"""What a resource is on its way to: the action under way, and the status it is to have afterwards."""

from __future__ import annotations

from typing import NamedTuple

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ORIGIN
from stead.lifecycle.snapshot import Phase, Snapshot

NONE = "None"
"""The word for nothing under way."""


class Target(NamedTuple):
    """Both are `None` once the target is reached, or given up."""

    action: str = NONE
    status: str = NONE


def target_of(lifecycle: Lifecycle, snapshot: Snapshot) -> Target:
    """The action under way and where it leads. What is being undone has no target any more."""
    op = snapshot.operation
    if op is None or op.phase is Phase.ROLLING_BACK:
        return Target()
    action = lifecycle.action(op.action)
    ends = action.target if action is not None else ORIGIN
    return Target(op.action.capitalize(), op.origin if ends == ORIGIN else ends)
