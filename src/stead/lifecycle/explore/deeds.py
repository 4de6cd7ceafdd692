"""What an agent's work does at the provider: the other half of a lifecycle, taken from where its actions lead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ABSENT, BACK, BROKEN, Action

RESTORE = "restore"
"""The verb that brings the previous spec back."""


class Deed(NamedTuple):
    """The effect of one verb."""

    becomes: str
    """What is there afterwards; empty: what was there before."""
    makes: bool
    """It makes the object; every other verb needs it to be there."""
    respec: bool


class Deeds:
    """The effects of all verbs of a kind."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._deeds: dict[str, Deed] = {}
        for action in lifecycle.actions:
            for verb in action.verbs:
                known = lifecycle.action(verb)
                self._deeds.setdefault(verb, _deed(lifecycle, known or action))
            if action.undo == RESTORE:
                target = lifecycle.state(action.undone).seen
                self._deeds[RESTORE] = Deed(target, makes=True, respec=True)

    def __call__(self, verb: str, revision: int, truth: str, now: int) -> Iterator[tuple[str, str, int]]:
        """The ways the work can go: what the agent will say, what is there then, and with which spec."""
        deed = self._deeds[verb]
        if truth == ABSENT and not deed.makes:
            yield ("done" if deed.becomes == ABSENT else "failed"), truth, now
            return
        becomes = deed.becomes or truth
        yield "done", becomes, revision if deed.respec else now
        yield "failed", truth, now
        if becomes != truth:  # done, or half done, and still reported as failed
            yield "failed", BROKEN if becomes == ABSENT else becomes, revision if deed.respec else now


def _deed(lc: Lifecycle, action: Action) -> Deed:
    makes = any(lc.state(s).seen == ABSENT for s in action.starts)
    becomes = "" if action.ends == BACK else lc.state(action.ends).seen
    return Deed(becomes, makes, makes or action.respec)
