"""What an agent's work does at the provider: the other half of a lifecycle, taken from where its actions lead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ABSENT, BROKEN, ORIGIN, PROBE, Action
from stead.lifecycle.table import observations

RESTORE = "restore"
"""The verb that brings the previous spec back."""


class ProviderEffect(NamedTuple):
    """The effect of one verb."""

    becomes: str
    """What is there afterwards; empty: what was there before."""
    makes: bool
    """It makes the object; every other verb needs it to be there."""
    respec: bool
    works_on: frozenset[str]
    """What has to be there for it to have an effect."""
    on_the_way: bool
    """Only a step towards something else: where it has nothing to do it is done."""
    checked: bool = False
    """It may be declined, and nothing was done."""


class ProviderEffects:
    """The effects of all verbs of a kind."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self.seen = observations(lifecycle)
        self._deeds: dict[str, ProviderEffect] = {}
        for action in lifecycle.actions:
            for verb in action.verbs:
                known = lifecycle.action(verb) or action
                self._deeds.setdefault(verb, _deed(lifecycle, known, verb != action.verbs[-1]))
            ends = action.source[0] if action.rollback_target == ORIGIN else action.rollback_target
            target = "" if action.rollback_verb in ("", PROBE) else lifecycle.state(ends).observed_as
            anything = frozenset(self.seen)
            if action.rollback_verb == RESTORE:
                self._deeds[RESTORE] = ProviderEffect(target, True, True, anything, False)
            elif action.rollback_verb not in ("", PROBE):
                self._deeds.setdefault(action.rollback_verb, ProviderEffect(target, False, False, anything, False))

    def __call__(self, verb: str, revision: int, truth: str, now: int) -> Iterator[tuple[str, str, int]]:
        """The ways the work can go: what the agent will say, what is there then, and with which spec."""
        deed = self._deeds[verb]
        if not self.seen:  # nothing that can be looked at
            yield from (("succeeded", truth, now), ("failed", truth, now))
        elif truth == ABSENT and not deed.makes:
            yield ("succeeded" if deed.becomes == ABSENT or deed.on_the_way else "failed"), truth, now
        elif truth not in (*deed.works_on, ABSENT, BROKEN):
            yield ("succeeded" if deed.becomes == truth or deed.on_the_way else "failed"), truth, now
        else:
            yield from self._effects(deed, revision, truth, now)

    def _effects(self, deed: ProviderEffect, revision: int, truth: str, now: int) -> Iterator[tuple[str, str, int]]:
        becomes = deed.becomes or truth
        yield "succeeded", becomes, revision if deed.respec else now
        yield "failed", truth, now
        if deed.checked:
            yield "declined", truth, now
        if becomes != truth:  # done, or half done, and still reported as failed
            yield "failed", BROKEN if becomes == ABSENT else becomes, revision if deed.respec else now


def _deed(lc: Lifecycle, action: Action, on_the_way: bool) -> ProviderEffect:
    """What an action's verb does: it may start from any of its states, and from those that show nothing."""
    starts = [lc.state(s).observed_as for s in action.source]
    becomes = "" if action.target == ORIGIN else lc.state(action.target).observed_as
    anywhere = action.forceable or not all(starts)
    works_on = frozenset(observations(lc) if anywhere else starts)
    makes = ABSENT in starts
    return ProviderEffect(becomes, makes, makes or action.changes_spec, works_on, on_the_way, action.checked)
