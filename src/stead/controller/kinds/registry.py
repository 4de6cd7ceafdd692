"""Kinds of an operator's own: a document is read, linted, explored, and put in force for the whole cell.

What is refused is refused before anybody relies on it, with all that is wrong with it at once. A document that was
replaced leaves no resource in a state, and no operation in the middle of an action, that the new one does not have.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stead.access.policies import CELL, NAMESPACE, OWN_ACTIONS
from stead.controller.kinds.exploration import MAX_STATES, ExplorationResult, TooLarge, explored
from stead.controller.kinds.kinds import Kinds, RegisteredLifecycle
from stead.lifecycle.decide.group import makes
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import DocumentError, load
from stead.lifecycle.lint import lint
from stead.lifecycle.rows import Aggregation, AwaitedParty, StateClass
from stead.lifecycle.table import observations
from stead.store import Store
from stead.store.lifecycles import UncoveredResources

log = logging.getLogger(__name__)

SCALES = ("scale-out", "scale-in")
"""Of subgroups, whose members are made by it."""
KIND = re.compile("[a-z][a-z0-9-]{0,39}")
NAME = re.compile("[A-Za-z][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class InvalidDocument:
    """Why a document is not put in force, or a kind not let go."""

    code: str
    says: str
    errors: Sequence[tuple[str, str]] = ()
    """Where something is wrong, and what."""


class Registry:
    """Puts documents in force, and takes them back."""

    def __init__(self, kinds: Kinds, store: Store) -> None:
        self.kinds = kinds
        self.store = store
        self._one = asyncio.Lock()
        """A search keeps a processor busy: one at a time."""

    async def register(self, kind: str, document: str, who: str) -> RegisteredLifecycle | InvalidDocument:
        """Put a document in force. One that is in force already stays as it is."""
        try:
            lifecycle = load(document)
        except DocumentError as error:
            return InvalidDocument(
                "not-a-lifecycle", "; ".join(error.messages), [("document", m) for m in error.messages]
            )
        await self.kinds.fresh()
        rejected = self._unfit(kind, lifecycle)
        if rejected is not None:
            return rejected
        before = self.kinds.registered.get(kind)
        if before is not None and before.document == document:
            return before
        findings = [(f.where, f"{f.message}; {f.remedy} [{f.rule}]") for f in lint(lifecycle)]
        if findings:
            return InvalidDocument("not-sound", _told(findings), findings)
        was, same = self.kinds.versions.get(kind, 0), self._same(lifecycle)
        left = await self.store.lifecycles.find_uncovered(
            lifecycle, same
        )  # or somebody would wait for the explorer in vain
        if left:
            return _lacking(left)
        found = await self._explored(document)
        if isinstance(found, InvalidDocument):
            return found
        seen = {"worlds": found.worlds, "steps": found.steps, "bounds": found.bounds}
        left = await self.store.lifecycles.register(lifecycle, was, document, same, seen, who)
        if left:
            return _lacking(left)
        await self.kinds.fresh()
        now = self.kinds.registered[kind]
        log.info("%s registered the lifecycle %s, version %d", who, kind, now.version)
        return now

    async def _explored(self, document: str) -> ExplorationResult | InvalidDocument:
        async with self._one:
            try:
                found = await explored(document)
            except TooLarge as error:
                return InvalidDocument("not-explored", str(error))
        if found.story:
            says = "there is a way to what must not be, the shortest of which is this"
            return InvalidDocument("not-safe", f"{says}:\n{found.story}")
        if not found.complete:
            return InvalidDocument(
                "not-explored", f"it has more than {MAX_STATES:,} worlds, and not all of them were seen"
            )
        return found

    async def unregister(self, kind: str, who: str) -> InvalidDocument | None:
        """Let there be no such kind any more."""
        await self.kinds.fresh()
        if self.kinds.built_in(kind):
            return InvalidDocument("built-in", f"{kind} is built in")
        if kind not in self.kinds:
            return InvalidDocument("not-found", f"there is no lifecycle {kind}")
        named = sorted(other.kind for other in self.kinds.values() if other.kind != kind and kind in _named(other))
        if named:
            return InvalidDocument("kind-in-use", f"{', '.join(named)} is about {kind}")
        left = await self.store.lifecycles.unregister(kind, who)
        if left:
            return InvalidDocument("kind-in-use", f"there are some: {_in_use(left)}")
        await self.kinds.fresh()
        log.info("%s unregistered the lifecycle %s", who, kind)
        return None

    def _unfit(self, kind: str, lifecycle: Lifecycle) -> InvalidDocument | None:
        if lifecycle.kind != kind:
            return InvalidDocument("invalid", f"the document is about {lifecycle.kind}, and the address about {kind}")
        if self.kinds.built_in(kind):
            return InvalidDocument("built-in", f"{kind} is built in, and stays as it is")
        wrong = [*_names(lifecycle), *_others({**self.kinds, kind: lifecycle}, lifecycle), *_beyond(lifecycle)]
        return InvalidDocument("not-sound", _told(wrong), wrong) if wrong else None

    def _same(self, lifecycle: Lifecycle) -> list[str]:
        """The actions that a document leaves as they are: whatever is in the middle of one goes on as it began."""
        before = self.kinds.get(lifecycle.kind)
        if before is None:
            return []
        return [a.name for a in lifecycle.actions if _course(lifecycle, a.name) == _course(before, a.name)]


def _course(lifecycle: Lifecycle, name: str) -> object:
    """All that a lifecycle says of an action that has begun."""
    action = lifecycle.action(name)
    if action is None:
        return None
    states = [lifecycle.state(state) for state in action.via]
    rows = [row for row in lifecycle.table if row.source in action.via or row.on == name]
    return action, states, rows, lifecycle.members


def _told(wrong: Sequence[tuple[str, str]]) -> str:
    return "; ".join(f"{where}: {says}" for where, says in wrong)


def _lacking(left: Sequence[UncoveredResources]) -> InvalidDocument:
    if left[0].what == "version":
        return InvalidDocument("kind-in-use", "somebody else has registered it meanwhile: see what, and ask again")
    return InvalidDocument("kind-in-use", f"the document lacks or changes what is in use: {_in_use(left)}")


def _in_use(left: Sequence[UncoveredResources]) -> str:
    return ", ".join(f"{one.things:,} {'in' if one.what == 'state' else 'with'} {one.name}" for one in left)


def _named(lifecycle: Lifecycle) -> set[str]:
    """The kinds that it is about, besides itself."""
    return {
        lifecycle.parent,
        lifecycle.members,
        lifecycle.occupants,
        *(need.kind for need in lifecycle.preconditions),
    } - {""}


def _names(lifecycle: Lifecycle) -> Iterator[tuple[str, str]]:
    """Words that would not go through addresses, files of policies and command lines."""
    if not KIND.fullmatch(lifecycle.kind) or lifecycle.kind in (CELL, NAMESPACE):
        yield "kind", f"{lifecycle.kind} cannot be one: small letters, digits and dashes, at most 40"
    for action in lifecycle.actions:
        if not NAME.fullmatch(action.name):
            yield f"action {action.name}", "its name is too long: at most 64 letters"
        if action.name in (*OWN_ACTIONS, *SCALES):
            yield f"action {action.name}", "the server means something else by that name"
    for state in lifecycle.states:
        if not NAME.fullmatch(state.name):
            yield f"state {state.name[:20]}…", "its name is too long: at most 64 letters"


def _others(kinds: Mapping[str, Lifecycle], lifecycle: Lifecycle) -> Iterator[tuple[str, str]]:
    """Kinds that it is about, and that are not there or are otherwise."""
    for word in ("parent", "members", "occupants"):
        named = getattr(lifecycle, word)
        if named and named not in kinds:
            yield word, f"there is no kind {named}"
    for need in lifecycle.preconditions:
        other = kinds.get(need.kind)
        if other is None:
            yield "preconditions", f"there is no kind {need.kind}"
        else:
            yield from (
                ("preconditions", f"{need.kind} has no state {state}")
                for state in need.states
                if not other.has_state(state)
            )
    member = kinds.get(lifecycle.members)
    if member is not None and lifecycle.aggregation is Aggregation.WORST:
        strange = [
            s.name
            for s in member.states
            if s.cls is not StateClass.ABSENT and s.name not in lifecycle.aggregation_order
        ]
        yield from (
            ("aggregation_order", f"{member.kind} can be {state}, and nothing says how bad that is")
            for state in strange
        )
    for action in lifecycle.actions:
        if action.observes:
            continue  # of members that cannot be observed it says so when it is asked for
        if action.member_action and member is None:
            yield f"action {action.name}", "it asks something of members, and there are none"
        elif member is not None and action.member_action and member.action(action.member_action) is None:
            yield f"action {action.name}", f"{member.kind} has no action {action.member_action}"
        elif member is not None and makes(member, action.member_action):
            yield f"action {action.name}", f"members cannot be made by it: each {member.kind} is created by itself"


def _beyond(lifecycle: Lifecycle) -> Iterator[tuple[str, str]]:
    """What only the controller's own code could do."""
    if lifecycle.presence:
        yield "presence", "only sites of the edge have it"
    if lifecycle.aggregation is Aggregation.EVENTS:
        yield "aggregation", "only leases follow events"
    for action in lifecycle.actions:
        if action.scoped:
            yield f"action {action.name}", "only deploys of systems run beside others"
    for state in lifecycle.states:
        if state.awaits is AwaitedParty.STEP:
            yield f"state {state.name}", "a step is work of the controller's own: let an agent or nobody be awaited"
    orders = any(action.verbs for action in lifecycle.actions)
    if orders and not observations(lifecycle):
        yield "states", "agents are told to do something, and no state says what a look would show"
